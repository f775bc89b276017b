"""Workers that die on a real cluster: the same bits, or a clear error, and never a hang."""

import os
import signal
import time

import dask
import dask.array as da
import pytest

from hardbayes import DPMeans
from hardbayes.core import dask_rows
from tests.blocks.clusters import PROMISED, X, fit, is_idle, two_workers
from tests.blocks.conftest import assert_same_bits


@pytest.fixture
def client():
    """A cluster for one test: Dask may not bring all workers back that are killed."""
    with two_workers() as client:
        yield client


def test_a_worker_is_killed_in_several_phases(client, rows, expected, monkeypatch):
    """The tasks of a pass, and the blocks that were kept, are lost with the worker."""
    wanted = ["first pass", "assignment", "births", "divisions"]
    killed = []
    results = dask_rows._Watch.results

    def killing(watch):
        if watch._phase in wanted:
            wanted.remove(watch._phase)
            client.wait_for_workers(2, timeout=PROMISED)
            time.sleep(0.5)  # Dask gives up workers that die while they start
            pids = client.run(os.getpid)
            killed.append(pids[min(pids)])
            os.kill(killed[-1], signal.SIGKILL)
        yield from results(watch)

    monkeypatch.setattr(dask_rows._Watch, "results", killing)
    assert_same_bits(fit(rows), expected)
    assert not wanted and len(set(killed)) == 4


def die(block):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_always_kills_its_worker(client):
    parts = [X[:50], X[50:100]]
    blocks = [da.from_delayed(dask.delayed(part), part.shape, part.dtype) for part in parts]
    deadly = da.from_delayed(dask.delayed(die)(0), (50, 3), X.dtype)
    model = DPMeans(8.0)
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"Block 2 of X .* in the phase 'first pass'.*memory"):
        model.fit(da.concatenate([*blocks, deadly]))
    assert time.monotonic() - begin < PROMISED
    assert not hasattr(model, "labels_")
    assert is_idle(client)
