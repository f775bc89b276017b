"""Kernels of partitions with centres: one decision rule per file."""
