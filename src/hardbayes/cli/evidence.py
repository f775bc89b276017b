"""Why so many clusters: the evidence of the automatic penalty in plain words."""

import argparse
import math
from typing import Any

from hardbayes.cli.messages import typed
from hardbayes.cli.wording import counted, rounded


def why_so_many(options: argparse.Namespace, model: Any) -> list[str]:
    """Return the number of clusters found, and why."""
    k = model.n_clusters_
    head = f"Found {counted(k, 'cluster')}, at a penalty of {rounded(model.cluster_penalty_)} each."
    if options.about_k is not None:
        why = "as --about-k says" if k == options.about_k else "the most that were found"
        return [f"{counted(k, 'cluster')}, {why}."]
    choice = getattr(model, "penalty_choice_", None)
    if choice is None or not len(choice["n_clusters"]):
        return [head]
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
    return [why, f"To use {k} clusters: {typed(options)} --about-k {k}"]


def _gaussian_sentence(choice: Any, k: int) -> str:
    at = int(choice["chosen"].argmax())
    if k == 1:
        return "Why 1: rows do not thin out between the parts of any division."
    return (
        f"Why {k}: rows thin out between them (p = {choice['p_value'][at]:.2g}), and {k} Gaussians "
        f"describe them better than one by {choice['evidence'][at]:.4g} nats."
    )


def _factor(choice: Any, name: str, at: int) -> str:
    width = float(choice[name][at])
    return f"{math.exp(width):.3g}" if width < 700 else "any size"


def _level() -> float:
    from hardbayes.selection.partition.choice import LEVEL

    return LEVEL
