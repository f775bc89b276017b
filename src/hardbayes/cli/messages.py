"""What the commands say after their work: what was read and found, why, and what to type next."""

import argparse
import math
import shlex
import sys
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardbayes.cli.preparation import Preparation
from hardbayes.cli.rows import Rows
from hardbayes.cli.terminal import inputs_of, rounded, shown_name
from hardbayes.core.loop import counted
from hardbayes.core.summaries import Moments, Profile, moments, profiles

MAX_COLUMNS = 3
MAX_CLUSTERS = 20
# A mean counts as high or low from this distance on, in standard deviations of all rows.
APART = 0.5


def say(*lines: str) -> None:
    """Print lines for people on the standard error stream, if it is open."""
    if sys.stderr is not None:
        for line in lines:
            print("".join(c if c.isprintable() else "?" for c in line), file=sys.stderr)


def about_rows(rows: Rows, of: str = "") -> list[str]:
    """Return the lines that tell what was read; ``of``: more about the number of rows."""
    n, d = rows.X.shape
    return [f"{rows.table.path}: {counted(n, 'row')}{of}, {counted(d, 'column')}", *rows.notes, ""]


def other_warnings(model: Any, warned: list[str]) -> list[str]:
    """Return warnings as lines, but for the one that `why_so_many` puts into other words."""
    is_told = hasattr(model, "penalty_choice_") and model.n_clusters_ == 1
    return [f"Note: {line}" for line in warned if not (is_told and line == model.status_)]


def where_files_lie(options: argparse.Namespace, what: str) -> list[str]:
    """Return the files that were written."""
    names = {"output": what, "centers": "centres", "plot": "picture", "report": "report"}
    names["save"] = "model"
    return [
        f"{word.capitalize()}: {getattr(options, name)}"
        for name, word in names.items()
        if getattr(options, name, None) is not None
    ]


def typed(options: argparse.Namespace) -> str:
    """Return the command as it was typed."""
    return f"hardbayes {shlex.join(options.typed)}"


def table_arguments(options: argparse.Namespace) -> str:
    """Return the table and what was said about its columns, for another command."""
    words = inputs_of(options)
    for name in ("columns", "exclude"):
        if getattr(options, name):
            words += [f"--{name}", *getattr(options, name)]
    for name in ("id_column", "weight_column"):
        if getattr(options, name) is not None:
            words += [f"--{name.replace('_', '-')}", getattr(options, name)]
    if options.encode:
        words.append("--encode")
    if options.missing != "refuse":
        words += ["--missing", options.missing]
    for name in ("standardize", "header"):
        if getattr(options, name) is not None:
            words.append(f"--{name}" if getattr(options, name) else f"--no-{name}")
    if options.divergence != "squared_euclidean":
        words += ["--divergence", options.divergence]
    return shlex.join(words)


def same_command(options: argparse.Namespace, model: str) -> str:
    """Return the command with files for what it found."""
    output = "" if options.output is not None else " -o labels.csv"
    return f"Next: {typed(options)}{output} --save {shlex.quote(model)}"


def predict_or_save(options: argparse.Namespace, what: str = "NEW_TABLE") -> str:
    """Return what to type next: apply the model that was saved, or save it."""
    if options.save is not None:
        return f"Next: hardbayes predict {shlex.quote(options.save)} {what}"
    return same_command(options, model_name(inputs_of(options)[0]))


def model_name(table: str) -> str:
    """Return a name for the model of a table."""
    return f"{Path(table).stem or 'table'}.model"


def why_so_many(options: argparse.Namespace, model: Any) -> list[str]:
    """Return the number of clusters found, and why."""
    k = model.n_clusters_
    head = f"Found {counted(k, 'cluster')}, at a penalty of {rounded(model.cluster_penalty_)} each."
    if options.k is not None:
        why = "as --k says" if k == options.k else "the most that were found"
        return [f"{counted(k, 'cluster')}, {why}."]
    choice = getattr(model, "penalty_choice_", None)
    if choice is None or not len(choice["n_clusters"]):
        return [head]
    if "border" in choice:  # of clusters by a kernel
        return [head, _kernel_sentence(choice, model)]
    if "width" not in choice:  # of Gaussian clusters
        return [head, _gaussian_sentence(choice, k)]
    if k == 1:
        return [head, *_none_stood_out(options, choice)]
    at = int(choice["chosen"].argmax())
    factors = f"{_factor(choice, 'width', at)} ({_factor(choice, 'reference', at)} in data without "
    reasons = []
    if choice["width"][at] > choice["reference"][at]:
        reasons.append(f"best for penalties within a factor of {factors}structure)")
    if choice["p_value"][at] <= _level():
        reasons.append(f"rows thin out between them (p = {choice['p_value'][at]:.2g})")
    return [head, f"Why {k}: {'; '.join(reasons)}."] if reasons else [head]


def _none_stood_out(options: argparse.Namespace, choice: Any) -> list[str]:
    others = [i for i, k in enumerate(choice["n_clusters"]) if k > 1]
    if not others:
        return []
    at = max(others, key=lambda i: choice["strength"][i])
    k = int(choice["n_clusters"][at])
    why = (
        "Why 1: no number of clusters stood out from data without structure. Nearest came "
        f"{k}: best for penalties within a factor of {_factor(choice, 'width', at)} "
        f"({_factor(choice, 'reference', at)} without structure), p = {choice['p_value'][at]:.2g} "
        f"where {_level():g} is needed."
    )
    return [why, f"To use {k} clusters: {typed(options)} --k {k}"]


def _gaussian_sentence(choice: Any, k: int) -> str:
    at = int(choice["chosen"].argmax())
    if k == 1:
        return "Why 1: rows do not thin out between the parts of any division."
    return (
        f"Why {k}: rows thin out between them (p = {choice['p_value'][at]:.2g}), and {k} Gaussians "
        f"describe them better than one by {choice['evidence'][at]:.4g} nats."
    )


def _kernel_sentence(choice: Any, model: Any) -> str:
    if not choice["chosen"].any():
        return "Why 1: the borders of no division are clearly cheaper than those of its halves."
    at = int(choice["chosen"].argmax())
    kind = "round clusters" if model.kernel_ == "linear" else f"the kernel {model.kernel_!r}"
    return (
        f"Why {model.n_clusters_}, by {kind}: the worst border costs "
        f"{choice['border'][at]:.2g} of what halving its cluster costs."
    )


def _factor(choice: Any, name: str, at: int) -> str:
    width = float(choice[name][at])
    return f"{math.exp(width):.3g}" if width < 700 else "any size"


def _level() -> float:
    from hardbayes.dp_means.choice.rule import LEVEL

    return LEVEL


class Profiles(NamedTuple):
    """Sizes of all clusters, and what sets the first of them apart."""

    sizes: np.ndarray  # (k,): numbers of rows
    first: list[Profile]  # in the units of the model, as are the next
    every: Moments  # of all rows
    preparation: Preparation


@np.errstate(over="ignore", invalid="ignore")  # squares of the largest numbers
def profile(X: Any, labels: np.ndarray, n_clusters: int, preparation: Preparation) -> Profiles:
    """Return sizes of clusters, and the columns whose means differ from those of all rows."""
    found = profiles(X, labels, n_clusters, n_columns=MAX_COLUMNS)
    return Profiles(
        np.bincount(labels, minlength=n_clusters),
        list(islice(found, MAX_CLUSTERS)),
        moments(X, slice(None), None),
        preparation,
    )


def profile_lines(found: Profiles, names: list[str]) -> list[str]:
    """Return a table of the clusters as lines of text."""
    lines = ["cluster     rows        what sets it apart: its mean (that of all rows)"]
    for each in found.first:
        head = f"{each.cluster:7d} {int(each.size):8,d} {100 * each.share:5.1f} %"
        lines.append(f"{head}  {apart(found, each, names)}".rstrip())
    if len(found.sizes) > len(found.first):
        lines.append(f"    ... and {len(found.sizes) - len(found.first)} smaller ones")
    return lines


def apart(found: Profiles, each: Profile, names: list[str]) -> str:
    """Return the columns whose means are far from those of all rows."""
    parts = []
    for word, sign in (("high", 1), ("low", -1)):
        shown = [
            f"{shown_name(names[j], 24)} {_shown(found, j, mean)} "
            f"({_shown(found, j, found.every.means[j])})"
            for j, mean, difference in zip(each.columns, each.means, each.differences, strict=True)
            if sign * difference >= APART
        ]
        if shown:
            parts.append(f"{word} {', '.join(shown)}")
    return "; ".join(parts) or "close to the mean of all rows"


def _shown(found: Profiles, j: int, mean: float) -> str:
    """Return a mean in the units of the table, zero where it differs from that by rounding."""
    scale, shift = found.preparation.scale, found.preparation.shift
    deviation = np.sqrt(found.every.variances[j])
    if scale is not None and shift is not None:
        mean, deviation = mean * scale[j] + shift[j], deviation * scale[j]
    return rounded(mean if abs(mean) > 1e-9 * deviation else 0.0)
