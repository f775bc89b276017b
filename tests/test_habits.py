"""What the files beside the source say of each other and of the source."""

import re
import tomllib

import pytest

from tests.conftest import PACKAGE, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# `make test-oldest` does not run them.
STATIC_TOOLS = {"build", "import-linter", "mypy", "pyright", "ruff"}


def versions(lines, sign):
    """Return versions by package, of lines like ``numpy>=1.26``."""
    found = (re.fullmatch(rf"([\w-]+)(?:\[[\w,]+\])?{sign}([\d.]+)", line) for line in lines)
    return {match[1]: tuple(map(int, match[2].split("."))) for match in found if match}


def test_the_oldest_versions_that_are_tested_are_those_that_are_promised():
    extras = PROJECT["optional-dependencies"]
    named = ("plot", "app", "blocks", "dask", "test")
    needed = [*PROJECT["dependencies"], *(line for name in named for line in extras[name])]
    promised = versions(needed, ">=")
    tested = versions((ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines(), "==")
    for name in set(promised) - STATIC_TOOLS:
        assert tested[name][: len(promised[name])] == promised[name], name


def test_workflows_run_the_oldest_and_the_newest_python_that_is_promised():
    minors = [int(minor) for minor in re.findall(r":: 3\.(\d+)", "".join(PROJECT["classifiers"]))]
    run = (ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    tested = re.findall(r'python-version: "3\.(\d+)"', run)
    assert sorted(map(int, tested)) == [min(minors), max(minors)]
    assert PROJECT["requires-python"] == f">=3.{min(minors)}"


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_pages_for_developers_name_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"[`(]([\w./-]+(?:\.(?:py|md|toml|txt|yaml)|/))[`)]", text)
    # The table of the files of a model's folder: in one of them at least.
    folders = [ROOT, PACKAGE, *PACKAGE.iterdir()]
    missing = [path for path in named if not any((folder / path).exists() for folder in folders)]
    assert named and not missing
