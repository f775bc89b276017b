"""Every tile runs once, errors and interrupts stop all threads, and no thread survives."""

import threading
import time
from collections import Counter, deque

import pytest

from hardbayes.core.pool import Pool, _Job, resolve_threads


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_tiles", [0, 1, 2, 100])
def test_every_tile_runs_once(n_threads, n_tiles):
    seen = Counter()
    with Pool(n_threads) as pool:
        pool.run(lambda tile, worker: seen.update([tile]), n_tiles)
    assert seen == Counter(range(n_tiles))


def test_a_tile_taken_by_another_thread_does_not_end_the_work():
    """Between finding the longest queue and taking its last tile, that queue may become empty."""

    class Emptied(deque):
        late = True

        def pop(self):
            if self.late:
                self.late = False
                raise IndexError
            return super().pop()

    done = []
    job = _Job(lambda tile, worker: done.append(tile), 6, 3)
    job.queues[1] = Emptied(job.queues[1])
    job.work(0)
    assert sorted(done) == list(range(6))


def test_each_thread_has_a_worker_number_of_its_own():
    """Threads with the same number would share scratch arrays."""
    owners = {}
    gate = threading.Barrier(3, timeout=10)

    def task(tile, worker):
        gate.wait()
        owners.setdefault(worker, set()).add(threading.get_ident())

    with Pool(3) as pool:
        pool.run(task, 3)
    assert sorted(owners) == [0, 1, 2]
    assert all(len(threads) == 1 for threads in owners.values())


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_stops_the_pass_and_is_raised(error):
    done = []

    def task(tile, worker):
        done.append(tile)
        if tile == 3:
            raise error("stop")

    with Pool(2) as pool:
        with pytest.raises(error):
            pool.run(task, 10_000)
        assert len(done) < 10_000
        pool.run(lambda tile, worker: None, 10)  # the pool still works


def test_no_thread_outlives_the_pool():
    before = threading.active_count()
    with Pool(4) as pool:
        pool.run(lambda tile, worker: None, 50)
    assert threading.active_count() == before


def test_number_of_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = resolve_threads(None)
    assert resolve_threads(-1) == cores
    assert resolve_threads(-10_000) == 1
    assert resolve_threads(3) == 3
    for limit, threads in (("1", 1), ("1,4", 1), ("0", 1), ("", cores), ("all", cores)):
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        assert resolve_threads(None) == threads
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert resolve_threads(3) == 3


def test_one_tile_starts_no_thread():
    before = threading.active_count()
    with Pool(4) as pool:
        pool.run(lambda tile, worker: None, 1)
        assert threading.active_count() == before


def test_a_worker_begins_with_its_own_part_of_the_tiles():
    job = _Job(lambda tile, worker: None, 10, 3)
    assert [list(queue) for queue in job.queues] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]


def test_an_interrupt_ends_the_long_tasks_of_other_threads():
    """A task may consist of several passes, one start of a fit: the next pass raises."""
    both = threading.Barrier(2, timeout=10)
    ends = []

    def task(tile, worker):
        both.wait()
        if worker == 0:
            raise KeyboardInterrupt
        deadline = time.monotonic() + 10
        try:
            while time.monotonic() < deadline:
                pool.run(lambda tile, worker: time.sleep(0.001), 1)
            ends.append("ran out")
        except RuntimeError:
            ends.append("stopped")
            raise

    with Pool(2) as pool:
        with pytest.raises(KeyboardInterrupt):
            pool.run(task, 2)
        assert ends == ["stopped"]
        pool.run(lambda tile, worker: None, 10)  # the pool still works
