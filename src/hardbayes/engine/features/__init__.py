"""Fits of overlapping features: stages, starts, one feature more at a time."""
