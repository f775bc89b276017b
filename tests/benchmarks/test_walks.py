"""Fits enter the files of their own model and of the core, and no others."""

from functools import cache
from pathlib import PurePath

import pytest

from benchmarks.walks import walk
from hardbayes import BPMeans, DPMeans, GraphDPMeans
from hardbayes.datasets import make_planted_partition, make_three_gaussians

X, _ = make_three_gaussians(60, random_state=0)
GRAPH, _ = make_planted_partition(random_state=0)


@cache
def fitted():
    return DPMeans(50.0, random_state=0).fit(X)


CALLS = {
    "dp_means": lambda: DPMeans(50.0, random_state=0).fit(X),
    "dp_means of new rows": lambda: fitted().predict(X),
    "features": lambda: BPMeans(50.0, random_state=0).fit(X),
    "graph": lambda: GraphDPMeans(-0.3, random_state=0).fit(GRAPH),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_enters_its_own_model_and_the_core(name):
    files = walk(CALLS[name]).files()
    assert {PurePath(file).parts[0] for file in files} == {"core", name.split()[0]}


@pytest.mark.parametrize("name", ["dp_means", "dp_means of new rows"])
def test_rows_in_memory_are_not_read_by_block(name):
    files = walk(CALLS[name]).files()
    assert not [file for file in files if "blocks" in file or "dask" in file]
