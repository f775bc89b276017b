"""Candidates for moves of clusters with covariances."""
