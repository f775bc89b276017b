"""Compiled rules of the hard HDP: rows in groups, whose clusters are shared."""
