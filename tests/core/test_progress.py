"""What a fit reports with verbose=1: from the start on, and what of the search is left."""

import io
import re

import numpy as np
import pytest

from hardbayes import BPMeans, DPMeans, GaussianDPMeans, KFeatures, penalty_path
from hardbayes.core import progress
from hardbayes.core.pool import SILENT, Pool
from hardbayes.core.progress import Bar, Lines, to_standard_error
from hardbayes.datasets import make_word_histograms
from tests.conftest import make_blobs, quiet_fit


@pytest.fixture
def all_lines(monkeypatch):
    """Every step is told, however soon it comes."""
    monkeypatch.setattr(Lines, "seconds", 0.0)


def lines_of(capfd):
    out, err = capfd.readouterr()
    assert out == ""
    return err.splitlines()


def test_a_stage_goes_before_its_steps(capfd, all_lines):
    lines = Lines("Name")
    lines.step("path, clusters", 1, 9)
    lines.stage("reference 2 of 6")
    lines.step("path, clusters", 3, 9)
    lines.say("done")
    told = lines_of(capfd)
    assert re.fullmatch(r"\[Name\] \d+\.\d s, path, clusters 1 of 9", told[0])
    assert re.fullmatch(r"\[Name\] \d+\.\d s, reference 2 of 6: path, clusters 3 of 9", told[1])
    assert told[2:] == ["[Name] done"]


def test_steps_are_told_at_most_twice_a_second(capfd, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = Lines("Name")
    for _ in range(100):
        now[0] += 0.0625
        lines.step("path, clusters", 1, 2)
    told = lines_of(capfd)
    assert len(told) == 12 and told[0] == "[Name] 0.5 s, path, clusters 1 of 2"


def test_silence(capfd):
    SILENT.stage("any")
    SILENT.step("any", 1, 2)
    with Pool(1) as pool:
        assert pool.report is SILENT
    assert lines_of(capfd) == []


X = make_blobs(60, 2, 3, spread=0.2)[0]
FITS = {
    "clusters": lambda verbose: DPMeans(random_state=0, verbose=verbose).fit(X),
    "kl": lambda verbose: DPMeans(divergence="kl", random_state=0, verbose=verbose).fit(
        make_word_histograms(60, 12, 3, random_state=0)[0]
    ),
    "gaussian": lambda verbose: GaussianDPMeans(random_state=0, verbose=verbose).fit(X),
    "features": lambda verbose: BPMeans(random_state=0, n_init=2, verbose=verbose).fit(X),
}


@pytest.mark.parametrize("fit", ["clusters", "kl", "features"])
def test_an_automatic_search_tells_what_is_left(fit, capfd, all_lines):
    FITS[fit](0)
    assert lines_of(capfd) == []
    model = FITS[fit](1)
    name = type(model).__name__
    told = lines_of(capfd)
    assert told[0].startswith(f"[{name}] fit of 60 rows, ")
    assert told[1].startswith(f"[{name}] choosing the p")
    done = [re.search(r" s, .*path, \w+ (\d+) of (\d+)$", line) for line in told]
    counts = [(int(found[1]), int(found[2])) for found in done if found]
    assert counts and all(done <= of for done, of in counts)


def test_references_are_counted(capfd, all_lines):
    FITS["clusters"](1)
    told = "\n".join(lines_of(capfd))
    assert re.search(r"reference 1 of \d+: path, clusters", told)
    assert re.search(r"\[DPMeans\] penalty \S+ for \d+ cluster", told)
    assert re.search(r"\[DPMeans\] step 1: ", told)


def test_paths_report_too(capfd, all_lines):
    path = penalty_path(X, estimator=DPMeans(random_state=0, verbose=1), n_penalties=2)
    told = "\n".join(lines_of(capfd))
    assert "path, clusters 5 of " in told and "way back, clusters" in told
    path.model(4)
    assert "step 1: " in "\n".join(lines_of(capfd))
    quiet = penalty_path(X, estimator=DPMeans(random_state=0), n_penalties=2)
    quiet.model(4)
    assert lines_of(capfd) == []


def test_a_given_penalty_begins_at_once(capfd):
    quiet_fit(DPMeans(0.5, verbose=1), X)
    assert lines_of(capfd)[0] == "[DPMeans] fit of 60 rows, 2 columns"
    quiet_fit(KFeatures(2, n_init=2, verbose=1), np.abs(X))
    assert lines_of(capfd)[0] == "[KFeatures] fit of 60 rows, 2 columns"


class Terminal(io.StringIO):
    """Standard error as a terminal would be."""

    def isatty(self):
        return True


def begin_terminal(monkeypatch):
    """Not in a fixture: pytest sets standard error anew when a test begins."""
    found = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", found)
    monkeypatch.setattr(Bar, "seconds", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    return found


def test_a_bar_in_a_terminal_and_lines_elsewhere(monkeypatch):
    begin_terminal(monkeypatch)
    assert type(to_standard_error("Name")) is Bar
    monkeypatch.setattr(progress, "_has_rich", lambda: False)
    assert type(to_standard_error("Name")) is Lines
    monkeypatch.undo()
    assert type(to_standard_error("Name")) is Lines


def test_lines_replace_the_bar(monkeypatch):
    terminal = begin_terminal(monkeypatch)
    bar = Bar("Name")
    bar.stage("reference [2] of 6")
    bar.step("path, clusters", 30, 60)
    drawn = terminal.getvalue()
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" * 15 in re.sub(r"\x1b\[[\d;]*m", "", drawn)
    assert "[Name]" in drawn and "reference [2] of 6: path, clusters 30 of 60" in drawn
    assert drawn.endswith("\r") and "\n" not in drawn
    bar.say("done")
    assert terminal.getvalue().endswith("\r\x1b[2K[Name] done\n")


def test_a_fit_leaves_no_bar_behind(monkeypatch):
    terminal = begin_terminal(monkeypatch)
    penalty_path(X, estimator=DPMeans(random_state=0, verbose=1), n_penalties=2)
    told = terminal.getvalue()
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" in told and told.endswith("\r\x1b[2K")
