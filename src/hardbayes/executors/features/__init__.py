"""Rows and passes over them for feature allocations; `protocol` is the contract."""
