"""How columns are coded: levels that are pooled, spikes, what is left out, floors."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import entr

from hardbayes.mixed.coding import OTHER_LEVELS, find_coding, spikes_of
from hardbayes.mixed.reading import read_table
from hardbayes.mixed.shapes import (
    LOGARITHM,
    YEO_JOHNSON,
    Ranked,
    floor_of_lattice,
    floor_of_steps,
    is_lattice,
    shape_of,
)

N = 400


def coded(columns, **said):
    table = read_table(pd.DataFrame(columns), said)
    return find_coding(table.matrix, table.columns, np.ones(len(table.matrix))), table


def whys(coding):
    return {column.name: column.why for column in coding.columns if column.kind == "left out"}


def test_columns_that_tell_nothing_are_left_out():
    rng = np.random.default_rng(0)
    city = rng.integers(0, 8, N)
    few = np.full(N, np.nan)
    few[:4] = [1.0, 2.5, 3.0, 9.0]
    coding, _ = coded({
        "id": [f"c{i}" for i in range(N)], "levels": [f"l{i % 79}" for i in range(N)],
        "city": [f"city {c}" for c in city], "region": [f"region {c // 3}" for c in city],
        "few": few, "x": rng.normal(size=N), "lone": ["a"] * (N - 1) + ["b"],
    })  # fmt: skip
    assert whys(coding) == {
        "id": "names the rows", "levels": "more than 50 levels",
        "region": "follows from 'city'", "few": "hardly any numbers",
    }  # fmt: skip


def test_rare_levels_are_pooled_and_new_ones_join_them():
    words = ["a"] * 200 + ["b"] * 196 + ["c", "d", "e", "e"]
    coding, table = coded({"w": words, "x": np.arange(N)})
    category = coding.categories[0]
    assert category.names == ("a", "b", OTHER_LEVELS)
    assert_array_equal(np.bincount(category.code(table.matrix[:, 0])), [200, 196, 4])
    assert_array_equal(category.code(np.array([-1.0, np.nan])), [2, -1])


def test_a_new_level_counts_as_missing_where_none_are_pooled():
    coding, _ = coded({"w": ["a", "b", "c", "c"] * 100})
    assert_array_equal(coding.categories[0].code(np.array([-1.0, 1.0])), [-1, 1])


def test_spikes_become_a_category_and_a_hole():
    rng = np.random.default_rng(0)
    amount = np.where(rng.random(N) < 0.5, 0.0, rng.lognormal(3, 1, N))
    coding, table = coded({"amount": amount, "x": rng.normal(size=N)})
    assert coding.numbers[0].spikes == (0.0,)
    numbers, levels = coding.code(table.matrix)
    assert_array_equal(np.isnan(numbers[:, 0]), amount == 0)
    assert_array_equal(levels[:, 0], (amount != 0) * 1)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=300),
        np.repeat(np.arange(5.0), 60),  # steps are no spikes
        np.repeat([0.0, 1.0], 150),
    ],
)
def test_columns_without_spikes(values):
    assert spikes_of(values, np.ones(len(values))) == ()


@pytest.mark.parametrize(
    ("draw", "transform"),
    [(lambda r: r.lognormal(3, 1, N), LOGARITHM), (lambda r: -r.gamma(1.0, size=N), YEO_JOHNSON)],
)
def test_skewed_columns_become_symmetric(draw, transform):
    values = draw(np.random.default_rng(0))
    shape = shape_of(values, np.ones(N))
    assert shape.transform == transform
    code = shape.code(values)
    assert_allclose([code.mean(), code.std()], [0, 1], atol=1e-9)
    assert abs(Ranked.of(code, np.ones(N)).skewness()) < 0.3
    assert (np.diff(code[np.argsort(values)]) >= 0).all()


@pytest.mark.parametrize("factor", [1e-6, 3.7, 1e9])
@pytest.mark.parametrize("kind", ["normal", "lognormal", "poisson"])
def test_units_do_not_matter(factor, kind):
    values = getattr(np.random.default_rng(0), kind)(size=N) + 0.0
    shape, scaled = shape_of(values, np.ones(N)), shape_of(factor * values, np.ones(N))
    assert_allclose(scaled.code(factor * values), shape.code(values), atol=1e-4)
    assert_allclose(scaled.floor, shape.floor, rtol=1e-3)


def test_no_division_of_a_lattice_pays():
    rng = np.random.default_rng(0)
    for _ in range(50):
        m = rng.integers(2, 9)
        values, shares = np.sort(rng.normal(size=m)), rng.dirichlet(np.ones(m))
        floor = floor_of_lattice(values, shares)
        variance = shares @ (values - shares @ values) ** 2
        gains = []
        for cut in range(1, m):
            parts = [slice(cut), slice(cut, None)]
            weights = np.array([shares[part].sum() for part in parts])
            within = sum(
                shares[part] @ (values[part] - np.average(values[part], weights=shares[part])) ** 2
                for part in parts
            )
            gain = 0.5 * np.log((variance + floor) / (within + floor))
            gains.append(gain - entr(weights).sum())
        gains.append(0.5 * np.log((variance + floor) / floor) - entr(shares).sum())
        assert max(gains) <= 1e-9
        assert max(gains) >= -1e-9  # the least such floor


def test_a_gap_is_no_step():
    values = np.array([0.0, 1, 2, 3, 20, 21, 22, 23])
    shares = np.full(8, 1 / 8)
    assert floor_of_steps(values, shares, values) < floor_of_lattice(values, shares) / 10


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.random.default_rng(0).normal(size=N), False),
        (np.random.default_rng(0).poisson(5, N), True),
        (np.round(np.random.default_rng(0).normal(size=N), 1), True),
        (np.round(np.random.default_rng(0).normal(size=N), 3), False),
    ],
)
def test_lattices_are_known(values, expected):
    assert is_lattice(Ranked.of(values.astype(float), np.ones(N))) is expected


def test_equal_weights_below_one_code_as_ones_do():
    from hardbayes import MixedDPMeans
    from tests.mixed.tables import customers

    frame, _ = customers(120)
    model = MixedDPMeans(n_clusters=2, random_state=0).fit(frame)
    shares = MixedDPMeans(n_clusters=2, random_state=0).fit(
        frame, sample_weight=np.full(120, 1 / 120)
    )
    assert shares.column_kinds_ == model.column_kinds_
    assert shares.center_names_ == model.center_names_
