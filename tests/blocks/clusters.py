"""Clusters of two processes, and small fits on them."""

import time
from contextlib import contextmanager

from distributed import Client, LocalCluster

from hardbayes import DPMeans
from tests.blocks.conftest import blobs

X = blobs(150)
# How long a fit may take that cannot succeed: what the documentation promises.
PROMISED = 60


@contextmanager
def two_workers():
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


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
