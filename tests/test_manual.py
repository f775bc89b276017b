"""The manual shows real source, code that runs and pictures that a script has drawn.

The site is built by `make docs`. These tests need no Sphinx.
"""

import re
from pathlib import Path

import pytest

import hardbayes
from hardbayes import datasets, plot
from tests.markdown import headings, links, run_blocks

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MADE_BY_THE_BUILD = {"_build", "api", "gallery", "project"}
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.relative_to(DOCS).parts[0] not in MADE_BY_THE_BUILD
]
CASES = [page for page in PAGES if page.parent.name == "examples" and page.stem != "index"]


def name(page):
    return str(page.relative_to(ROOT))


def entries(page):
    """Pages that the toctrees of a page name, relative to docs/."""
    found = set()
    for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.M | re.S):
        for line in tree.splitlines():
            if line and not line.startswith(":"):
                target = re.sub(r".*<(.+)>", r"\1", line)
                found.add(str((page.parent / target).relative_to(DOCS)))
    return found


def test_every_page_is_in_a_table_of_contents():
    named = {entry for page in PAGES for entry in entries(page)}
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in [*PAGES, DOCS / "api.rst"]}
    assert pages - named == {"index"}
    made = {entry for entry in named - pages if entry.split("/")[0] in MADE_BY_THE_BUILD}
    assert named - pages == made


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=name)
def test_links_lead_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link


@pytest.mark.parametrize("page", ["tour.md", "migrating.md", "mixed.md", "streams.md", "scale.md"])
def test_code_runs_as_printed(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_blocks(DOCS / page, capsys)


@pytest.mark.parametrize("module", [hardbayes, datasets, plot], ids=lambda module: module.__name__)
def test_the_reference_has_everything_public(module):
    reference = (DOCS / "api.rst").read_text()
    listed = {}
    for part in reference.split(".. currentmodule:: ")[1:]:
        owner, _, rest = part.partition("\n")
        listed.setdefault(owner, set()).update(re.findall(r"^   (\w+)$", rest, re.MULTILINE))
    assert listed[module.__name__] == set(module.__all__) - {"__version__"}


def test_the_page_on_new_divergences_holds_a_real_file():
    page = (ROOT / "docs" / "add-a-divergence.md").read_text()
    source = (ROOT / "src" / "hardbayes" / "core" / "geometry" / "itakura_saito.py").read_text()
    assert f"```python\n{source}```" in page
    lines = [line for line in source.splitlines() if line.strip()]
    assert len(lines) <= 50


def test_the_page_on_new_executors_holds_one_that_the_tests_run():
    page = (ROOT / "docs" / "add-an-executor.md").read_text()
    source = (ROOT / "tests" / "dp_means" / "numpy_rows.py").read_text()
    assert f"```python\n{source}```" in page


@pytest.mark.parametrize("page", CASES, ids=lambda page: page.stem)
def test_every_example_has_its_script_and_its_picture(page):
    assert (ROOT / "examples" / f"{page.stem}.py").exists()
    assert f"../images/{page.stem}.png" in page.read_text()
