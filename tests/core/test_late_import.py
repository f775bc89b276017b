"""numba is imported at the first fit, and completely even after Ctrl-C."""

import subprocess
import sys

import pytest

from hardbayes.core.pool import import_whole

INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from hardbayes import DPMeans
signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent may ignore it
X = np.random.RandomState(0).randn(200, 2)
assert "numba" not in sys.modules

def interrupt():
    while "numba" not in sys.modules:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    DPMeans(3.0).fit(X)
except KeyboardInterrupt:
    print("interrupted")
print(DPMeans(3.0).fit(X).n_clusters_ > 0)
"""


def test_a_fit_works_after_one_that_was_interrupted_while_numba_was_imported():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["interrupted", "True"], done.stderr


def test_a_module_is_imported_once_and_not_in_the_calling_thread(tmp_path, monkeypatch):
    source = "import threading\nthread = threading.current_thread().name"
    (tmp_path / "whole_module_of_a_test.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(2):
        import_whole("whole_module_of_a_test")
    module = sys.modules.pop("whole_module_of_a_test")
    assert module.thread == "import whole_module_of_a_test"


def test_an_import_that_fails_raises_in_the_next_import(tmp_path, monkeypatch):
    (tmp_path / "broken_module_of_a_test.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    import_whole("broken_module_of_a_test")
    with pytest.raises(ZeroDivisionError):
        __import__("broken_module_of_a_test")
