"""Graphs: a planted partition, and Zachary's karate club."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from hardbayes.datasets._checks import check_above, check_counts

# For each of the 34 members, the members of higher number that they met outside the club.
_KARATE = """
1 2 3 4 5 6 7 8 10 11 12 13 17 19 21 31; 2 3 7 13 17 19 21 30; 3 7 8 9 13 27 28 32; 7 12 13;
6 10; 6 10 16; 16; ; 30 32 33; 33; ; ; ; 33; 32 33; 32 33; ; ; 32 33; 33; 32 33; ; 32 33; 25
27 29 32 33; 25 27 31; 31; 29 33; 33; 31 33; 32 33; 32 33; 32 33; 33;
"""
_OFFICERS = (9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33)


def load_karate_club() -> tuple[sparse.csr_array, NDArray[np.int32]]:
    """Return the friendships of Zachary's karate club, and the faction of each member.

    The club split after a conflict between its instructor and its officers [1]_.

    Returns
    -------
    links : csr_array of shape (34, 34)
        One where two members met outside the club.
    factions : ndarray of shape (34,), dtype int32
        0 for those who went with the instructor (member 0), 1 for the officers (member 33).

    References
    ----------
    .. [1] W. W. Zachary, "An Information Flow Model for Conflict and Fission in Small Groups",
       Journal of Anthropological Research 33, 1977.

    Examples
    --------
    >>> from hardbayes.datasets import load_karate_club
    >>> links, factions = load_karate_club()
    >>> links.nnz // 2
    78
    """
    later = [[int(j) for j in part.split()] for part in _KARATE.split(";")]
    rows = np.repeat(np.arange(34), [len(part) for part in later])
    columns = np.concatenate([np.array(part, np.int64) for part in later])
    half = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(34, 34)).tocsr()
    factions = np.zeros(34, np.int32)
    factions[list(_OFFICERS)] = 1
    return sparse.csr_array(half + half.T), factions


def make_planted_partition(
    n_communities: int = 4,
    size: int = 32,
    *,
    degree_inside: float = 12.0,
    degree_outside: float = 4.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[sparse.csr_array, NDArray[np.int32]]:
    """Draw a random graph with communities: vertices have more links inside than outside.

    Parameters
    ----------
    n_communities : int, default=4
        Number of communities.
    size : int, default=32
        Vertices of each, at least 2.
    degree_inside : float, default=12.0
        Mean number of links of a vertex inside its community, a few less where pairs are drawn
        twice.
    degree_outside : float, default=4.0
        Mean number of links to other communities.
    random_state : int, RandomState instance or None, default=None
        The seed. Pass an int for the same data at every call.

    Returns
    -------
    links : csr_array of shape (n, n)
        One where two vertices are linked, with ``n = n_communities * size``.
    communities : ndarray of shape (n,), dtype int32
        Community of each vertex.

    Examples
    --------
    >>> from hardbayes.datasets import make_planted_partition
    >>> links, communities = make_planted_partition(random_state=0)
    >>> links.shape
    (128, 128)
    """
    name = "make_planted_partition"
    check_counts(name, n_communities=n_communities)
    check_counts(name, 2, size=size)
    check_above(name, 0.0, degree_inside=degree_inside)
    check_above(name, -1e-9, degree_outside=degree_outside)
    rng = check_random_state(random_state)
    k, n = n_communities, n_communities * size
    lefts = rng.randint(n, size=rng.poisson(n * degree_inside / 2))
    rights = lefts - lefts % size + rng.randint(size, size=len(lefts))
    if k > 1 and degree_outside > 0:
        far = rng.randint(n, size=rng.poisson(n * degree_outside / 2))
        shift = 1 + rng.randint(k - 1, size=len(far))
        others = (far // size + shift) % k * size + rng.randint(size, size=len(far))
        lefts, rights = np.append(lefts, far), np.append(rights, others)
    kept = lefts != rights
    pairs = (np.minimum(lefts, rights)[kept], np.maximum(lefts, rights)[kept])
    half = sparse.coo_array((np.ones(len(pairs[0])), pairs), shape=(n, n)).tocsr()
    half.data[:] = 1.0  # pairs that were drawn twice have been added up
    return sparse.csr_array(half + half.T), np.repeat(np.arange(k, dtype=np.int32), size)
