"""The refit: least-squares components from Z'WZ and Z'WR, by Cholesky's factorisation."""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel

# A column of Z is dependent if no more than this share of it is outside the span of those before.
DEPENDENT = 1e-10


@kernel
def refit(components, gram, correction, factor):
    """Move components to least squares; return False, with nothing moved, if Z'WZ is singular.

    INOUT components (k, d); IN gram (k, k) = Z'WZ; INOUT correction (k, d) = Z'WR, R being the
    residuals at the present components: the change is solved for, so that rounding is relative to
    it. OUT factor (k, k).
    """
    k, d = components.shape
    if not factorise(gram, 0.0, factor):
        return False
    for a in range(k):
        for b in range(a):
            for j in range(d):
                correction[a, j] -= factor[a, b] * correction[b, j]
        for j in range(d):
            correction[a, j] /= factor[a, a]
    for a in range(k - 1, -1, -1):
        for b in range(a + 1, k):
            for j in range(d):
                correction[a, j] -= factor[b, a] * correction[b, j]
        for j in range(d):
            correction[a, j] /= factor[a, a]
            components[a, j] += correction[a, j]
    return True


@inlined
def factorise(gram, margin, factor):
    """OUT factor (k, k): Cholesky's, of ``gram - margin diag(gram)``; False if there is none."""
    for a in range(gram.shape[0]):
        for b in range(a + 1):
            left = gram[a, b]
            for c in range(b):
                left -= factor[a, c] * factor[b, c]
            if b < a:
                factor[a, b] = left / factor[b, b]
            else:
                left -= margin * gram[a, a]
                if not left > DEPENDENT * gram[a, a]:
                    return False
                factor[a, a] = np.sqrt(left)
    return True
