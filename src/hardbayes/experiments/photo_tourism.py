"""KJ 6.2: how long a sweep takes over 312,320 image patches of 128 numbers.

The paper prints neither its penalty nor the number of clusters, on which the time depends: several
numbers are asked for by its farthest-first rule.
"""

import time
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_images

from hardbayes import DPMeans, penalty_for
from hardbayes.experiments.results import Asked, Claim, Result, clock
from hardbayes.plot.pictures import COLORS
from hardbayes.samplers import DPGaussianGibbs

SEED = 0  # any: times depend little on it
N_ROWS = 312_320  # descriptors of the paper
PATCH = (8, 16)  # pixels of a patch, 128 in all
SIFT = "sift_phototourism_notredame.npz"
SIFT_SOURCE = (
    "SIFT descriptors of the patches of Photo Tourism as array X (n, 128); the patches are at "
    "phototour.cs.washington.edu/patches"
)
#: Published seconds (2012).
PAPER, PAPER_GIBBS, PAPER_SWEEPS = 37.9, 29.4, 63
WISHED = (10, 50, 200)  # clusters asked for
FASTER = 50  # times the paper's rate


def patches(n_rows: int) -> Any:
    """Return grey patches of scikit-learn's two photographs, evenly spread, with mean zero."""
    parts = []
    for image in load_sample_images().images:
        grey = image.mean(axis=2, dtype=np.float32) / 255
        views = np.lib.stride_tricks.sliding_window_view(grey, PATCH)
        flat = views.reshape(-1, PATCH[0] * PATCH[1])
        chosen = np.linspace(0, len(flat) - 1, n_rows // 2).astype(int)
        parts.append(flat[chosen])
    rows = np.concatenate(parts)
    return rows - rows.mean(axis=1, keepdims=True)


def timed(fit: Any) -> tuple[Any, float]:
    """Return what a function returns, and the seconds that it took."""
    begin = time.perf_counter()
    found = fit()
    return found, time.perf_counter() - begin


def sampler_sweep(X: Any, labels: Any) -> float:
    """Return the seconds of a sweep of the sampler from labels: three sweeps less one."""

    def sweeps(n: int) -> float:
        sampler = DPGaussianGibbs(
            1.0,
            mean_variance=100.0,
            mean=0.0,
            algorithm="means",
            split_merge=False,
            start=labels,
            n_chains=1,
            n_sweeps=n,
            n_burn_in=0,
            random_state=SEED,
        )
        return timed(lambda: sampler.fit(X))[1]

    return (sweeps(3) - sweeps(1)) / 2


def run(asked: Asked) -> Result:
    """Time Algorithm 1, the default search, k-means and the sampler."""
    file = asked.file(SIFT, SIFT_SOURCE)
    n_rows = asked.either(N_ROWS, 10_000)
    what = f"{PATCH[0]} x {PATCH[1]} grey patches of scikit-learn's two photographs"
    X = patches(n_rows)
    if file is not None:
        with np.load(file, allow_pickle=False) as arrays:
            X = arrays["X"][:n_rows].astype(np.float32)
        what = f"{len(X):,} SIFT descriptors of {file.name}"
    wished = WISHED[: asked.either(len(WISHED), 2)]
    DPMeans(penalty_for(X[:1000], 5), search="paper").fit(X[:1000])  # compiles
    rows, each, ks, sweeps = [], [], [], []
    for at, k in enumerate(wished):
        asked.progress.step("Algorithm 1, number", at, len(wished))
        penalty = penalty_for(X, k)
        paper, seconds = timed(
            lambda p=penalty: DPMeans(p, search="paper", max_iter=2000, random_state=0).fit(X)
        )
        a_sweep = seconds / paper.n_iter_
        size = paper.n_clusters_
        means, mean_seconds = timed(
            lambda s=size: KMeans(s, n_init=1, init="random", max_iter=10, random_state=0).fit(X)
        )
        each.append(a_sweep)
        sweeps.append(paper.n_iter_)
        ks.append(size)
        rate = f"{len(X) * size / a_sweep / 1e6:,.0f} million rows x k a second"
        rows += [
            (f"farthest-first penalty for {k}: clusters", "not printed", f"{size}", "-", "told"),
            (
                "  seconds a sweep",
                f"{PAPER}",
                f"{clock(a_sweep)}, {rate}",
                "-",
                clock(mean_seconds / means.n_iter_),
            ),
            ("  sweeps", f"{PAPER_SWEEPS}", f"{paper.n_iter_}", "-", "-"),
        ]
        if at == 0:
            default, seconds = timed(lambda p=penalty: DPMeans(p, random_state=0).fit(X))
            lower = 1 - default.objective_ / paper.objective_
            rows.append(
                (
                    "  a whole fit",
                    "40 min",
                    clock(a_sweep * paper.n_iter_),
                    f"{clock(seconds)}, {default.n_clusters_} clusters, {lower:.0%} lower in all",
                    "-",
                )
            )
            asked.progress.step("sampler, number", at, len(wished))
            gibbs = sampler_sweep(X, paper.labels_)
            rows.append(
                ("  seconds a sweep of the sampler", f"{PAPER_GIBBS}", "-", "-", clock(gibbs))
            )
    factor = PAPER / max(each)
    claims = [
        Claim(
            f"a sweep takes seconds; here at least {FASTER} times less",
            factor >= FASTER,
            f"{factor:.0f} times with {max(ks)} clusters",
        ),
        Claim(
            "it converges in tens of sweeps",
            max(sweeps) < 100,
            f"up to {max(sweeps)} here: patches that overlap are a continuum, without gaps"
            if file is None
            else f"up to {max(sweeps)} here",
        ),
        Claim(
            "a sweep of the sampler takes about as long as one of Algorithm 1",
            0.1 < gibbs / each[0] < 10,
            f"{gibbs / each[0]:.0f} times as long: its rows are "
            "drawn one after the other, while a sweep of Algorithm 1 skips most distances",
        ),
    ]

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.plot(ks, each, "o-", color=COLORS[0], label="search='paper'")
        ax.plot(ks[0], gibbs, "s", color=COLORS[1], label="Gibbs sampler")
        ax.axhline(PAPER, color=COLORS[4], ls="--", label="the paper, whose k is not printed")
        ax.set(xlabel="clusters", ylabel="seconds a sweep", xscale="log", yscale="log")
        ax.legend(fontsize="small")

    return Result(
        head=("what", "paper", "search='paper'", "DPMeans(lambda)", "k-means, Gibbs sampler"),
        rows=rows,
        claims=claims,
        seed=SEED,
        draw=draw,
        data=f"{what}: {len(X):,} x {X.shape[1]}",
        notes="Seconds a sweep are those of a whole fit over its number of sweeps, on this "
        "machine's cores; the paper's machine is of 2012. KMeans: ten sweeps.",
        caption="Seconds a sweep over all rows, against the number of clusters.",
    )
