"""Fits on a real cluster of two processes: side by side, within tasks, interrupted."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest
from distributed import worker_client

from hardbayes import DPMeans
from hardbayes.core import dask_rows
from hardbayes.core.row_blocks import row_blocks
from tests.blocks.clusters import PROMISED, X, fit, is_idle, two_workers
from tests.blocks.conftest import assert_same_bits


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


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
