"""The manual shows the real source, and its examples run."""

import os
import runpy
import sys
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


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_every_example_has_its_picture_and_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    script = ROOT / "examples" / f"{page.stem}.py"
    assert f"../images/{page.stem}.png" in page.read_text()
    assert (ROOT / "docs" / "images" / f"{page.stem}.png").exists()
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
    monkeypatch.syspath_prepend(str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    assert os.listdir(tmp_path) == [f"{page.stem}.png"]
