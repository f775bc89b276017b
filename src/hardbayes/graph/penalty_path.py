"""The path of penalties for graphs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csgraph
from sklearn.base import clone

from hardbayes.core.arrays import Floats
from hardbayes.core.centre_free import Ids
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.core.plateaus import CutPlateau, Plateau, plateaus
from hardbayes.core.pool import Pool, resolve_threads
from hardbayes.graph.choice.rule import STEEPEST, choose_among, lowest_penalty
from hardbayes.graph.estimator import GraphDPMeans
from hardbayes.graph.exactly import fit_at_most, lowest_of
from hardbayes.graph.fitted import fitted_attributes
from hardbayes.graph.problem import GraphProblem, make_problem
from hardbayes.graph.reading import Adjacency, check_graph
from hardbayes.graph.search import GraphSolution, best_fit

MAX_CLUSTERS = 160  # or one for every eight vertices, where none of the penalties are given
FACTOR = 1.5  # between penalties tried to find those at which a path begins and ends
MAX_TRIED = 24  # of these, patience: the last is FACTOR**24, about 17,000, times less steep


def trace_graph(
    X: Any, template: GraphDPMeans, penalties: Floats | None, n_penalties: int
) -> PenaltyPath[Any]:
    """Return solutions at given penalties, or at ``n_penalties`` from few clusters to many.

    Fits begin with few clusters and each goes on from the last, beside starts of its own. At each
    penalty stands the best of all partitions found.
    """
    template = clone(template).set_params(n_clusters=None)
    clone(template).set_params(cluster_penalty=-1.0)._validate_params()
    given_graph = check_graph(X)
    links, loops, _ = given_graph
    rng = template._stream()
    with Pool(resolve_threads(template.n_jobs)) as pool:
        problem = make_problem(links, loops, template.cut == "ratio", pool)
        most = template.max_clusters or len(loops)
        how = (most, template.n_init, template.max_iter, rng)
        if penalties is None:
            penalties = _useful_penalties(problem, n_penalties, rng)
        found: list[tuple[int, float, GraphSolution]] = []  # k, cut without penalties, and where
        for penalty in penalties:
            given = [found[-1][2].labels] if found else []
            end = best_fit(problem, float(penalty), *how, given)
            k = int(end.labels.max()) + 1
            found.append((k, problem.cost_unit * end.objective - float(penalty) * k, end))
        models, labelled = [], []
        for penalty in penalties:
            k, cut, best = min(
                found, key=lambda each: (each[1] + float(penalty) * each[0], each[0])
            )
            value = (cut + float(penalty) * k) / problem.cost_unit
            end = best._replace(history=np.array([value]))
            model = clone(template).set_params(cluster_penalty=float(penalty))
            fitted = fitted_attributes(end, problem, float(penalty), most)
            fitted["vertex_names_"] = given_graph.vertex_names
            models.append(model._set_fitted(fitted))
            labelled.append((float(penalty), best.labels))
        chosen = choose_among(problem, labelled, most, rng).chosen
        runs = _plateaus(problem, found)
        partitions = {k: end.labels for k, cut, end in sorted(found, key=lambda each: -each[1])}
    exactly = ExactCuts(template, given_graph, partitions, runs)
    best_penalty = chosen.penalty if chosen else 0.0
    return PenaltyPath.of(penalties, models, runs, best_penalty, exactly)


@dataclass(frozen=True)
class ExactCuts:
    """Makes fits with exactly so many clusters."""

    template: GraphDPMeans
    graph: Adjacency
    partitions: dict[int, Ids]  # labels of linked vertices, by number of clusters
    plateaus: list[Plateau]

    def __call__(self, n_clusters: int) -> GraphDPMeans:
        """Return a fitted model.

        At a penalty so low that every division pays, a cap of k gives k clusters.
        """
        links, loops, _ = self.graph
        if n_clusters > len(loops):
            raise ValueError(
                f"There cannot be {n_clusters} clusters: the graph has {len(loops)} vertices."
            )
        template = clone(self.template).set_params(max_clusters=n_clusters)
        penalty = next((p.middle for p in self.plateaus if p.k == n_clusters), None)
        with Pool(resolve_threads(template.n_jobs)) as pool:
            problem = make_problem(links, loops, template.cut == "ratio", pool)
            lowest = lowest_of(problem)
            penalty = lowest if penalty is None else penalty
            n_linked = max(1, n_clusters - len(problem.isolated))
            more = min((k for k in self.partitions if k >= n_linked), default=0)
            start = self.partitions.get(more, np.arange(len(problem.linked)))
            end = fit_at_most(problem, n_clusters, [start], template.max_iter, template._stream())
            end = end.moved_to((penalty - lowest) / problem.cost_unit)
            fitted = fitted_attributes(end, problem, penalty, n_clusters)
        fitted["vertex_names_"] = self.graph.vertex_names
        return template.set_params(cluster_penalty=penalty)._set_fitted(fitted)


def _useful_penalties(
    problem: GraphProblem, n_penalties: int, rng: np.random.RandomState
) -> Floats:
    """Return falling penalties, from as few clusters as there are components to many."""
    fewest = csgraph.connected_components(problem.links, directed=False)[0]
    most = max(MAX_CLUSTERS, len(problem.linked) // 8)
    lowest = highest = STEEPEST * lowest_penalty(problem)
    for _ in range(MAX_TRIED):
        labels = best_fit(problem, highest, len(problem.linked), 1, 100, rng).labels
        k = int(labels.max()) + 1
        if k <= fewest:
            break
        if k > most:
            lowest = highest
        highest /= FACTOR
    return -np.geomspace(-highest, -lowest, n_penalties)


def _plateaus(
    problem: GraphProblem, found: list[tuple[int, float, GraphSolution]]
) -> list[Plateau]:
    """Return plateaus of the hull of cuts; they are shifted so that all penalties are positive."""
    n_alone = len(problem.isolated)
    shift = 2.0 * problem.cost_unit * problem.sigma(0.0)
    points = [(k, cut - shift * k) for k, cut, _ in found]
    return [
        CutPlateau(each.k + n_alone, each.low - shift, each.high - shift)
        for each in plateaus(points)
    ]
