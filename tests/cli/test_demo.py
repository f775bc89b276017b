"""hardbayes demo: printed output, picture and errors."""

import os
import sys

import pytest

from hardbayes.cli import main


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def assert_refused(output, capsys, *, says):
    assert main(["demo", "--output", str(output)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("hardbayes: cannot write ")
    assert captured.err.count("\n") == 1
    assert says in captured.err


def test_prints_the_fit_and_draws_it(tmp_path, capsys):
    assert main(["demo"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "Found 3 clusters" in captured.out
    assert f"Picture: {tmp_path / 'hardbayes-demo.png'}\n" in captured.out
    assert (tmp_path / "hardbayes-demo.png").read_bytes().startswith(b"\x89PNG")
    assert f"Report: {tmp_path / 'hardbayes-demo.html'}\n" in captured.out
    assert sorted(os.listdir(tmp_path)) == ["hardbayes-demo.html", "hardbayes-demo.png"]


def test_trace_never_rises_and_sizes_add_up(capsys):
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.endswith("Objective"))
    trace = []
    while lines[start + 1 + len(trace)][:5].strip().isdigit():
        step, value = lines[start + 1 + len(trace)].split()
        trace.append(float(value))
        assert int(step) == len(trace)
    assert trace
    assert trace == sorted(trace, reverse=True)
    start = next(i for i, line in enumerate(lines) if line.startswith("Cluster"))
    sizes = [int(line.split()[1]) for line in lines[start + 1 : start + 4]]
    assert sum(sizes) == 300


def test_same_words_every_time(capsys):
    main(["demo"])
    first = capsys.readouterr().out
    main(["demo"])
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(("name", "start"), [("a.pdf", b"%PDF"), ("b.SVG", b"<?xml")])
def test_other_formats(name, start, tmp_path):
    assert main(["demo", "-o", name]) == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_an_older_picture_is_replaced(tmp_path):
    (tmp_path / "p.png").write_bytes(b"old")
    assert main(["demo", "-o", "p.png"]) == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_it_says_so_and_goes_on(tmp_path, capsys, no_matplotlib):
    assert main(["demo"]) == 0
    captured = capsys.readouterr()
    assert "Found 3 clusters" in captured.out
    picture, _, following = captured.out.splitlines()[-3:]
    assert picture.startswith("No picture")
    assert 'pip install "hardbayes[plot]"' in picture
    assert following.endswith("hardbayes cluster TABLE.csv")
    assert captured.err == ""
    assert os.listdir(tmp_path) == ["hardbayes-demo.html"]


def test_refuses_a_folder(tmp_path, capsys):
    assert_refused(tmp_path, capsys, says="it is a folder")


def test_refuses_a_folder_that_is_not_there(capsys):
    assert_refused("nowhere/p.png", capsys, says="there is no folder 'nowhere'")


def test_refuses_a_file_used_as_a_folder(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert_refused("file/p.png", capsys, says="not a directory")


@pytest.mark.parametrize("name", ["picture", "picture.xyz", ".png", ""])
def test_refuses_an_unknown_format(name, capsys):
    assert main(["demo", "--output", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_refuses_a_name_that_no_file_can_have(capsys):
    assert_refused("a\0b.png", capsys, says="null")


@pytest.mark.skipif(sys.platform == "win32", reason="no devices there")
def test_refuses_a_device(capsys):
    assert_refused("/dev/null", capsys, says="not a regular file")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_refuses_a_folder_without_permission(tmp_path, capsys):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert_refused(locked / "p.png", capsys, says="no permission")
