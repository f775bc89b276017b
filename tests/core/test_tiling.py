"""Tiles cover all rows once, for any number of threads."""

from itertools import pairwise

import pytest

from hardbayes.core import pool as tiling
from hardbayes.core.pool import Pool, Tiling

SIZES = [(1, 1), (63, 5), (64, 1), (65, 1), (1000, 30), (40_000, 300), (100_000, 16), (7, 10**7)]


@pytest.mark.parametrize("worth_calling", [1, 1 << 24])
@pytest.mark.parametrize("tile_work", [1 << 14, 1 << 26])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8, 61])
@pytest.mark.parametrize(("n", "slots"), SIZES)
def test_borders_cover_all_rows(n, slots, n_threads, tile_work, worth_calling, monkeypatch):
    monkeypatch.setattr(tiling, "TILE_WORK", tile_work)
    monkeypatch.setattr(tiling, "WORTH_CALLING", worth_calling)
    tiles = Tiling(20, Pool(n_threads))
    borders = tiles._borders(n, slots)
    assert borders[0] == 0 and borders[-1] == n
    sizes = [stop - start for start, stop in pairwise(borders)]
    assert min(sizes) > 0 and max(sizes) <= tiles.most_rows(slots)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_row_is_in_one_task(n_threads, monkeypatch):
    monkeypatch.setattr(tiling, "WORTH_CALLING", 1)
    seen = []
    with Pool(n_threads) as pool:
        Tiling(5, pool).run(lambda worker, start, stop: seen.append((start, stop)), 1000, 3)
    assert [i for part in sorted(seen) for i in range(*part)] == list(range(1000))
    assert len(seen) >= n_threads


def test_one_thread_has_tiles_as_large_as_allowed():
    tiles = Tiling(20, Pool(1))
    assert len(tiles._borders(1000, 10)) == 2
    most = tiles.most_rows(300)
    assert tiles._borders(3 * most, 300) == [0, most, 2 * most, 3 * most]


def test_threads_have_tiles_that_become_smaller(monkeypatch):
    monkeypatch.setattr(tiling, "WORTH_CALLING", 64 * (20 + (1 << 11)))
    borders = Tiling(20, Pool(2))._borders(2048, 1)
    sizes = [stop - start for start, stop in pairwise(borders)]
    assert sizes == [512, 256, 128, 64, 64] * 2


def test_few_rows_are_one_tile_for_any_number_of_threads():
    assert len(Tiling(4, Pool(8))._borders(500, 4)) == 2


@pytest.mark.parametrize(("entries", "slots"), [(1, 1), (20, 300), (10**4, 10**4), (10**6, 10**6)])
def test_the_work_of_a_tile_is_bounded(entries, slots):
    most = Tiling(entries, Pool(1)).most_rows(slots)
    work = most * (slots * entries + (1 << 11))
    assert most == 64 or work <= 1 << 26
    assert most >= 64
