"""Several sweeps in one call: however many calls it takes, the same fit."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes import DPMeans
from hardbayes.local import few_rows
from tests.conftest import assert_same_bits, make_blobs, quiet_fit


@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize(
    ("name", "value"), [("MOST_STEPS", 1), ("MOST_STEPS", 3), ("TOGETHER", 1), ("MOST_WORK", 8000)]
)
def test_calls_cut_short_give_the_same_bits(name, value, search, monkeypatch):
    X, _ = make_blobs(120, 3, 9, spread=0.3)
    model = DPMeans(0.5, search=search, random_state=0)
    whole = model.fit(X)
    monkeypatch.setattr(few_rows, name, value)
    assert_same_bits(DPMeans(0.5, search=search, random_state=0).fit(X), whole)


def test_any_number_of_sweeps_may_be_allowed():
    X, _ = make_blobs(120, 3, 9, spread=0.3)
    model = DPMeans(0.5, search="paper", max_iter=10**15, random_state=0).fit(X)
    assert model.converged_


def test_few_rows_never_meet_the_passes_for_many(monkeypatch):
    from hardbayes.executors.memory import MemoryExecutor

    def refuse(*_, **__):
        raise AssertionError("a pass over tiles")

    monkeypatch.setattr(MemoryExecutor, "assign", refuse)
    X, _ = make_blobs(120, 3, 9, spread=0.3)
    for search in ("paper", "split-merge"):
        DPMeans(0.5, search=search, random_state=0).fit(X)
    with pytest.raises(AssertionError):
        DPMeans(0.5, search="paper").fit(np.tile(X, (20, 1)))


def test_orphans_of_weightless_clusters_are_labelled_in_the_end():
    X = np.array([[0.0], [0.0], [1.0], [10.0]])
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    init = np.array([[0.3], [10.0]])
    model = DPMeans(100.0, search="paper", init=init).fit(X, sample_weight=weights)
    assert model.labels_.tolist() == [0, 0, 0, 0]
    assert model.n_clusters_ == 1


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("search", ["paper", "split-merge"])
def test_rows_without_weight_whose_cluster_goes_read_nothing_unwritten(
    search, container, monkeypatch
):
    """New memory is filled with NaN, as it may well be."""
    empty = np.empty

    def no_numbers(*arguments, **options):
        fresh = empty(*arguments, **options)
        if fresh.dtype.kind == "f":
            fresh.fill(np.nan)
        return fresh

    monkeypatch.setattr(np, "empty", no_numbers)
    rng = np.random.default_rng(0)
    for seed in range(40):
        X = rng.integers(-2, 3, (int(rng.integers(3, 12)), 4)).astype(float)
        weights = rng.integers(0, 2, len(X)).astype(float)
        weights[0] = 1.0
        init = X[rng.integers(0, len(X), 7)]
        model = DPMeans(
            float(rng.choice([0.0, 2.0, 100.0])), init=init, search=search, random_state=seed
        )
        quiet_fit(model, container(X), weights)
        distances = ((X[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
        cheapest = distances[np.arange(len(X)), model.labels_] <= distances.min(axis=1) + 1e-9
        assert cheapest[weights == 0].all()
        assert np.isfinite(model.objective_history_).all()
        assert model.converged_
