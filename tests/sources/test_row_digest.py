"""The digest of rows: the same for any cut, another for any change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamchi2.sources.row_digest import RowDigest

ROWS = np.random.default_rng(0).random((12, 2))
TARGETS = {
    "none": None,
    "whole": np.arange(12),
    "text": np.array([f"{i % 5}" * i for i in range(12)]),
    "big": 2**62 + np.arange(12),
}


@given(st.sampled_from(sorted(TARGETS)), st.lists(st.integers(0, 12), max_size=4), st.booleans())
def test_how_rows_are_cut_does_not_matter(kind, cuts, partly):
    targets = TARGETS[kind]
    given_ = np.arange(12) % 3 > 0 if partly else None
    parts = np.split(np.arange(12), sorted(cuts))
    digest = RowDigest()
    for part in parts:
        digest.update(
            ROWS[part],
            None if targets is None else targets[part],
            None if given_ is None else given_[part],
            np.arange(12.0)[part],
        )
    whole = RowDigest().update(ROWS, targets, given_, np.arange(12.0))
    assert digest.digest() == whole.digest()


def test_how_numbers_are_held_does_not_matter_and_what_they_are_does():
    rows = np.arange(6.0).reshape(3, 2)
    for same in (np.asfortranarray(rows), rows.astype(np.float32), rows.astype(np.uint8)):
        assert RowDigest().update(same).digest() == RowDigest().update(rows).digest()
    targets = [
        None,
        np.array([1, 2, 3]),
        np.array([1, 2, 4]),
        np.array([2**53, 0, 0]),
        np.array([2**53 + 1, 0, 0]),
        np.array([2**64 - 1, 0, 0], np.uint64),
        np.array([2**64 - 2, 0, 0], np.uint64),
        np.array(["1", "2", "3"]),
        np.array(["ab", "c", ""]),
        np.array(["a", "bc", ""]),
    ]
    assert len({RowDigest().update(rows, found).digest() for found in targets}) == len(targets)


def test_a_copy_goes_on_alone():
    digest = RowDigest().update(ROWS[:5])
    twin = digest.copy().update(ROWS[5:])
    assert digest.digest() == RowDigest().update(ROWS[:5]).digest()
    assert twin.digest() == RowDigest().update(ROWS).digest()
