"""Streams: objective beside a fit of all rows, in any order; rows a second; memory."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.cluster import Birch, MiniBatchKMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from benchmarks.clouds import Labels, Table
from benchmarks.labelled_sets import LabelledSet, sets_of
from benchmarks.options import Options
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from hardbayes import DPMeans, MiniBatchDPMeans, objective

NOTES = """\
`MiniBatchDPMeans` takes up every row once; its objective, and that of the labels of others at the
same penalty, over that of `DPMeans` on all rows at once. Two penalties: that at which `DPMeans`
finds as many clusters as there are labels, and an eighth of it. `MiniBatchKMeans` (scikit-learn) is
told the number of clusters that `DPMeans` found; `Birch` is told half the root mean square distance
in these clusters as its threshold, and their number for its last step. Rows of River's `DBSTREAM`
and `CluStream` come one by one, so they get at most 2,000. Then rows a second of CPU time on one
thread, and what the process grew by."""
COLUMNS = ["data", "what", "clusters", "micro-clusters", "value", "MiniBatchKMeans", "Birch"]
COLUMNS += TARGET_COLUMNS
CHUNK = 1000
PIECE = 10 * CHUNK
FEWEST_ROWS = 1000
MOST_ROWS = 20_000
RIVER_ROWS = 2000
MEDIAN = Target(reach=1.03, moonshot=1.01, lower_is_better=True)
WORST = Target(reach=1.05, moonshot=1.02, lower_is_better=True)
MEMORY = Target(reach=10, lower_is_better=True, unit=" MB")
SPEED = Target(reach=200_000, moonshot=1_000_000, unit="/s")


def run(options: Options) -> Section:
    """Compare on every set and in every order; then time a long stream."""
    section = Section("Streams", COLUMNS, NOTES)
    ratios: dict[str, list[float]] = {}
    for known in _sets(options):
        for share in (1.0, 1 / 8):
            for order, ratio in _add_set(section, known, share).items():
                ratios.setdefault(order, []).append(ratio)
    for order, every in ratios.items():
        for what, value, target in (
            ("median", median(every), MEDIAN),
            ("worst", max(every), WORST),
        ):
            _add(section, f"all {len(every)}", f"{order}, {what}", value, target)
    progress("streams, River")
    _add_river(section)
    progress("streams, speed and memory")
    _add_long(section, 20_000 if options.quick else 1_000_000)
    _add_memory(section, options.rows or (20_000 if options.quick else 10_000_000,))
    return section


def _add(section: Section, data: str, what: str, value: float, target: Target) -> None:
    shown = f"{value:,.0f}" if value > 1000 else f"{value:.3f}"
    section.add(data, what, *[NOTHING] * 2, shown, *[NOTHING] * 2, *target.cells(value))


def _sets(options: Options) -> Iterator[LabelledSet]:
    """Yield the sets of the command line, or digits and clouds of points, of which one is large."""
    if options.sets:
        for known in sets_of(options.sets):
            if len(known.X) >= FEWEST_ROWS:
                rng = np.random.default_rng(0)
                some = np.sort(rng.permutation(len(known.X))[:MOST_ROWS])
                yield LabelledSet(known.name, known.X[some], [known.references[0][some]])
        return
    X, y = load_digits(return_X_y=True)
    yield LabelledSet("digits", X, [y])
    for n, d, k in ((1500, 2, 5),) if options.quick else ((10_000, 2, 15), (20_000, 16, 30)):
        rng = np.random.default_rng(d)
        member = rng.integers(0, k, n)
        X = 3 * rng.standard_normal((k, d))[member] + rng.standard_normal((n, d))
        yield LabelledSet("clouds", X, [member])


def penalty_finding(X: Table, k: int) -> float:
    """Return a penalty at which `DPMeans` finds about k clusters, by bisection."""
    low, high = 1e-7, 1.0
    total = float(((X - X.mean(axis=0)) ** 2).sum())
    for _ in range(12):
        middle = (low * high) ** 0.5
        found = _quiet(DPMeans(middle * total, max_clusters=4 * k, random_state=0), X).n_clusters_
        if found == k:
            break
        low, high = (middle, high) if found > k else (low, middle)
    return middle * total


def _add_set(section: Section, known: LabelledSet, share: float) -> dict[str, float]:
    """Add a line for each order of the rows; return the objectives over that of all rows."""
    X, y = known.X, known.references[0]
    penalty = share * penalty_finding(X, max(2, len(np.unique(y))))
    batch = DPMeans(penalty, random_state=0).fit(X)
    widest = X.var(axis=0).argmax()
    orders = {
        "shuffled": np.random.default_rng(1).permutation(len(X)),
        "by label": np.argsort(y, kind="stable"),
        "by a column": np.argsort(X[:, widest], kind="stable"),
    }
    found = {}
    for order, rows in orders.items():
        progress(f"streams, {known.name}, {order}")
        model = streamed(MiniBatchDPMeans(penalty, random_state=0), X[rows])
        found[order] = model.objective_ / batch.objective_
        k, rest = batch.n_clusters_, (penalty, batch.objective_)
        birch = Birch(threshold=0.5 * (batch.inertia_ / len(X)) ** 0.5, n_clusters=None)
        section.add(
            f"{known.name}, {len(X):,} x {X.shape[1]}", order,
            f"{model.n_clusters_} ({k})", len(model.micro_weights_), f"{found[order]:.3f}",
            _ratio(MiniBatchKMeans(k, random_state=0, n_init=3), X[rows], *rest),
            _ratio(birch, X[rows], *rest, n_clusters=k),
            *WORST.cells(found[order]),
        )  # fmt: skip
    return found


def streamed(model: Any, X: Table) -> Any:
    """Return a model after it has taken up all rows, some at a time."""
    for start in range(0, len(X), CHUNK):
        model.partial_fit(X[start : start + CHUNK])
    return model


def _ratio(peer: Any, X: Table, penalty: float, best: float, **last: Any) -> str:
    """Return the objective of a peer's labels over that of all rows.

    ``last``: parameters that are set for one call without rows, once all have been taken up.
    """
    first = max(CHUNK, getattr(peer, "n_clusters", None) or 0)
    with threadpool_limits(1):
        peer.partial_fit(X[:first])
        if first < len(X):
            streamed(peer, X[first:])
        if last:
            if len(peer.subcluster_centers_) < last["n_clusters"]:
                return "too few"
            peer.set_params(**last).partial_fit(None)
        labels = peer.predict(X)
    return f"{objective(X, labels, penalty) / best:.3f}"


def _quiet(model: Any, X: Table) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cap, which bisection meets
        return model.fit(X)


def _add_river(section: Section) -> None:
    try:
        from river.cluster import DBSTREAM, CluStream
    except ImportError:
        section.remarks.append("River is left out: pip install river")
        return
    X = load_digits(return_X_y=True)[0][:RIVER_ROWS, 10:26]
    rows = [dict(enumerate(row)) for row in X.tolist()]
    peers: dict[str, Callable[[], Any]] = {
        "DBSTREAM": lambda: DBSTREAM(clustering_threshold=15.0),
        "CluStream": lambda: CluStream(n_macro_clusters=10, max_micro_clusters=200, seed=0),
    }
    penalty = penalty_finding(X, 10)
    best = DPMeans(penalty, random_state=0).fit(X).objective_
    begin = time.process_time()
    model = streamed(MiniBatchDPMeans(penalty, random_state=0, n_jobs=1), X)
    told: dict[str, tuple[Labels, float]] = {
        "MiniBatchDPMeans": (model.predict(X), time.process_time() - begin)
    }
    for name, make in peers.items():
        peer, begin = make(), time.process_time()
        for row in rows:
            peer.learn_one(row)
        seconds = time.process_time() - begin
        told[name] = np.array([peer.predict_one(row) for row in rows]), seconds
    for name, (labels, seconds) in told.items():
        codes = np.unique(labels, return_inverse=True)[1]
        section.remarks.append(
            f"Digits, {len(X):,} x 16, {name}: {codes.max() + 1} clusters, objective "
            f"{objective(X, codes, penalty) / best:.3f}, {len(X) / seconds:,.0f} rows a second."
        )


def _add_long(section: Section, n: int) -> None:
    """Time n rows after a tenth as many, in 16 columns, with 1,000 micro-clusters."""
    X = np.concatenate(list(clouds(n, 16)))
    peers = {"MiniBatchKMeans": MiniBatchKMeans(60, random_state=0, n_init=1)}
    speeds, model = {}, long_stream()
    for name, each in {"MiniBatchDPMeans": model, **peers}.items():
        with threadpool_limits(1):
            streamed(each, X[: n // 10])
            begin = time.process_time()
            for start in range(0, n, PIECE):
                each.partial_fit(X[start : start + PIECE])
            speeds[name] = n / (time.process_time() - begin)
    section.add(
        f"clouds, {n:,} x 16", "rows a second", model.n_clusters_, len(model.micro_weights_),
        f"{speeds['MiniBatchDPMeans']:,.0f}", f"{speeds['MiniBatchKMeans']:,.0f}", NOTHING,
        *SPEED.cells(speeds["MiniBatchDPMeans"]),
    )  # fmt: skip


def _add_memory(section: Section, sizes: tuple[int, ...], columns: int = 4) -> None:
    """Tell what a stream whose rows are made as they come has grown by, each time it is read."""
    model, before, n = long_stream(), 0, 0
    for piece in clouds(max(sizes), columns):
        model.partial_fit(piece)
        n += len(piece)
        if not before:
            before = _resident()  # compiled, and as large as a piece makes it
        if n in sizes:
            progress(f"streams, memory after {n:,} rows")
            k, micro = model.n_clusters_, len(model.micro_weights_)
            grown = (_resident() - before) / 1e6
            section.add(
                f"clouds, {n:,} x {columns}", "growth of the process, MB", k, micro,
                f"{grown:.1f}", *[NOTHING] * 2, *MEMORY.cells(grown),
            )  # fmt: skip


def long_stream() -> Any:
    """Return a model for streams without end."""
    return MiniBatchDPMeans(
        0.02, penalty_per="row", max_micro_clusters=1000, random_state=0, n_jobs=1
    )


def clouds(n: int, columns: int) -> Iterator[Table]:
    """Yield n rows around sixty centres, a piece at a time."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.standard_normal((60, columns))
    for start in range(0, n, PIECE):
        m = min(PIECE, n - start)
        yield centres[rng.integers(0, 60, m)] + rng.standard_normal((m, columns))


def _resident() -> int:
    """Return the memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return 4096 * pages
