"""A run in rounds, as the manual has it, killed at any moment and called again: the same bits."""

import os
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

from hardbayes import DPMeans, row_blocks
from hardbayes.dp_means.blocks.mapping import LocalMapper
from tests.blocks.conftest import blobs, cut
from tests.markdown import FENCE

X = blobs(150)
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.fixture
def rounds():
    """Run what the manual defines, with rounds of eight steps."""
    (code,) = (text for _, text in FENCE.findall(PAGE.read_text()) if "def fit_in_rounds" in text)
    session = {"DPMeans": DPMeans}
    exec(compile(code.partition("\nmodel =")[0], PAGE.name, "exec"), session)  # noqa: S102

    def run(folder):
        folder.mkdir(exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rounds that stop before they converge
            return session["fit_in_rounds"](row_blocks(cut(X, "17")), folder, 8.0, steps=8)

    return run


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_pass(number):
    """Let this process die when rows are gone through for the so-many-th time."""
    mapped, left = LocalMapper.map, [number]

    def counting(*args):
        left[0] -= 1
        return mapped(*args) if left[0] else die()

    LocalMapper.map = counting


def die_in_saving():
    os.replace = os.link = die


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize(
    "dies",
    [lambda: die_in_pass(2), lambda: die_in_pass(40), die_in_saving],
    ids=["2", "40", "save"],
)
def test_a_run_that_was_killed_goes_on_to_the_same_bits(rounds, tmp_path, dies):
    expected = rounds(tmp_path / "whole")
    n_rounds = len(list((tmp_path / "whole").iterdir()))
    child = os.fork()
    if child == 0:
        dies()
        rounds(tmp_path / "killed")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert len(list((tmp_path / "killed").glob("*.hb"))) < n_rounds > 1
    model = rounds(tmp_path / "killed")
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(model.objective_history_, expected.objective_history_)
