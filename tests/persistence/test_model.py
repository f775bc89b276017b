"""Values are loaded as they were saved, and those that cannot be saved are named."""

import ast
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hardbayes import BPMeans, DPMeans, load, save
from hardbayes.persistence import container
from tests.persistence.tiny import TinyModel, fitted, small_model


def round_trip(model, folder):
    path = Path(folder) / "model.hb"
    save(model, path, overwrite=True)
    return load(path)


def test_unfitted(tmp_path):
    model = round_trip(TinyModel(2.5, random_state=7), tmp_path)
    assert type(model) is TinyModel
    assert model.get_params() == TinyModel(2.5, random_state=7).get_params()
    assert not hasattr(model, "state_")


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**63, -(2**63), 1.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308,
        math.inf, -math.inf, "", "text", "é\n\0\ud800", "NaN", ["a"], ["", "\udc80", "日本", "\0"],
    ],
)  # fmt: skip
def test_values_come_back_with_their_type(value, tmp_path):
    back = round_trip(fitted(value_=value), tmp_path).state_["value_"]
    assert type(back) is type(value)
    assert back == value
    if isinstance(value, float):
        assert math.copysign(1, back) == math.copysign(1, value)


def test_nan_comes_back(tmp_path):
    assert math.isnan(round_trip(fitted(value_=math.nan), tmp_path).state_["value_"])


def test_header_is_strict_json(tmp_path):
    save(fitted(a_=math.nan, b_=math.inf), tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    assert b"NaN" not in content
    assert b"Infinity" not in content


@pytest.mark.parametrize("dtype", sorted(container.DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 4), (2, 3), (1, 2, 3)])
def test_arrays_come_back_to_the_bit(dtype, shape, tmp_path):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    back = round_trip(fitted(array_=array), tmp_path).state_["array_"]
    assert back.dtype == array.dtype
    assert back.dtype.isnative
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()
    assert back.flags.writeable
    assert back.flags.c_contiguous


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12.0)[::-2],
        np.arange(12, dtype=">i8"),
        np.arange(12, dtype=">f4").reshape(3, 4, order="F"),
        np.broadcast_to(np.float32(3), (4, 2)),
    ],
)
def test_any_memory_layout(array, tmp_path):
    before = array.copy()
    back = round_trip(fitted(array_=array), tmp_path).state_["array_"]
    np.testing.assert_array_equal(back, before)
    np.testing.assert_array_equal(array, before)
    assert back.dtype.name == array.dtype.name


def test_arrays_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "_BLOCK_BYTES", 7)
    array = np.arange(100, dtype=np.int64)
    np.testing.assert_array_equal(round_trip(fitted(a_=array), tmp_path).state_["a_"], array)


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_]{0,8}_", fullmatch=True),
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats(allow_nan=False)
        | st.text()
        | st.lists(st.text(), min_size=1)
        | hnp.arrays(np.int32, hnp.array_shapes(min_dims=0, min_side=0)),
        max_size=6,
    ).filter(lambda state: "count_" not in state)
)
def test_any_state(tmp_path_factory, state):
    back = round_trip(fitted(**state), tmp_path_factory.getbasetemp())
    back_state = back.state_ if state else {}
    assert list(back_state) == list(state)
    for name, value in state.items():
        np.testing.assert_array_equal(back_state[name], value)


def test_numpy_scalars_become_python_ones(tmp_path):
    model = TinyModel(np.float64(0.1), init=np.str_("mean"), random_state=np.int64(3))
    model.state_ = {"a_": np.bool_(True), "b_": np.float32(0.1), "c_": np.uint8(5)}
    back = round_trip(model, tmp_path)
    assert [type(v) for v in (back.penalty, back.init, back.random_state)] == [float, str, int]
    assert (back.penalty, back.init, back.random_state) == (0.1, "mean", 3)
    assert back.state_ == {"a_": True, "b_": float(np.float32(0.1)), "c_": 5}
    assert [type(v) for v in back.state_.values()] == [bool, float, int]


@pytest.mark.parametrize("init", [np.eye(2, dtype=np.float32), [[1, 2], [3, 4]], ((0.5,),)])
def test_array_parameter(init, tmp_path):
    back = round_trip(TinyModel(init=init), tmp_path)
    np.testing.assert_array_equal(back.init, init)
    assert back.init.dtype == np.asarray(init).dtype


@pytest.mark.parametrize("state", [np.random.RandomState(0), np.random.default_rng(0)])
def test_random_generators_are_saved_as_none(state, tmp_path):
    assert round_trip(TinyModel(random_state=state), tmp_path).random_state is None


def test_saving_changes_nothing_in_the_model(tmp_path):
    generator = np.random.RandomState(0)
    model = TinyModel(random_state=generator)
    save(model, tmp_path / "m")
    assert model.random_state is generator


def test_same_model_same_bytes(tmp_path):
    save(small_model(), tmp_path / "a")
    save(small_model(), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


class Geometry:
    pass


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (TinyModel(divergence=Geometry()), ["divergence", "Geometry", "no code", "this library"]),
        (TinyModel(init=Geometry()), ["init", "Geometry"]),
        (TinyModel(init=[[1, 2], [3]]), ["init"]),
        (TinyModel(init=np.ma.masked_array([1, 2], [0, 1])), ["init", "MaskedArray"]),
        (fitted(a_=np.array([object()])), ["a_", "object"]),
        (fitted(a_=np.array(["x"])), ["a_", "<U1"]),
        (fitted(a_=np.array([1j])), ["a_", "complex"]),
        (fitted(a_=np.array([np.nan])), ["a_", "NaN"]),
        (fitted(a_=np.array([np.inf], dtype=np.float32)), ["a_", "infinity"]),
        (fitted(a_=2**64), ["a_", "64 bits"]),
        (fitted(a_=1j), ["a_", "complex"]),
        (fitted(a_={"b": 1}), ["a_", "dict"]),
        (fitted(a_=lambda: None), ["a_", "function"]),
        (fitted(a_="x" * container.MAX_HEADER_BYTES), ["header"]),
        (fitted(__class__=1), ["__class__"]),
        (fitted(**{"a b": 1}), ["a b"]),
    ],
)
def test_what_cannot_be_saved(model, words, tmp_path):
    path = tmp_path / "model.hb"
    with pytest.raises(ValueError, match=r"^Cannot save this TinyModel to .*\.$") as caught:
        save(model, path)
    for word in [*words, repr(str(path))]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_parameters_that_fit_would_refuse(tmp_path):
    for penalty in (-1.0, math.nan, "x"):
        with pytest.raises(ValueError, match="'penalty' parameter"):
            save(TinyModel(penalty), tmp_path / "m")
    assert os.listdir(tmp_path) == []


class Child(TinyModel):
    pass


def impostor():
    return type("TinyModel", (TinyModel,), {})()


@pytest.mark.parametrize("model", [None, 3, {}, TinyModel, Child(), impostor()])
def test_only_registered_classes_are_saved(model, tmp_path):
    with pytest.raises(TypeError, match="'model' parameter of save must be"):
        save(model, tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_nothing_that_runs_code_from_files_or_finds_it_by_name_in_the_source():
    banned = ("pickle", "marshal", "shelve", "joblib", "sklearn", "importlib")
    sources = list(Path(container.__file__).parent.glob("*.py"))
    assert len(sources) > 3
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not [name for name in names if name.startswith(banned)], source


def test_another_estimator_than_expected_is_refused(tmp_path):
    save(DPMeans(4.0).fit([[0.0], [9.0]]), tmp_path / "model")
    assert load(tmp_path / "model", DPMeans).n_clusters_ == 2
    with pytest.raises(ValueError, match="holds a DPMeans, and a BPMeans is expected"):
        load(tmp_path / "model", BPMeans)
