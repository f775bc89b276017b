"""Compiled functions of the samplers: random numbers, clusters, sweeps, features, summaries."""
