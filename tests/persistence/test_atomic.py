"""A file is written completely or not at all, and an old one is replaced only on request."""

import errno
import os
import stat
import threading

import pytest

from hardbayes import load, save
from hardbayes.persistence import atomic, container
from hardbayes.persistence import model as model_module
from tests.persistence.tiny import TinyModel, small_model

posix = pytest.mark.skipif(os.name != "posix", reason="permission bits and links of POSIX")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hb"


def test_existing_file_needs_the_flag(path):
    save(TinyModel(1.0), path)
    old = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True") as caught:
        save(TinyModel(2.0), path)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == old
    save(TinyModel(2.0), path, overwrite=True)
    assert load(path).penalty == 2.0
    assert os.listdir(path.parent) == ["model.hb"]


def test_overwrite_may_also_create(path):
    save(TinyModel(), path, overwrite=True)
    assert os.listdir(path.parent) == ["model.hb"]


def test_paths_as_text_path_and_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(TinyModel(), "plain")
    save(TinyModel(), tmp_path / ("n" * 250))  # the temporary name must not be longer
    load("plain")
    load(str(tmp_path / ("n" * 250)))


class Stop(BaseException):
    pass


FAILURES = [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), Stop()]


@pytest.mark.parametrize("failure", FAILURES, ids=["full-disk", "interrupt", "exit"])
@pytest.mark.parametrize("step", ["create", "write", "fsync", "move"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_leaves_everything_as_it_was(path, monkeypatch, failure, step, overwrite):
    if overwrite:
        path.write_bytes(b"old")

    def fail(*args, **kwargs):
        raise failure

    def create_and_fail(name, flags, mode):
        os.close(os.open(name, flags))
        raise failure

    def write_half(file, header, arrays):
        file.write(b"half of it")
        file.flush()
        raise failure

    if step == "create":
        monkeypatch.setattr(atomic, "_create", create_and_fail)
    elif step == "write":
        monkeypatch.setattr(model_module, "write_container", write_half)
    elif step == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(os, "replace", fail)
        monkeypatch.setattr(os, "link", fail)
    with pytest.raises(type(failure)) as caught:
        save(small_model(), path, overwrite=overwrite)
    monkeypatch.undo()
    if isinstance(failure, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename == str(path)
    assert os.listdir(path.parent) == (["model.hb"] if overwrite else [])
    if overwrite:
        assert path.read_bytes() == b"old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_really_full_disk(path, monkeypatch):
    monkeypatch.setattr(atomic, "_create", lambda *_, **__: os.open("/dev/full", os.O_WRONLY))
    with pytest.raises(OSError, match="No space left") as caught:
        save(small_model(), path)
    assert caught.value.filename == str(path)
    assert os.listdir(path.parent) == []


def test_failure_in_the_middle_of_an_array(path, monkeypatch):
    monkeypatch.setattr(container, "_BLOCK_BYTES", 5)
    path.write_bytes(b"old")
    real, calls = container.hashlib.sha256, []

    class Digest:
        def __init__(self):
            self.real = real()

        def update(self, block):
            calls.append(len(block))
            if len(calls) == 5:
                raise KeyboardInterrupt
            self.real.update(block)

        def digest(self):
            return self.real.digest()

    monkeypatch.setattr(container.hashlib, "sha256", Digest)
    with pytest.raises(KeyboardInterrupt):
        save(small_model(), path, overwrite=True)
    assert calls[3:] == [5, 5]
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["model.hb"]


def no_links(*_):
    raise OSError(errno.ENOTSUP, "Operation not supported")


def test_file_systems_without_hard_links(path, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    save(TinyModel(3.0), path)
    assert load(path).penalty == 3.0
    assert os.listdir(path.parent) == ["model.hb"]
    with pytest.raises(FileExistsError, match="overwrite=True"):
        save(TinyModel(), path)


def test_failed_move_without_hard_links_gives_the_name_back(path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(TinyModel(), path)
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_kept(path, monkeypatch, links):
    real = model_module.write_container

    def slow(file, header, arrays):
        real(file, header, arrays)
        path.write_bytes(b"somebody else's")

    monkeypatch.setattr(model_module, "write_container", slow)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(FileExistsError):
        save(TinyModel(), path)
    assert path.read_bytes() == b"somebody else's"
    assert os.listdir(path.parent) == ["model.hb"]


@pytest.mark.parametrize("links", [True, False])
def test_one_of_many_writers_wins(path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    results = []

    def write(penalty):
        try:
            save(TinyModel(penalty), path)
            results.append(penalty)
        except FileExistsError:
            results.append(None)

    threads = [threading.Thread(target=write, args=(float(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [penalty for penalty in results if penalty is not None]
    assert len(results) == 8
    assert len(winners) == 1
    assert load(path).penalty == winners[0]
    assert os.listdir(path.parent) == ["model.hb"]


@posix
def test_permissions_follow_the_umask(path):
    old = os.umask(0o027)
    try:
        save(TinyModel(), path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix
@pytest.mark.parametrize("mode", [0o600, 0o666, 0o444])
def test_a_replaced_file_keeps_its_permissions(path, mode):
    save(TinyModel(), path)
    path.chmod(mode)
    save(TinyModel(), path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_the_temporary_file_is_never_wider_open_than_the_old_one(path, monkeypatch):
    modes = []
    real = os.open

    def spy(name, flags, mode=0o777, **kwargs):
        modes.append(mode)
        return real(name, flags, mode, **kwargs)

    save(TinyModel(), path)
    path.chmod(0o600)
    monkeypatch.setattr(os, "open", spy)
    save(TinyModel(), path, overwrite=True)
    assert modes[0] == 0o600


@posix
def test_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    save(TinyModel(1.0), tmp_path / "folder" / "real")
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "real")
    with pytest.raises(FileExistsError):
        save(TinyModel(2.0), tmp_path / "link")
    save(TinyModel(2.0), tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "folder" / "real").penalty == 2.0


@pytest.mark.parametrize("overwrite", [False, True])
def test_targets_that_are_no_files(tmp_path, overwrite):
    with pytest.raises(IsADirectoryError, match="name a file inside it"):
        save(TinyModel(), tmp_path, overwrite=overwrite)
    absent = str(tmp_path / "absent" / "model.hb")
    with pytest.raises(FileNotFoundError) as caught:
        save(TinyModel(), absent, overwrite=overwrite)
    assert caught.value.filename == absent
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="not a regular file"):
            save(TinyModel(), tmp_path / "pipe", overwrite=overwrite)
        assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads and writes everything"
)
def test_no_permission_to_write(tmp_path):
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(PermissionError) as caught:
            save(TinyModel(), tmp_path / "m")
    finally:
        tmp_path.chmod(0o755)
    assert caught.value.filename == str(tmp_path / "m")
