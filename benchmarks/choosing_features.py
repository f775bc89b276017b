"""Are there features? Noise and continuous factors, and planted features."""

import time
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator
from sklearn.datasets import load_digits

from benchmarks.options import Options
from benchmarks.report import NOTHING, Section
from benchmarks.timing import progress
from hardbayes import BPMeans, penalty_path
from hardbayes.datasets import make_dice, make_tabletop

NOTES = """\
`BPMeans()` as it comes. Right: at most one feature in noise, the planted number elsewhere. Found:
the numbers, with how often. Evidence: the median and the largest (of planted ones the least) of the
largest deviations of a draw, of which 3 is needed. Widest range: how often the number at the widest
range of penalties alone, without held-out rows, is right in the first two draws, and its time (a
whole fit would add a little). No other package finds the number of binary features. Constants were
chosen on the tuned kinds; the untuned ones were drawn once, at the end. s: length of a component
over the noise; p: share of the rows that have it."""

COLUMNS = ["rows", "half", "right", "found", "evidence", "widest range", "CPU s", "before, CPU s"]
Rows = np.ndarray
Kinds = Mapping[str, tuple[str, int, Callable[[Generator], Rows]]]
DRAWS = 8
SHAPES = ((300, 4), (300, 8), (100, 15), (1000, 6))


def run(options: Options) -> Section:
    """Count the draws with the right number of features."""
    section = Section("Are there features?", COLUMNS, NOTES)
    n_draws = options.draws or (1 if options.quick else DRAWS)
    BPMeans(random_state=0).fit(make_dice(40, random_state=0)[0])  # compiled
    for title, kinds in (("noise", noises()), ("planted", PLANTED)):
        sums = {"tuned": [0, 0], "untuned": [0, 0]}
        for name, (half, truth, draw) in kinds.items():
            progress(f"choosing features, {name}")
            is_one = name in ("digits",)
            n_own = 1 if is_one else n_draws
            right = _add(section, name, half, truth, draw, n_own)
            sums[half] = [sums[half][0] + right, sums[half][1] + n_own]
        for half, (right, of) in sums.items():
            section.add(f"all {title}", half, f"{right} of {of}", *[NOTHING] * 5)
    return section


def _add(
    section: Section, name: str, half: str, truth: int, draw: Callable[[Generator], Rows], n: int
) -> int:
    found, before, evidence, taken, taken_before = [], [], [], [], []
    for number in range(n):
        X = draw(np.random.default_rng([number, *name.encode()]))
        begin = time.process_time()
        model = _quiet(X)
        taken.append(time.process_time() - begin)
        found.append(model.n_components_)
        evidence.append(max(model.penalty_choice_["deviations"], default=0.0))
        if number < 2:
            begin = time.process_time()
            before.append(_widest(X))
            taken_before.append(time.process_time() - begin)

    def is_right(k: int) -> bool:
        return k <= 1 if truth == 0 else k == truth

    end = max(evidence) if truth == 0 else min(evidence)
    numbers = ", ".join(f"{k} x {found.count(k)}" for k in sorted(set(found)))
    right = sum(map(is_right, found))
    section.add(
        name, half, f"{right} of {n}", numbers, f"{np.median(evidence):.1f}, {end:.1f}",
        f"{sum(map(is_right, before))} of {len(before)}", f"{np.median(taken):.1f}",
        f"{np.median(taken_before):.1f}",
    )  # fmt: skip
    return right


def _quiet(X: Rows) -> BPMeans:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return BPMeans(random_state=0, n_jobs=1).fit(X)


def _widest(X: Rows) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = penalty_path(X, estimator=BPMeans(random_state=0, n_jobs=1), n_penalties=2)
    suggested = path.suggest()
    return next((p.k for p in path.plateaus if p.low <= suggested <= p.high), 0)


# -- noise and continuous factors ------------------------------------------------------------------


def _factors(rng: Generator, n: int, d: int, scores: Rows) -> Rows:
    mixed = scores @ rng.standard_normal((scores.shape[1], d))
    return np.asarray(2.0 * mixed + 0.5 * rng.standard_normal((n, d)))


def _elliptical(rng: Generator, n: int, d: int) -> Rows:
    mixed = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    return np.asarray(mixed / np.sqrt(rng.chisquare(3, (n, 1)) / 3))


def _constant(rng: Generator, n: int, d: int) -> Rows:
    X = rng.standard_normal((n, d))
    X[:, :2] = 3.0, 0.0
    return X


NOISES: dict[str, tuple[str, Callable[[Generator, int, int], Rows]]] = {
    "Gaussian": ("tuned", lambda r, n, d: r.standard_normal((n, d))),
    "two strong factors": (
        "tuned", lambda r, n, d: _factors(r, n, d, 2.5 * r.standard_normal((n, 2)))
    ),
    "uniform": ("tuned", lambda r, n, d: r.random((n, d))),
    "exponential": ("tuned", lambda r, n, d: r.exponential(size=(n, d))),
    "Student t5": ("tuned", lambda r, n, d: r.standard_t(5, (n, d))),
    "lognormal": ("untuned", lambda r, n, d: np.exp(0.6 * r.standard_normal((n, d)))),
    "Poisson": ("untuned", lambda r, n, d: r.poisson(3.0, (n, d)).astype(float)),
    "elliptical t3": ("untuned", _elliptical),
    "unequal scales": (
        "untuned", lambda r, n, d: r.standard_normal((n, d)) * np.exp(1.5 * r.standard_normal(d))
    ),
    "constant columns": ("untuned", _constant),
    "uniform factors": ("untuned", lambda r, n, d: _factors(r, n, d, 3.0 * r.random((n, 3)))),
    "gamma factors": ("untuned", lambda r, n, d: _factors(r, n, d, r.gamma(2.0, 1.0, (n, 3)))),
    "five factors and a mean": (
        "untuned", lambda r, n, d: 6.0 + _factors(r, n, d, 2.0 * r.standard_normal((n, 5)))
    ),
    "Laplace": ("untuned", lambda r, n, d: r.laplace(size=(n, d))),
    "sizes of bodies": (
        "untuned",
        lambda r, n, d: np.exp(0.3 * r.standard_normal((n, 1)) + 0.1 * r.standard_normal((n, d))),
    ),
    "rounded Gaussian": ("untuned", lambda r, n, d: np.round(2.0 * r.standard_normal((n, d)))),
    "spikes": ("untuned", lambda r, n, d: r.standard_normal((n, d)) ** 3),
}  # fmt: skip


def noises() -> Kinds:
    """Return all kinds of noise at sizes that change from draw to draw."""

    def sized(draw: Callable[[Generator, int, int], Rows]) -> Callable[[Generator], Rows]:
        return lambda rng: draw(rng, *SHAPES[rng.integers(len(SHAPES))])

    return {name: (half, 0, sized(draw)) for name, (half, draw) in NOISES.items()}


# -- features --------------------------------------------------------------------------------------


def planted(
    n: int, d: int, k: int, share: float, distance: float, has_base: bool = False
) -> Callable[[Generator], Rows]:
    """Return a function that draws rows with k features, and a base, and noise of deviation one."""

    def draw(rng: Generator) -> Rows:
        components = rng.standard_normal((k, d))
        components *= distance / np.linalg.norm(components, axis=1, keepdims=True)
        X = (rng.random((n, k)) < share) @ components + rng.standard_normal((n, d))
        return np.asarray(X + 5.0 * rng.standard_normal(d) * has_base)

    return draw


def _table(n: int, noise: float) -> Callable[[Generator], Rows]:
    return lambda r: make_tabletop(n, noise=noise, random_state=int(r.integers(1 << 30)))[0]


def _dice(n: int) -> Callable[[Generator], Rows]:
    return lambda r: make_dice(n, random_state=int(r.integers(1 << 30)))[0]


PLANTED: Kinds = {
    **{
        f"300 x 20, K {k}, p {p}, s {s}": ("tuned", k, planted(300, 20, k, p, s))
        for k, p, s in (
            (1, 0.2, 4), (2, 0.5, 4), (4, 0.2, 6), (4, 0.5, 4), (4, 0.5, 6), (8, 0.5, 10),
        )
    },
    "tabletop, 100": ("tuned", 5, _table(100, 0.1)),
    "dice, 100": ("tuned", 4, _dice(100)),
    **{
        f"200 x 40, base, K {k}, p {p}, s {s}": ("untuned", k + 1, planted(200, 40, k, p, s, True))
        for k, p, s in ((1, 0.3, 5), (3, 0.3, 8), (3, 0.6, 5), (6, 0.3, 8), (6, 0.6, 15))
    },
    "500 x 30, K 2, p 0.4, s 6": ("untuned", 2, planted(500, 30, 2, 0.4, 6.0)),
    "1000 x 10, base, K 3, p 0.3, s 6": ("untuned", 4, planted(1000, 10, 3, 0.3, 6.0, True)),
    "tabletop, 60, noise .2": ("untuned", 5, _table(60, 0.2)),
    "dice, 60": ("untuned", 4, _dice(60)),
    "digits": ("tuned", 3, lambda _: load_digits().data / 16.0),
}  # fmt: skip
