"""Results, speed and memory of hardbayes beside its peers: ``python -m benchmarks``."""
