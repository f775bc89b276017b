"""Moves on graphs: groups of vertices by coarser graphs, divisions by eigenvectors."""
