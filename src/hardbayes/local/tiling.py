"""How rows are cut into tiles, and the tiles run on threads."""

from collections.abc import Callable

from hardbayes.pool import Pool

# A tile is at most this many multiply-adds when no score is skipped: some milliseconds, so that
# Ctrl-C is prompt. In tiles much smaller than that the call of a kernel takes the time.
TILE_WORK = 1 << 26
WORTH_CALLING = 1 << 24
ROW_WORK = 1 << 11  # of a row, however short


class Tiling:
    """Tiles of rows that hold so many entries each.

    A tile's result never depends on its borders, so these may depend on the number of threads.
    """

    def __init__(self, entries_per_row: int, pool: Pool) -> None:
        self.entries_per_row = entries_per_row
        self.pool = pool

    def run(self, task: Callable[[int, int, int], None], n: int, slots: int) -> None:
        """Run ``task(worker, start, stop)`` over n rows, each compared with up to ``slots``."""
        borders = self._borders(n, slots)
        self.pool.run(
            lambda tile, worker: task(worker, borders[tile], borders[tile + 1]), len(borders) - 1
        )

    def most_rows(self, slots: int) -> int:
        """Return the largest number of rows of a tile."""
        return max(64, TILE_WORK // self._row_work(slots))

    def _row_work(self, slots: int) -> int:
        return slots * self.entries_per_row + ROW_WORK

    def _borders(self, n: int, slots: int) -> list[int]:
        """Return where tiles begin and end.

        Each thread has its part of the rows, in tiles that become smaller: few calls at first, and
        a short wait for the last tile.
        """
        most = self.most_rows(slots)
        least = max(64, WORTH_CALLING // self._row_work(slots))
        parts = max(1, min(self.pool.n_threads, n // least))
        borders = [0]
        for part in range(parts):
            stop = n * (part + 1) // parts
            while borders[-1] < stop:
                left = stop - borders[-1]
                size = left if parts == 1 or left <= least else max(least, left // 2)
                borders.append(borders[-1] + min(size, most))
        return borders
