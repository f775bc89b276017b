"""Kernels of topics: documents as lists of words with weights, each with a set of topics."""
