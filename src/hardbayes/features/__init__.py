"""BP-means and K-features: features that overlap."""
