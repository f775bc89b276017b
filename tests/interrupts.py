"""Ctrl-C at a chosen moment: between any two calls of the library's functions."""

import inspect
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from tests.conftest import PACKAGE, assert_same_bits

HERE = str(PACKAGE)


@contextmanager
def watching_calls(at=None):
    """Count the calls of the library's functions; raise KeyboardInterrupt in number ``at``."""
    count = [0]

    def watch(frame, event, _):
        # An exception in a generator that is being closed would be lost.
        is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR
        if event == "call" and not is_generator and frame.f_code.co_filename.startswith(HERE):
            count[0] += 1
            if count[0] == at:
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield count
    finally:
        sys.setprofile(before)


def assert_survives_interrupts(build, X, other, number=30):
    """A fit to X, stopped at moments from its first call to its last, changes nothing.

    ``build()`` gives an unfitted model; one fitted to ``other`` must keep that fit.
    """
    expected = build().fit(X)  # whatever must be compiled is
    model = build()
    with watching_calls() as count:
        model.fit(X)
    for moment in np.unique(np.linspace(1, count[0], number).astype(int)):
        first, second = build(), build().fit(other)
        for model in (first, second):
            before = dict(vars(model))
            with pytest.raises(KeyboardInterrupt), watching_calls(at=moment):
                model.fit(X)
            assert vars(model).keys() == before.keys()
            assert all(value is before[name] for name, value in vars(model).items())
        assert_same_bits(first.fit(X), expected)
