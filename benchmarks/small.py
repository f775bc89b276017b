"""Small data, everything warm: what a notebook feels."""

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.contestants import dp_means, k_means
from benchmarks.options import Options
from benchmarks.report import TARGET_COLUMNS, Section, Target
from benchmarks.timing import interleave, paired_ratio, progress, seconds
from hardbayes import objective, penalty_for

NOTES = """\
Standardised columns, float64, `DPMeans(penalty, search="paper")` against `KMeans(k)` at our k with
its defaults, as called; the penalty is `penalty_for(X, wished)`. A cell gives time, sweeps,
clusters, objective."""

COLUMNS = ["data", "wished", "hardbayes", "scikit-learn", "ratio", *TARGET_COLUMNS]
SETS = {"iris": (load_iris, 3), "wine": (load_wine, 3), "digits": (load_digits, 40)}
TARGET = Target(reach=1, moonshot=10)


def run(options: Options) -> Section:
    """Compare on the data sets that scikit-learn carries."""
    section = Section("Small data, warm", COLUMNS, NOTES)
    for name, (load, wished) in SETS.items():
        progress(f"small data, {name}")
        X = StandardScaler().fit_transform(load(return_X_y=True)[0])
        _add(section, name, X, wished, options)
    return section


def _add(
    section: Section, name: str, X: NDArray[np.float64], wished: int, options: Options
) -> None:
    penalty = penalty_for(X, wished)
    k = dp_means(X, penalty, random_state=0).clusters
    k_means(X, k, random_state=0)
    times = interleave(
        {
            "ours": lambda _: dp_means(X, penalty, random_state=0),
            "theirs": lambda _: k_means(X, k, random_state=0),
        },
        4 * options.repeats,
    )
    cells = []
    for runs in times.values():
        fit = runs[-1].result
        value = objective(X, fit.labels, penalty)
        cells.append(
            f"{1e3 * seconds(runs):.2f} ms, {fit.sweeps} sweeps, k {fit.clusters}, {value:.5g}"
        )
    ratio = paired_ratio(times["theirs"], times["ours"])
    title = f"{name}, {X.shape[0]:,} x {X.shape[1]}"
    section.add(title, wished, *cells, ratio, *TARGET.cells(ratio.median))
