"""Gaussian DP-means: clusters with covariances of their own."""
