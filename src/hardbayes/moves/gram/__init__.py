"""Divisions of clusters in the space of a Mercer kernel."""
