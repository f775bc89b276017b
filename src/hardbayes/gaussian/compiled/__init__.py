"""Compiled functions for clusters with covariances."""
