"""Two installations side by side: ``python benchmarks/versus.py OLD_PYTHON NEW_PYTHON [NAME ...]``.

Each interpreter has its own hardbayes. Both run the same fits in turns in one run, and what is
printed is the old time over the new: medians of paired ratios. One process for each installation,
except for cold starts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

SECTIONS = (
    "small",
    "whole-fits",
    "default",
    "sparse",
    "divergences",
    "threads",
    "features",
    "cold",
)


def cases(section: str) -> dict[str, Callable[[], Any]]:
    """Return the fits of a section, ready to be called again and again."""
    import warnings

    import numpy as np
    from scipy import sparse
    from sklearn.datasets import load_digits, load_iris, load_wine
    from sklearn.preprocessing import StandardScaler

    from benchmarks.cases import CASES, NOISE
    from hardbayes import BPMeans, DPMeans, KFeatures, penalty_for

    warnings.simplefilter("ignore")

    def dp(X: Any, penalty: float, **options: Any) -> Callable[[], Any]:
        options = {"search": "paper", "random_state": 0, "n_jobs": 2, **options}
        return lambda: DPMeans(penalty, **options).fit(X).n_iter_

    def default(X: Any, penalty: float, seeds: int = 4, **options: Any) -> Callable[[], Any]:
        """Fits of the default search: where it ends varies, and so does the time of one seed."""
        fits = [
            dp(X, penalty, search="split-merge", random_state=seed, **options)
            for seed in range(seeds)
        ]
        return lambda: [fit() for fit in fits]

    found: dict[str, Callable[[], Any]] = {}
    if section == "small":
        for name, load, wished in (
            ("iris", load_iris, 3), ("wine", load_wine, 3), ("digits", load_digits, 40),
        ):  # fmt: skip
            X = StandardScaler().fit_transform(load(return_X_y=True)[0])
            penalty = penalty_for(X, wished)
            found[f"{name} paper"] = dp(X, penalty)
            found[f"{name} default"] = default(X, penalty)
            model = DPMeans(penalty, random_state=0).fit(X)
            found[f"{name} predict"] = lambda model=model, X=X: model.predict(X)
    elif section in ("whole-fits", "threads"):
        for case in [*CASES[:5], *NOISE[::2]] if section == "whole-fits" else CASES[2:5]:
            X = case.rows()
            penalty = case.penalty(X)
            start = DPMeans(penalty, max_iter=1, search="paper", random_state=0).fit(X)
            for jobs in (2,) if section == "whole-fits" else (1, 2):
                name = f"{case.shape}, {jobs} threads"
                huge, centres = 1e30, start.cluster_centers_
                found[f"{name}, no births"] = dp(
                    X, huge, init=centres, n_jobs=jobs, max_iter=case.max_sweeps
                )
                if not case.noisy:
                    found[f"{name}, as called"] = dp(X, penalty, n_jobs=jobs)
    elif section == "default":
        for case in (CASES[2], CASES[4]):
            X = case.rows()[:20_000]
            found[f"{case.shape} (20,000 rows)"] = default(X, case.penalty(X))
        X = np.random.RandomState(0).lognormal(0, 1, (6000, 6))
        found["heavy tails 6,000 x 6"] = default(X, penalty_for(X, 12))
    elif section == "sparse":
        rng = np.random.RandomState(0)
        X = sparse.random(20_000, 20_000, 0.005, "csr", random_state=rng, dtype=np.float64)
        X32 = X.astype(np.float32)
        for k in (20, 100):
            init = X32[rng.choice(20_000, k, replace=False)].toarray()
            found[f"20,000 x 20,000, k {k}"] = dp(X32, 1e30, init=init, max_iter=12)
            model = DPMeans(1e30, init=init, max_iter=1, search="paper").fit(X32)
            found[f"20,000 x 20,000, k {k}, pass"] = lambda model=model: model.predict(X32)
    elif section == "divergences":
        rng = np.random.RandomState(0)
        kinds = rng.randint(12, size=6000)
        for name in ("kl", "poisson", "itakura_saito", "logistic", "cosine"):
            X = rng.poisson(rng.gamma(0.5, 6.0, (12, 32))[kinds]).astype(float) + (
                name == "itakura_saito"
            )
            X[X.sum(axis=1) == 0, 0] = 1.0
            if name == "logistic":
                X = (X > 2).astype(float)
            penalty = penalty_for(X, 12, divergence=name)
            found[f"{name} paper"] = dp(X, penalty, divergence=name)
            few = X[:1500]
            found[f"{name} default"] = default(few, penalty, divergence=name)
    elif section == "features":
        rng = np.random.RandomState(0)
        for n, d, k in ((100, 16, 4), (1000, 64, 6)):
            X = (rng.random_sample((n, k)) < 0.4) @ rng.normal(size=(k, d)) * 3.0
            X += 0.3 * rng.normal(size=(n, d))
            options: dict[str, Any] = {"n_init": 2, "random_state": 0, "n_jobs": 2}
            found[f"BPMeans {n} x {d}"] = lambda X=X, o=options: BPMeans(20.0, **o).fit(X)
            found[f"KFeatures {n} x {d}"] = lambda X=X, k=k, o=options: KFeatures(k, **o).fit(X)
    return found


COLD = {
    "paper": "DPMeans(1.0, search='paper', random_state=0).fit(iris)",
    "default": "DPMeans(1.0, random_state=0).fit(iris)",
    "automatic": "DPMeans(random_state=0).fit(iris)",
    "default, 20,000 x 32": "DPMeans(60.0, random_state=0, max_clusters=40).fit(large)",
    "gaussian": "GaussianDPMeans(3.0, covariance_prior=1.0, random_state=0).fit(iris)",
    "features": "BPMeans(5.0, n_init=2, random_state=0).fit(iris)",
}
PROGRAM = """
import warnings; warnings.simplefilter("ignore")
import numpy as np
from sklearn.datasets import load_iris, make_blobs
from hardbayes import BPMeans, DPMeans, GaussianDPMeans
iris = load_iris().data
large = make_blobs(20000, 32, centers=30, random_state=0)[0]
"""


def cold(python: str, statement: str, cache: str) -> float:
    """Return the time of a first fit in a process of its own, with this cache of kernels."""
    import os

    begin = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([python, "-c", PROGRAM + statement], check=True, env=environment)
    return time.perf_counter() - begin


class Worker:
    """One installation, in a process that runs a fit whenever it is told to."""

    def __init__(self, python: str, section: str) -> None:
        self._process = subprocess.Popen(
            [python, __file__, "--serve", section],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.names: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def run(self, name: str) -> dict[str, float]:
        """Run a fit; return its wall and CPU times."""
        assert self._process.stdin is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        answer: dict[str, float] = self._answer()
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def serve(section: str) -> None:
    """Run fits by name, each once before it is timed."""
    found = cases(section)
    print(json.dumps(list(found)), flush=True)
    warm: set[str] = set()
    for line in sys.stdin:
        name = line.strip()
        if name not in warm:
            found[name]()
            warm.add(name)
        wall, cpu = time.perf_counter(), time.process_time()
        found[name]()
        times = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps(times), flush=True)


def show(name: str, pairs: list[tuple[dict[str, float], dict[str, float]]]) -> None:
    """Print the medians of one fit."""
    ratios = {kind: median(old[kind] / new[kind] for old, new in pairs) for kind in pairs[0][0]}
    times = " -> ".join(f"{median(pair[i]['wall'] for pair in pairs):.4f}" for i in (0, 1))
    print(
        f"  {name:<44} {times} s  " + "  ".join(f"{k} {v:.3f}" for k, v in ratios.items()),
        flush=True,
    )


def compare(old: str, new: str, section: str, repeats: int) -> None:
    """Print a section."""
    print(section, flush=True)
    if section == "cold":
        for name, statement in COLD.items():
            first, later = [], []
            for _ in range(max(1, repeats // 3)):
                with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
                    times = [
                        [cold(python, statement, cache) for _ in range(2)]
                        for python, cache in ((old, a), (new, b))
                    ]
                first.append(({"wall": times[0][0]}, {"wall": times[1][0]}))
                later.append(({"wall": times[0][1]}, {"wall": times[1][1]}))
            show(f"first fit ever, {name}", first)
            show(f"first fit of a later process, {name}", later)
        return
    workers = [Worker(python, section) for python in (old, new)]
    for name in workers[0].names:
        pairs = []
        for turn in range(repeats):
            order = workers if turn % 2 else workers[::-1]
            times = {id(worker): worker.run(name) for worker in order}
            pairs.append((times[id(workers[0])], times[id(workers[1])]))
        show(name, pairs)
    for worker in workers:
        worker.close()


def main() -> None:
    """Compare, or serve."""
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("names", nargs="*", default=SECTIONS)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    for section in asked.names:
        compare(asked.old, asked.new, section, asked.repeats)


if __name__ == "__main__":
    main()
