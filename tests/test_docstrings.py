"""What the docstrings show is what happens."""

import doctest
import importlib
from pathlib import Path

import pytest

import hardbayes

PACKAGE = Path(hardbayes.__file__).parent
MODULES = [
    ".".join(("hardbayes", *path.relative_to(PACKAGE).with_suffix("").parts))
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run_as_printed(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted and not results.failed


@pytest.mark.parametrize("name", sorted(set(hardbayes.__all__) - {"__version__"}))
def test_everything_public_has_an_example(name):
    assert ">>> " in getattr(hardbayes, name).__doc__
