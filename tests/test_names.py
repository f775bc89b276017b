"""The public names: each is imported when it is first used, and is where type checkers see it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import hardbayes


def names_for_type_checkers():
    """Return module and name of what `hardbayes` imports for type checkers."""
    tree = ast.parse(Path(hardbayes.__file__).read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    return [(node.module, alias.name) for node in branch.body for alias in node.names]


def test_every_public_name_can_be_imported():
    for name in hardbayes.__all__:
        assert getattr(hardbayes, name) is not None


def test_type_checkers_see_the_objects_that_are_imported():
    seen = names_for_type_checkers()
    assert {name for _, name in seen} == (
        set(hardbayes.__all__) - {"__version__"} | {"datasets", "plot", "samplers"}
    )
    for module, name in seen:
        __import__(module)
        there = sys.modules.get(f"{module}.{name}") or getattr(sys.modules[module], name)
        assert getattr(hardbayes, name) is there


def test_import_loads_no_other_package():
    code = "import sys, hardbayes; print({'numpy', 'sklearn', 'numba'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="nonsense"):
        hardbayes.nonsense  # noqa: B018
