"""What borders and halves of clusters cut: against brute force over all halves."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes.core.borders import FEWEST, LEAST_SIDE, _least_cut, borders_of, highest_border


def random_links(n, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.5), 1)
    return upper + upper.T


def test_the_least_cut_is_that_of_brute_force():
    rng = np.random.default_rng(0)
    n = 25
    links = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.3), 1)
    degrees, positions = (links + links.T).sum(axis=1), rng.normal(size=n)
    found = []
    for t in np.sort(positions)[:-1]:
        below = positions <= t
        cut = (links + links.T)[below][:, ~below].sum()
        side = min(degrees[below].sum(), degrees[~below].sum())
        if side >= 0.2 * degrees.sum():
            found.append(cut / side)
    lefts, rights = np.nonzero(links)
    least = _least_cut(positions, lefts, rights, links[lefts, rights], degrees)
    assert least == pytest.approx(min(found))


def least_half(links):
    """Return the least share of links cut by any halves with a fifth of the links or more."""
    degrees, n = links.sum(axis=1), len(links)
    shares = []
    for size in range(1, n):
        for side in map(list, combinations(range(n), size)):
            volume = min(degrees[side].sum(), degrees.sum() - degrees[side].sum())
            if volume >= LEAST_SIDE * degrees.sum():
                shares.append(np.delete(links[side], side, axis=1).sum() / volume)
    return min(shares)


@pytest.mark.parametrize("seed", range(5))
def test_borders_are_shares_of_links_and_halves_hardly_above_the_best(seed):
    links, labels = random_links(2 * FEWEST + 3, seed), np.repeat([0, 1, 2], [FEWEST, FEWEST, 3])
    out, halves = borders_of(csr_array(links), labels)
    for c in range(3):
        own = links[labels == c]
        assert out[c] == pytest.approx(own[:, labels != c].sum() / own.sum())
    for c in range(2):
        best = least_half(links[labels == c][:, labels == c])
        assert best * (1 - 1e-9) <= halves[c] <= 1.5 * best
    assert halves[2] == np.inf


def test_neither_the_order_of_rows_nor_units_nor_numbers_of_clusters_matter():
    links, labels = random_links(60, 9), np.arange(60) % 3
    known = borders_of(csr_array(links), labels)
    order = np.random.default_rng(0).permutation(60)
    names = np.array([2, 0, 1])
    found = borders_of(csr_array(8.0 * links[order][:, order]), names[labels[order]])
    for one, other in zip(known, found, strict=True):
        np.testing.assert_allclose(one, other[names])


def test_the_highest_border_is_that_of_all_and_unknown_beyond_a_limit():
    links, labels = csr_array(random_links(60, 3)), np.arange(60) % 3
    out, halves = borders_of(links, labels)
    highest = (out / halves).max()
    assert highest_border(links, labels) == pytest.approx(highest)
    assert highest_border(links, labels, 0.99 * highest) == np.inf
    assert highest_border(links, np.zeros(60, np.int64)) == np.inf
    assert highest_border(links, np.arange(60) // (FEWEST - 1)) == np.inf
    pieces = csr_array(np.kron(np.eye(2), np.ones((10, 10))))
    assert highest_border(pieces, np.arange(20) % 2) == np.inf


def test_equal_degrees_give_the_same_bits_each_time():
    n = 400  # more than are held densely
    steps = (np.arange(n)[:, np.newaxis] + [1, 2, 3]) % n
    one_way = csr_array((np.ones(3 * n), steps.ravel(), np.arange(0, 3 * n + 1, 3)))
    ring = csr_array(one_way + one_way.T)
    found = [borders_of(ring, np.zeros(n, np.int64)).halves for _ in range(5)]
    assert len({each.tobytes() for each in found}) == 1
