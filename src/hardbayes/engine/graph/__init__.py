"""Partitions of graphs: a label-first model, and its starts."""
