"""Fits of topics: stages, and searches for a number of topics."""
