"""Hypothesis strategies: rows of realistic and nasty kinds, streams, and ways to cut them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

# Twenty-four decades: beyond any histogram, within what float64 squares without overflow.
positive_values = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)
landmarks = st.lists(positive_values, min_size=1, max_size=6)
value_arrays = hnp.arrays(np.float64, st.integers(1, 20), elements=positive_values)


def histogram_rows(
    max_rows: int = 8, max_columns: int = 6, *, min_rows: int = 1
) -> st.SearchStrategy[NDArray[np.float64]]:
    """Return nasty rows: zeros, repeated values and far-apart scales, shape (n, d)."""
    shapes = st.tuples(st.integers(min_rows, max_rows), st.integers(1, max_columns))
    return hnp.arrays(np.float64, shapes, elements=st.just(0.0) | positive_values)


@st.composite
def realistic_rows(
    draw: st.DrawFn, max_rows: int = 100, max_columns: int = 8, *, min_rows: int = 1
) -> NDArray[np.float64]:
    """Return rows as they come from data: L1-normalised, counts, or mostly zero.

    Only a seed and a few choices are drawn, so that long streams stay cheap and shrink well.
    """
    n_rows = draw(st.integers(min_rows, max_rows))
    n_columns = draw(st.integers(2, max_columns))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["shares", "counts", "sparse shares"]))
    if kind == "counts":
        return random.poisson(3.0, (n_rows, n_columns)).astype(np.float64)
    rows = random.dirichlet(np.full(n_columns, 0.7), size=n_rows)
    if kind == "sparse shares":
        rows[random.random(rows.shape) < 0.6] = 0.0
    return rows


@st.composite
def labelled_streams(
    draw: st.DrawFn, max_rows: int = 100, max_columns: int = 8, labels: Sequence[Any] = (0, 1, 2)
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return realistic rows and a label for each; with two rows and two labels at least."""
    rows = draw(realistic_rows(max_rows, max_columns, min_rows=2))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    chosen = np.asarray(labels)[random.integers(0, len(labels), rows.shape[0])]
    chosen[:2] = labels[:2]
    return rows, chosen


def cuttings(n_rows: int) -> st.SearchStrategy[list[int]]:
    """Return positions at which a stream of ``n_rows`` rows is cut, none to all of them."""
    inside = st.integers(1, max(n_rows - 1, 1))
    some = st.sets(inside, max_size=8).map(sorted)
    return some | st.just(list(range(1, n_rows))) | st.just([])


def dict_streams(
    max_rows: int = 12, names: Sequence[str] = ("red", "green", "blue", "hue 0", "hue 1")
) -> st.SearchStrategy[list[dict[str, float]]]:
    """Return rows as dicts, as river has them: keys come and go, some values are zero."""
    values = st.just(0.0) | st.floats(1e-3, 10.0)
    row = st.dictionaries(st.sampled_from(list(names)), values, max_size=len(names))
    return st.lists(row, min_size=1, max_size=max_rows)
