"""What killed writers leave behind is swept; what somebody still writes is not."""

import os
import signal

import pytest

from streamchi2.persistence import part_files
from streamchi2.persistence.atomic_file import replace_file

needs_locks = pytest.mark.skipif(part_files.fcntl is None, reason="needs fcntl")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


@needs_locks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_a_killed_writer_leaves_is_swept_by_the_next(tmp_path):
    path, (reading, writing) = tmp_path / "model", os.pipe()
    path.write_bytes(b"old")

    def endless():
        yield b"half of it"
        os.write(writing, b"x")
        signal.pause()

    child = os.fork()
    if child == 0:
        replace_file(path, endless())
        os._exit(1)  # not reached
    os.read(reading, 1)
    left = set(names(tmp_path)) - {"model"}
    assert len(left) == 1
    replace_file(path, [b"new"])
    assert set(names(tmp_path)) == {"model"} | left  # its writer lives
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    replace_file(path, [b"newer"])
    assert names(tmp_path) == ["model"]
    assert path.read_bytes() == b"newer"


@needs_locks
def test_of_two_writers_at_once_both_finish(tmp_path):
    path = tmp_path / "model"

    def interrupted_by_another():
        yield b"fi"
        replace_file(path, [b"second"])
        assert path.read_bytes() == b"second"
        yield b"rst"

    replace_file(path, interrupted_by_another())
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["model"]


@needs_locks
def test_only_files_of_the_same_target_are_swept(tmp_path):
    digits = "0123456789abcdef"
    kept = [".model.part", f".model2.{digits}.part", f".model.{digits}.part2", f"model.{digits}"]
    kept += [f".model.{digits[1:]}.part", f".model.x.{digits}.part", f".modelx{digits}.part"]
    for name in (*kept, f".model.{digits}.part", f".model.{digits[::-1]}.part"):
        (tmp_path / name).write_bytes(b"left")
    replace_file(tmp_path / "model", [b"new"])
    assert names(tmp_path) == sorted([*kept, "model"])


@needs_locks
def test_a_link_with_such_a_name_is_left_alone(tmp_path):
    (tmp_path / "mine").write_bytes(b"mine")
    link = tmp_path / ".model.0123456789abcdef.part"
    link.symlink_to(tmp_path / "mine")
    replace_file(tmp_path / "model", [b"new"])
    assert link.is_symlink()
    assert (tmp_path / "mine").read_bytes() == b"mine"


@needs_locks
def test_a_file_swept_before_it_could_be_locked_is_made_again(tmp_path, monkeypatch):
    path, real, swept = tmp_path / "model", part_files._lock, []

    def swept_first(number, *, wait):
        if wait and not swept:
            swept.extend(names(tmp_path))
            part_files.sweep(path)
        return real(number, wait=wait)

    monkeypatch.setattr(part_files, "_lock", swept_first)
    replace_file(path, [b"new"])
    assert len(swept) == 1
    assert names(tmp_path) == ["model"]
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("missing", ["module", "locks"])
def test_without_locks_nothing_is_swept_and_files_are_written(tmp_path, monkeypatch, missing):
    left = tmp_path / ".model.0123456789abcdef.part"
    left.write_bytes(b"left")
    if missing == "module":
        monkeypatch.setattr(part_files, "fcntl", None)
    else:
        monkeypatch.setattr(part_files, "_lock", lambda number, *, wait: False)
    replace_file(tmp_path / "model", [b"new"])
    assert names(tmp_path) == [left.name, "model"]
