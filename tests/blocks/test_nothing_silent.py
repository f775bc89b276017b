"""What cannot go through rows block by block says so, and computes no Dask collection."""

import inspect

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import hardbayes
from hardbayes import DPMeans, GaussianDPMeans, HDPMeans, row_blocks, samplers

X = np.abs(np.random.default_rng(0).standard_normal((60, 3)))


def unwanted(*args, **kwargs):
    raise AssertionError("a Dask collection was computed")


KINDS = {
    "a Dask array": lambda: da.from_array(X, chunks=(20, 3)),
    "a Dask data frame": lambda: dd.from_pandas(
        pd.DataFrame(X, columns=list("abc")), npartitions=3
    ),
    "row_blocks": lambda: row_blocks(lambda: unwanted()),
}
ESTIMATORS = {
    name: value
    for module in (hardbayes, samplers)
    for name in module.__all__
    if inspect.isclass(value := getattr(module, name)) and issubclass(value, BaseEstimator)
}


@pytest.fixture(params=KINDS)
def lazy(request):
    """Rows that hold nothing yet, and what they are called; reading any of them is an error."""
    with dask.config.set(scheduler=unwanted):
        yield KINDS[request.param](), request.param


def refuses(lazy, call):
    rows, kind = lazy
    with pytest.raises(TypeError, match=f"^X is {kind}, which holds no rows yet: only 'fit'"):
        call(rows)


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - {"DPMeans"}))
def test_no_other_estimator_takes_rows_by_block(name, lazy):
    if name == "MiniBatchDPMeans" and lazy[1] == "row_blocks":  # a stream reads them in their order
        with pytest.raises(AssertionError, match="was computed"):
            ESTIMATORS[name]().fit(lazy[0])
        return
    estimator = ESTIMATORS[name]()
    refuses(lazy, estimator.fit)
    assert not hasattr(estimator, "n_features_in_")


def test_tables_of_mixed_columns_are_in_memory(lazy):
    model = DPMeans(5.0, divergence="mixed", random_state=0)
    refuses(lazy, model.fit)
    model.fit(X)
    refuses(lazy, model.predict)
    refuses(lazy, model.transform)


def test_no_function_takes_rows_by_block(lazy, tmp_path):
    model = DPMeans(3.0, random_state=0).fit(X)
    gaussian = GaussianDPMeans(1.0, random_state=0).fit(X)
    for call in (
        model.score,
        model.score_samples,
        model.summary,
        gaussian.predict,
        gaussian.transform,
        hardbayes.penalty_path,
        lambda rows: hardbayes.objective(rows, model.labels_, 1.0),
        lambda rows: hardbayes.penalty_for(rows, 3),
        lambda rows: hardbayes.objective_lower_bound(rows, 1.0),
        lambda rows: hardbayes.local_global_penalties_for(rows, np.zeros(60), 2, 2),
        lambda rows: hardbayes.certainty(model, rows),
        lambda rows: hardbayes.report(model, rows, tmp_path / "report.html"),
    ):
        refuses(lazy, call)


@pytest.mark.parametrize("rows", [X, row_blocks([X])], ids=["memory", "row_blocks"])
def test_weights_of_dask_are_not_computed(rows):
    with dask.config.set(scheduler=unwanted):
        with pytest.raises(TypeError, match="parameter is a Dask array, which holds no numbers"):
            DPMeans(3.0).fit(rows, sample_weight=da.ones(60))
        with pytest.raises(TypeError, match="'groups' parameter is a Dask array"):
            HDPMeans(1.0, 1.0).fit(X, groups=da.ones(60))


@pytest.mark.parametrize(
    ("rows", "error", "match"),
    [
        (dask.bag.from_sequence([1, 2]), TypeError, r"Got Bag of Dask instead"),
        (dask.delayed(X), TypeError, r"Got Delayed\w* of Dask instead"),
        (da.ones(5), ValueError, "got 1D array instead"),
        (dd.from_pandas(pd.Series([1.0, 2.0]), npartitions=1), ValueError, "got 1D array instead"),
    ],
    ids=["bag", "delayed", "vector", "series"],
)
def test_other_collections_of_dask(rows, error, match):
    with dask.config.set(scheduler=unwanted), pytest.raises(error, match=match):
        DPMeans(3.0).fit(rows)
