"""Clusters of the vertices of a graph, by penalised cuts."""
