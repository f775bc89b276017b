"""Clusters with covariances: a label-first model, and its starts."""
