"""What is decided for each row, how parameters are refitted, what is paid."""

from hardbayes.structure.partition import Partition

__all__ = ["Partition"]
