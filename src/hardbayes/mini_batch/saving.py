"""A stream as arrays and numbers, for files, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hardbayes.core import schema
from hardbayes.core.arrays import Totals, is_sparse
from hardbayes.core.frame import Frame
from hardbayes.core.geometry import Geometry
from hardbayes.mini_batch.identities import KINDS, Identities
from hardbayes.mini_batch.stream import Stream
from hardbayes.mini_batch.summary import Summary
from hardbayes.mini_batch.watch import Watch
from hardbayes.mini_batch.windows import Window, joined

COUNT = schema.Entry(int, low=0)  # rows, births, windows: any number of them
#: What a file holds of a stream.
SCHEMA: schema.Schema = {
    "n_features_in_": schema.length("columns"),
    "n_columns": schema.length("d", low=1),
    "is_sparse": schema.Entry(bool),
    "is_timed": schema.Entry(bool),
    "working_dtype": schema.Entry(str),
    "seed": COUNT,
    "micro_coarse": schema.array("m", "d"),
    "micro_fine": schema.array("m", "d"),
    "micro_weight_coarse": schema.array("m"),
    "micro_weight_fine": schema.array("m"),
    "micro_scatter": schema.array("m"),
    "watch_centres": schema.array("w", "d"),
    "watch_weights": schema.array("w"),
    "watch_cost": schema.number(),
    "watch_excess": schema.number(),
    "watch_row": COUNT,
    "watch_time": schema.number(or_none=True),
    "ids": schema.array("k", dtype=np.int64, low=0),
    "id_centres": schema.array("k", "d"),
    "id_weights": schema.array("k"),
    "id_largest": schema.array("k"),
    "next_id": COUNT,
    "events": schema.array("events", 4, dtype=np.int64, low=-1),
    "working_shift": schema.array("d", or_none=True),
    "working_scale": schema.number(low=2.0**-1000, high=2.0**1000, or_none=True),
    "n_rows": COUNT,
    "opening": schema.number(low=0),
    "at_border": schema.Entry(bool),
    "n_clusters": COUNT,
    "centres": schema.array("c", "d", or_none=True),
    "row_penalty": schema.number(low=0, or_none=True),
    "origin": schema.number(),
    "now": schema.number(or_none=True),
    "told": schema.number(or_none=True),
    "first": COUNT,
    "recent": schema.array("recent", dtype=np.int32, low=-1, below="m"),
    "sentence": schema.Entry(str),
    "waiting_rows": schema.array("waiting", "d", dtype=np.floating, or_none=True),
    "waiting_entries": schema.array("entries", dtype=np.floating, or_none=True),
    "waiting_places": schema.array("entries", dtype=np.integer, low=0, below="d", or_none=True),
    "waiting_starts": schema.array("starts", dtype=np.integer, low=0, or_none=True),
    "waiting_weights": schema.array("waiting", low=0, or_none=True),
    "waiting_times": schema.array("waiting", or_none=True),
}


def to_arrays(stream: Stream) -> dict[str, Any]:
    """Return everything but the geometry, as arrays and numbers."""
    summary, watch, names = stream.summary, stream.watch, stream.identities
    totals, frame = summary.totals, stream.frame
    events = [
        (KINDS.index(kind), name, row, *(other or (-1,)))
        for kind, name, row, *other in names.events
    ]
    return {
        "n_columns": stream.n_columns,
        "is_sparse": stream.is_sparse,
        "is_timed": stream.is_timed,
        "working_dtype": stream.dtype.name,
        "seed": stream.seed,
        "micro_coarse": totals.coarse,
        "micro_fine": totals.fine,
        "micro_weight_coarse": totals.weight_coarse,
        "micro_weight_fine": totals.weight_fine,
        "micro_scatter": summary.scatter,
        "watch_centres": watch.centres,
        "watch_weights": watch.weights,
        "watch_cost": watch.cost,
        "watch_excess": watch.excess,
        "watch_row": watch.row,
        "watch_time": _finite(watch.time),
        "ids": names.ids,
        "id_centres": names.centres,
        "id_weights": names.weights,
        "id_largest": names.largest,
        "next_id": names.next_id,
        "events": np.array(events, np.int64).reshape(-1, 4),
        "working_shift": None if frame is None else frame.shift,
        "working_scale": None if frame is None else frame.scale,
        "n_rows": stream.n_rows,
        "opening": stream.opening,
        "at_border": stream.at_border,
        "n_clusters": stream.n_clusters,
        "centres": stream.centres,
        "row_penalty": stream.row_penalty,
        "origin": stream.origin,
        "now": _finite(stream.now),
        "told": _finite(stream.told),
        "first": stream.first,
        "recent": stream.recent,
        "sentence": stream.sentence,
    } | _waiting(stream)


def _finite(time: float) -> float | None:
    """Return a time, None before the first."""
    return None if time == -np.inf else time


def _waiting(stream: Stream) -> dict[str, Any]:
    parts = ("rows", "entries", "places", "starts", "weights", "times")
    found: dict[str, Any] = dict.fromkeys(parts)
    if stream.waiting:
        matrix, found["weights"], found["times"] = joined([*stream.waiting])
        if is_sparse(matrix):
            found["entries"] = matrix.data
            found["places"], found["starts"] = matrix.indices, matrix.indptr
        else:
            found["rows"] = matrix
    return {f"waiting_{name}": value for name, value in found.items()}


def from_arrays(geometry: Geometry, state: dict[str, Any]) -> Stream:
    """Return the stream that `to_arrays` was called on; raise ValueError where that cannot be."""
    d, m = state["n_columns"], len(state["micro_scatter"])
    parts = ("coarse", "fine", "weight_coarse", "weight_fine")
    totals = Totals._make([*(state[f"micro_{part}"] for part in parts), np.zeros(m, bool)])
    summary = Summary(totals, state["micro_scatter"])
    events = state["events"]
    if not (summary.weights > 0).all() or (len(events) and not _are_events(events)):
        raise schema.contradiction("its micro-clusters or events cannot be")
    named = (
        (KINDS[kind], name, row) if other < 0 else (KINDS[kind], name, row, other)
        for kind, name, row, other in events.tolist()
    )
    frame = None
    if state["working_shift"] is not None and state["working_scale"] is not None:
        frame = Frame(state["working_shift"], state["working_scale"], geometry.degree or 0)
    elif m:
        raise schema.contradiction("it has rows, but no frame")
    start = -np.inf
    times = {
        name: start if state[name] is None else state[name]
        for name in ("now", "told", "watch_time")
    }
    return Stream(
        geometry,
        d,
        state["is_sparse"],
        state["is_timed"],
        np.dtype("float32" if state["working_dtype"] == "float32" else "float64"),
        state["seed"],
        summary,
        Watch(
            state["watch_centres"], state["watch_weights"], state["watch_cost"],
            state["watch_excess"], state["watch_row"], times["watch_time"],
        ),
        Identities(
            state["ids"], state["id_centres"], state["id_weights"], state["id_largest"],
            state["next_id"], tuple(named),
        ),
        frame,
        state["n_rows"],
        state["opening"],
        state["at_border"],
        state["n_clusters"],
        state["centres"],
        state["row_penalty"],
        state["origin"],
        times["now"],
        times["told"],
        _waiting_rows(state, d),
        state["first"],
        state["recent"],
        state["sentence"],
    )  # fmt: skip


def _are_events(events: Any) -> bool:
    return bool(events[:, 0].min() >= 0 and events[:, 0].max() < len(KINDS))


def _waiting_rows(state: dict[str, Any], d: int) -> tuple[Window, ...]:
    rows, entries, places, starts, weights, times = (
        state[f"waiting_{name}"]
        for name in ("rows", "entries", "places", "starts", "weights", "times")
    )
    if rows is None and entries is None:
        if any(each is not None for each in (places, starts, weights, times)):
            raise schema.contradiction("it has weights or times of no rows")
        return ()
    if (rows is None) != state["is_sparse"] or (times is None) == state["is_timed"]:
        raise schema.contradiction("its waiting rows are of another kind")
    if rows is None:
        fits = places is not None and starts is not None and len(starts) > 1
        if not fits or starts[0] != 0 or starts[-1] != len(entries) or (np.diff(starts) < 0).any():
            raise schema.contradiction("its waiting rows are malformed")
        rows = sparse.csr_array((entries, places, starts), (len(starts) - 1, d))
    for each in (weights, times):
        if each is not None and len(each) != rows.shape[0]:
            raise schema.contradiction("its waiting rows have other weights or times")
    return (Window(rows, weights, times),)
