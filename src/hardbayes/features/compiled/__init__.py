"""Compiled functions for overlapping features: which a row has, and least squares."""
