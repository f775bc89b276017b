"""The clusters of a fit: their centres in slots, and the exact totals of their members.

Clusters are few and live in the memory of the process that runs the fit, wherever the rows are.
"""
