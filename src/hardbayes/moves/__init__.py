"""Moves propose changes of a fit; the descent applies them.

A move is a function of the state of a fit that changes nothing. It returns a proposal, or None
where it finds nothing better. Each structure has its own kind of proposal; all have ``change``, the
exact change of the objective but for rounding. The descent applies proposals, in one method;
nothing else changes the state of a fit.
"""
