"""The contract of moves: a move proposes, and changes nothing; the descent applies.

A move is a function of the state of a fit. It returns a proposal, or None where it finds nothing
better. Each structure has its own kind of proposal; all have `change`. The descent applies
proposals, in one method; nothing else changes the state of a fit.
"""

from typing import Protocol


class Proposal(Protocol):
    """Something that would lower the objective."""

    @property
    def change(self) -> float:
        """The exact change of the objective, rounding aside: negative."""
