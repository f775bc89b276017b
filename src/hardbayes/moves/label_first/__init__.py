"""Moves of models whose clusters have no centres in the space of the rows."""
