"""Choosing the penalty of a graph: the clusters that describe it in the fewest nats."""
