"""The version of hardbayes, written here and nowhere else."""

__version__ = "0.1.0"
