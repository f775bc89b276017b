"""The number of clusters: the evidence for it, and what tables without clusters have."""
