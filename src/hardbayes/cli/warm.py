"""``hardbayes warm``: compile what fits need, for the image of a container or of a worker.

Kernels are compiled at the first fit that needs them, and kept in a folder. Each estimator is
fitted here to small data of every type and layout that has kernels of its own, and `DPMeans` to
many rows, too.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hardbayes.cli.messages import say
from hardbayes.cli.options import DIVERGENCES
from hardbayes.core.loop import counted

MANY_ROWS = 20_000  # that are swept by threads, and sampled
FEW_ROWS = 300

Fit = Callable[[], Any]


def add_parser(commands: Any) -> None:
    """Add ``warm`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "warm",
        help="compile everything now, for an image or a worker",
        description="Compile what the estimators need, so that no later fit waits for it. Set "
        "NUMBA_CACHE_DIR to choose the folder; fits must see the same one.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit everything once; tell what was compiled, and where it is."""
    from numba.core import event

    from hardbayes.core.compiling import cache_folder

    class Count(event.Listener):
        """Counts kernels that are compiled: those in the folder already are not."""

        n = 0

        def on_start(self, compiled: Any) -> None:
            self.n += 1

        def on_end(self, compiled: Any) -> None:
            pass

    begin, total = time.perf_counter(), 0
    for name, fit in every_fit():
        count, started = Count(), time.perf_counter()
        with event.install_listener("numba:compile", count), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # small data: what a fit finds does not matter
            fit()
        total += count.n
        taken = time.perf_counter() - started
        say(f"{name}: {counted(count.n, 'kernel')} compiled, {taken:.1f} s")
    taken = time.perf_counter() - begin
    where = cache_folder()
    if where is None:
        where = "memory alone, for no folder can be written: set NUMBA_CACHE_DIR"
    say("", f"{counted(total, 'kernel')} compiled in {taken:.0f} s. They are in {where}")


def every_fit() -> Iterator[tuple[str, Fit]]:
    """Yield the name of each estimator, and a function that fits it to all that it reads apart."""
    from scipy import sparse

    from hardbayes import (
        BPMeans,
        DPMeans,
        GaussianDPMeans,
        GraphDPMeans,
        HDPMeans,
        HDPTopics,
        KernelDPMeans,
        KFeatures,
        MiniBatchDPMeans,
        SpectralDPMeans,
    )
    from hardbayes.datasets import load_karate_club, make_bars, make_shared_gaussians
    from hardbayes.samplers import DPGaussianGibbs, IBPGibbs

    rng = np.random.RandomState(0)
    means = rng.uniform(0.5, 4.0, (6, 5))
    X = means[rng.randint(6, size=FEW_ROWS)] + rng.uniform(0.0, 0.4, (FEW_ROWS, 5))
    X /= X.max() * 1.01  # shares, counts and directions alike
    many = means[rng.randint(6, size=MANY_ROWS)] + rng.normal(size=(MANY_ROWS, 5))
    with_zeros = np.where(rng.uniform(size=X.shape) < 0.3, 0.0, X)
    with_zeros[:, 0] = X[:, 0]  # no row is empty
    layouts = [
        (kind, of) for kind in (np.float64, np.float32) for of in (np.array, sparse.csr_array)
    ]
    shared, groups, _ = make_shared_gaussians(8, 15, random_state=0)

    def each(*models: Any) -> Fit:
        def fit() -> None:
            for model in models:
                for kind, of in layouts:
                    model.fit(of(with_zeros.astype(kind)))

        return fit

    def plain(*models: Any) -> Fit:
        def fit() -> None:
            for model in models:
                for kind in (np.float64, np.float32):
                    model.fit(X.astype(kind))

        return fit

    def large() -> None:
        for kind in (np.float64, np.float32):
            for search in ("split-merge", "paper"):
                DPMeans(n_clusters=8, search=search, random_state=0).fit(many.astype(kind))

    for divergence in DIVERGENCES:
        models = [DPMeans(random_state=0, divergence=divergence)]
        if divergence == "itakura_saito":  # above zero: no sparse rows
            yield f'DPMeans, "{divergence}"', plain(*models)
        else:
            yield f'DPMeans, "{divergence}"', each(*models)
    yield (
        "DPMeans, published",
        each(DPMeans(random_state=0, search="paper"), DPMeans(random_state=0, method="collapsed")),
    )
    yield "DPMeans, a told number", plain(DPMeans(n_clusters=3, random_state=0))
    yield "DPMeans, many rows", large
    yield "HDPMeans", lambda: HDPMeans(random_state=0).fit(shared, groups=groups)
    yield (
        "GaussianDPMeans",
        plain(
            GaussianDPMeans(random_state=0), GaussianDPMeans(covariance_type="diag", random_state=0)
        ),
    )
    yield (
        "KernelDPMeans, SpectralDPMeans",
        each(KernelDPMeans(random_state=0), SpectralDPMeans(random_state=0)),
    )
    yield "GraphDPMeans", lambda: GraphDPMeans(random_state=0).fit(load_karate_club()[0])
    yield (
        "BPMeans, KFeatures",
        each(BPMeans(n_init=2, random_state=0), KFeatures(3, n_init=2, random_state=0)),
    )
    yield "HDPTopics", lambda: HDPTopics(random_state=0).fit(make_bars(60, random_state=0)[0])
    yield "MiniBatchDPMeans", each(MiniBatchDPMeans(random_state=0))
    short: dict[str, Any] = {"n_chains": 1, "n_sweeps": 4, "n_burn_in": 2, "random_state": 0}
    yield "samplers", lambda: (DPGaussianGibbs(**short).fit(X), IBPGibbs(**short).fit(X))
