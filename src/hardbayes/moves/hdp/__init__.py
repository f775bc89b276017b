"""Moves of the hard HDP."""
