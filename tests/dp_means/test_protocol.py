"""The contract of executors: three of them, and the same fit from each.

Rows in memory (compiled), rows in plain NumPy, and rows in blocks, each read anew by every pass.
"""

import inspect
from functools import partial
from typing import Protocol

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, objective, penalty_path, row_blocks
from hardbayes.core.arrays import is_sparse, total_weight
from hardbayes.dp_means import problem as problems
from hardbayes.dp_means.blocks.block import BlockMaker
from hardbayes.dp_means.blocks.mapping import LocalMapper
from hardbayes.dp_means.blocks.problem import make_block
from hardbayes.dp_means.blocks.rows import BlockFacts, BlockRows
from hardbayes.dp_means.memory import MemoryRows
from hardbayes.dp_means.rows import Rows
from hardbayes.dp_means.totals import Rounding
from tests.conftest import make_blobs, quiet_fit
from tests.dp_means.numpy_rows import NumpyRows
from tests.test_divergences import rows_for

METHODS = sorted(
    name
    for name, value in vars(Rows).items()
    if inspect.isfunction(value) and not name.startswith("_") and name not in vars(Protocol)
)
in_memory = problems.rows_in_memory


def working(matrix, geometry, frame, weights, largest, pool):
    """Return rows in working coordinates, and what executors need beside them."""
    rows = in_memory(matrix, geometry, frame, weights, largest, pool)
    scaled = np.ones(len(largest)) if geometry.row_unit is not None else largest * frame.scale
    local = rows.take()
    constants = rows.constants
    return local.matrix(), weights, constants, scaled, rows.layout, pool


def numpy_rows(*arguments):
    return NumpyRows(*working(*arguments))


def block_rows(matrix, geometry, frame, weights, largest, pool, size=37, most_taken=None):
    """Return rows in blocks of a list: the product's executor, with the reader of this process."""
    n, d = matrix.shape
    parts = [matrix[start : start + size] for start in range(0, n, size)]
    every = np.broadcast_to(weights, n)
    cut = range(size, n, size)
    heavy = {i: np.packbits(part > 0) for i, part in enumerate(np.split(every, cut))}
    scaled = np.ones(d) if geometry.row_unit is not None else largest * frame.scale
    layout = geometry.layout(is_sparse(matrix), matrix.dtype)
    rounding = Rounding(weights, n, scaled)
    maker = BlockMaker(
        lambda X, weights: (X, np.ones(1) if weights is None else weights),
        partial(make_block, geometry=geometry, frame=frame, largest=largest),
        layout,
        rounding,
    )
    entries = matrix.nnz if is_sparse(matrix) else matrix.size
    facts = BlockFacts(
        np.array([len(part.indptr) - 1 if is_sparse(part) else len(part) for part in parts]),
        d, max(1, entries // n), matrix.dtype, float(weights[0]) if len(weights) == 1 else None,
        float(weights.max()), total_weight(weights, n), int(np.count_nonzero(every)), heavy,
        frame.shift,
    )  # fmt: skip
    mapper = LocalMapper(row_blocks(parts, weights=every, block_bytes=1 << 40))
    rows = BlockRows(mapper, facts, maker, layout, rounding, pool)
    if most_taken is not None:
        rows.most_taken = most_taken
    return rows


OTHERS = {"numpy": numpy_rows, "blocks": block_rows}


@pytest.fixture(params=OTHERS)
def other(request, monkeypatch):
    """Return a function that calls another with this executor in place of rows in memory."""

    def call(function):
        with monkeypatch.context() as patch:
            patch.setattr(problems, "rows_in_memory", OTHERS[request.param])
            return function()

    return call


def assert_same_fit(model, expected):
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.n_iter_ == expected.n_iter_
    assert model.status_ == expected.status_
    assert (model.n_splits_, model.n_merges_) == (expected.n_splits_, expected.n_merges_)
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=1e-12)
    np.testing.assert_allclose(model.objective_history_, expected.objective_history_, rtol=1e-9)


def rows(n=90, d=3, seed=0):
    return make_blobs(n, d, 7, seed=seed, spread=0.25)[0]


WEIGHTS = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 3.0], 90)
CASES = {
    "paper": (rows(), None, dict(search="paper")),
    "split-merge": (rows(), None, {}),
    "collapsed": (rows(), None, dict(method="collapsed")),
    "float32": (rows().astype(np.float32), None, {}),
    "offset": (rows() + 1e7, None, {}),
    "weights": (rows(), WEIGHTS, {}),
    "weights, paper": (rows(), WEIGHTS, dict(search="paper")),
    "cap": (rows(), None, dict(max_clusters=4)),
    "cap, paper": (rows(), None, dict(max_clusters=4, search="paper")),
    "prior": (rows(), WEIGHTS, dict(prior_weight=2.0)),
    "prior, paper": (rows(), None, dict(prior_weight=2.0, search="paper")),
    "one step": (rows(), None, dict(max_iter=1)),
    "few steps": (rows(), None, dict(max_iter=5)),
    "k-means++": (rows(), None, dict(init="k-means++", n_init=2)),
    "farthest-first": (rows(), WEIGHTS, dict(init="farthest-first", search="paper")),
    "given": (rows(), None, dict(init=rows()[:5], order="given")),
    "sparse": (sparse.csr_array(np.where(np.abs(rows()) > 0.3, rows(), 0.0)), None, {}),
    "sparse, paper": (sparse.csr_array(np.round(rows(), 1)), WEIGHTS, dict(search="paper")),
    "wide": (rows(60, 40), None, {}),
}


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("penalty", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("case", CASES)
def test_every_executor_gives_the_same_fit(other, case, penalty):
    X, weights, options = CASES[case]
    model = DPMeans(penalty, random_state=0, **options)
    expected = quiet_fit(DPMeans(penalty, random_state=0, **options), X, weights)
    assert_same_fit(other(lambda: quiet_fit(model, X, weights)), expected)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize("divergence", ["kl", "poisson", "itakura_saito", "logistic", "cosine"])
def test_every_executor_gives_the_same_fit_for_other_divergences(
    other, divergence, search, container
):
    if divergence == "itakura_saito" and container is not np.asarray:
        pytest.skip("zeros are outside the domain")
    rng = np.random.default_rng(0)
    X = container(rows_for(divergence, rng, 70, 5, zeros=divergence != "itakura_saito"))
    for penalty, weights in ((0.1, None), (1.0, rng.choice([0.5, 1.0, 2.0], 70))):
        options = dict(divergence=divergence, search=search, random_state=0)
        expected = quiet_fit(DPMeans(penalty, **options), X, weights)
        model = DPMeans(penalty, **options)
        assert_same_fit(other(lambda m=model, w=weights: quiet_fit(m, X, w)), expected)


def test_every_executor_traces_the_same_path(other):
    X = rows(60, 2)
    expected = penalty_path(X, estimator=DPMeans(random_state=0), n_penalties=8)
    path = other(lambda: penalty_path(X, estimator=DPMeans(random_state=0), n_penalties=8))
    np.testing.assert_array_equal(path.n_clusters, expected.n_clusters)
    np.testing.assert_allclose(path.objectives, expected.objectives, rtol=1e-12)


def test_every_executor_measures_the_same_objective(other):
    X, labels = rows(), np.random.default_rng(0).integers(0, 9, 90)
    expected = objective(X, labels, 2.0, sample_weight=WEIGHTS)
    found = other(lambda: objective(X, labels, 2.0, sample_weight=WEIGHTS))
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "options",
    [dict(search="paper"), {}, dict(method="collapsed"), dict(prior_weight=1.0)],
    ids=["paper", "split-merge", "collapsed", "prior"],
)
def test_a_few_rows_at_a_time_are_enough(options, monkeypatch):
    """Moves that would need more rows are left out: the objective never rises all the same."""
    X = make_blobs(400, 3, 7, spread=0.25)[0]
    expected = quiet_fit(DPMeans(0.5, random_state=1, **options), X)
    monkeypatch.setattr(problems, "rows_in_memory", lambda *a: block_rows(*a, most_taken=90))
    model = quiet_fit(DPMeans(0.5, random_state=1, **options), X)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.objective_ <= 1.05 * expected.objective_
    if options.get("search") == "paper":
        np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_the_contract_is_small():
    assert len(METHODS) <= 16


@pytest.mark.parametrize("executor", [MemoryRows, NumpyRows, BlockRows])
def test_an_executor_has_the_methods_of_the_contract_and_their_arguments(executor):
    for name in METHODS:
        expected = list(inspect.signature(getattr(Rows, name)).parameters)
        assert list(inspect.signature(getattr(executor, name)).parameters) == expected
