"""Slow, literal implementations that share no code with the library, to compare with."""
