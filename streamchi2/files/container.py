"""One file: its bytes under a digest, and how it is replaced as a whole.

::

    magic 8 | format 4 | sealed 4 | length of the file 8 | length of the header 8
    header, canonical JSON | arrays, one after the other | digest 32

The digest is SHA-256 or, for a sealed file, HMAC-SHA-256 under the user's key. Reading checks in
this order: magic, format number, exact length, digest, header; a size is never trusted before the
bytes it speaks of are there. On the disk there is the old file or the new one, at whatever instant
the power fails.
"""

from __future__ import annotations

import glob
import hashlib
import hmac
import json
import os
import secrets
import stat
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from streamchi2.errors import FormatError

FilePath: TypeAlias = str | os.PathLike[str]
Json: TypeAlias = Any
Key: TypeAlias = bytes | None

FORMAT = 3
# As in PNG: a byte beyond ASCII and both kinds of line ends show what a text transfer has spoilt.
MAGIC = b"\x89SChi2\r\n"

_PRELUDE = struct.Struct("<8sIIQQ")
_DIGEST_BYTES = 32
# A running save adds to its file all the time: one that nobody has touched for so long is left.
_LEFT_AFTER = 3600.0  # seconds


def packed(header: Json, arrays: Sequence[memoryview], *, key: Key = None) -> Iterator[Any]:
    """Yield the pieces of a file; equal arguments give equal bytes.

    >>> whole = b"".join(packed({"kind": "example"}, [memoryview(b"abc")]))
    >>> header, body = unpacked(whole)
    >>> len(whole), header, bytes(body)
    (85, {'kind': 'example'}, b'abc')
    """
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")
    length = _PRELUDE.size + len(text) + sum(array.nbytes for array in arrays) + _DIGEST_BYTES
    digest = _digest(key)
    prelude = _PRELUDE.pack(MAGIC, FORMAT, int(key is not None), length, len(text))
    for piece in chain((prelude, text), arrays):
        digest.update(piece)
        yield piece
    yield digest.digest()


def unpacked(data: bytes, *, key: Key = None) -> tuple[Json, memoryview]:
    """Return the header and the bytes of the arrays, or refuse the file.

    >>> unpacked(b"PK and so on")
    Traceback (most recent call last):
        ...
    streamchi2.errors.FormatError: not a streamchi2 file: it begins with b'PK and s'
    """
    stop = _PRELUDE.size + _checked_prelude(data, key)
    view = memoryview(data)
    digest = _digest(key)
    digest.update(view[:-_DIGEST_BYTES])
    if not hmac.compare_digest(digest.digest(), data[-_DIGEST_BYTES:]):
        cause = "damaged" if key is None else "damaged, forged, or saved with another key"
        raise FormatError(f"the digest does not match: the file is {cause}; load another copy")
    return _parsed(data[_PRELUDE.size : stop]), view[stop:-_DIGEST_BYTES]


def _checked_prelude(data: bytes, key: Key) -> int:
    """Return the length of the header."""
    if data[:8] != MAGIC:
        raise FormatError(f"not a streamchi2 file: it begins with {bytes(data[:8])!r}")
    if len(data) < _PRELUDE.size + _DIGEST_BYTES:
        raise FormatError(f"cut short: {len(data)} bytes are no whole file; load another copy")
    _, number, sealed, length, header_bytes = _PRELUDE.unpack_from(data)
    if number != FORMAT:
        age = "newer" if number > FORMAT else "older"
        raise FormatError(
            f"format {number} is {age} than format {FORMAT}, the only one that is read here; load "
            "the file with the version of streamchi2 that wrote it"
        )
    if length != len(data):
        raise FormatError(
            f"the file must have {length} bytes, got {len(data)}: cut or damaged; load another copy"
        )
    if sealed not in (0, 1) or header_bytes > length - _PRELUDE.size - _DIGEST_BYTES:
        raise FormatError("the lengths at its beginning are damaged; load another copy")
    if bool(sealed) != (key is not None):
        without = "was saved without a key and proves nothing about who wrote it; load it without"
        needed = "was saved with a key; give the same one as key="
        raise FormatError(f"the file {needed if sealed else without}")
    return int(header_bytes)


def _digest(key: Key) -> Any:
    if key is None:
        return hashlib.sha256()
    if not isinstance(key, bytes) or not key:
        raise TypeError(f"key must be bytes, at least one, got {type(key).__name__}")
    return hmac.new(key, digestmod="sha256")


def _parsed(text: bytes) -> Json:
    try:
        return json.loads(text.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the header cannot be read: {str(error)[:80]}") from None


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
    for left in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 16}.part"):
        with suppress(OSError):  # others may remove it, too
            if left.lstat().st_mtime < time.time() - _LEFT_AFTER:
                left.unlink()
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


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk too, on systems where a folder can be."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
