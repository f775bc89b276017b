"""The dip of a distribution function (Hartigan & Hartigan 1985)."""

from hardbayes.kernels.compiling import inlined, kernel


@inlined
def convex_minorant(x, f, low, high, vertices):
    """OUT vertices (m,) int64: of the greatest convex minorant through (x_i, f_i); their number."""
    n = 0
    for i in range(low, high + 1):
        while n >= 2:
            a = vertices[n - 2]
            b = vertices[n - 1]
            if (f[b] - f[a]) * (x[i] - x[a]) < (f[i] - f[a]) * (x[b] - x[a]):
                break
            n -= 1
        vertices[n] = i
        n += 1
    return n


@inlined
def concave_majorant(x, f, low, high, vertices):
    """OUT vertices (m,) int64: of the least concave majorant through (x_i, f_i+1)."""
    n = 0
    for i in range(low, high + 1):
        while n >= 2:
            a = vertices[n - 2]
            b = vertices[n - 1]
            if (f[b + 1] - f[a + 1]) * (x[i] - x[a]) > (f[i + 1] - f[a + 1]) * (x[b] - x[a]):
                break
            n -= 1
        vertices[n] = i
        n += 1
    return n


@inlined
def line(x, f, a, b, shift, at):
    """Return the value at x[at] of the line through (x_a, f_a+shift) and (x_b, f_b+shift)."""
    value = f[a + shift]
    if b > a:
        value += (f[b + shift] - f[a + shift]) * (x[at] - x[a]) / (x[b] - x[a])
    return value


@kernel
def dip(x, f, lower, upper):
    """Return the least, over unimodal G, of the largest |F - G|, F jumping at x (m,), increasing.

    IN f (m + 1,): F before the first and after each jump. lower, upper (m,) int64: scratch.

    The modal interval shrinks. On it the convex minorant of F (through the feet of the jumps) and
    the concave majorant (through their heads) are formed. Where they are farthest apart, the
    interval is cut, and the distance of F from them outside of it counts.
    """
    low = 0
    high = x.shape[0] - 1
    best = 0.0
    while True:
        n_lower = convex_minorant(x, f, low, high, lower)
        n_upper = concave_majorant(x, f, low, high, upper)
        apart = 0.0
        new_low = low
        new_high = high
        q = 0
        for p in range(n_lower):  # vertices of the minorant below chords of the majorant
            i = lower[p]
            while q < n_upper - 2 and upper[q + 1] <= i:
                q += 1
            a = upper[q]
            b = upper[min(q + 1, n_upper - 1)]
            gap = line(x, f, a, b, 1, i) - f[i]
            if gap > apart:
                apart = gap
                new_low = i
                new_high = a if a >= i else b
        q = 0
        for p in range(n_upper):  # vertices of the majorant above chords of the minorant
            i = upper[p]
            while q < n_lower - 2 and lower[q + 1] < i:
                q += 1
            a = lower[q]
            b = lower[min(q + 1, n_lower - 1)]
            gap = f[i + 1] - line(x, f, a, b, 0, i)
            if gap > apart:
                apart = gap
                new_high = i
                new_low = b if b <= i else a
        if apart <= best:
            return best / 2.0
        for p in range(n_lower - 1):  # F above the minorant, left of the new interval
            a = lower[p]
            b = lower[p + 1]
            if b > new_low:
                break
            for i in range(a, b + 1):
                best = max(best, f[i + 1] - line(x, f, a, b, 0, i))
        for p in range(n_upper - 1):  # F below the majorant, right of it
            a = upper[p]
            b = upper[p + 1]
            if a >= new_high:
                for i in range(a, b + 1):
                    best = max(best, line(x, f, a, b, 1, i) - f[i])
        if new_low == low and new_high == high:
            return best / 2.0
        low = new_low
        high = new_high
