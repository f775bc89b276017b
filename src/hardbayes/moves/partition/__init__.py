"""Moves of a partition with centres."""
