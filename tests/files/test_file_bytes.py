"""The bytes of a file: deterministic, refused in order, never trusted before they are checked."""

import struct

import pytest
from file_bytes import file_of, with_digest

from streamchi2.errors import FormatError
from streamchi2.files.container import FORMAT, MAGIC, packed, unpacked

HEADER = {"name": "ünïcödé", "numbers": [1, 2.5, None, True]}
WHOLE = b"".join(packed(HEADER, [memoryview(b"abc"), memoryview(b"de")]))


def patched(**changes):
    """Return the whole file with other numbers in its prelude, and a digest that fits."""
    names = ("magic", "format", "sealed", "length", "header")
    prelude = dict(zip(names, struct.unpack_from("<8sIIQQ", WHOLE), strict=True)) | changes
    return with_digest(struct.pack("<8sIIQQ", *prelude.values()) + WHOLE[32:-32])


def test_header_and_bytes_come_back_whatever_the_order_of_names():
    header, body = unpacked(WHOLE)
    assert (header, bytes(body)) == (HEADER, b"abcde")
    assert b"".join(packed(dict(reversed(HEADER.items())), [memoryview(b"abcde")])) == WHOLE


@pytest.mark.parametrize(
    ("data", "message"),
    {
        "empty": (b"", "not a streamchi2 file"),
        "foreign": (b"\x80\x04\x95 a pickle, say", "not a streamchi2 file"),
        "magic alone": (MAGIC, "cut short"),
        "newer": (patched(format=FORMAT + 1), f"format {FORMAT + 1} is newer than format {FORMAT}"),
        "older": (patched(format=1), "format 1 is older .* version of streamchi2 that wrote it"),
        "one byte less": (WHOLE[:-1], "cut or damaged"),
        "one byte more": (WHOLE + b"\0", "cut or damaged"),
        "long header": (patched(header=2**62), "lengths .* damaged"),
        "sealed twice": (patched(sealed=2), "damaged"),
        "other digest": (WHOLE[:-1] + bytes([WHOLE[-1] ^ 1]), "digest does not match"),
    }.values(),
)
def test_what_is_no_whole_file_is_refused_with_its_reason(data, message):
    with pytest.raises(FormatError, match=message):
        unpacked(data)


HOSTILE = [
    b"", b'{"a":', b'{"a":"\xff"}', b"[" * 100_000 + b"]" * 100_000, b"9" * 3_000_000
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_a_hostile_header_under_a_right_digest_is_refused(text):
    with pytest.raises(FormatError, match="the header"):
        unpacked(file_of(text))


def test_a_sealed_file_opens_with_its_key_only():
    sealed = b"".join(packed(HEADER, [], key=b"secret"))
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
            list(packed(HEADER, [], key=key))
