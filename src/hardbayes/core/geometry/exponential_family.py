"""Any exponential family, from its log-partition and its mean-to-natural map."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, Matrix
from hardbayes.core.geometry.base import Geometry

# Stands for an infinite natural parameter, such as the logarithm of zero, in nats.
CERTAIN = 690.0


class ExponentialFamily(Geometry):
    """``D(x, c) = sum_j phi(T_j) - phi(c_j) - theta(c_j) (T_j - c_j)`` with ``T = statistic(x)``.

    The family ``p(x | theta) = h(x) exp(<T(x), theta> - psi(theta))`` in its mean parameter c, with
    ``phi(c) = c theta(c) - psi(theta(c))``: the divergence is minus the log-likelihood, up to a
    term of the row alone (Banerjee et al. 2005; Jiang, Kulis & Jordan 2012, section 2.1). Columns
    are independent given the cluster.

    Parameters
    ----------
    log_partition : callable
        ``psi``, elementwise.
    mean_to_natural : callable
        ``theta(c)``, the inverse of psi', elementwise.
    statistic : callable or None, default=None
        ``T``, from the checked rows (n, d), dense or CSR, to statistics (n, e) of the same kind.
        Centres are means of statistics. If None, the rows themselves.
    domain : str or None, default=None
        Description of valid statistics for error messages.
    allowed : callable or None, default=None
        Whether statistics are in the domain, elementwise. If None, all are.
    prior_weight : float, default=0.0
        Pseudo-rows of each cluster under ``prior_weight="auto"`` on data with zeros.
    """

    def __init__(
        self,
        log_partition: Callable[[Floats], Floats],
        mean_to_natural: Callable[[Floats], Floats],
        statistic: Callable[[Matrix], Matrix] | None = None,
        *,
        domain: str | None = None,
        allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
        prior_weight: float = 0.0,
    ) -> None:
        self.log_partition = log_partition
        self.mean_to_natural = mean_to_natural
        self.of_rows = statistic
        self.domain = domain if allowed is None or domain else "numbers that 'allowed' accepts"
        self.allowed = allowed
        self.prior_weight = prior_weight

    def statistic(self, matrix: Matrix) -> Matrix:
        """Return the statistics of the rows."""
        return matrix if self.of_rows is None else self.of_rows(matrix)

    def generator(self, x: Floats) -> Floats:
        """Return ``x theta(x) - psi(theta(x))``."""
        theta = self.gradient(x)
        return x * theta - self.log_partition(theta)

    def gradient(self, c: Floats) -> Floats:
        """Return ``theta(c)``."""
        with np.errstate(divide="ignore"):
            theta = self.mean_to_natural(c)
        return np.where(np.isinf(theta), np.copysign(CERTAIN, theta), theta)

    def outside(self, values: Floats) -> NDArray[np.bool_]:
        """Return a mask of the entries for which ``allowed`` is false."""
        return np.zeros(values.shape, bool) if self.allowed is None else ~self.allowed(values)

    def default_prior_weight(self, has_border: bool) -> float:
        """Return the ``prior_weight`` passed in where there are zeros, else 0."""
        return self.prior_weight if has_border else 0.0
