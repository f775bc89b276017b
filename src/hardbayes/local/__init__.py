"""Rows in memory, one by one: trial divisions and exchanges, single-row moves, steps of a path.

Everything that visits rows one after the other works here: on all rows, where they are in memory,
or on a bounded number of rows that an executor hands out. It proposes; exact totals of all rows
decide.
"""
