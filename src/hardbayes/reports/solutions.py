"""Solutions at other penalties, numbered so that colours stay, and reasons for the fitted one."""

from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from hardbayes.core.loop import counted
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.dp_means.choice.rule import LEVEL
from hardbayes.reports.pieces import short

Labels = NDArray[np.int64]

MAX_SOLUTIONS = 40
SLACK = 1e-6  # of penalties at the ends of a range, for rounding
MAX_CLUSTERS = 24  # that are shown at least; else twice as many as were found


class Solution(NamedTuple):
    """What is best between two penalties. Those of graphs, below zero, are told by their size."""

    k: int
    low: float
    high: float
    at: float  # the penalty of the fitted model, else the middle
    objective: float
    labels: Labels | None  # of the points that are drawn
    sizes: list[int]  # by these labels; clusters that are not there have none
    reference: float | None = None  # how wide the range would be without structure, as a factor

    @property
    def factor(self) -> float:
        """How many times the lower end of the penalties the upper one is."""
        return self.high / self.low if self.low > 0 else float("inf")


class Solutions(NamedTuple):
    """Solutions by rising penalty, and which of them is the fitted model."""

    steps: list[Solution]
    fitted: int
    sign: int  # -1 where penalties are below zero
    suggested: int | None  # the number of clusters that the automatic choice would take
    n_sampled: int | None  # rows that the path was traced on, if not all


def solutions_of(
    path: PenaltyPath[Any],
    model: Any,
    number: str,
    penalty: str,
    labels_of: Callable[[Any], Labels] | None,
) -> Solutions:
    """Return the solutions of a path.

    Parameters
    ----------
    path : PenaltyPath
        The path of the model's parameters.
    model : estimator
        The fitted model.
    number, penalty : str
        Its attributes for the number of clusters and for the penalty.
    labels_of : callable or None
        Returns the labels of the points that are drawn, for a model of the path.
    """
    sign = -1 if path.penalties[0] < 0 else 1
    found = getattr(model, number)
    most = max(MAX_CLUSTERS, 2 * found)
    steps = [step for step in _runs(path, sign) if step[0] <= most]
    steps = steps[-MAX_SOLUTIONS:] if sign > 0 else steps[:MAX_SOLUTIONS]  # the fewest clusters
    own = sign * float(getattr(model, penalty))
    references = _references(path)
    solutions = [
        Solution(
            k, low, high, float(np.sqrt(low) * np.sqrt(high)), float(each.objective_),
            None if labels_of is None else labels_of(each), [], references.get(k),
        )
        for k, low, high, each in steps
    ]  # fmt: skip
    mine = Solution(
        found, own, own, own, float(model.objective_),
        None if labels_of is None else labels_of(model), [], references.get(found),
    )  # fmt: skip
    solutions.sort(key=lambda each: (each.low, each.high))
    if solutions and solutions[-1].k == found:  # nothing ends it
        solutions[-1] = solutions[-1]._replace(high=max(solutions[-1].high, own))
    low, high = (1 - SLACK) * own, (1 + SLACK) * own
    for at, each in enumerate(solutions):
        if each.k == found and each.low <= high and each.high >= low:
            mine = mine._replace(low=each.low, high=each.high)
            del solutions[at]
            break
    place = sum((each.low, each.high) < (mine.low, mine.high) for each in solutions)
    solutions.insert(place, mine)
    best = sign * path.suggest()
    suggested = next((s.k for s in solutions if s.low <= best <= s.high), None)
    n_sampled = None if path.sample_indices is None else len(path.sample_indices)
    return Solutions(_numbered(solutions, place), place, sign, suggested, n_sampled)


def _runs(path: PenaltyPath[Any], sign: int) -> list[tuple[int, float, float, Any]]:
    """Return (k, lowest penalty, highest penalty, model) for each run of one k, by penalty.

    Ends are those of plateaus. Where a number has none, as at both ends of the path, a run reaches
    to the next plateaus, or halfway to the next penalty.
    """
    sizes = sign * path.penalties
    models, counts = path.models, path.n_clusters.tolist()
    if sizes[0] > sizes[-1]:  # not of graphs: the farther below zero, the more clusters
        sizes, models, counts = sizes[::-1], models[::-1], counts[::-1]
    borders = [sizes[0], *(np.sqrt(sizes[:-1]) * np.sqrt(sizes[1:])), sizes[-1]]
    exact = {p.k: sorted((sign * p.low, sign * p.high)) for p in path.plateaus}
    runs: list[list[Any]] = []
    at = 0
    for k, run in groupby(counts):
        first, at = at, at + len(list(run))
        low, high = exact.get(k, (np.inf, -np.inf))
        known = low <= borders[at] and high >= borders[first]
        ends = (max(low, sizes[0]), high) if known else (borders[first], borders[at])
        runs.append([int(k), *ends, models[(first + at) // 2], known])
    for before, after in pairwise(runs):
        if before[4] and not after[4]:
            after[1] = before[2]
        elif after[4] and not before[4]:
            before[2] = after[1]
    return [(k, float(low), float(max(low, high)), model) for k, low, high, model, _ in runs]


def _references(path: PenaltyPath) -> dict[int, float]:
    """Return how wide ranges are in data without structure, as factors, by number of clusters."""
    if path.choice is None:
        return {}
    numbers = path.choice["n_clusters"].tolist()
    widths = np.exp(path.choice["reference"]).tolist()
    return dict(zip(numbers, widths, strict=True))


def _numbered(solutions: list[Solution], fitted: int) -> list[Solution]:
    """Return the solutions with labels that agree as far as they can with those beside them.

    The fitted model keeps its numbers; from there to both ends each solution takes the numbers of
    the clusters that it shares most rows with.
    """
    numbered = list(solutions)
    if solutions[fitted].labels is not None:
        ways = (range(fitted - 1, -1, -1), range(fitted + 1, len(solutions)))
        for step, way in zip((1, -1), ways, strict=True):
            for at in way:
                own, beside = numbered[at].labels, numbered[at + step].labels
                assert own is not None and beside is not None
                numbered[at] = numbered[at]._replace(labels=aligned(own, beside))
    return [
        each if each.labels is None else each._replace(sizes=np.bincount(each.labels).tolist())
        for each in numbered
    ]


def aligned(labels: Labels, beside: Labels) -> Labels:
    """Return labels (m,) with the numbers of the clusters beside that have most rows in common."""
    own, rows = np.unique(labels, return_inverse=True)
    table = np.zeros((len(own), int(beside.max()) + 1), np.int64)
    np.add.at(table, (rows, beside), 1)
    numbers = np.full(len(own), -1)
    pairs = linear_sum_assignment(-table)
    for mine, theirs in zip(*pairs, strict=True):
        if table[mine, theirs]:
            numbers[mine] = theirs
    free = iter(sorted(set(range(2 * len(own) + table.shape[1])) - set(numbers.tolist())))
    for place in np.flatnonzero(numbers < 0):
        numbers[place] = next(free)
    return numbers[rows]


def reasons_for(model: Any, thing: str, found: Solutions | None) -> list[str]:
    """Return sentences; ``thing``: what is counted, such as "cluster"."""
    discount = getattr(model, "discount", 0.0)
    if discount:  # ranges of constant penalties would say nothing of it
        price = f"{short(model.cluster_penalty_)} / k^{discount:g}"
        return [f"The k-th cluster adds {price} to the objective; penalty and discount were given."]
    known = getattr(model, "covariances", None)
    if known is not None and model.cluster_penalty == "auto":
        return [f"Every cluster has another one of {len(known)} known covariances."]
    sentences = _penalty(model, thing)
    if found is not None:
        sentences += _range(found, thing)
    choice = getattr(model, "penalty_choice_", None)
    if choice is not None:
        is_division = getattr(model, "n_clusters_", 1) > 1
        sentences += _evidence(choice) if is_division else [model.status_]
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
    if "modularity" in choice:
        return [f"Their modularity is {short(float(choice['modularity'][at[0]]))}."]
    if "p_value" not in choice:  # of a mixed table
        gain, most = (short(float(choice[name][at[0]])) for name in ("evidence", "reference"))
        sentence = (
            f"They describe a row better than one cluster by {gain} nats, after a price for their "
            "parameters. Tables with the same columns and dependences but without clusters gain "
            f"{most} at most."
        )
        return [sentence]
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
