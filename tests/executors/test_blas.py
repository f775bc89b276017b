"""BLAS held to one thread, and given back."""

import threading

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from hardbayes import DPMeans
from hardbayes.blas import one_blas_thread


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_threads_that_want_it_at_once_leave_it_as_it_was():
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


def test_the_automatic_penalty_of_wide_rows_does_not_depend_on_it():
    rng = np.random.RandomState(0)
    X = rng.randn(600, 257) + 5 * rng.randn(4, 257)[rng.randint(4, size=600)] / 16
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(DPMeans(random_state=0, n_jobs=1).fit(X).cluster_penalty_)
    assert found[0] == found[1]
