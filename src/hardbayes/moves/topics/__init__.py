"""Moves on whole topics, each a function that changes nothing and returns a proposal or None."""
