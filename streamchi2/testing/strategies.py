"""Hypothesis strategies: rows of realistic and nasty kinds, labels, streams and cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

# Twenty-four decades: beyond any histogram, within what float64 squares without overflow.
positive_values = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)
nodes = st.lists(positive_values, min_size=1, max_size=6)
value_arrays = hnp.arrays(np.float64, st.integers(1, 20), elements=positive_values)

_seeds = st.integers(0, 2**32 - 1)


def histogram_rows(
    max_rows: int = 8, max_columns: int = 6, *, min_rows: int = 1
) -> st.SearchStrategy[NDArray[np.float64]]:
    """Return nasty rows: zeros, repeated values and far-apart scales, shape (n, d)."""
    shapes = st.tuples(st.integers(min_rows, max_rows), st.integers(1, max_columns))
    return hnp.arrays(np.float64, shapes, elements=st.just(0.0) | positive_values)


@st.composite
def realistic_rows(
    draw: st.DrawFn,
    max_rows: int = 100,
    max_columns: int = 8,
    *,
    min_rows: int = 1,
    zeros: bool = False,
) -> NDArray[np.float64]:
    """Return rows as they come from data: L1-normalised, counts, or mostly zero.

    Only a seed and a few choices are drawn, so that long streams stay cheap and shrink well. With
    ``zeros`` there is one at least, as the law of absent values needs.
    """
    n_rows = draw(st.integers(min_rows, max_rows))
    n_columns = draw(st.integers(2, max_columns))
    random = np.random.default_rng(draw(_seeds))
    kind = draw(st.sampled_from(["shares", "counts", "sparse shares"]))
    if kind == "counts":
        rows = random.poisson(3.0, (n_rows, n_columns)).astype(np.float64)
    else:
        rows = random.dirichlet(np.full(n_columns, 0.7), size=n_rows)
    if kind == "sparse shares":
        rows[random.random(rows.shape) < 0.6] = 0.0
    if zeros:
        rows[0, 0] = 0.0
    return rows


@st.composite
def labels_of(
    draw: st.DrawFn, n_rows: int, labels: Sequence[Any] = (0, 1, 2)
) -> NDArray[Any]:  # fmt: skip
    """Return a label for each of ``n_rows`` rows; the first two differ, where there are two."""
    random = np.random.default_rng(draw(_seeds))
    chosen = np.asarray(labels)[random.integers(0, len(labels), n_rows)]
    chosen[:2] = labels[: min(n_rows, 2)]
    return chosen


@st.composite
def labelled_streams(
    draw: st.DrawFn,
    max_rows: int = 100,
    max_columns: int = 8,
    labels: Sequence[Any] = (0, 1, 2),
    *,
    zeros: bool = False,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return realistic rows and a label for each; with two rows and two labels at least."""
    rows = draw(realistic_rows(max_rows, max_columns, min_rows=2, zeros=zeros))
    return rows, draw(labels_of(rows.shape[0], labels))


@st.composite
def cut_streams(
    draw: st.DrawFn, max_rows: int = 100, max_columns: int = 8, labels: Sequence[Any] = (0, 1, 2)
) -> tuple[NDArray[np.float64], NDArray[Any], list[int]]:
    """Return rows, labels and where to cut them: all that :func:`check_cut` needs."""
    rows, chosen = draw(labelled_streams(max_rows, max_columns, labels))
    return rows, chosen, draw(cuttings(rows.shape[0]))


def cuttings(n_rows: int) -> st.SearchStrategy[list[int]]:
    """Return positions at which ``n_rows`` rows, two at least, are cut: one to all of them."""
    if n_rows < 2:
        raise ValueError(f"n_rows must be at least 2 to be cut, got {n_rows!r}")
    some = st.sets(st.integers(1, n_rows - 1), min_size=1, max_size=8).map(sorted)
    return some | st.just(list(range(1, n_rows)))


def row_counts(n_rows: int) -> st.SearchStrategy[NDArray[np.int64]]:
    """Return whole numbers as weights, one per row, zeros among them, not all of them one."""
    counts = hnp.arrays(np.int64, n_rows, elements=st.integers(0, 3))
    return counts.filter(lambda some: some.any() and (some != 1).any())


def dict_streams(
    max_rows: int = 12,
    names: Sequence[str] = ("red", "green", "blue", "hue 0", "hue 1"),
    *,
    min_rows: int = 1,
) -> st.SearchStrategy[list[dict[str, float]]]:
    """Return rows as dicts, as river has them: keys come and go, some values are zero."""
    values = st.just(0.0) | st.floats(1e-3, 10.0)
    row = st.dictionaries(st.sampled_from(list(names)), values, max_size=len(names))
    return st.lists(row, min_size=min_rows, max_size=max_rows)
