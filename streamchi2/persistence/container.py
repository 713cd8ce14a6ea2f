"""The bytes of a file: a prelude, a JSON header, raw arrays and a digest over all of it.

::

    magic 8 | format 4 | sealed 4 | length of the file 8 | length of the header 8
    header, canonical JSON | arrays, little-endian, one after the other | digest 32

The digest is SHA-256 or, for a sealed file, HMAC-SHA-256 under the user's key. Reading checks in
this order: magic, format number, exact length, digest, header, dtypes, shapes and that the
arrays fill the file; a size is never trusted before the bytes it speaks of are known to be there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamchi2.errors import FormatError

Json: TypeAlias = Any
Key: TypeAlias = bytes | None

FORMAT = 2
# As in PNG: a byte beyond ASCII and both kinds of line ends show what a text transfer has spoilt.
MAGIC = b"\x89SChi2\r\n"
MAX_HEADER = 1 << 20  # parameters, not data: a few kilobytes in practice

_PRELUDE = struct.Struct("<8sIIQQ")
_DIGEST_BYTES = 32
_MAX_DIMENSIONS = 2
_DTYPES = frozenset(
    ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]
)
_WORDS = re.compile(r"<U[1-9][0-9]{0,5}")


def packed(header: Json, arrays: Sequence[NDArray[Any]], *, key: Key = None) -> Iterator[bytes]:
    """Yield the pieces of a file; equal arguments give equal bytes.

    >>> whole = b"".join(packed({"kind": "example"}, [np.arange(3)]))
    >>> len(whole), unpacked(whole)
    (141, ({'kind': 'example'}, [array([0, 1, 2])]))
    """
    stored = [_little_endian(array) for array in arrays]
    table = [[array.dtype.str, list(array.shape)] for array in stored]
    text = _canonical({"arrays": table, "content": header})
    if len(text) > MAX_HEADER:
        raise ValueError(f"parameters must fit into {MAX_HEADER} bytes, got {len(text)}")
    length = _PRELUDE.size + len(text) + sum(array.nbytes for array in stored) + _DIGEST_BYTES
    digest = _digest(key)
    prelude = _PRELUDE.pack(MAGIC, FORMAT, int(key is not None), length, len(text))
    # One array after the other: copies of all of them at once would double the memory.
    for piece in chain((prelude, text), (array.tobytes() for array in stored)):
        digest.update(piece)
        yield piece
    yield digest.digest()


def unpacked(data: bytes, *, key: Key = None) -> tuple[Json, list[NDArray[Any]]]:
    """Return the header and read-only arrays of a file, or refuse it.

    >>> unpacked(b"PK and so on")
    Traceback (most recent call last):
        ...
    streamchi2.errors.FormatError: not a streamchi2 file: it begins with b'PK and s'
    """
    header_bytes = _checked_prelude(data, key)
    _check_digest(data, key)
    stop = _PRELUDE.size + header_bytes
    header = _parsed(data[_PRELUDE.size : stop])
    if not isinstance(header, dict) or header.keys() != {"arrays", "content"}:
        raise FormatError("the header must hold arrays and content, and nothing else")
    body = memoryview(data)[stop : len(data) - _DIGEST_BYTES]
    return header["content"], list(_arrays(header["arrays"], body))


def _checked_prelude(data: bytes, key: Key) -> int:
    """Return the length of the header."""
    if data[:8] != MAGIC:
        raise FormatError(f"not a streamchi2 file: it begins with {bytes(data[:8])!r}")
    if len(data) < _PRELUDE.size + _DIGEST_BYTES:
        raise FormatError(f"the file is cut short: {len(data)} bytes are no whole file")
    _, number, sealed, length, header_bytes = _PRELUDE.unpack_from(data)
    if number != FORMAT:
        raise FormatError(
            f"format {number} is not known here, only {FORMAT}: the file was written by another "
            "version of streamchi2, or is damaged"
        )
    if length != len(data):
        raise FormatError(f"the file must have {length} bytes, got {len(data)}: cut or damaged")
    if header_bytes > min(MAX_HEADER, length - _PRELUDE.size - _DIGEST_BYTES):
        raise FormatError(f"a header of {header_bytes} bytes does not fit: damaged")
    if sealed not in (0, 1):
        raise FormatError(f"sealed must be 0 or 1, got {sealed}: damaged")
    if bool(sealed) != (key is not None):
        without = "was saved without a key and proves nothing about who wrote it; load it without"
        needed = "was saved with a key; give the same one as key="
        raise FormatError(f"the file {needed if sealed else without}")
    return int(header_bytes)


def _check_digest(data: bytes, key: Key) -> None:
    digest = _digest(key)
    digest.update(memoryview(data)[:-_DIGEST_BYTES])
    if not hmac.compare_digest(digest.digest(), data[-_DIGEST_BYTES:]):
        cause = "damaged" if key is None else "damaged, forged, or saved with another key"
        raise FormatError(f"the digest does not match: the file is {cause}")


def _digest(key: Key) -> Any:
    if key is None:
        return hashlib.sha256()
    if not isinstance(key, bytes) or not key:
        raise TypeError(f"key must be bytes, at least one, got {type(key).__name__}")
    return hmac.new(key, digestmod="sha256")


def _arrays(table: Json, body: memoryview) -> Iterator[NDArray[Any]]:
    shapes = [_checked_entry(entry) for entry in table] if isinstance(table, list) else None
    if shapes is None:
        raise FormatError("the table of arrays must be a list")
    sizes = [dtype.itemsize * math.prod(shape) for dtype, shape in shapes]
    if sum(sizes) != len(body):
        raise FormatError(f"arrays of {sum(sizes)} bytes do not fill the {len(body)} of the file")
    start = 0
    for (dtype, shape), size in zip(shapes, sizes, strict=True):
        # frombuffer refuses empty buffers and dtypes of no width.
        part = body[start : start + size]
        yield np.frombuffer(part, dtype).reshape(shape) if size else np.empty(shape, dtype)
        start += size


def _checked_entry(entry: Json) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if not (isinstance(entry, list) and len(entry) == 2):
        raise FormatError(f"an array is described by dtype and shape, got {str(entry)[:80]}")
    name, shape = entry
    if not isinstance(name, str) or not (name in _DTYPES or _WORDS.fullmatch(name)):
        raise FormatError(f"arrays of dtype {str(name)[:80]!r} are not stored")
    if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS:
        raise FormatError(f"a shape has at most {_MAX_DIMENSIONS} numbers, got {str(shape)[:80]}")
    if not all(type(side) is int and 0 <= side < 2**62 for side in shape):
        raise FormatError(f"a shape holds numbers of at least 0, got {str(shape)[:80]}")
    return np.dtype(name), tuple(shape)


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    stored = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
    if not (stored.dtype.str in _DTYPES or _WORDS.fullmatch(stored.dtype.str)):
        raise TypeError(f"arrays of dtype {array.dtype} cannot be saved")
    return stored


def _canonical(value: Json) -> bytes:
    text = json.dumps(value, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode("ascii")


def _parsed(text: bytes) -> Json:
    """Parse a header, of which only the canonical spelling is accepted."""
    try:
        value = json.loads(text.decode("ascii"))
        if _canonical(value) == text:
            return value
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the header cannot be read: {str(error)[:80]}") from None
    raise FormatError("the header is not spelt as streamchi2 spells it")
