"""BLAS limited to one thread, and the limit removed afterwards."""

import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from hardbayes import DPMeans
from hardbayes.core.pool import one_blas_thread


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_concurrent_callers_restore_the_number_of_threads():
    seen = []

    def work():
        for _ in range(20):
            with one_blas_thread():
                seen.append(blas_threads())

    before = blas_threads()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before
    assert len(seen) == 80 and all(found == {1} for found in seen)


def test_the_limit_ends_with_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        1 / 0  # noqa: B018
    assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_does_not_inherit_a_held_lock(run_python):
    """The thread that holds it does not exist there: waiting would never end."""
    script = """
        import os, signal, threading
        from hardbayes.core.pool import one_blas_thread
        held, done = threading.Event(), threading.Event()
        def hold():
            with one_blas_thread():
                held.set()
                done.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            with one_blas_thread():
                os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        done.set()
        thread.join()
    """
    assert run_python(script).split() == ["7"]


def test_the_automatic_penalty_of_wide_rows_does_not_depend_on_blas_threads():
    rng = np.random.RandomState(0)
    X = rng.randn(600, 257) + 5 * rng.randn(4, 257)[rng.randint(4, size=600)] / 16
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(DPMeans(random_state=0, n_jobs=1).fit(X).cluster_penalty_)
    assert found[0] == found[1]
