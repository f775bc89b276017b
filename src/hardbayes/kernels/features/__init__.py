"""Kernels of feature allocations: which features a row has, and least squares."""
