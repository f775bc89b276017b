"""Moves of clusters with covariances."""
