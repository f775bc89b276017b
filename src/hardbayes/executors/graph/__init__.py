"""Where graphs live."""
