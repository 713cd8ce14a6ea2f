"""The old file or the new one: failures while writing, links, permissions, sizes, folders."""

import os
import stat

import pytest
from saved_examples import estimator_after

from streamchi2.errors import FormatError
from streamchi2.persistence import atomic_file, load, save
from streamchi2.persistence.atomic_file import read_file, replace_file


def failing():
    yield b"half of it"
    raise OSError("no space left on device")


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_failure_while_writing_leaves_the_old_file_and_no_rubbish(tmp_path, before):
    path = tmp_path / "model"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(OSError, match="no space"):
        replace_file(path, failing())
    left = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    assert left == ({} if before is None else {"model": before})


@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk"), KeyboardInterrupt()])
def test_a_failing_system_call_leaves_the_old_file(tmp_path, monkeypatch, name, error):
    def fail(*_):
        raise error

    path = tmp_path / "model"
    path.write_bytes(b"old")
    monkeypatch.setattr(atomic_file.os, name, fail)
    with pytest.raises(type(error)):
        replace_file(path, [b"new"])
    monkeypatch.undo()
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"]


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            atomic_file.os, name, lambda *a, n=name, f=real: (calls.append(n), f(*a))[1]
        )
    replace_file(tmp_path / "model", [b"new"])
    assert calls == ["fsync", "replace", "fsync"]


def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, [b"new"])
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_only_plain_files_of_moderate_size_are_read(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(bytes(100))
    assert len(read_file(path, 100)) == 100
    with pytest.raises(FormatError, match="at most 99 bytes, got 100"):
        read_file(path, 99)
    with pytest.raises(FormatError, match="plain files"):
        read_file(tmp_path, 100)
    with pytest.raises(FormatError, match="plain files"):
        load("/dev/zero")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")


def test_a_huge_file_is_refused_by_its_size_alone(tmp_path):
    path = tmp_path / "model"
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # sparse: it takes no room
    with pytest.raises(FormatError, match="at most"):
        load(path)


def test_saving_into_a_folder_that_is_not_there_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        save(estimator_after("sampler", 1), tmp_path / "absent" / "model")
