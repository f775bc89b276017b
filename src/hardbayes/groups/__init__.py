"""Hard HDP: clusters that groups of rows share."""
