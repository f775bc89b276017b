"""Fits on a real cluster of two processes: workers die, users interrupt, fits run side by side."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, worker_client

from hardbayes import DPMeans
from hardbayes.core import dask_rows
from hardbayes.core.row_blocks import row_blocks
from tests.blocks.conftest import assert_same_bits, blobs

X = blobs(150)
# How long a fit may take that cannot succeed: what the documentation promises.
PROMISED = 60


@contextmanager
def two_workers():
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture
def doomed():
    """A cluster whose workers are killed: Dask may not bring them all back."""
    with two_workers() as client:
        yield client


@pytest.fixture
def rows():
    return da.from_array(X, chunks=(40, 3))


@pytest.fixture
def expected(small_memory):
    return fit(X)


def fit(rows, **options):
    return DPMeans(8.0, random_state=0, n_jobs=1, **options).fit(rows)


def is_idle(client):
    """Whether nothing is computed and nothing is held, within some seconds."""
    for _ in range(100):
        held = [keys for keys in client.who_has().values() if keys]
        if not any(client.processing().values()) and not held and not client.futures:
            return True
        time.sleep(0.1)
    return False


def test_workers_change_no_bit(client, rows, expected):
    model = fit(rows)
    assert_same_bits(model, expected)
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.labels_)
    del model
    assert is_idle(client)


def test_two_fits_at_once(client, rows, expected):
    with ThreadPoolExecutor(2) as threads:
        for model in threads.map(fit, [rows, da.from_array(X, chunks=(70, 2))]):
            assert_same_bits(model, expected)


def fit_within_a_task(rows):
    with worker_client():
        model = DPMeans(8.0, random_state=0, n_jobs=1).fit(da.from_array(rows, chunks=(40, 3)))
    return model.cluster_centers_, model.n_passes_


def test_a_fit_within_a_task(client):
    centres, n_passes = client.submit(fit_within_a_task, X).result(timeout=PROMISED)
    np.testing.assert_array_equal(centres, fit(X).cluster_centers_)
    assert n_passes == 2


def test_a_worker_is_killed_in_several_phases(doomed, rows, expected, monkeypatch):
    """The tasks of a pass, and the blocks that were kept, are lost with the worker."""
    wanted = ["first pass", "assignment", "births", "divisions"]
    killed = []
    results = dask_rows._Watch.results

    def killing(watch):
        if watch._phase in wanted:
            wanted.remove(watch._phase)
            doomed.wait_for_workers(2, timeout=PROMISED)
            time.sleep(0.5)  # Dask gives up workers that die while they start
            pids = doomed.run(os.getpid)
            killed.append(pids[min(pids)])
            os.kill(killed[-1], signal.SIGKILL)
        yield from results(watch)

    monkeypatch.setattr(dask_rows._Watch, "results", killing)
    assert_same_bits(fit(rows), expected)
    assert not wanted and len(set(killed)) == 4


def die(block):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_always_kills_its_worker(doomed):
    parts = [X[:50], X[50:100]]
    blocks = [da.from_delayed(dask.delayed(part), part.shape, part.dtype) for part in parts]
    deadly = da.from_delayed(dask.delayed(die)(0), (50, 3), X.dtype)
    model = DPMeans(8.0)
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"Block 2 of X .* in the phase 'first pass'.*memory"):
        model.fit(da.concatenate([*blocks, deadly]))
    assert time.monotonic() - begin < PROMISED
    assert not hasattr(model, "labels_")
    assert is_idle(doomed)


def slowly(block):
    time.sleep(0.3)
    return block


def test_interrupt_leaves_the_cluster_clean(client, rows):
    model = DPMeans(8.0)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(da.concatenate(8 * [rows]).map_blocks(slowly))
    assert not hasattr(model, "labels_")
    assert is_idle(client)
    fit(rows)


def test_rows_that_may_not_fit_are_read_anew(client, monkeypatch):
    monkeypatch.setattr(dask_rows, "KEPT_SHARE", 0.0)
    rows = da.from_array(X, chunks=(40, 3))
    with pytest.warns(UserWarning, match=r"X, of .* GB, is read anew by every pass"):
        model = fit(rows)
    kept = client.persist(rows)
    assert_same_bits(fit(kept), fit(row_blocks(X)))
    assert model.n_passes_ == 2
