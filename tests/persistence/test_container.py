"""The bytes of a file: deterministic, refused in order, never trusted before they are checked."""

import hashlib
import struct
import tracemalloc

import numpy as np
import pytest

from streamchi2.errors import FormatError
from streamchi2.persistence.container import FORMAT, MAGIC, packed, unpacked

HEADER = {"name": "ünïcödé", "numbers": [1, 2.5, None, True]}
ARRAYS = [np.arange(6.0).reshape(2, 3), np.array(["a", "bc"]), np.empty((0, 4)), np.array([True])]
WHOLE = b"".join(packed(HEADER, ARRAYS))


def with_digest(body):
    """Return a file that is whole as far as its digest can tell."""
    return body + hashlib.sha256(body).digest()


def patched(**changes):
    """Return the whole file with other numbers in its prelude, and a digest that fits."""
    names = ("magic", "format", "sealed", "length", "header")
    prelude = dict(zip(names, struct.unpack_from("<8sIIQQ", WHOLE), strict=True)) | changes
    return with_digest(struct.pack("<8sIIQQ", *prelude.values()) + WHOLE[32:-32])


def file_of(text, body=b""):
    length = 32 + len(text) + len(body) + 32
    return with_digest(struct.pack("<8sIIQQ", MAGIC, FORMAT, 0, length, len(text)) + text + body)


def test_header_and_arrays_come_back():
    header, arrays = unpacked(WHOLE)
    assert header == HEADER
    for found, array in zip(arrays, ARRAYS, strict=True):
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype


def test_the_order_of_keys_and_of_bytes_in_memory_does_not_matter():
    other = dict(reversed(HEADER.items()))
    arrays = [np.asfortranarray(ARRAYS[0]).astype(">f8"), *ARRAYS[1:]]
    assert b"".join(packed(other, arrays)) == WHOLE


@pytest.mark.parametrize(
    ("data", "message"),
    {
        "empty": (b"", "not a streamchi2 file"),
        "foreign": (b"\x80\x04\x95 a pickle, say", "not a streamchi2 file"),
        "magic alone": (MAGIC, "cut short"),
        "newer": (patched(format=FORMAT + 1), "another version of streamchi2"),
        "format 0": (patched(format=0), "not known"),
        "format 1": (patched(format=1), "format 1 is not known here, only 2"),
        "one byte less": (WHOLE[:-1], "cut or damaged"),
        "one byte more": (WHOLE + b"\0", "cut or damaged"),
        "long header": (patched(header=2**62), "does not fit"),
        "sealed twice": (patched(sealed=2), "sealed must be 0 or 1"),
        "other digest": (WHOLE[:-1] + bytes([WHOLE[-1] ^ 1]), "digest does not match"),
    }.values(),
)
def test_what_is_no_whole_file_is_refused_with_its_reason(data, message):
    with pytest.raises(FormatError, match=message):
        unpacked(data)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b'{"arrays":[]}',
        b'{"arrays":[],"content":1,"more":2}',
        b'{"arrays":[],"content": 1}',  # a space
        b'{"content":1,"arrays":[]}',  # another order
        b'{"arrays":[],"arrays":[],"content":1}',
        b'{"arrays":[],"content":NaN}',
        b'{"arrays":[],"content":1e999}',
        b'{"arrays":[],"content":1.00}',
        b'{"arrays":[],"content":"\xff"}',
        b'{"arrays":[],"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"arrays":[],"content":' + b"9" * 10_000 + b"}",
        b'{"arrays":{},"content":1}',
        b'{"arrays":[1],"content":1}',
        b'{"arrays":[["<f8"]],"content":1}',
        b'{"arrays":[["<f8",[-1]]],"content":1}',
        b'{"arrays":[["<f8",[1.0]]],"content":1}',
        b'{"arrays":[["<f8",[true]]],"content":1}',
        b'{"arrays":[["<f8",[0,0,0]]],"content":1}',
        b'{"arrays":[["<f8",[4611686018427387904]]],"content":1}',
        b'{"arrays":[["<f8",[4611686018427387903,4611686018427387903]]],"content":1}',
        b'{"arrays":[["<f8",[1]]],"content":1}',
        b'{"arrays":[["|O",[0]]],"content":1}',
        b'{"arrays":[[">f8",[0]]],"content":1}',
        b'{"arrays":[["<f16",[0]]],"content":1}',
        b'{"arrays":[["<U0",[0]]],"content":1}',
        b'{"arrays":[["<U99999999999",[0]]],"content":1}',
        b'{"arrays":[["<M8[s]",[0]]],"content":1}',
        b'{"arrays":[["f8,f8",[0]]],"content":1}',
        b'{"arrays":[[["a","<f8"],[0]]],"content":1}',
    ],
)
def test_a_hostile_header_under_a_right_digest_is_refused(text):
    with pytest.raises(FormatError):
        unpacked(file_of(text))


def test_bytes_that_no_array_claims_are_refused():
    with pytest.raises(FormatError, match="do not fill"):
        unpacked(file_of(b'{"arrays":[],"content":1}', b"12345678"))


def test_nothing_is_allocated_for_a_size_that_is_only_claimed():
    text = b'{"arrays":[["<f8",[1000000000,1000000000]]],"content":1}'
    tracemalloc.start()
    with pytest.raises(FormatError):
        unpacked(file_of(text))
    with pytest.raises(FormatError):
        unpacked(patched(length=2**60))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_sealed_file_opens_with_its_key_only():
    sealed = b"".join(packed(HEADER, ARRAYS, key=b"secret"))
    assert unpacked(sealed, key=b"secret")[0] == HEADER
    for data, key, message in (
        (sealed, b"Secret", "another key"),
        (sealed, None, "give the same one"),
        (WHOLE, b"secret", "without a key"),
        (with_digest(sealed[:-32]), b"secret", "forged"),
        (patched(sealed=1), b"secret", "forged"),
    ):
        with pytest.raises(FormatError, match=message):
            unpacked(data, key=key)
    for key in ("secret", b"", 5):
        with pytest.raises(TypeError, match="key must be bytes"):
            list(packed(HEADER, ARRAYS, key=key))


def test_arrays_of_other_kinds_and_long_settings_are_not_written():
    for array in (np.array([object()]), np.ones(1, np.complex128), np.array([b"bytes"])):
        with pytest.raises(TypeError, match="dtype"):
            list(packed({}, [array]))
    with pytest.raises(ValueError, match="must fit"):
        list(packed("x" * 2_000_000, []))
    with pytest.raises(ValueError, match="JSON"):
        list(packed(float("nan"), []))
