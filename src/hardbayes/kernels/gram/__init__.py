"""Kernels for clusters whose rows are given by a Gram matrix: the values of a Mercer kernel."""
