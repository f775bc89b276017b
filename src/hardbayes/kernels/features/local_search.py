"""Sweeps and refits of one tile in a single call, until no row changes.

Where all rows are one tile, starts run side by side: the interpreter would serialise them.
"""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.features.allocating import allocate
from hardbayes.kernels.features.layout import lay_out
from hardbayes.kernels.features.least_squares import refit


@kernel
def local_search(
    values, shift, scale, weights, features, rule, is_refitted, membership, costs, gram, correction,
    fits, workspace,
):  # fmt: skip
    """Alternate for at most as many sweeps as ``fits`` has entries.

    IN ``is_refitted``: whether components are at least squares; INOUT features.components,
    membership (n, k); OUT fits (max_sweeps,): the fit term after each sweep; costs, gram,
    correction: of the last; the rest of features. Otherwise as in `allocate`. Returns the number of
    sweeps, the rows changed in the last, and False if it ended at a singular gram.
    """
    for sweep in range(fits.shape[0]):
        lay_out(features, workspace)
        gram[:] = 0.0
        correction[:] = 0.0
        fits[sweep], changed = allocate(
            values, shift, scale, weights, features, rule, membership, costs, gram, correction,
            workspace,
        )  # fmt: skip
        if changed == 0 and is_refitted:
            return sweep + 1, changed, True
        if not refit(features.components, gram, correction, workspace.factor):
            return sweep + 1, changed, False
        is_refitted = True
    return fits.shape[0], changed, True
