"""Automatic penalties of groups, on many kinds of generated data."""

import time
import warnings
from collections.abc import Callable, Sequence
from statistics import mean
from typing import NamedTuple

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.options import Options
from benchmarks.recovery import Labels, Table
from benchmarks.report import Section
from benchmarks.timing import progress
from hardbayes import DPMeans, HDPMeans

NOTES = """\
Gaussians of variance one at random places, no two nearer than some deviations; groups of rows from
some of them. Draws right: as many clusters as there are. NMI: with the truth, for all rows; in the
mean of the draws. Time: CPU seconds of a fit of `HDPMeans`, choice included, kernels compiled.
"Shifted": the clusters of every group are moved together by a normal vector, as by an instrument;
the groups then do have different clusters, though not those that were drawn. How clearly groups
must show more, and how much a column counts in the tolerance, were chosen while looking at other
draws of some of these kinds; other constants on the experiment of the section on groups, on
recordings of movements and on iris."""

COLUMNS = ["rows", "clusters", "draws right", "found", "NMI", "DPMeans found", "NMI", "time"]
DRAWS = 4


class Drawn(NamedTuple):
    """Rows, their groups, and the cluster that each was drawn from."""

    X: Table
    groups: Labels
    y: Labels


class Mixture(NamedTuple):
    """What to draw."""

    n_clusters: int
    n_columns: int
    apart: float  # deviations between the nearest two
    sizes: Sequence[int]  # of the groups
    used: int  # clusters of a group
    shift: float = 0.0  # of the groups, deviations

    def draw(self, rng: np.random.Generator) -> Drawn:
        """Return rows."""
        places = self._places(rng)
        groups = np.repeat(np.arange(len(self.sizes)), self.sizes)
        own = [rng.choice(self.n_clusters, self.used, replace=False) for _ in self.sizes]
        y = np.concatenate(
            [rng.choice(some, size) for some, size in zip(own, self.sizes, strict=True)]
        )
        shifts = self.shift * rng.standard_normal((len(self.sizes), self.n_columns))
        X = places[y] + rng.standard_normal((len(y), self.n_columns)) + shifts[groups]
        return Drawn(X, groups, y)

    def _places(self, rng: np.random.Generator) -> Table:
        places: list[Table] = []
        side = 1.6 * self.apart * max(self.n_clusters ** (1 / self.n_columns), 1.5)
        while len(places) < self.n_clusters:
            place = rng.uniform(0, side, self.n_columns)
            if all(np.linalg.norm(place - other) >= self.apart for other in places):
                places.append(place)
            side *= 1.001  # there may be no room left
        return np.array(places)


def _without_structure(shape: tuple[int, int], n_groups: int, normal: bool) -> Callable[..., Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        X = rng.standard_normal(shape) if normal else rng.uniform(size=shape)
        return Drawn(X, rng.integers(0, n_groups, shape[0]), np.zeros(shape[0], int))

    return draw


CASES: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "2, all groups have all, 600 x 4": Mixture(2, 4, 6, [120] * 5, 2).draw,
    "2, groups have one, 600 x 4": Mixture(2, 4, 6, [60] * 10, 1).draw,
    "5, groups have two, 1000 x 8": Mixture(5, 8, 7, [50] * 20, 2).draw,
    "8, groups of 5 to 300 rows, 825 x 3": Mixture(
        8, 3, 7, [5, 8, 12, 20, 30, 50, 80, 120, 200, 300], 3
    ).draw,
    "7, 300 groups of five, 1500 x 3": Mixture(7, 3, 7, [5] * 300, 2).draw,
    "12, two groups, 600 x 6": Mixture(12, 6, 7, [300, 300], 8).draw,
    "20, groups have six, 900 x 2": Mixture(20, 2, 7, [30] * 30, 6).draw,
    "30, all groups have all, 1500 x 5": Mixture(30, 5, 8, [150] * 10, 30).draw,
    "50, groups have five, 2500 x 10": Mixture(50, 10, 9, [50] * 50, 5).draw,
    "overlapping: 4, groups have one, 600 x 2": Mixture(4, 2, 2.5, [15] * 40, 1).draw,
    "overlapping: 6, groups have two, 1500 x 3": Mixture(6, 3, 2.2, [30] * 50, 2).draw,
    "overlapping: 25, groups have three, 2400 x 2": Mixture(25, 2, 2.5, [40] * 60, 3).draw,
    "a square, 10 groups, 1000 x 2": _without_structure((1000, 2), 10, normal=False),
    "a Gaussian, 20 groups, 800 x 5": _without_structure((800, 5), 20, normal=True),
    "a cube, 4 groups, 600 x 10": _without_structure((600, 10), 4, normal=False),
    "shifted by 0.7: 3, 720 x 3": Mixture(3, 3, 10, [60] * 12, 3, shift=0.7).draw,
}


def run(options: Options) -> Section:
    """Fit every kind of data."""
    section = Section("Automatic penalties of groups", COLUMNS, NOTES)
    for name, draw in list(CASES.items())[: 2 if options.quick else None]:
        progress(f"choosing-groups, {name}")
        cells = []
        for seed in range(1 if options.quick else DRAWS):
            cells.append(_measure(draw(np.random.default_rng(100 + seed))))
        k, found, nmi, flat, flat_nmi, seconds = zip(*cells, strict=True)
        right = sum(map(int.__eq__, k, found))
        section.add(
            name, _shown(k), f"{right} of {len(k)}", _shown(found), f"{mean(nmi):.2f}",
            _shown(flat), f"{mean(flat_nmi):.2f}", f"{mean(seconds):.1f} s",
        )  # fmt: skip
    return section


def _measure(drawn: Drawn) -> tuple[int, int, float, int, float, float]:
    X, groups, y = drawn
    with warnings.catch_warnings():  # that there is one cluster is part of the answer
        warnings.simplefilter("ignore")
        HDPMeans(random_state=0).fit(X, groups=groups)  # whatever must be compiled is
        begin = time.process_time()
        model = HDPMeans(random_state=0).fit(X, groups=groups)
        elapsed = time.process_time() - begin
        flat = DPMeans(random_state=0).fit(X)
    nmi, flat_nmi = (normalized_mutual_info_score(y, m.labels_) for m in (model, flat))
    return len(np.unique(y)), model.n_clusters_, nmi, flat.n_clusters_, flat_nmi, elapsed


def _shown(numbers: Sequence[int]) -> str:
    return " ".join(str(n) for n in numbers)
