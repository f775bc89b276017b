"""Vector code written by hand, for sums that a compiler may not reorder."""
