"""Fits of clusters with covariances."""
