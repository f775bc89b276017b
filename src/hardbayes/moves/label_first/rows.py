"""Moves of rows: all at once to the cheapest cluster, with births or without, or one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.moves.label_first.labelling import propose

if TYPE_CHECKING:
    from hardbayes.moves.label_first.labelling import Labelling, Proposal
    from hardbayes.moves.label_first.model import Ids, S

MAX_PASSES = 8


def choose(current: Labelling[S]) -> Proposal[S] | None:
    """Return the proposal that every row goes to its cheapest cluster."""
    return _relabel(current, current.model.choose(current.statistics))


def sweep(current: Labelling[S]) -> tuple[Proposal[S] | None, bool]:
    """Return the same with births, and whether the cap prevented one."""
    labels, capped = current.model.sweep(current.statistics) or (None, False)
    return _relabel(current, labels), capped


def move_rows(current: Labelling[S]) -> Proposal[S] | None:
    """Return the proposal of single-row moves, each of which lowers the objective."""
    labels, n_moves = current.model.move_rows(current.labels, current.statistics, MAX_PASSES)
    return propose(current, labels, n_moves) if n_moves else None


def _relabel(current: Labelling[S], labels: Ids | None) -> Proposal[S] | None:
    n_changed = 0 if labels is None else int(np.count_nonzero(labels != current.labels))
    return propose(current, labels, n_changed) if labels is not None and n_changed else None
