"""Sweeps and refits of one tile in a single call, until no row changes.

Where all rows are one tile this is the whole alternation, off the interpreter: starts then run side
by side.
"""

from hardbayes.kernels.allocating import allocate
from hardbayes.kernels.compiling import kernel
from hardbayes.kernels.features import lay_out
from hardbayes.kernels.refitting import refit


@kernel
def settle(
    rows, weights, features, rule, is_refitted, membership, costs, gram, correction, factor, fits,
    room,
):  # fmt: skip
    """Alternate for at most as many sweeps as there is room in ``fits``.

    INOUT features: refitted components, laid out anew; membership (n, k). ``is_refitted``: whether
    the components are at least squares for it. OUT fits: the fit term after each sweep; costs,
    gram, correction: of the last. Returns the number of sweeps, the rows changed in the last, and
    whether components could be refitted.
    """
    for sweep in range(fits.shape[0]):
        gram[:] = 0.0
        correction[:] = 0.0
        fits[sweep], changed = allocate(
            rows, weights, features, rule, membership, costs, gram, correction, room
        )
        if changed == 0 and is_refitted:
            return sweep + 1, changed, True
        if not refit(features.components, gram, correction, factor):
            return sweep + 1, changed, False
        is_refitted = True
        lay_out(features, room)
    return fits.shape[0], changed, True
