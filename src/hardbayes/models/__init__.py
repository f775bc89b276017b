"""Fitted models: placing new rows, fitted attributes, to and from arrays."""
