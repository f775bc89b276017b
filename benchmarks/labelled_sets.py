"""Labelled sets of points and tables, read from files named on the command line.

``--sets FILE ...`` takes ``.npz`` files. A file with one set has ``X`` (n, d) and ``y`` (n,). A
file with several has ``X_<name>`` and ``y_<name>`` of each. Where people divide the same points in
several ways, ``y0_<name>``, ``y1_<name>`` and so on (or ``y0``, ``y1`` without a name) are
reference partitions with labels from 1 on, and 0 for noise.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.clouds import Labelled, Labels, Table


class LabelledSet(NamedTuple):
    """Rows, and the partitions that count as right; -1 for rows of noise."""

    name: str
    X: Table
    references: list[Labels]

    @property
    def numbers(self) -> list[int]:
        """Numbers of clusters of the reference partitions, in order, each once."""
        return sorted({len(np.unique(y[y >= 0])) for y in self.references})

    def score(self, labels: Labels) -> float:
        """Return the adjusted Rand index with the nearest partition, without its rows of noise."""
        return max(float(adjusted_rand_score(y[y >= 0], labels[y >= 0])) for y in self.references)


def with_one_reference(known: Labelled) -> LabelledSet:
    """Return a set with one partition as right."""
    return LabelledSet(known.name, known.X, [known.member])


def sets_of(files: Iterable[Path]) -> Iterator[LabelledSet]:
    """Yield the sets of files, in the order of the files."""
    for path in files:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        for key, X in arrays.items():
            if key == "X" or key.startswith("X_"):
                suffix = key[1:]
                references = list(_references(arrays, suffix))
                if not references:
                    raise ValueError(f"{path} has no labels for {key}.")
                yield LabelledSet(suffix[1:] or path.stem, X.astype(np.float64), references)


def _references(arrays: dict[str, Labels], suffix: str) -> Iterator[Labels]:
    for key, y in arrays.items():
        if found := re.fullmatch(rf"y(\d*){re.escape(suffix)}", key):
            codes = np.unique(y, return_inverse=True)[1]
            yield np.where(y == 0, -1, codes) if found[1] else codes
