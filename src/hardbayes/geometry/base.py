"""What a divergence is: a convex function of rows, and its slope."""

from abc import ABC
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardbayes.matrices import Floats, Matrix, chunks, row_lengths, row_sums


class Geometry(ABC):
    """A Bregman divergence.

    ``D(x, c) = phi(x) - phi(c) - <phi'(c), x - c>``

    with a convex ``phi``. It is affine in the row once ``phi(x)`` is set aside, and the mean
    minimises the sum of divergences to a centre: that is all the engine needs.

    Where phi is a sum over columns, a subclass gives `generator` (phi) and `gradient` (phi') of
    single entries, elementwise. Any other subclass gives `potential`, `affine` and `divergence` of
    whole rows, and `sparse_potential` if it takes sparse rows.
    """

    #: phi of each entry of an array. ``phi(0)`` must be 0 for sparse rows to stay sparse.
    generator: Callable[[Floats], Floats]
    #: phi' of each entry, finite for every centre that can occur.
    gradient: Callable[[Floats], Floats]

    #: Costs are squared Euclidean distances: bounds between sweeps are on distances, not on costs.
    squared_distance: bool = False
    #: Costs stay the same when rows and centres are shifted alike.
    translation_invariant: bool = False
    #: Costs grow as this power of the rows' scale; None where they follow no power.
    degree: int | None = None
    #: What every row is divided by before anything else: its "sum", its "length", or None.
    row_unit: str | None = None
    #: Rows weigh what they were divided by, times their weights.
    length_as_weight: bool = False
    #: Entries are at least zero; a column of zeros then says nothing about any cluster.
    nonnegative: bool = False
    #: Entries lie between zero and one.
    unit_interval: bool = False
    #: Costs from here on stand for infinity.
    infinite_cost: float = np.inf
    #: Number of columns it is made for; None where it takes any.
    n_columns: int | None = None
    #: What entries must be, in words; None where every finite number will do.
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

    # -- the data ---------------------------------------------------------------------------------

    def statistic(self, matrix: Matrix) -> Matrix:
        """Return what stands for the rows: their sufficient statistics."""
        return matrix

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return where entries lie outside the domain."""
        return np.zeros(values.shape, bool)

    def at_border(self, values: Floats) -> NDArray[np.bool_]:
        """Return where entries lie where a cluster of them alone would be infinitely dear."""
        return values == 0

    def inside(self, means: Floats) -> Floats:
        """Return means that rounding has carried out of the domain, back at its border."""
        return np.maximum(means, 0.0) if self.nonnegative else means

    def row_sizes(self, matrix: Matrix) -> NDArray[np.float64]:
        """Return what each row (n,) is divided by."""
        return row_sums(matrix) if self.row_unit == "sum" else row_lengths(matrix)

    @property
    def takes_zeros(self) -> bool:
        """Whether zeros are in the domain, so that rows may be sparse."""
        return not self.outside(np.zeros(1))[0]

    def default_prior_weight(self, has_border: bool) -> float:
        """Pseudo-rows that each cluster carries under ``prior_weight="auto"``.

        ``has_border``: whether any entry is where `at_border` says.
        """
        return 0.0

    def shown(self, centres: Floats) -> Floats:
        """Return centres (k, d) as users see them."""
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
        """Return what each column adds to ``D(x, c)``, where phi is a sum over columns."""
        return self.generator(x) - self.generator(c) - self.gradient(c) * (x - c)

    def between(self, centres: Floats, others: Floats) -> Floats:
        """Return ``D(c, c')`` for all pairs of centres (k, l), quickly rather than exactly."""
        theta, offset = self.affine(others)
        products = np.einsum("id,jd->ij", centres, theta)  # not BLAS: the same bits anywhere
        return self.potential(centres)[:, np.newaxis] + offset - products

    # -- sparse rows ------------------------------------------------------------------------------

    def sparse_potential(self, rows: csr_array) -> NDArray[np.float64]:
        """Return ``phi(x)`` of each sparse row (n,)."""
        return _sums_by_row(rows, self.generator(rows.data))

    def opening_costs(
        self, rows: csr_array, weights: Floats, prior_weight: float, prior_mean: Floats
    ) -> NDArray[np.float64]:
        """Return ``w D(x, mu) + eta D(m, mu)`` of each sparse row (n,) at a centre of its own.

        ``mu = (w x + eta m) / (w + eta)`` is ``eta m / (w + eta)`` wherever the row has no entry:
        one sum over all columns serves all rows of a weight, and is put right where they have.
        """
        kinds, kind = np.unique(weights, return_inverse=True)
        nothing = self.empty_opening_costs(kinds, prior_weight, prior_mean)[kind]
        weight = np.repeat(weights, np.diff(rows.indptr))
        mean = prior_mean[rows.indices]
        own = self._opening_terms(rows.data, mean, weight, prior_weight)
        covered = _sums_by_row(rows, self._opening_terms(np.zeros(1), mean, weight, prior_weight))
        costs = _sums_by_row(rows, own) + np.maximum(nothing - covered, 0.0)
        # Where the entries cover nearly all, that difference would cancel.
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
        """Return the same of rows of zeros with these weights (n,)."""
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
    """Return sums (n,) of values that stand in place of a matrix's entries."""
    n = rows.shape[0]
    owner = np.repeat(np.arange(n), np.diff(rows.indptr))
    return np.asarray(np.bincount(owner, values, n), np.float64)


def t_log_t(t: Floats) -> Floats:
    """Return ``t log t`` of numbers >= 0, 0 at zero; several times as fast as SciPy's."""
    return t * np.log(np.maximum(t, np.finfo(np.float64).tiny))
