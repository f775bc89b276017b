"""A cache of compiled kernels that cannot be used is no reason for a fit to fail."""

import os
import pickle
import subprocess
import sys

from hardbayes.kernels.compiling import _forgive

FIT = """
import numpy as np
from hardbayes import DPMeans
X = np.random.RandomState(0).randn(50, 2)
print(DPMeans(3.0, search="paper", random_state=0).fit(X).n_clusters_)
"""


class Broken:
    """A cache on a full disk, with a file that was cut short."""

    flushed = False

    def load_overload(self, signature, context):
        raise pickle.UnpicklingError

    def save_overload(self, signature, result):
        raise OSError(28, "No space left on device")

    def flush(self):
        self.flushed = True


def test_files_that_cannot_be_read_or_written_count_as_none():
    cache = Broken()
    _forgive(cache)
    assert cache.load_overload("signature", "context") is None and cache.flushed
    cache.save_overload("signature", "result")


def test_a_fit_survives_files_that_were_cut_short(tmp_path):
    def fit():
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        run = [sys.executable, "-c", FIT]
        done = subprocess.run(run, capture_output=True, text=True, timeout=300, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = fit()
    files = [file for file in tmp_path.rglob("*.nb*") if file.is_file()]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:20])
    assert fit() == first
    assert all(file.stat().st_size > 20 for file in files if file.suffix == ".nbi")
