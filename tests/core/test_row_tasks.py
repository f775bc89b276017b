"""What workers remember of blocks: names in place of states, and a bounded memory."""

from itertools import count

import numpy as np
import pytest

from hardbayes.core import row_tasks
from hardbayes.core.row_tasks import Missed, Order, Packed, States, call
from hardbayes.dp_means.blocks.block import BlockState, compact, expand


def state(*labels):
    return BlockState(compact(np.array(labels, np.int32)))


@pytest.fixture
def memory(monkeypatch):
    memory = States()
    monkeypatch.setattr(row_tasks, "_STATES", memory)
    return memory


def moved(X, weights, before, by):
    """A task that gives all rows to other clusters."""
    return BlockState(compact(expand(before.labels) + np.int32(by))), X


def carried_out(order):
    (result,) = call(moved, ["rows"], [None], Packed([order]), Packed(()))
    return result


def test_a_state_is_sent_once_and_named_from_then_on(memory):
    first = state(0, 1, 2)
    change, result = carried_out(Order((1,), first, "a", "b"))
    assert result == "rows"
    second = change.after(first)
    np.testing.assert_array_equal(expand(second.labels), [1, 2, 3])
    change, _ = carried_out(Order((2,), None, "b", "c"))
    np.testing.assert_array_equal(expand(change.after(second).labels), [3, 4, 5])


def test_a_state_that_has_been_replaced_is_missed(memory):
    carried_out(Order((1,), state(0), "a", "b"))
    assert isinstance(carried_out(Order((1,), None, "a", "c")), Missed)
    assert isinstance(carried_out(Order((1,), None, "never", "c")), Missed)


def test_the_oldest_states_are_forgotten(memory, monkeypatch):
    monkeypatch.setattr(row_tasks, "REMEMBERED_BYTES", 10)
    for name in "abc":
        memory.keep(name, state(1, 2, 3, 4))
        memory.get("a")
    assert [memory.get(name) is not None for name in "abc"] == [True, False, True]


def test_a_change_leads_from_one_state_to_the_next():
    rng = np.random.default_rng(0)
    number = count()
    for k, share in ((3, 0.0), (3, 0.01), (3, 0.9), (300, 0.01), (300, 1.0)):
        before = compact(rng.integers(-1, 3, 2000).astype(np.int32))
        after = compact(
            np.where(rng.random(2000) < share, rng.integers(0, k, 2000), expand(before))
            .astype(np.int32)
        )  # fmt: skip
        marks = rng.integers(0, 3, 2000).astype(np.uint8) if next(number) % 2 else None
        later = BlockState(after, marks)
        change = later.since(BlockState(before))
        found = change.after(BlockState(before))
        assert found.labels.dtype == after.dtype
        np.testing.assert_array_equal(found.labels, after)
        assert found.marks is marks
        few = share < 0.1 and after.dtype == before.dtype
        assert (change.places is not None) == few
