"""Choosing the penalties of the hard HDP."""
