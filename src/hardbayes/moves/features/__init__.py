"""Moves of whole features."""
