"""Temporary files beside a target: each is locked while somebody writes it, and swept otherwise.

The lock belongs to the open file, so the system releases it however its process ends: a file whose
lock can be taken is one that nobody will finish.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, nothing is swept
    fcntl = None  # type: ignore[assignment]


@contextmanager
def claimed(target: Path) -> Iterator[Path]:
    """Create an empty file beside ``target`` and keep others from sweeping it meanwhile.

    On the way out the file is closed; after an error it is removed too.
    """
    while True:
        beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
        number = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        try:
            if fcntl is None:
                os.close(number)  # an open file could not be renamed there
            # Between its making and its locking, somebody may have swept the file.
            elif _lock(number, wait=True) and not beside.exists():
                continue
            yield beside
            return
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
        finally:
            if fcntl is not None:
                os.close(number)


def sweep(target: Path) -> None:
    """Remove what killed processes have left beside ``target``, and nothing that is being written.

    Where locks do not reach from one computer to the other, as on some network drives, the file
    of another one's running save may be taken for a left one: that save then fails, and the
    target stays as it was.
    """
    if fcntl is None:
        return
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.part")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    with suppress(OSError):
        number = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            # One that has just been finished has another name by now.
            if _lock(number, wait=False):
                os.unlink(path)
        finally:
            os.close(number)


def _lock(number: int, *, wait: bool) -> bool:
    """Tell whether an open file could be locked, if need be after others have let it go."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # locked by others, or on a file system without locks
        return False
    return True
