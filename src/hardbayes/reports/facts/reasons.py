"""Why there are so many clusters: sentences from the evidence that a model keeps."""

from typing import Any

import numpy as np

from hardbayes.reports.facts.solutions import Solutions
from hardbayes.reports.numbers import counted, short
from hardbayes.selection.partition.choice import LEVEL


def reasons_for(model: Any, thing: str, found: Solutions | None) -> list[str]:
    """Return sentences; ``thing``: what is counted, such as "cluster"."""
    sentences = _penalty(model, thing)
    if found is not None:
        sentences += _range(found, thing)
    choice = getattr(model, "penalty_choice_", None)
    if choice is not None:
        sentences += _evidence(choice) if model.n_clusters_ > 1 else [model.status_]
    return sentences


def _penalty(model: Any, thing: str) -> list[str]:
    names = ("cluster_penalty", "component_penalty", "local_penalty", "global_penalty")
    sentences = []
    for name in names:
        used = getattr(model, f"{name}_", None)
        if used is None or not hasattr(model, name):
            continue
        how = "was chosen automatically" if getattr(model, name) == "auto" else "was given"
        what = {
            "local_penalty": f"Each {thing} that a group or document uses costs it",
            "global_penalty": f"Each {thing} costs",
        }.get(name, f"Each {thing} adds")
        sentences.append(f"{what} {short(used)} to the objective; this penalty {how}.")
    return sentences


def _range(found: Solutions, thing: str) -> list[str]:
    step = found.steps[found.fitted]
    number = counted(step.k, thing)
    if step.high <= step.low:
        return [f"At this penalty, the path of solutions has another number than {number}."]
    low, high = sorted((found.sign * step.low, found.sign * step.high))
    sentence = f"{number} {'is' if step.k == 1 else 'are'} best for penalties from {short(low)} "
    if step is found.steps[-1] and found.sign > 0:
        sentence += "on"
    else:
        sentence += f"to {short(high)}"
        if 1 < step.factor < np.inf:
            sentence += f", a factor of {short(step.factor)}"
    sentences = [sentence + "."]
    if step.reference is not None and step.k > 1:
        sentences.append(
            "In data of the same shape without structure, that range is a factor of "
            f"{short(step.reference)}."
        )
    if found.suggested is not None and found.suggested != step.k:
        sentences.append(f"The automatic choice would be {counted(found.suggested, thing)}.")
    return sentences


def _evidence(choice: dict[str, Any]) -> list[str]:
    at = np.flatnonzero(choice["chosen"])
    if not len(at):
        return []
    sentences = []
    if "evidence" in choice:
        nats = float(choice["evidence"][at[0]])
        sentences.append(
            f"Rows are likelier in so many Gaussian clusters than in one, by {short(nats)} nats."
        )
    p_value = float(choice["p_value"][at[0]])
    if p_value <= LEVEL:
        told = "below 0.001" if p_value < 0.001 else f"{p_value:.2g}"
        sentences.append(
            "Rows held out of the search are fewer between the clusters than in them: the p-value "
            f"of the opposite is {told}."
        )
    return sentences
