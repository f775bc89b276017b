"""Sweeps and refits of one tile in a single call, until no row changes.

Where all rows are one tile this is the whole alternation, off the interpreter: starts then run side
by side.
"""

from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.features.allocating import allocate
from hardbayes.kernels.features.layout import lay_out
from hardbayes.kernels.features.least_squares import refit


@kernel
def settle(
    values, shift, scale, weights, features, rule, is_refitted, membership, costs, gram, correction,
    fits, room,
):  # fmt: skip
    """Alternate for at most as many sweeps as there is room in ``fits``.

    INOUT features, of which only the components need be filled: they are refitted; membership
    (n, k). ``is_refitted``: whether the components are at least squares for it. OUT fits: the fit
    term after each sweep; costs, gram, correction: of the last. The rest is as in `allocate`.
    Returns the number of sweeps, the rows changed in the last, and whether components could be
    refitted.
    """
    for sweep in range(fits.shape[0]):
        lay_out(features, room)
        gram[:] = 0.0
        correction[:] = 0.0
        fits[sweep], changed = allocate(
            values, shift, scale, weights, features, rule, membership, costs, gram, correction, room
        )  # fmt: skip
        if changed == 0 and is_refitted:
            return sweep + 1, changed, True
        if not refit(features.components, gram, correction, room.factor):
            return sweep + 1, changed, False
        is_refitted = True
    return fits.shape[0], changed, True
