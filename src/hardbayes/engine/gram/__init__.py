"""Clusters in the space of a Mercer kernel: a label-first model, and its starts."""
