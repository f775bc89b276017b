"""The dip of a distribution function (Hartigan & Hartigan 1985)."""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel, shared


@shared
def hull(x, f, side, low, high, vertices):
    """OUT vertices[side] (m,) int64: of a hull of points low to high; return their number.

    Side 0: the greatest convex minorant through the feet (x_i, f_i) of the jumps. Side 1: the least
    concave majorant through their heads (x_i, f_i+1).
    """
    n = 0
    for i in range(low, high + 1):
        while n >= 2:
            a = vertices[side, n - 2]
            b = vertices[side, n - 1]
            rise = (f[b + side] - f[a + side]) * (x[i] - x[a])
            next_rise = (f[i + side] - f[a + side]) * (x[b] - x[a])
            if (side == 0 and rise < next_rise) or (side == 1 and rise > next_rise):
                break
            n -= 1
        vertices[side, n] = i
        n += 1
    return n


@inlined
def line(x, f, side, a, b, i):
    """Return the value at x_i of the line through the points a and b of a hull."""
    value = f[a + side]
    if b > a:
        value += (f[b + side] - f[a + side]) * (x[i] - x[a]) / (x[b] - x[a])
    return value


@kernel
def dip(x, f, vertices):
    """Return the least, over unimodal G, of the largest |F - G|, F jumping at x (m,), increasing.

    IN f (m + 1,): F before the first and after each jump. vertices (2, m) int64: scratch.

    The modal interval shrinks. On it the convex minorant of F and its concave majorant are formed.
    Where they are farthest apart, the interval is cut, and the distance of F from them outside of
    it counts.
    """
    low = np.int64(0)
    high = x.shape[0] - 1
    best = 0.0
    while True:
        n_lower = 0
        n_upper = 0
        for side in range(2):
            n_upper = hull(x, f, side, low, high, vertices)
            if side == 0:
                n_lower = n_upper
        sizes = (n_lower, n_upper)
        apart = 0.0
        new_low = low
        new_high = high
        for side in range(2):  # vertices of one hull against chords of the other
            other = 1 - side
            q = 0
            for p in range(sizes[side]):
                i = vertices[side, p]
                while q < sizes[other] - 2 and vertices[other, q + 1] + side <= i:
                    q += 1
                a = vertices[other, q]
                b = vertices[other, min(q + 1, sizes[other] - 1)]
                chord = line(x, f, other, a, b, i)
                gap = chord - f[i] if side == 0 else f[i + 1] - chord
                if gap > apart:
                    apart = gap
                    if side == 0:
                        new_low = i
                        new_high = a if a >= i else b
                    else:
                        new_high = i
                        new_low = b if b <= i else a
        if apart <= best:
            return best / 2.0
        for side in range(2):  # F and the minorant left of the new interval, the majorant right
            for p in range(sizes[side] - 1):
                a = vertices[side, p]
                b = vertices[side, p + 1]
                if (side == 0 and b <= new_low) or (side == 1 and a >= new_high):
                    for i in range(a, b + 1):
                        chord = line(x, f, side, a, b, i)
                        best = max(best, f[i + 1] - chord if side == 0 else chord - f[i])
        if new_low == low and new_high == high:
            return best / 2.0
        low = new_low
        high = new_high
