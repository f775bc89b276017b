"""The contract of executors for features, and that both of them keep it."""

import inspect

import numpy as np
import pytest

from hardbayes.features.memory import MemoryFeatureRows
from hardbayes.features.rows import Allocation, Description, FeatureRows
from tests.reference.feature_rows import NumpyFeatureRows

METHODS = [name for name in vars(FeatureRows) if not name.startswith("_")]


def test_the_contract_is_small():
    assert len(METHODS) <= 12


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("executor", [MemoryFeatureRows, NumpyFeatureRows])
def test_executors_have_its_methods(executor, name):
    expected, found = (inspect.signature(getattr(kind, name)) for kind in (FeatureRows, executor))
    assert list(found.parameters) == list(expected.parameters)
    assert getattr(FeatureRows, name).__doc__


def test_the_contract_needs_no_compiled_code(run_python):
    run_python("""
        import sys
        import hardbayes.features.rows
        assert "numba" not in sys.modules
    """)


def test_some_features_are_kept():
    allocation = Allocation(np.arange(6.0).reshape(3, 2), np.eye(3, dtype=np.uint8)[[0, 1, 2, 2]])
    kept = allocation.keep(np.array([True, False, True]))
    np.testing.assert_array_equal(kept.components, [[0.0, 1.0], [4.0, 5.0]])
    np.testing.assert_array_equal(kept.membership, [[1, 0], [0, 0], [0, 1], [0, 1]])
    assert kept.membership.flags.c_contiguous


def test_a_copy_may_be_changed():
    allocation = Allocation(np.zeros((1, 2)), np.zeros((3, 1), np.uint8))
    copy = allocation.copy()
    copy.components[:] = copy.membership[:] = 1
    assert not allocation.components.any() and not allocation.membership.any()


def test_what_is_negligible_adds_up():
    assert Description(100, 3, np.ones(1), 1e-24).negligible_fit == pytest.approx(1e-22)
