"""What README.md and the examples show is what happens."""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.markdown import run_blocks

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_python_blocks_run_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_blocks(ROOT / "README.md", capsys)


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = re.findall(r"(?:^ {4}|`|; )make ([a-z]+)", README, re.MULTILINE)
    assert {"test", "demo", "bench"} <= set(named)
    assert set(named) <= targets


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    plt.close("all")  # examples leave that to the end of their process
    assert capsys.readouterr().out
