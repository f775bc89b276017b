"""How kernels are compiled, and caches of compiled kernels that cannot be used."""

import gc
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numba.core import event

from hardbayes.core import compiling
from hardbayes.core.compiling import (
    INLINE,
    OPTIONS,
    SHARED,
    CollectorPause,
    Notice,
    _forgive,
    inlined,
    kernel,
    part,
    shared,
)

FIT = """
import numpy as np
from hardbayes import DPMeans
X = np.random.RandomState(0).randn(50, 2)
print(DPMeans(3.0, search="paper", random_state=0).fit(X).n_clusters_)
"""


def ratio(x, y):
    return x / y


def test_options():
    """No fastmath and no threads of numba's own; the GIL is released."""
    for options in (OPTIONS, SHARED, INLINE):
        assert options["nogil"] and "fastmath" not in options and "parallel" not in options


def test_a_division_by_zero_gives_infinity():
    assert njit(**OPTIONS)(ratio)(1.0, 0.0) == np.inf


@pytest.mark.parametrize("decorator", [inlined, part, shared])
def test_functions_that_become_a_part_of_their_caller(decorator):
    inner = decorator(ratio)

    @njit(**OPTIONS)
    def caller(x):
        return inner(x, 4.0) + 1.0

    assert caller(2.0) == 1.5
    assert len(caller.signatures) == 1


def test_a_kernel_is_cached_on_disk():
    compiled = kernel(ratio)
    assert compiled._cache.cache_path.startswith(os.environ["NUMBA_CACHE_DIR"])
    assert compiled.targetoptions["nogil"] and compiled(1.0, 4.0) == 0.25


def test_a_kernel_without_a_cache_folder_is_compiled_all_the_same(monkeypatch):
    def without_cache(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(compiling, "njit", without_cache)
    assert kernel(ratio)(1.0, 4.0) == 0.25


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


class Compiler:
    """Events of a compiler whose functions take so long as the test says."""

    def __init__(self, listener=None):
        self.now = 0.0
        self.listener = listener or Notice(lambda: self.now)

    def compile(self, seconds, module="hardbayes.core.rows", inner=None):
        function = njit(ratio)
        function.py_func = type("function", (), {"__module__": module})
        data = {"dispatcher": function}
        self.listener.on_start(event.Event("numba:compile", event.EventStatus.START, data))
        if inner is not None:
            inner()
        self.now += seconds
        self.listener.on_end(event.Event("numba:compile", event.EventStatus.END, data))


def test_one_line_says_that_a_fit_waits_for_the_compiler(capsys):
    compiler = Compiler()
    for _ in range(3):
        compiler.compile(0.6)
        compiler.now += 10.0  # of other things
    assert capsys.readouterr().err == ""
    compiler.compile(0.6)
    said = capsys.readouterr()
    assert said.err == Notice.line + "\n" and said.out == ""
    compiler.compile(60.0)
    assert capsys.readouterr().err == ""


def test_functions_within_functions_are_counted_once(capsys):
    compiler = Compiler()
    compiler.compile(0.5, inner=lambda: compiler.compile(1.4))
    assert capsys.readouterr().err == ""
    compiler.compile(0.2)
    assert capsys.readouterr().err == Notice.line + "\n"


def test_what_others_compile_is_not_told(capsys):
    Compiler().compile(60.0, module="their.own")
    assert capsys.readouterr().err == ""


@pytest.fixture
def collector():
    """Leave the cycle collector as it was."""
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("was_on", [True, False])
def test_the_cycle_collector_stops_until_the_outermost_function_is_compiled(collector, was_on):
    (gc.enable if was_on else gc.disable)()
    compiler, seen = Compiler(CollectorPause()), []

    def inner():
        compiler.compile(0.1)
        seen.append(gc.isenabled())

    compiler.compile(0.1, inner=inner)
    compiler.compile(0.1, "their.own", inner=lambda: seen.append(gc.isenabled()))
    assert seen == [False, was_on] and gc.isenabled() == was_on
