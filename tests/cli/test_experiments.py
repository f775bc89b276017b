"""hardbayes experiments: the list, a run, its page, and what is refused."""

import re

import pytest

from hardbayes.cli import main
from hardbayes.experiments import EXPERIMENTS

QUICKEST = "dice"


def test_list(capsys):
    assert main(["experiments", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [each.name for each in EXPERIMENTS]


def test_runs_and_writes_a_page(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["experiments", QUICKEST, "--quick", "--out", str(page)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("BKJ simulated data: ") and f"Page: {page}" in out
    assert re.search(r"^Reproduces", out, re.MULTILINE)
    assert re.search(r"^Data: .*; seed 0; .*s\.$", out, re.MULTILINE)
    text = page.read_text(encoding="utf-8")
    assert "img-src data:" in text and "prefers-color-scheme: dark" in text
    assert text.count("data:image/png;base64,") == 2
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert main(["experiments", QUICKEST, "--quick", "--out", str(page)]) == 2
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--data", "nowhere"], "cannot read 'nowhere'"),
        (["--out", "page.txt"], "ends in .html"),
    ],
)
def test_refused(arguments, says, capsys):
    assert main(["experiments", QUICKEST, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and says in captured.err and captured.err.count("\n") == 1


def test_unknown_names_are_refused_with_what_was_meant(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["experiments", "dise"])
    assert stopped.value.code == 2
    assert "did you mean 'dice'?" in capsys.readouterr().err
