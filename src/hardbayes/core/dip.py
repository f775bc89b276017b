"""The dip test of the hypothesis that numbers come from a distribution with one mode.

The dip is the largest distance between the distribution function of the numbers and the nearest
unimodal one (Hartigan & Hartigan 1985). It is compared with the dips of uniform samples, the least
favourable of unimodal distributions.
"""

import math

import numpy as np

from hardbayes.core.arrays import Floats
from hardbayes.core.compiling import inlined, kernel, shared


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
def dip_of_distribution(x, f, vertices):
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


# Sample sizes and levels of the table below; between them the dip is interpolated.
SIZES = np.array([8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 2048, 4096])
# fmt: off
LEVELS = np.array(
    [0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
)
# sqrt(n) times the dip that so many uniform samples of n numbers exceed: for each size a row, for
# each level a column. From 100,000 samples of each size up to 256, 40,000 up to 1024, then 20,000.
QUANTILES = np.array(
    [
        [0.1768, 0.2089, 0.2314, 0.2612, 0.2818, 0.2990, 0.3140, 0.3279, 0.3412, 0.3558, 0.4019,
         0.4369, 0.4709, 0.4890, 0.5064, 0.5287, 0.5503],
        [0.2049, 0.2347, 0.2508, 0.2694, 0.2821, 0.2961, 0.3158, 0.3357, 0.3568, 0.3814, 0.4163,
         0.4510, 0.4911, 0.5161, 0.5369, 0.5645, 0.5844],
        [0.2125, 0.2357, 0.2472, 0.2712, 0.2911, 0.3083, 0.3249, 0.3423, 0.3618, 0.3891, 0.4284,
         0.4616, 0.5042, 0.5313, 0.5545, 0.5875, 0.6086],
        [0.2121, 0.2407, 0.2577, 0.2796, 0.2974, 0.3153, 0.3327, 0.3512, 0.3730, 0.4001, 0.4412,
         0.4769, 0.5195, 0.5473, 0.5753, 0.6072, 0.6306],
        [0.2179, 0.2442, 0.2603, 0.2841, 0.3029, 0.3202, 0.3378, 0.3572, 0.3792, 0.4064, 0.4482,
         0.4843, 0.5281, 0.5579, 0.5857, 0.6168, 0.6414],
        [0.2222, 0.2494, 0.2661, 0.2893, 0.3085, 0.3262, 0.3446, 0.3640, 0.3865, 0.4149, 0.4579,
         0.4962, 0.5426, 0.5728, 0.6018, 0.6399, 0.6636],
        [0.2249, 0.2527, 0.2700, 0.2936, 0.3129, 0.3310, 0.3491, 0.3686, 0.3913, 0.4199, 0.4636,
         0.5016, 0.5469, 0.5780, 0.6100, 0.6433, 0.6662],
        [0.2285, 0.2560, 0.2737, 0.2983, 0.3179, 0.3361, 0.3545, 0.3748, 0.3977, 0.4274, 0.4707,
         0.5095, 0.5564, 0.5879, 0.6168, 0.6553, 0.6793],
        [0.2312, 0.2589, 0.2765, 0.3008, 0.3205, 0.3388, 0.3575, 0.3779, 0.4010, 0.4304, 0.4755,
         0.5151, 0.5627, 0.5948, 0.6244, 0.6640, 0.6899],
        [0.2348, 0.2639, 0.2814, 0.3058, 0.3257, 0.3444, 0.3636, 0.3838, 0.4074, 0.4379, 0.4832,
         0.5240, 0.5723, 0.6057, 0.6345, 0.6773, 0.7030],
        [0.2378, 0.2667, 0.2850, 0.3100, 0.3295, 0.3482, 0.3674, 0.3879, 0.4121, 0.4428, 0.4891,
         0.5287, 0.5786, 0.6134, 0.6448, 0.6859, 0.7105],
        [0.2409, 0.2693, 0.2873, 0.3125, 0.3331, 0.3529, 0.3724, 0.3927, 0.4178, 0.4481, 0.4931,
         0.5358, 0.5846, 0.6215, 0.6571, 0.6996, 0.7302],
        [0.2429, 0.2718, 0.2895, 0.3151, 0.3359, 0.3550, 0.3742, 0.3950, 0.4192, 0.4504, 0.4970,
         0.5382, 0.5923, 0.6242, 0.6595, 0.7015, 0.7270],
        [0.2451, 0.2732, 0.2914, 0.3165, 0.3373, 0.3563, 0.3764, 0.3971, 0.4216, 0.4524, 0.4990,
         0.5405, 0.5916, 0.6293, 0.6595, 0.6996, 0.7263],
    ]
)
# fmt: on


def dip_p_value(values: Floats, weights: Floats) -> float:
    """Return the share of unimodal samples whose dip is larger, at most.

    Weights are many rows at one place; the sample counts as ``(sum w)^2 / sum w^2`` numbers.
    """
    total = float(weights.sum())
    return p_value(dip(values, weights), total * total / float(weights @ weights))


def dip(values: Floats, weights: Floats) -> float:
    """Return the dip of numbers (m,) with weights (m,), all > 0."""
    order = np.argsort(values, kind="stable")
    numbers = values[order]
    places = np.flatnonzero(np.r_[True, np.diff(numbers) > 0])
    m = len(places)
    if m < 2:
        return 0.0
    masses = np.add.reduceat(weights[order], places)
    shares = np.r_[0.0, np.cumsum(masses)] / masses.sum()
    return float(dip_of_distribution(numbers[places], shares, np.empty((2, m), np.int64)))


def p_value(value: float, n: float) -> float:
    """Return the share of uniform samples of n numbers whose dip is larger than ``value``.

    Beyond the table log p is a straight line in the square of the dip.
    """
    at = math.sqrt(n) * value
    logarithms = np.log(SIZES)
    place = float(np.interp(math.log(max(n, SIZES[0])), logarithms, np.arange(len(SIZES))))
    lower = min(int(place), len(SIZES) - 2)
    quantiles = QUANTILES[lower] + (place - lower) * (QUANTILES[lower + 1] - QUANTILES[lower])
    if at <= quantiles[0]:
        return 1.0
    levels = np.log(LEVELS)
    if at < quantiles[-1]:
        return float(np.exp(np.interp(at, quantiles, levels)))
    slope = (levels[-1] - levels[-4]) / (quantiles[-1] ** 2 - quantiles[-4] ** 2)
    return float(np.exp(max(levels[-1] + slope * (at**2 - quantiles[-1] ** 2), -700.0)))
