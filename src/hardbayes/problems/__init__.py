"""From a data matrix to rows that the engine can run on, and back to the user's units."""
