"""Kernel and spectral DP-means: clusters in the space of a Mercer kernel."""
