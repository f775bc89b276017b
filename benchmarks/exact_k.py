"""Exactly k clusters: how low the fit term ends, and how soon, beside the best of ten KMeans."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_sample_image,
    load_wine,
)
from sklearn.preprocessing import StandardScaler

from benchmarks.contestants import Fit, dp_means, k_means
from benchmarks.data import mixture
from benchmarks.options import Options
from benchmarks.report import Section, Target
from benchmarks.timing import interleave, paired_ratio, progress, seconds
from hardbayes import objective

NOTES = """\
`DPMeans(n_clusters=k)` against `KMeans(k, n_init=10)` on the same rows, another seed each turn. A
cell gives how far the fit term (scikit-learn's inertia) is above that of the best of the ten, in
each turn; times are medians, the ratio is that of the ten runs to ours. Tables are those that come
with scikit-learn, as they are and standardised; pictures its two photographs, a row for each pixel
(colours, or place and colour) or for each tile of 4 x 4 pixels; mixtures overlap.

Targets: never more than 0.1 % above, in at most the time of the ten runs."""

COLUMNS = ["rows", "k", "above the ten, %", "ours", "ten KMeans", "ratio", "gap is", "time is"]
GAP = Target(reach=0.1, moonshot=0.0, lower_is_better=True, unit=" %")
TIME = Target(reach=1)
TABLES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "iris": (load_iris, (3, 12)),
    "wine": (load_wine, (3, 20)),
    "breast cancer": (load_breast_cancer, (5, 30)),
    "diabetes": (load_diabetes, (4, 16)),
    "digits": (load_digits, (10, 40)),
}
# Rows, columns, components, k.
MIXTURES = ((3_000, 2, 12, 12), (20_000, 16, 40, 26), (60_000, 8, 60, 10), (5_000, 128, 30, 50))
TURNS = 3
PIXELS = 1 << 18  # of the large pictures


class Case(NamedTuple):
    """Rows, and a number of clusters."""

    name: str
    X: NDArray[np.floating]
    k: int


def run(options: Options) -> Section:
    """Fit every case in turns with KMeans."""
    section = Section("Exactly k", COLUMNS, NOTES)
    worst, slowest = -np.inf, np.inf
    for case in cases(options.quick):
        progress(f"exactly k, {case.name}, {case.k}")
        gaps, ratio = run_case(case, 1 if options.quick else TURNS, section)
        worst, slowest = max(worst, *gaps), min(slowest, ratio)
    section.remarks.append(
        f"Over {len(section.rows)} cases the worst gap is {worst:+.3f} %, and the least ratio of "
        f"times {slowest:.2f}."
    )
    return section


def run_case(case: Case, turns: int, section: Section) -> tuple[list[float], float]:
    """Add the line of a case; return the gaps of its turns in percent, and the ratio of times."""
    X, k = case.X, case.k

    def ours(turn: int) -> Fit:
        fit = dp_means(X, "auto", search="split-merge", n_clusters=k, random_state=turn)
        if fit.clusters != k:
            raise AssertionError(f"{case.name}: {fit.clusters} clusters, not {k}")
        return fit

    def theirs(turn: int) -> Fit:
        return k_means(X, k, n_init=10, random_state=turn)

    runs = interleave({"ours": ours, "theirs": theirs}, turns)
    fits = {name: [objective(X, r.result.labels, 0.0) for r in each] for name, each in runs.items()}
    gaps = [100 * (a / b - 1) for a, b in zip(fits["ours"], fits["theirs"], strict=True)]
    ratio = paired_ratio(runs["theirs"], runs["ours"])
    section.add(
        f"{case.name} {X.shape[0]:,} x {X.shape[1]}", k, ", ".join(f"{gap:+.3f}" for gap in gaps),
        f"{seconds(runs['ours']):.3g} s", f"{seconds(runs['theirs']):.3g} s", ratio,
        GAP.cells(max(gaps))[-1], TIME.cells(ratio.median)[-1],
    )  # fmt: skip
    progress(f"  above by {section.rows[-1][2]} %, {ratio} times as fast")
    return gaps, ratio.median


def cases(quick: bool) -> Iterator[Case]:
    """Yield tables, pictures and mixtures."""
    for name, (load, numbers) in list(TABLES.items())[: 1 if quick else None]:
        X = load(return_X_y=True)[0]
        for at, k in enumerate(numbers):
            yield Case(name, X, k)
            scaled = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
            yield Case(f"{name}, standardised", scaled, numbers[-1 - at])
    if quick:
        return
    for n_rows, n_columns, components, k in MIXTURES:
        X = mixture(n_rows, n_columns, components, spread=0.5, decay=0.5, seed=k)
        yield Case("mixture", X, k)
    yield Case("colours of a temple", pixels("china.jpg", 2, ("colour",)), 16)
    yield Case("colours of a flower", pixels("flower.jpg", 2, ("colour",)), 8)
    yield Case("pixels of a temple", pixels("china.jpg", 1, ("place", "colour"))[:PIXELS], 16)
    yield Case("pixels of a flower", pixels("flower.jpg", 1, ("place", "colour"))[:PIXELS], 16)
    yield Case("tiles of a temple", tiles("china.jpg"), 32)
    yield Case("tiles of a flower", tiles("flower.jpg"), 10)


def pixels(picture: str, step: int, parts: tuple[str, ...]) -> NDArray[np.float64]:
    """Return a row for every so many pixels of a photograph."""
    colours = load_sample_image(picture)[::step, ::step].astype(float)
    height, width = colours.shape[:2]
    y, x = np.mgrid[:height, :width] * float(step)
    known = {"colour": colours, "place": np.dstack([x, y])}
    return np.concatenate([known[part].reshape(height * width, -1) for part in parts], axis=1)


def tiles(picture: str, size: int = 4) -> NDArray[np.float64]:
    """Return a row for each square of pixels."""
    colours = load_sample_image(picture).astype(float)
    height, width = (side // size for side in colours.shape[:2])
    cut = colours[: height * size, : width * size].reshape(height, size, width, size, 3)
    return np.ascontiguousarray(cut.swapaxes(1, 2).reshape(height * width, -1))
