"""Images that are sums of overlapping parts: dice, and objects on a table."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hardbayes.datasets._checks import check_above, check_counts

DICE_SHAPE = (14, 14)
TABLE_SHAPE = (24, 32)

# Positions of the pips on the 5 x 5 face of a die, for the numbers two to five.
_PIPS = (
    ((1, 1), (3, 3)),
    ((1, 1), (2, 2), (3, 3)),
    ((1, 1), (1, 3), (3, 1), (3, 3)),
    ((1, 1), (1, 3), (2, 2), (3, 1), (3, 3)),
)


def make_dice(
    n_samples: int = 100, *, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Draw pictures of four dice, each of them present or absent.

    Black pixels are ones: a die is its frame and its pips, and a picture is the sum of the dice in
    it. So four features explain every picture exactly, without a common base. In the style of the
    simulated data of Broderick, Kulis and Jordan [1]_.

    Parameters
    ----------
    n_samples : int, default=100
        Number of pictures.
    random_state : int, RandomState instance or None, default=None
        The seed. Pass an int for the same data at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 196)
        The pictures, 14 x 14 pixels of zeros and ones.
    membership : ndarray of shape (n_samples, 4), bool
        Which dice are present in each picture; each is in half of them, on average.

    References
    ----------
    .. [1] T. Broderick, B. Kulis and M. I. Jordan, "MAD-Bayes: MAP-based Asymptotic Derivations
       from Bayes", ICML 2013.

    Examples
    --------
    >>> from hardbayes.datasets import make_dice
    >>> X, membership = make_dice(random_state=0)
    >>> X.shape, membership.shape
    ((100, 196), (100, 4))
    """
    check_counts("make_dice", n_samples=n_samples)
    rng = check_random_state(random_state)
    membership = rng.randint(2, size=(n_samples, 4)).astype(np.bool_)
    return membership @ _dice().reshape(4, -1), membership


def make_tabletop(
    n_samples: int = 100,
    *,
    noise: float = 0.05,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Draw noisy pictures of a table with four objects, each of them present or absent.

    The table is a base that all pictures share; two objects are lighter than it and two are darker.
    In the style of the pictures of Griffiths and Ghahramani that Broderick, Kulis and Jordan [1]_
    use.

    Parameters
    ----------
    n_samples : int, default=100
        Number of pictures.
    noise : float, default=0.05
        Standard deviation of the noise of a pixel; grey levels go from 0 to 1.
    random_state : int, RandomState instance or None, default=None
        The seed. Pass an int for the same data at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 768)
        The pictures, 24 x 32 pixels.
    membership : ndarray of shape (n_samples, 5), bool
        The base, present in all pictures, and which of the four objects are present.

    References
    ----------
    .. [1] T. Broderick, B. Kulis and M. I. Jordan, "MAD-Bayes: MAP-based Asymptotic Derivations
       from Bayes", ICML 2013.

    Examples
    --------
    >>> from hardbayes.datasets import make_tabletop
    >>> X, membership = make_tabletop(random_state=0)
    >>> X.shape, membership.shape
    ((100, 768), (100, 5))
    """
    check_counts("make_tabletop", n_samples=n_samples)
    check_above("make_tabletop", 0.0, noise=noise)
    rng = check_random_state(random_state)
    membership = rng.randint(2, size=(n_samples, 5)).astype(np.bool_)
    membership[:, 0] = True
    pictures = membership @ _table().reshape(5, -1)
    return pictures + noise * rng.standard_normal(pictures.shape), membership


def _dice() -> NDArray[np.float64]:
    """Return the four dice, one in each corner of the picture (4, 14, 14)."""
    dice = np.zeros((4, *DICE_SHAPE))
    for number, pips in enumerate(_PIPS):
        top, left = 7 * (number // 2), 7 * (number % 2)
        face = dice[number, top : top + 7, left : left + 7]
        face[0, :] = face[-1, :] = face[:, 0] = face[:, -1] = 1.0
        for row, column in pips:
            face[1 + row, 1 + column] = 1.0
    return dice


def _table() -> NDArray[np.float64]:
    """Return the table and the change made by each object (5, 24, 32)."""
    row, column = np.mgrid[: TABLE_SHAPE[0], : TABLE_SHAPE[1]]
    table = 0.4 + 0.2 * row / TABLE_SHAPE[0]
    disc = 0.4 * ((row - 6) ** 2 + (column - 7) ** 2 < 20)
    ring_radius = (row - 16) ** 2 + (column - 24) ** 2
    ring = 0.4 * ((ring_radius > 9) & (ring_radius < 36))
    note = -0.35 * ((row > 14) & (row < 21) & (column > 2) & (column < 14))
    bar = -0.35 * ((row > 2) & (row < 11) & (column > 20) & (column < 26))
    return np.stack([table, disc, ring, note, bar])
