"""Damaged, truncated, random and malicious files raise one sentence, without large allocations."""

import json
import os
import struct
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardbayes import load, save
from hardbayes.persistence import container
from tests.persistence.tiny import TinyModel, array_row, forge, header, small_model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hb"


def refuse(path, content):
    """Load must raise ValueError with one sentence that names the file."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"^Cannot load '.*': .*; .*\.$") as caught:
        load(path)
    message = str(caught.value)
    assert repr(str(path)) in message
    assert "\n" not in message
    assert len(message) < 500 + len(str(path))
    return message


def test_forged_files_are_otherwise_right(path):
    path.write_bytes(forge(header()))
    assert isinstance(load(path), TinyModel)
    right = header(arrays=[array_row()], state={"a_": {"array": "state.a_"}})
    path.write_bytes(forge(right, struct.pack("<d", 1.5)))
    assert load(path).state_["a_"] == 1.5


def test_layout_is_as_documented(path):
    save(small_model(), path)
    content = path.read_bytes()
    magic, version, length = struct.unpack_from("<8sIQ", content)
    assert (magic, version) == (container.MAGIC, 1)
    head = json.loads(content[20 : 20 + length])
    assert set(head) == {"library_version", "class", "params", "state", "arrays"}
    assert head["arrays"][0] == array_row("state.labels_", "int32", (3,), 0)
    assert content[52 + length : 64 + length] == np.array([0, 1, 1], dtype="<i4").tobytes()
    assert forge(content[20 : 20 + length], content[52 + length : -32]) == content


def test_cut_off_at_every_byte(path):
    save(small_model(), path)
    content = path.read_bytes()
    for length in range(len(content)):
        refuse(path, content[:length])


def test_every_flipped_byte(path):
    save(small_model(), path)
    content = path.read_bytes()
    for position in range(len(content)):
        for pattern in (1 << position % 8, 0xFF):
            changed = bytearray(content)
            changed[position] ^= pattern
            refuse(path, bytes(changed))


def test_bytes_added_or_lines_translated(path):
    save(small_model(), path)
    content = path.read_bytes()
    for changed in (content + b"\0", b"\0" + content, content * 2, content.replace(b"\r\n", b"\n")):
        refuse(path, changed)


def test_messages_say_what_and_what_to_do(path):
    assert "it is empty" in refuse(path, b"")
    assert "not a hardbayes model file" in refuse(path, b"a,b\n1,2\n")
    assert "upgrade hardbayes" in refuse(path, forge(header(), version=2))
    assert "never existed" in refuse(path, forge(header(), version=0))
    unknown = refuse(path, forge(header(**{"class": "NewMeans", "library_version": "9.1"})))
    assert "'NewMeans'" in unknown
    assert "'9.1'" in unknown
    assert "no parameter 'colour'" in refuse(path, forge(header(params={"colour": 1})))
    damaged = bytearray(forge(header()))
    damaged[40] ^= 1
    assert "damaged" in refuse(path, bytes(damaged))


VALUE_8 = struct.pack("<d", 1.0)
HUGE = 2**62


@pytest.mark.parametrize(
    "row",
    [
        array_row(shape=(10**12,)),
        array_row(shape=(HUGE, HUGE)),
        array_row(shape=(HUGE, HUGE, 0)),
        array_row(shape=(2**32, 2**32)),  # 0 in 64-bit arithmetic
        array_row(shape=(2**61 + 1,)),  # 8 bytes in 64-bit arithmetic
        array_row(shape=(10**4000,)),
        array_row(shape=(-1,)),
        array_row(shape=(-1, -1)),
        array_row(shape=(1.0,)),
        array_row(shape=(True,)),
        array_row(shape=("1",)),
        array_row(shape=(None,)),
        array_row(shape=([1],)),
        array_row(shape=(1,) * 33),
        array_row(shape=(0,)),
        array_row(shape=(2,)),
        array_row(dtype="float32"),
        array_row(dtype="object"),
        array_row(dtype="O"),
        array_row(dtype="<f8"),
        array_row(dtype="V8"),
        array_row(dtype="datetime64[ns]"),
        array_row(dtype=["f8"]),
        array_row(dtype=None),
        array_row(offset=-8),
        array_row(offset=8),
        array_row(offset=2**64),
        array_row(offset=False),
        array_row(offset=0.0),
        array_row(name=3),
        array_row(name="state.b_"),
        {**array_row(), "extra": 1},
        {**array_row(), "shape": 1},
        {**array_row(), "shape": {"0": 1}},
        {"name": "state.a_"},
        [],
        None,
    ],
)
def test_hostile_array_rows(path, row, monkeypatch):
    monkeypatch.setattr(container.np, "empty", lambda *_: pytest.fail("allocated an array"))
    refuse(path, forge(header(arrays=[row], state={"a_": {"array": "state.a_"}}), VALUE_8))


@pytest.mark.parametrize(
    "rows",
    [
        [array_row(), array_row("state.b_")],  # overlap
        [array_row(offset=8), array_row("state.b_", offset=0)],  # wrong order
        [array_row(), array_row("state.b_", offset=16)],  # gap
        [array_row(), array_row(offset=8)],  # one name twice
        [array_row(shape=(2,))],  # the second value has no array
    ],
)
def test_hostile_array_tables(path, rows):
    state = {"a_": {"array": "state.a_"}, "b_": {"array": "state.b_"}}
    refuse(path, forge(header(arrays=rows, state=state), VALUE_8 * 2))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"3",
        b"{}",
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 500 + b"]" * 500,
        b'{"state":' + b"[" * 900 + b"]" * 900 + b"}",
        b"1" * 100_000,
        b'{"arrays": [], "arrays": []}',
        json.dumps(header()).encode() + b" x",
        json.dumps(header(state={"a_": float("nan")})).encode(),
        json.dumps(header(state={"a_": float("inf")})).encode(),
        json.dumps(header(state={"a_": 12345})).encode().replace(b"12345", b"1e999"),
        json.dumps(header(state={"a_": 12345})).encode().replace(b"12345", b"1" * 5000),
        json.dumps(header(state={"a_": 1, "b_": 2})).encode().replace(b"b_", b"a_"),
    ],
)
def test_hostile_header_text(path, text):
    refuse(path, forge(text))


@pytest.mark.parametrize(
    "changes",
    [
        {"extra": 1},
        {"library_version": None},
        {"class": None},
        {"class": ["TinyModel"]},
        {"class": "os.system"},
        {"class": "tests.persistence.tiny.TinyModel"},
        {"class": "x" * 100_000},
        {"params": []},
        {"params": None},
        {"params": {"self": 1}},
        {"params": {"penalty": -1.0}},
        {"params": {"penalty": {"float": "nan"}}},
        {"params": {"penalty": [1.0]}},
        {"state": []},
        {"state": {"": 1}},
        {"state": {"__class__": 1}},
        {"state": {"a.b": 1}},
        {"state": {"a\n": 1}},
        {"state": {"x" * 101: 1}},
        {"state": {"a_": []}},
        {"state": {"a_": {}}},
        {"state": {"a_": {"float": "1.0"}}},
        {"state": {"a_": {"float": "NaN"}}},
        {"state": {"a_": {"float": ["nan"]}}},
        {"state": {"a_": {"float": "nan", "array": "state.a_"}}},
        {"state": {"a_": {"array": "state.a_"}}},
        {"state": {"a_": {"array": 0}}},
        {"state": {"a_": {"strings": "state.a_"}}},
        {"state": {"a_": {"python/object": "os.system"}}},
        {"state": {"a_": 2**64}},
        {"state": {"count_": 3}},
        {"state": {"count_": 3, "labels_": None}},
        {"arrays": {}},
        {"arrays": None},
        {"arrays": [array_row(shape=(0,))]},  # nothing uses it
    ],
)
def test_hostile_header_entries(path, changes):
    refuse(path, forge(header(**changes)))


@pytest.mark.parametrize("missing", ["library_version", "class", "params", "state", "arrays"])
def test_missing_header_entries(path, missing):
    refuse(path, forge({k: v for k, v in header().items() if k != missing}))


def test_hostile_arrays(path):
    def one(dtype, payload):
        head = header(arrays=[array_row(dtype=dtype)], state={"a_": {"array": "state.a_"}})
        return refuse(path, forge(head, payload))

    assert "NaN" in one("float64", struct.pack("<d", float("nan")))
    assert "infinity" in one("float32", struct.pack("<f", float("inf")))
    assert "boolean" in one("bool", b"\x02")


@pytest.mark.parametrize(
    ("lengths", "utf8"),
    [([-1, 2], b"a"), ([2], b"a"), ([], b"a"), ([2**62] * 4, b""), ([1], b"\xff")],
)
def test_hostile_texts(path, lengths, utf8):
    rows = [
        array_row("state.a_.utf8", "uint8", (len(utf8),)),
        array_row("state.a_.lengths", "int64", (len(lengths),), len(utf8)),
    ]
    payload = utf8 + struct.pack(f"<{len(lengths)}q", *lengths)
    message = refuse(
        path, forge(header(arrays=rows, state={"a_": {"strings": "state.a_"}}), payload)
    )
    assert "texts" in message


@pytest.mark.parametrize("length", [2**20 + 1, 10 * 2**30, 2**63, 2**64 - 1])
def test_huge_header_length_costs_neither_time_nor_memory(path, length):
    content = forge(header(), length=length)
    tracemalloc.start()
    start = time.perf_counter()
    try:
        refuse(path, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < 5
    assert peak < 5_000_000


def test_long_hostile_header_is_refused_in_bounded_memory(path):
    text = json.dumps(header(state={"a_": [[]] * 200_000})).encode()
    assert len(text) < container.MAX_HEADER_BYTES
    tracemalloc.start()
    try:
        refuse(path, forge(text))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", container.MAGIC, forge(header())[:20]]))
def test_random_bytes(tmp_path_factory, content, start):
    refuse(tmp_path_factory.getbasetemp() / "random.hb", start + content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(header())), JSON, st.binary(max_size=16))
def test_random_headers_never_give_another_exception(tmp_path_factory, key, value, payload):
    path = tmp_path_factory.getbasetemp() / "header.hb"
    path.write_bytes(forge(header(**{key: value}), payload))
    try:
        model = load(path)
    except ValueError:
        return
    assert isinstance(model, TinyModel)


def test_missing_parameters_take_their_defaults(path):
    path.write_bytes(forge(header(params={"penalty": 3.0})))
    assert load(path).get_params() == TinyModel(3.0).get_params()


def test_file_that_shrinks_while_it_is_read(path, monkeypatch):
    save(small_model(), path)
    real = os.fstat

    def larger(descriptor):
        status = list(real(descriptor))
        os.truncate(path, 100)
        return os.stat_result(status)

    monkeypatch.setattr(os, "fstat", larger)
    with pytest.raises(ValueError, match="became shorter"):
        load(path)


def test_operating_system_errors_keep_their_kind(tmp_path):
    with pytest.raises(FileNotFoundError, match="check the path") as caught:
        load(tmp_path / "absent")
    assert caught.value.filename == str(tmp_path / "absent")
    with pytest.raises(IsADirectoryError, match="Is a folder"):
        load(tmp_path)
    with pytest.raises(ValueError, match="NUL"):
        load("a\0b")
    with pytest.raises(TypeError):
        load(3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_or_device_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ValueError, match="not a regular file"):
            load(name)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads and writes everything"
)
def test_no_permission_to_read(path):
    save(small_model(), path)
    path.chmod(0)
    with pytest.raises(PermissionError):
        load(path)
