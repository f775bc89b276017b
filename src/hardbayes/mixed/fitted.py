"""The fitted clusters of a mixed table: new rows, attributes, to and from arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from hardbayes.core import schema
from hardbayes.core.arrays import Floats
from hardbayes.core.fitted import QUANTILES, Assigned, CostAssignment, costs_at_share
from hardbayes.core.pool import Pool
from hardbayes.mixed.clusters import Clusters, Parts, Rows, costs
from hardbayes.mixed.coding import Category, Coding, Number
from hardbayes.mixed.divergence import Mixed
from hardbayes.mixed.reading import KINDS, LEFT_OUT, Column, cells_of, read_cells
from hardbayes.mixed.shapes import Shape

TEXTS = schema.Entry(list, or_none=True)
ATTRIBUTES: schema.Schema = schema.CLUSTERS | {
    "cluster_penalty_": schema.number(low=0),
    "prior_weight_": schema.number(low=0),
}
MODEL: schema.Schema = {
    "working_names": TEXTS,  # of the columns
    "working_kinds": TEXTS,
    "working_whys": TEXTS,
    "working_n_levels": schema.array("columns", dtype=np.int64, low=0),
    "working_levels": TEXTS,  # of all columns, one after the other
    "working_numbers": schema.array("p", 1 + len(Shape._fields)),
    "working_spikes": schema.array("spikes", 2),  # number and value
    "working_categories": schema.array("c", 2, dtype=np.int64, low=0),  # column, number of levels
    "working_level_names": TEXTS,  # of all categories
    "working_places": schema.array("places", dtype=np.int64, low=0),
    "working_floors": schema.array("p", low=0),
    "working_weights": schema.array("k", low=0),
    "working_means": schema.array("k", "p"),
    "working_covariances": schema.array("covariances", "p", "p"),
    "working_log_shares": schema.array("k", "levels"),
    "working_shown": schema.array("k", "p"),
    "working_spread": QUANTILES,
}
# Units of rounding, in nats, below which a row at the middle of a cluster is no outlier.
ROUNDING = 1e-9


@dataclass(frozen=True)
class FittedMixed:
    """Clusters of coded rows, and how tables are coded."""

    geometry: Mixed  # as it was given
    coding: Coding
    floors: Floats  # (p,)
    clusters: Clusters
    shown: Floats  # (k, p): means of the numbers in their own units
    penalty: float
    cost_quantiles: Floats  # of each cluster's rows, of their divergences

    def read(self, X: Any, estimator: Any) -> Floats:
        """Return new rows as numbers (n, d); raise where their columns are others."""
        names, cells = cells_of(X)
        validate_data(estimator, X, reset=False, skip_check_array=True)
        if len(names) != len(self.coding.columns):
            raise ValueError(
                f"X has {len(names)} columns, but the model was fitted to "
                f"{len(self.coding.columns)}. Pass the same columns."
            )
        return read_cells(cells, self.coding.columns)

    def rows(self, matrix: Floats, weights: Floats | None = None) -> Rows:
        """Return rows (n, d) coded."""
        numbers, levels = self.coding.code(matrix)
        weights = np.ones(len(matrix)) if weights is None else weights
        return Rows(numbers, levels, weights, self.floors, self.coding.sizes)

    def assign(self, matrix: Floats, pool: Pool) -> MixedAssignment:
        """Return the rows of a matrix, for prediction."""
        return MixedAssignment(self, matrix)

    def parts(self, matrix: Floats) -> Parts:
        """Return what rows (n, d) cost in each cluster."""
        return costs(self.rows(matrix), self.clusters)

    def reordered(self, order: NDArray[np.intp]) -> FittedMixed:
        """Return the model with its clusters in another order (k,)."""
        own = self.clusters
        covariances = own.covariances
        if len(covariances) == own.k:
            covariances = covariances[order]
        clusters = Clusters(
            own.weights[order], own.means[order], covariances, own.log_shares[order]
        )
        return replace(
            self, clusters=clusters, shown=self.shown[order],
            cost_quantiles=self.cost_quantiles[order],
        )  # fmt: skip

    def shown_centres(self) -> Floats:
        """Return means of numbers in their own units, and shares of levels (k, p + levels)."""
        return np.hstack([self.shown, np.exp(self.clusters.log_shares)])

    @property
    def centre_names(self) -> list[str]:
        """What the columns of the centres are."""
        names = [self.coding.columns[each.column].name for each in self.coding.numbers]
        for each in self.coding.categories:
            column = self.coding.columns[each.column].name
            names += [f"{column}={level}" for level in each.names]
        return names

    @property
    def column_kinds(self) -> dict[str, str]:
        """What each column of the table was taken for."""
        return {
            column.name: f"{LEFT_OUT}: {column.why}" if column.kind == LEFT_OUT else column.kind
            for column in self.coding.columns
        }

    def to_arrays(self) -> dict[str, Any]:
        """Return everything but the divergence as arrays, numbers and texts."""
        columns, numbers, categories = self.coding
        spikes = [(at, spike) for at, each in enumerate(numbers) for spike in each.spikes]
        return {
            "working_names": [column.name for column in columns],
            "working_kinds": [column.kind for column in columns],
            "working_whys": [column.why for column in columns],
            "working_n_levels": np.array([len(column.levels) for column in columns], np.int64),
            "working_levels": [level for column in columns for level in column.levels] or None,
            "working_numbers": np.array(
                [(each.column, *each.shape) for each in numbers], np.float64
            ).reshape(-1, 1 + len(Shape._fields)),
            "working_spikes": np.array(spikes, np.float64).reshape(-1, 2),
            "working_categories": np.array(
                [(each.column, len(each.names)) for each in categories], np.int64
            ).reshape(-1, 2),
            "working_level_names": [name for each in categories for name in each.names] or None,
            "working_places": np.array(
                [place for each in categories for place in each.places], np.int64
            ),
            "working_floors": self.floors,
            "working_weights": self.clusters.weights,
            "working_means": self.clusters.means,
            "working_covariances": self.clusters.covariances,
            "working_log_shares": self.clusters.log_shares,
            "working_shown": self.shown,
            "working_spread": self.cost_quantiles,
        }

    @classmethod
    def from_arrays(cls, geometry: Mixed, penalty: float, state: dict[str, Any]) -> FittedMixed:
        """Return what `to_arrays` was called on; raise ValueError where that cannot be."""
        clusters = Clusters(
            *(
                state[f"working_{name}"]
                for name in ("weights", "means", "covariances", "log_shares")
            )
        )
        coding = _coding_from(state)
        fits = (
            len(clusters.covariances) in (1, clusters.k)
            and clusters.log_shares.shape[1] == coding.sizes.sum()
            and (clusters.weights > 0).all()
        )
        if not fits:
            raise schema.contradiction("its clusters do not fit its columns")
        return cls(
            geometry, coding, state["working_floors"], clusters, state["working_shown"], penalty,
            state["working_spread"],
        )  # fmt: skip


def _coding_from(state: dict[str, Any]) -> Coding:
    """Return the coding in a state; raise ValueError where its parts contradict each other."""
    named = [state[f"working_{part}"] or [] for part in ("names", "kinds", "whys")]
    counts = state["working_n_levels"]
    levels = _divided(state["working_levels"] or [], counts)
    n_columns = len(counts)
    if {len(each) for each in named} != {n_columns}:
        raise schema.contradiction("its columns do not add up")
    columns = tuple(
        Column(name, kind, tuple(own), why)
        for name, kind, why, own in zip(*named, levels, strict=True)
    )
    if not {column.kind for column in columns} <= {*KINDS, LEFT_OUT}:
        raise schema.contradiction("it has columns of an unknown kind")
    given = state["working_spikes"]
    numbers = tuple(
        Number(int(row[0]), Shape(*row[1:].tolist()), tuple(given[given[:, 0] == at, 1].tolist()))
        for at, row in enumerate(state["working_numbers"])
    )
    of_column = {each.column: each.spikes for each in numbers}
    owners, sizes = state["working_categories"].T
    if any(not 0 <= at < n_columns for at in (*owners.tolist(), *of_column)):
        raise schema.contradiction("it codes columns that it does not have")
    spikes = [() if columns[at].is_category else of_column.get(at, ()) for at in owners.tolist()]
    lengths = [0 if own else counts[at] for own, at in zip(spikes, owners, strict=True)]
    names = _divided(state["working_level_names"] or [], sizes)
    places = _divided(state["working_places"].tolist(), lengths)
    categories = tuple(
        Category(int(at), tuple(own), tuple(place), tuple(spike))
        for at, own, place, spike in zip(owners, names, places, spikes, strict=True)
    )
    if any(max(each.places, default=0) >= len(each.names) for each in categories):
        raise schema.contradiction("its levels do not add up")
    return Coding(columns, numbers, categories)


def _divided(flat: list[Any], counts: Any) -> list[list[Any]]:
    """Return a list as pieces of these lengths."""
    ends = np.cumsum(counts).astype(int).tolist()
    if (ends or [0])[-1] != len(flat):
        raise schema.contradiction("its levels do not add up")
    return [flat[end - int(count) : end] for end, count in zip(ends, counts, strict=True)]


@dataclass(frozen=True)
class MixedAssignment(CostAssignment):
    """Rows assigned to fitted clusters."""

    model: FittedMixed
    matrix: Floats

    @cached_property
    def parts(self) -> Parts:
        """What the rows cost in each cluster."""
        return self.model.parts(self.matrix)

    @cached_property
    def assigned(self) -> Assigned:
        """The cheapest clusters of the rows."""
        table = self.parts.whole
        labels = table.argmin(axis=1).astype(np.int32)
        return Assigned(labels, table[np.arange(len(table)), labels], 0.0)

    def distances(self) -> Floats:
        """Return each row's divergence (n, k) from every cluster."""
        return self.parts.divergences

    def novel(self) -> NDArray[np.bool_]:
        """Return which rows cost more than a cluster of their own, which has one row of all."""
        shared = self.parts.halves.min(axis=1)
        alone = np.log(self.model.clusters.weights.sum() + 1.0)
        return self.costs() > self.model.penalty + shared + alone

    def outliers(self, share: float) -> NDArray[np.bool_]:
        """Return which rows diverge more than all but this share of their cluster's rows."""
        labels = self.labels()
        limits = costs_at_share(self.model.cost_quantiles, share)[labels]
        own = self.distances()[np.arange(len(labels)), labels]
        return own > np.maximum(limits, ROUNDING)
