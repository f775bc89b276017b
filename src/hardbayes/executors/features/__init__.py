"""Rows whose features are searched."""
