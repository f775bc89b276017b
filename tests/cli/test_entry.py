"""The command as a whole: version, help, errors, pipes."""

import os
import shlex
import subprocess
import sys
from importlib import import_module

import pytest

import hardbayes
from hardbayes.cli import demo, main
from hardbayes.cli.entry import COMMANDS, build_parser
from hardbayes.cli.terminal import CommandError
from hardbayes.core.compiling import Notice
from tests.conftest import LIBRARY


def one_line(text):
    assert text.count("\n") == 1, text
    assert text.endswith("\n")
    return text


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"hardbayes {hardbayes.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_names_the_demo(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["--nonsense"], ["demo", "--nonsense"], ["demo", "--output"]]
)
def test_mistakes_end_with_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--help" in one_line(captured.err)


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (CommandError("no such thing"), 2, "hardbayes: no such thing\n"),
        (KeyboardInterrupt(), 130, "hardbayes: interrupted\n"),
        (MemoryError(), 2, "hardbayes: not enough memory; use fewer rows or columns\n"),
    ],
)
def test_failures_become_one_line(raised, code, line, capsys, monkeypatch):
    def fail(options):
        raise raised

    monkeypatch.setattr(demo, "run", fail)
    assert main(["demo"]) == code
    assert capsys.readouterr().err == line


def test_a_bug_is_one_line_that_says_how_to_see_more(capsys, monkeypatch):
    def fail(options):
        raise RuntimeError("a\nbug")

    monkeypatch.setattr(demo, "run", fail)
    assert main(["demo"]) == 2
    line = one_line(capsys.readouterr().err)
    assert "RuntimeError: a bug" in line and "HARDBAYES_TRACEBACK=1" in line
    monkeypatch.setenv("HARDBAYES_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="bug"):
        main(["demo"])


def test_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "hardbayes.cli", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"hardbayes {hardbayes.__version__}\n"
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close differently there")
def test_a_reader_that_leaves_is_no_error(tmp_path):
    command = [sys.executable, "-m", "hardbayes.cli", "demo", "-o", str(tmp_path / "p.png")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert errors in (b"", Notice.line.encode() + b"\n")  # the first fit on a machine


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(tmp_path):
    command = [sys.executable, "-m", "hardbayes.cli", "demo", "-o", str(tmp_path / "p.png")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "no space left" in one_line(done.stderr)


def in_shell(arguments, redirection, folder, **environment):
    command = shlex.join([sys.executable, "-m", "hardbayes.cli", *arguments]) + " " + redirection
    return subprocess.run(
        command,
        shell=True,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(LIBRARY), **environment},
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("arguments", [["demo"], ["--version"]])
def test_a_closed_stdout_is_one_line(arguments, tmp_path):
    done = in_shell(arguments, ">&-", tmp_path)
    assert done.returncode == 2
    assert "standard output is closed" in one_line(done.stderr.decode())
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_closed_stderr_leaves_errors_unsaid(tmp_path):
    done = in_shell(["demo", "-o", "p.xyz"], "2>&-", tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of files are bytes there")
@pytest.mark.parametrize(
    ("name", "encoding", "shown"),
    [
        ("\u00fc.png".encode(), "ascii", rb"\xfc.png"),
        ("\u4e2d.png".encode(), "latin-1", rb"\u4e2d.png"),
        (b"\xff.png", "utf-8", rb"\udcff.png"),
        ("\u00fc.png".encode(), "utf-8", "\u00fc.png".encode()),
    ],
)
def test_a_path_that_cannot_be_shown_is_escaped(name, encoding, shown, tmp_path):
    arguments = ["demo", "-o", os.fsdecode(name)]
    # UTF-8 mode: the encoding of the file name does not depend on the machine.
    done = in_shell(arguments, "", tmp_path, PYTHONIOENCODING=encoding, PYTHONUTF8="1")
    assert done.returncode == 0
    assert done.stderr in (b"", Notice.line.encode() + b"\n")  # the first fit on a machine
    assert b"/" + shown + b"\n" in done.stdout
    page = name.removesuffix(b".png") + b".html"
    assert sorted(os.listdir(os.fsencode(tmp_path))) == sorted([name, page])


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["clutser", "t.csv"], "cluster"),
        (["cluster", "t.csv", "--penatly", "3"], "--penalty"),
        (["cluster", "t.csv", "--divergence", "posson"], "poisson"),
        (["graph", "t.csv", "--penaltyy", "3"], "--penalty"),
    ],
)
def test_misspelled_words_are_answered_by_the_word_that_was_meant(arguments, meant, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert f"did you mean {meant!r}?" in one_line(capsys.readouterr().err)


def test_all_commands_are_there_and_one_that_is_named_comes_alone(monkeypatch):
    imported = []

    def noted(name):
        imported.append(name)
        return import_module(name)

    monkeypatch.setattr("hardbayes.cli.entry.import_module", noted)
    every = subcommands(build_parser(["--help"]))
    assert every == list(COMMANDS)
    for name, (module, _) in COMMANDS.items():
        imported.clear()
        assert subcommands(build_parser([name, "--help"])) == [name]
        assert imported == [f"hardbayes.cli.{module}"]


def subcommands(parser):
    return [name for action in parser._actions for name in action.choices or ()]


def test_words_unlike_any_are_answered_without_a_guess(capsys):
    with pytest.raises(SystemExit):
        main(["zzzzzz"])
    assert "did you mean" not in one_line(capsys.readouterr().err)


@pytest.mark.parametrize("arguments", [["--help"], ["cluster", "no-such-file.csv"]])
def test_help_and_a_missing_file_do_not_wait_for_scikit_learn(arguments):
    code = (
        "import sys\nfrom hardbayes.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "print(sorted({'sklearn', 'numba', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout.splitlines()[-1] == "[]"


def test_interrupt_while_importing_is_one_line(monkeypatch, capsys):
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("hardbayes.cli.entry.run", interrupted)
    assert main([]) == 130
    assert one_line(capsys.readouterr().err) == "hardbayes: interrupted\n"
