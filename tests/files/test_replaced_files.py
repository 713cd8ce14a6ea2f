"""The old file or the new one: failures while writing, links, permissions, sizes, left files."""

import os
import stat
import time

import pytest

from streamchi2.errors import FormatError
from streamchi2.files import container, load
from streamchi2.files.container import read_file, replace_file


@pytest.mark.parametrize("name", [None, "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk"), KeyboardInterrupt()])
@pytest.mark.parametrize("before", [[], [b"old"]])
def test_a_failure_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch, name, error, before):
    def fail(*_):
        raise error

    def pieces():
        yield b"half of it"
        if name is None:
            fail()

    path = tmp_path / "model"
    for content in before:
        path.write_bytes(content)
    if name is not None:
        monkeypatch.setattr(container.os, name, fail)
    with pytest.raises(type(error)):
        replace_file(path, pieces())
    monkeypatch.undo()
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == before


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            container.os, name, lambda *a, n=name, f=real: (calls.append(n), f(*a))[1]
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
    with pytest.raises(OSError, match="only plain files are replaced"):
        replace_file(tmp_path, [b"new"])


def test_what_a_killed_writer_left_is_swept_an_hour_later_and_nothing_else(tmp_path):
    digits = "0123456789abcdef"
    kept = [".model.part", f".model2.{digits}.part", f".model.{digits}.part2", f"model.{digits}"]
    kept += [f".model.{digits[1:]}.part", f".model.x.{digits}.part", f".modelx{digits}.part"]
    left, young = f".model.{digits}.part", f".model.{digits[::-1]}.part"
    for name in (*kept, left, young):
        (tmp_path / name).write_bytes(b"left")
        age = 3500 if name == young else 3700
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    replace_file(tmp_path / "model", [b"new"])
    assert {entry.name for entry in tmp_path.iterdir()} == {*kept, young, "model"}


def test_only_plain_files_of_moderate_size_are_read(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(bytes(100))
    assert len(read_file(path, 100)) == 100
    with pytest.raises(FormatError, match=r"model: .* at most 99 bytes, got 100; raise max_bytes"):
        load(path, max_bytes=99)
    with pytest.raises(FormatError, match="model: not a streamchi2 file"):
        load(path)
    with pytest.raises(FormatError, match="/dev/zero: only plain files"):
        load("/dev/zero")
    with pytest.raises(FormatError, match="plain files"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # sparse: it takes no room
    with pytest.raises(FormatError, match="at most"):
        load(path)
