"""Result files are written completely or not at all, and errors take one line."""

import os

import pytest

from hardbayes.cli import results
from hardbayes.cli.results import check_writable, write_atomically
from hardbayes.cli.terminal import CommandError


def test_writes_and_leaves_nothing_else(tmp_path):
    write_atomically(tmp_path / "new", b"content")
    assert (tmp_path / "new").read_bytes() == b"content"
    assert os.listdir(tmp_path) == ["new"]


def test_a_failure_keeps_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "old"
    target.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CommandError, match="old': no space left on device"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["old"]


def test_a_link_keeps_pointing(tmp_path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CommandError, match="not a regular file"):
        write_atomically(tmp_path / "pipe", b"new")


def test_no_permission_is_found_before_the_work(tmp_path, monkeypatch):
    # Simulated, since the superuser may write anywhere.
    monkeypatch.setattr(results.os, "access", lambda path, mode: False)
    with pytest.raises(CommandError, match="no permission to write in"):
        check_writable(tmp_path / "new")
