"""The sections of a report: facts in, markup out."""
