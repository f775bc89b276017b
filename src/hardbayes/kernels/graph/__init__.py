"""Kernels on graphs: moves of single vertices, sums over clusters, coarser graphs."""
