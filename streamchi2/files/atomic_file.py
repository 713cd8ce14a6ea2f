"""Files that are either the old one or the new one, at whatever instant the power fails."""

from __future__ import annotations

import glob
import os
import secrets
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from streamchi2.errors import FormatError

FilePath: TypeAlias = str | os.PathLike[str]

# A running save adds to its file all the time: one that nobody has touched for so long is left.
_LEFT_AFTER = 3600.0  # seconds


def replace_file(path: FilePath, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file beside its place, force it to the disk, and rename it over ``path``.

    The rename is atomic on POSIX systems and on Windows. Whatever goes wrong before it, an
    existing file stays as it is and the temporary one is removed. A process that is killed leaves
    the temporary one behind, whose name begins with a dot and ends in ``.part``; whoever writes to
    ``path`` an hour later removes it. An existing file hands its permissions on.
    """
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()  # replace what the link points to, not the link
    if target.exists() and not target.is_file():
        raise OSError(f"only plain files are replaced, got {os.fspath(path)!r}")
    _sweep(target)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    _sync_folder(target.parent)


def read_file(path: FilePath, max_bytes: int) -> bytes:
    """Return the bytes of a file, of which no more than ``max_bytes`` may be there."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FormatError("only plain files are read; give the path of one that save has written")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise FormatError(
                f"the file must have at most {max_bytes} bytes, got {size}; raise max_bytes if you "
                "expect it to be that large"
            )
        return file.read(size)


def _sweep(target: Path) -> None:
    """Remove what killed processes have left beside ``target``."""
    oldest = time.time() - _LEFT_AFTER
    digits = "[0-9a-f]" * 16
    for left in target.parent.glob(f".{glob.escape(target.name)}.{digits}.part"):
        with suppress(OSError):
            if left.lstat().st_mtime < oldest:
                left.unlink()


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk too, on systems where a folder can be."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
