"""The interface of a divergence: a convex function of rows and its gradient."""

from abc import ABC
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.core.arrays import (
    Floats,
    Formula,
    Layout,
    Matrix,
    chunks,
    is_sparse,
    row_lengths,
    row_sums,
)

EPSILON = float(np.finfo(np.float64).eps)  # twice the rounding of one operation in float64


class Geometry(ABC):
    """A Bregman divergence.

    ``D(x, c) = phi(x) - phi(c) - <phi'(c), x - c>``

    with a convex ``phi``. The cost of a row is affine in the row, up to ``phi(x)``, and the mean
    minimises the sum of divergences to a centre. The engine uses no other property.

    Where phi is a sum over columns, a subclass defines `generator` (phi) and `gradient` (phi') of
    single entries, elementwise. Any other subclass defines `potential`, `affine` and `divergence`
    of whole rows, and `sparse_potential` if it accepts sparse rows.

    Class attributes declare the domain, the units and the capabilities of a divergence. Faster code
    is chosen by these capabilities, never by the class:

    - `distance_costs`, `rotation_invariant` and `separable`, documented below;
    - `formula`: single-row moves and divisions of clusters are compiled.
    """

    #: phi of each entry of an array. Sparse rows need ``phi(0) = 0``.
    generator: Callable[[Floats], Floats]
    #: phi' of each entry, finite for every centre that can occur.
    gradient: Callable[[Floats], Floats]

    # -- capabilities -----------------------------------------------------------------------------

    #: Costs are squared Euclidean distances. The direct formula reads the centres themselves,
    #: scores may be float32, bounds between sweeps are on distances (else on costs), and single-row
    #: moves change the objective by a closed form. `SquaredEuclidean` sets it, together with the
    #: methods that depend on it; derive from that class to keep both.
    distance_costs: bool = False
    #: The potential of a cluster is one of these functions of its totals; None where it is not.
    formula: Formula | None = None
    #: Costs are unchanged when rows and centres are shifted and rotated alike: wide rows may be
    #: replaced by their coordinates along the first principal directions.
    rotation_invariant: bool = False
    #: phi is a sum over columns: `generator` and `gradient` are defined. Set for every subclass.
    separable: bool = False
    #: Fits without a prior need the overall mean: costs and their rounding are bounded there.
    needs_mean: bool = True

    # -- units and domain -------------------------------------------------------------------------

    #: Costs are unchanged when rows and centres are shifted alike.
    translation_invariant: bool = False
    #: Costs are proportional to this power of the rows' scale; None where they follow no power.
    degree: int | None = None
    #: Every row is divided by its "sum", by its "length", or by nothing (None).
    row_unit: str | None = None
    #: The weight of a row is multiplied by what the row is divided by.
    length_as_weight: bool = False
    #: Entries are at least zero. Columns of zeros are then left out of the costs.
    nonnegative: bool = False
    #: Entries lie between zero and one.
    unit_interval: bool = False
    #: The largest entry divided by the smallest must not exceed it.
    max_ratio: float = np.inf
    #: Costs of at least this value stand for infinity.
    infinite_cost: float = np.inf
    #: Required number of columns; None where any number is accepted.
    n_columns: int | None = None
    #: What to do about entries that are not valid.
    remedy: str = "Correct it, or choose another divergence."
    #: Description of valid entries for error messages; None where every finite number is valid.
    domain: str | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        whole_rows = all(
            getattr(cls, name) is not getattr(Geometry, name)
            for name in ("potential", "affine", "divergence")
        )
        if not whole_rows and not (hasattr(cls, "generator") and hasattr(cls, "gradient")):
            raise TypeError(
                f"The geometry {cls.__name__} must define 'generator' and 'gradient' of entries, "
                "or 'potential', 'affine' and 'divergence' of rows."
            )
        cls.separable = hasattr(cls, "generator")

    # -- the data ---------------------------------------------------------------------------------

    def statistic(self, matrix: Matrix) -> Matrix:
        """Return the sufficient statistics of the rows, which take their place."""
        return matrix

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return a mask of the entries outside the domain."""
        return np.zeros(values.shape, bool)

    def at_border(self, values: Floats) -> NDArray[np.bool_]:
        """Return a mask of the entries at which a cluster of one row costs other rows infinity."""
        return values == 0

    def inside(self, means: Floats) -> Floats:
        """Return means, with those that rounding moved out of the domain set to its border."""
        return np.maximum(means, 0.0) if self.nonnegative else means

    def row_sizes(self, matrix: Matrix) -> NDArray[np.float64]:
        """Return the divisor of each row (n,): its sum or its length."""
        return row_sums(matrix) if self.row_unit == "sum" else row_lengths(matrix)

    @property
    def takes_zeros(self) -> bool:
        """Whether zero is in the domain, so that rows may be sparse."""
        return not self.outside(np.zeros(1))[0]

    def default_prior_weight(self, has_border: bool) -> float:
        """Return the pseudo-rows of each cluster under ``prior_weight="auto"``.

        ``has_border``: whether `at_border` is true of any entry.
        """
        return 0.0

    def unit_vectors(self, rows: Matrix) -> Matrix | None:
        """Return vectors of length one for normalised rows, or None where there are none.

        Squared distances between the vectors of two rows are about as large as the divergence of
        the rows, up to a factor.
        """
        return None

    def shown(self, centres: Floats) -> Floats:
        """Return centres (k, d) in the form of ``cluster_centers_``."""
        return centres

    # -- costs ------------------------------------------------------------------------------------

    def potential(self, centres: Floats) -> Floats:
        """Return ``phi(c)`` of each centre (..., d)."""
        return np.sum(self.generator(centres), axis=-1)

    def affine(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return ``theta`` (k, d), ``offset`` (k,): cost = constant_i + offset - <x, theta>."""
        theta = self.gradient(centres)
        return theta, np.sum(centres * theta - self.generator(centres), axis=1)

    def divergence(self, x: Floats, c: Floats) -> Floats:
        """Return ``D(x, c)`` of rows (..., d) by the definition."""
        return np.sum(self.terms(x, c), axis=-1)

    def terms(self, x: Floats, c: Floats) -> Floats:
        """Return the terms of ``D(x, c)``, one per column, where phi is a sum over columns."""
        return self.generator(x) - self.generator(c) - self.gradient(c) * (x - c)

    def between(self, centres: Floats, others: Floats) -> Floats:
        """Return ``D(c, c')`` of all pairs of centres (k, l), fast but with cancellation."""
        theta, offset = self.affine(others)
        products = np.einsum("id,jd->ij", centres, theta)  # not BLAS: the same bits anywhere
        return self.potential(centres)[:, np.newaxis] + offset - products

    # -- direct costs and their rounding ----------------------------------------------------------

    def layout(self, sparse: bool, dtype: np.dtype) -> Layout:
        """Return how passes over rows of this dtype read centres."""
        return Layout(dtype, sparse, "affine", None)

    def exact_form(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return what the direct formula reads of centres: ``exact`` (k, d), ``offset`` (k,).

        Never the array passed in. Here these are theta and offset of `affine`.
        """
        return self.affine(centres)

    def constant_potential(self, rows: Matrix) -> Floats | None:
        """Return ``phi(x)`` of each row (n,); None where the direct formula has no constant."""
        return self.sparse_potential(rows) if is_sparse(rows) else self.potential(rows)

    def row_constants(self, blocks: Iterable[Matrix]) -> Floats:
        """Return `constant_potential` of all rows (n,) of some blocks.

        One zero (1,) where the direct formula has no constant; the blocks are then not read.
        """
        found = (self.constant_potential(rows) for rows in blocks)
        return np.concatenate([constants for constants in found if constants is not None])

    def as_distances(self, costs: Floats) -> Floats:
        """Return costs as ``transform`` reports them: distances where they are squares of one."""
        return costs

    def equality_rounding(self, n_columns: int) -> float:
        """Return a bound on the computed cost of a dense row at an equal centre; 0: none known."""
        return 0.0

    def cost_rounding(
        self, n_columns: int, constants: Floats, rows: Matrix, mean: Floats
    ) -> float | Floats:
        """Return bounds (m,) on the computed costs of rows (m, d) whose true cost is zero.

        A cost is the difference of larger numbers, ``phi(x) + offset - <x, theta>``. Their size is
        taken from ``constants`` (m,), the rows' phi(x), and from theta and offset at ``mean`` (d,).
        """
        theta, offset = self.affine(mean[np.newaxis])
        sizes = np.abs(constants) + np.abs(offset) + np.abs(rows @ theta[0])
        return (n_columns + 8) * EPSILON * sizes

    def objective_rounding(self, weight: float, constants_size: float, mean: Floats) -> float:
        """Return a bound on the rounding error of the sum of all costs.

        ``weight``: of all rows; ``constants_size``: the sum of ``weight |phi(x)|``. Where
        `needs_mean` is false, any array (d,) may stand for the mean.
        """
        theta, offset = self.affine(mean[np.newaxis])
        at_mean = float(np.abs(offset[0]) + np.abs(theta[0] * mean).sum())
        return (len(mean) + 8) * EPSILON * (constants_size + weight * at_mean)

    # Costs that are no squares of entries need no check of their range.

    def check_scale(self, n_columns: int, weight: float, largest: float) -> None:  # noqa: B027
        """Raise ValueError where costs of a data set, in the user's units, do not fit float64.

        ``weight``: of all rows; ``largest``: largest absolute entry once columns are shifted.
        """

    def check_reach(self, matrix: Matrix, scale: float, squares: str) -> None:  # noqa: B027
        """Raise ValueError where costs of new rows, multiplied by ``scale``, do not fit float64."""

    # -- sparse rows ------------------------------------------------------------------------------

    def sparse_potential(self, rows: csr_array) -> NDArray[np.float64]:
        """Return ``phi(x)`` of each sparse row (n,)."""
        return _sums_by_row(rows, self.generator(rows.data))

    def opening_costs(
        self, rows: csr_array, weights: Floats, prior_weight: float, prior_mean: Floats
    ) -> NDArray[np.float64]:
        """Return ``w D(x, mu) + eta D(m, mu)`` of each sparse row (n,) at a centre of its own.

        ``mu = (w x + eta m) / (w + eta)`` is ``eta m / (w + eta)`` in columns without an entry: one
        sum over all columns serves all rows of a weight, and is corrected in the columns of their
        entries.
        """
        kinds, kind = np.unique(weights, return_inverse=True)
        nothing = self.empty_opening_costs(kinds, prior_weight, prior_mean)[kind]
        weight = np.repeat(weights, np.diff(rows.indptr))
        mean = prior_mean[rows.indices]
        own = self._opening_terms(rows.data, mean, weight, prior_weight)
        covered = _sums_by_row(rows, self._opening_terms(np.zeros(1), mean, weight, prior_weight))
        costs = _sums_by_row(rows, own) + np.maximum(nothing - covered, 0.0)
        # Where the entries cover nearly everything, that difference would cancel.
        full = np.flatnonzero(nothing - covered < 1e-3 * covered)
        for part in chunks(len(full), rows.shape[1]):
            ids = full[part]
            dense, weight = rows[ids].toarray(), weights[ids, np.newaxis]
            terms = self._opening_terms(dense, prior_mean, weight, prior_weight)
            costs[ids] = terms.sum(axis=1)
        return costs

    def empty_opening_costs(
        self, weights: Floats, prior_weight: float, prior_mean: Floats
    ) -> NDArray[np.float64]:
        """Return the opening costs of rows of zeros with these weights (n,)."""
        return np.concatenate(
            [
                self._opening_terms(
                    np.zeros(1), prior_mean, weights[part, np.newaxis], prior_weight
                ).sum(axis=1)
                for part in chunks(len(weights), len(prior_mean))
            ]
        )

    def _opening_terms(self, x: Floats, m: Floats, w: Floats, prior_weight: float) -> Floats:
        mu = (w * x + prior_weight * m) / (w + prior_weight)
        return w * self.terms(x, mu) + prior_weight * self.terms(m, mu)


def _sums_by_row(rows: csr_array, values: Floats) -> NDArray[np.float64]:
    """Return the sums by row (n,) of values, one for each stored entry of a matrix."""
    n = rows.shape[0]
    owner = np.repeat(np.arange(n), np.diff(rows.indptr))
    return np.asarray(np.bincount(owner, values, n), np.float64)


def t_log_t(t: Floats) -> Floats:
    """Return ``t log t`` of numbers >= 0, 0 at zero; several times as fast as SciPy's xlogy."""
    return t * np.log(np.maximum(t, np.finfo(np.float64).tiny))
