"""A tiny estimator to save, and files made byte by byte."""

import hashlib
import json
import struct
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

from hardbayes.persistence import container


class TinyModel(BaseEstimator):
    """Holds whatever fitted state a test gives it."""

    _parameter_constraints = {"penalty": [Interval(Real, 0, None, closed="left")]}  # noqa: RUF012

    def __init__(
        self, penalty=1.0, *, divergence="squared_euclidean", init="mean", random_state=None
    ):
        self.penalty = penalty
        self.divergence = divergence
        self.init = init
        self.random_state = random_state

    def _get_state(self):
        return dict(getattr(self, "state_", {}))

    def _set_state(self, state):
        if "count_" in state and state["count_"] != len(state["labels_"]):
            raise ValueError("count_ is not the number of labels_")
        self.state_ = state


def fitted(**state):
    model = TinyModel()
    model.state_ = state
    return model


def small_model():
    return fitted(labels_=np.array([0, 1, 1], dtype=np.int32), count_=3, names_=["a", "bé"])


def header(**changes):
    """A valid header for a file without arrays, with changes."""
    right = {"library_version": "0", "class": "TinyModel", "params": {}, "state": {}, "arrays": []}
    return {**right, **changes}


def array_row(name="state.a_", dtype="float64", shape=(1,), offset=0):
    return {"name": name, "dtype": dtype, "shape": list(shape), "offset": offset}


def forge(head, payload=b"", *, version=1, length=None):
    """The bytes of a file with this header and payload, and valid checksums."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    length = len(text) if length is None else length
    start = container.MAGIC + struct.pack("<IQ", version, length) + text
    start += hashlib.sha256(start).digest() + payload
    return start + hashlib.sha256(start).digest()
