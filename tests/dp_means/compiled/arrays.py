"""What kernels of partitions read, made of NumPy arrays of the types that executors hand them."""

import numpy as np
from scipy.sparse import csr_array

from hardbayes.core.arrays import DirectForm, centres_without_scores
from hardbayes.core.geometry import geometry_for
from hardbayes.core.rows import kernel_rows, working_rows
from tests.dp_means.table_cases import new_table

KINDS = ("dense", "sparse")


class Rows:
    """Rows with a shift and a scale: as kernels read them, and in working coordinates."""

    def __init__(self, kind="dense", n=30, d=5, seed=0, dtype=np.float64, scales=False):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0.5, 4.0, (n, d)).astype(dtype)
        if kind == "sparse":
            X[rng.random((n, d)) < 0.4] = 0.0
            X[n // 2] = 0.0  # a row without entries
        shift = np.zeros(d) if kind == "sparse" else np.linspace(0.0, 0.25, d)
        scale = rng.choice([0.5, 1.0, 2.0], n) if scales else np.array([0.5])
        matrix = csr_array(X) if kind == "sparse" else X
        self.rows = kernel_rows(matrix, shift, scale)
        x = working_rows(self.rows, X.shape, slice(None))
        self.x = x.toarray() if kind == "sparse" else x
        self.n, self.d, self.sparse, self.dtype = n, d, kind == "sparse", np.dtype(dtype)
        self.weights = rng.choice([0.0, 0.5, 1.0, 2.0], n)
        # Of the Poisson divergence: sum x log x - x.
        self.geometry = geometry_for("poisson")
        self.constants = np.asarray(self.geometry.potential(self.x), np.float64)

    def centres(self, k=4, seed=1):
        """Points (k, d) with positive entries."""
        return np.random.default_rng(seed).uniform(0.3, 2.0, (k, self.d))

    def score_type(self, squared):
        """The type of scores that a fit has for such rows."""
        return np.dtype(np.float32) if squared and not self.sparse else self.dtype

    def direct(self, centres, squared=True):
        """Centres for the direct formula, in slots 0 to k - 1."""
        exact, offset = centres.copy(), (centres**2).sum(axis=1)
        if not squared:
            exact, offset = self.geometry.affine(centres)
        return centres_without_scores(DirectForm(exact, offset, squared), self.score_type(squared))

    def table(self, centres, squared=True, dtype=None):
        """A table of these centres, with scores."""
        name = "squared_euclidean" if squared else "poisson"
        return new_table(centres, name, dtype or self.score_type(squared), self.sparse)

    def costs(self, centres, squared=True):
        """All costs (n, k)."""
        if squared:
            return ((self.x[:, np.newaxis] - centres) ** 2).sum(axis=2)
        return self.geometry.divergence(self.x[:, np.newaxis], centres)


def constants_of(rows, squared):
    """What executors hand for the constants."""
    return np.zeros(1) if squared else rows.constants
