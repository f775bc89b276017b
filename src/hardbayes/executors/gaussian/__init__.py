"""Rows of clusters with covariances."""
