"""What README.md and the examples show is what happens."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_python_blocks_run_as_printed(tmp_path, monkeypatch, capsys):
    """All in one session, one after another; a text block after code is what that code prints."""
    monkeypatch.chdir(tmp_path)
    session = {}
    printed = ""
    blocks = FENCE.findall(README)
    assert [language for language, _ in blocks].count("python") >= 2
    for language, text in blocks:
        if language == "python":
            assert printed == "", "README.md does not show what this printed"
            exec(compile(text, "README.md", "exec"), session)  # noqa: S102 - our own text
            printed = capsys.readouterr().out
        elif language == "text":
            assert printed == text
            printed = ""
    assert printed == ""


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = re.findall(r"(?:^ {4}|`)make ([a-z]+)", README, re.MULTILINE)
    assert {"test", "demo", "bench"} <= set(named)
    assert set(named) <= targets


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    for link in links:
        if not link.startswith(("http:", "https:")):
            assert (ROOT / link).exists(), link


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out
