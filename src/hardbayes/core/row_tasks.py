"""What a worker does with blocks of rows, wherever it is: calls, and states it need not be sent.

A task depends on blocks, on what is known of their rows, their state, and on small arrays. A worker
remembers the states that it was sent or has found, and the client names them in place of sending
them again. It answers `Missed` where it has forgotten one, or is another worker than before. So
what is remembered saves time and changes no result.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

# Bytes of states that a worker remembers, a byte a row mostly. Of more, those that were used least
# recently are forgotten, and sent again: in every pass, for a pass uses all of them.
REMEMBERED_BYTES = 1 << 28


class Missed:
    """The answer of a worker that does not know the state of a block."""


class Packed:
    """Something that Dask takes as it is, without looking for tasks in it."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Order(NamedTuple):
    """What is to be done with a block: ``task(rows, weights, state, *arguments)``."""

    arguments: tuple[Any, ...]
    state: Any = None  # None: there is none, or the worker remembers it
    before: Any = None  # the name of this state; None: it need not be remembered
    after: Any = None  # the name of the state that is found


class States:
    """Some states by their names, the latest ones."""

    def __init__(self) -> None:
        self._states: OrderedDict[Any, Any] = OrderedDict()
        self._lock = Lock()
        self._bytes = 0

    def get(self, name: Any) -> Any:
        """Return a state; None where it is not remembered."""
        with self._lock:
            if name in self._states:
                self._states.move_to_end(name)
            return self._states.get(name)

    def keep(self, name: Any, state: Any, instead_of: Any = None) -> None:
        """Remember a state, and forget another one."""
        with self._lock:
            self._forget(instead_of)
            self._forget(name)
            self._states[name] = state
            self._bytes += state.n_bytes
            while self._bytes > REMEMBERED_BYTES:
                self._forget(next(iter(self._states)))

    def _forget(self, name: Any) -> None:
        if name in self._states:
            self._bytes -= self._states.pop(name).n_bytes


_STATES = States()


def call(
    task: Callable[..., Any], blocks: list[Any], weights: list[Any], own: Packed, shared: Packed
) -> list[Any]:
    """Call a task for some blocks in a worker; every task of a pass goes through here."""
    orders = zip(blocks, weights, own.value, strict=True)
    return [_carried_out(task, X, some, order, shared.value) for X, some, order in orders]


def _carried_out(
    task: Callable[..., Any], X: Any, weights: Any, order: Order, shared: tuple[Any, ...]
) -> Any:
    if order.before is None:
        first = () if order.state is None else (order.state,)
        return task(X, weights, *first, *order.arguments, *shared)
    state = order.state
    if state is None:
        state = _STATES.get(order.before)
        if state is None:
            return Missed()
    else:
        _STATES.keep(order.before, state)
    found, result = task(X, weights, state, *order.arguments, *shared)
    if found is None:
        return None, result
    _STATES.keep(order.after, found, order.before)
    return found.since(state), result
