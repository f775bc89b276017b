"""The manual shows the real source and pictures that a script has drawn."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.md"))


def test_the_page_on_new_divergences_holds_a_real_file():
    page = (ROOT / "docs" / "add-a-divergence.md").read_text()
    source = (ROOT / "src" / "hardbayes" / "geometry" / "itakura_saito.py").read_text()
    assert f"```python\n{source}```" in page
    lines = [line for line in source.splitlines() if line.strip()]
    assert len(lines) <= 50


def test_the_page_on_new_executors_holds_one_that_the_tests_run():
    page = (ROOT / "docs" / "add-an-executor.md").read_text()
    source = (ROOT / "tests" / "executors" / "numpy_rows.py").read_text()
    assert f"```python\n{source}```" in page


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_every_example_has_its_script_and_its_picture(page):
    assert (ROOT / "examples" / f"{page.stem}.py").exists()
    assert f"../images/{page.stem}.png" in page.read_text()
    assert (ROOT / "docs" / "images" / f"{page.stem}.png").exists()
