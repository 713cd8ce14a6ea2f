"""Hypothesis strategies: rows of realistic and nasty kinds, labels, streams and cuts."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

_seeds = st.integers(0, 2**32 - 1)


@st.composite
def realistic_rows(
    draw: st.DrawFn, max_rows: int = 100, max_columns: int = 8, *, min_rows: int = 1
) -> NDArray[np.float64]:
    """Return rows as they come from data: L1-normalised, counts, or mostly zero.

    Only a seed and a few choices are drawn, so that long streams stay cheap and shrink well. There
    is one zero at least, as the law of absent values needs.
    """
    shape = draw(st.integers(min_rows, max_rows)), draw(st.integers(2, max_columns))
    random = np.random.default_rng(draw(_seeds))
    kind = draw(st.sampled_from(["shares", "counts", "sparse shares"]))
    if kind == "counts":
        rows = random.poisson(3.0, shape).astype(np.float64)
    else:
        rows = random.dirichlet(np.full(shape[1], 0.7), size=shape[0])
    if kind == "sparse shares":
        rows[random.random(rows.shape) < 0.6] = 0.0
    rows[0, 0] = 0.0
    return rows


@st.composite
def labelled_streams(
    draw: st.DrawFn, max_rows: int = 100, max_columns: int = 8
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return realistic rows and a label for each, 0, 1 or 2; two rows and labels at least."""
    rows = draw(realistic_rows(max_rows, max_columns, min_rows=2))
    labels = np.random.default_rng(draw(_seeds)).integers(0, 3, rows.shape[0])
    labels[:2] = 0, 1
    return rows, labels


def cuttings(n_rows: int) -> st.SearchStrategy[list[int]]:
    """Return positions at which ``n_rows`` rows, two at least, are cut: one to all of them."""
    some = st.sets(st.integers(1, n_rows - 1), min_size=1, max_size=8).map(sorted)
    return some | st.just(list(range(1, n_rows)))
