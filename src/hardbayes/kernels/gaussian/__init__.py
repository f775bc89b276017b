"""Kernels of clusters with covariances of their own."""
