"""Moves on whole features, each a function that changes nothing and returns a proposal or None."""
