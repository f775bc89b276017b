"""What may happen to a cluster during a fit, at every phase: the same bits, or a clear error.

The slow ones are run by ``make test-faults``.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import dask
import pytest
from distributed import Client

from hardbayes import DPMeans
from hardbayes.core import dask_rows
from tests.blocks.clusters import PROMISED, X, fit, is_idle, two_workers
from tests.blocks.conftest import assert_same_bits
from tests.conftest import SEARCHES

PHASES = {
    "paper": ["first pass", "rows", "totals", "assignment", "births", "end of births", "objective"],
    "split-merge": [
        *("first pass", "rows", "totals", "assignment", "divisions", "splits"),
        *("candidates", "moves of rows", "objective"),
    ],
}


@pytest.fixture
def before(monkeypatch):
    """What is done before the tasks of the first pass of a phase, once."""
    hooks = {}
    results = dask_rows._Watch.results

    def watched(watch):
        hooks.pop(watch._phase, lambda: None)()
        yield from results(watch)

    monkeypatch.setattr(dask_rows._Watch, "results", watched)
    return hooks


@pytest.fixture
def client():
    with two_workers() as client:
        yield client


def one_worker(client):
    """The process of a worker, once there are two."""
    client.wait_for_workers(2, timeout=PROMISED)
    time.sleep(0.5)  # Dask gives up workers that die while they start
    pids = client.run(os.getpid)
    return pids[min(pids)]


def test_workers_join_and_leave(client, rows, expected, before):
    def scaled(n):
        client.cluster.scale(n)
        client.wait_for_workers(n, timeout=PROMISED)
        # The cluster must know workers before they leave: else Dask fails as it closes.
        give_up = time.monotonic() + PROMISED
        while len(client.cluster.scheduler_info["workers"]) < n and time.monotonic() < give_up:
            time.sleep(0.05)

    before.update({"assignment": lambda: scaled(3), "divisions": lambda: scaled(1)})
    assert_same_bits(fit(rows), expected)
    assert not before


def test_a_forgotten_state_is_sent_again(client, rows, expected, before):
    def forget():
        from hardbayes.core import row_tasks

        assert row_tasks._STATES._states
        row_tasks._STATES._states.clear()

    before["objective"] = before["divisions"] = lambda: client.run(forget)
    assert_same_bits(fit(rows), expected)
    assert not before


@pytest.mark.faults
@pytest.mark.parametrize("search", SEARCHES)
def test_a_worker_is_killed_in_every_phase(client, rows, small_memory, before, search):
    expected = fit(X, search=search)
    for phase in PHASES[search]:
        before[phase] = lambda: os.kill(one_worker(client), signal.SIGKILL)
        assert_same_bits(fit(rows, search=search), expected)
        assert not before
    assert is_idle(client)


@pytest.mark.faults
def test_a_worker_that_stands_still_for_a_while(client, rows, expected, before):
    def stop():
        process = one_worker(client)
        os.kill(process, signal.SIGSTOP)
        threading.Timer(5.0, os.kill, (process, signal.SIGCONT)).start()

    before["assignment"] = stop
    assert_same_bits(fit(rows), expected)


@pytest.mark.faults
def test_a_worker_that_stands_still_for_good(rows, expected, before):
    """Dask gives such a worker up after its own time, five minutes by default."""
    with dask.config.set({"distributed.scheduler.worker-ttl": "4s"}), two_workers() as client:
        before["assignment"] = lambda: os.kill(one_worker(client), signal.SIGSTOP)
        assert_same_bits(fit(rows), expected)


@pytest.mark.faults
@pytest.mark.parametrize("phase", ["first pass", "assignment", "divisions", "objective"])
def test_interrupts_leave_the_cluster_clean(client, rows, expected, before, phase):
    def interrupt():
        os.kill(one_worker(client), signal.SIGSTOP)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()

    model = DPMeans(8.0)
    before[phase] = interrupt
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert not hasattr(model, "labels_")
    for process in client.cluster.workers.values():
        os.kill(process.process.process.pid, signal.SIGCONT)
    assert is_idle(client)
    assert_same_bits(fit(rows), expected)


@pytest.mark.faults
@pytest.mark.parametrize("phase", ["first pass", "assignment"])
def test_a_scheduler_is_killed(rows, small_memory, before, tmp_path, phase):
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    file = str(tmp_path / "scheduler.json")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    command += ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", file]
    scheduler = subprocess.Popen(command, **quiet)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", file]
    worker = subprocess.Popen([*command, "--nthreads", "1", "--no-dashboard"], **quiet)
    model = DPMeans(8.0)
    try:
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(1, timeout=PROMISED)
            before[phase] = lambda: (scheduler.kill(), scheduler.wait())
            begin = time.monotonic()
            with pytest.raises(RuntimeError, match=r"The scheduler .* no longer answers"):
                model.fit(rows)
            assert time.monotonic() - begin < PROMISED
    finally:
        worker.terminate()
        scheduler.kill()
        scheduler.wait()
        worker.wait()
    assert not hasattr(model, "labels_")
