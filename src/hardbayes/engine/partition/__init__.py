"""Fits of partitions with centres: stages, starts, paths."""
