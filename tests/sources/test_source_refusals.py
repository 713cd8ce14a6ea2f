"""What is no source, and what is said of it."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy import sparse

from streamchi2.errors import StateMismatchError
from streamchi2.provenance import Provenance
from streamchi2.sources import as_source

ROWS = np.random.default_rng(0).random((50, 3))
LABELS = np.array(["ham", "spam"])[np.arange(50) % 2]
TABLE = pa.table({f"c{i}": ROWS[:, i] for i in range(3)} | {"label": LABELS})

REFUSALS = {
    "an array": (lambda: as_source(ROWS), TypeError, "got a ndarray"),
    "a sparse matrix": (lambda: as_source(sparse.csr_array(ROWS)), TypeError, "got a csr_array"),
    "a number": (lambda: as_source(3), TypeError, "got a int"),
    "another file": (lambda: as_source("rows.txt"), ValueError, "must end in .parquet"),
    "a target of batches": (
        lambda: as_source([ROWS], target="y"),
        TypeError,
        "target must be left out unless source is a table, got 'y'",
    ),
    "words": (lambda: as_source(TABLE), TypeError, "column 'label' must hold numbers, got string"),
    "no such column": (lambda: as_source(TABLE, columns=["c9"]), ValueError, "one column 'c9'"),
    "no such target": (lambda: as_source(TABLE, target="t"), ValueError, "one column 't'"),
    "one name for columns": (
        lambda: as_source(TABLE, columns="c0"),
        TypeError,
        "columns must be a sequence of names, got 'c0'",
    ),
    "a column twice": (
        lambda: as_source(TABLE, columns=["c0", "c0"]),
        ValueError,
        "columns must be distinct",
    ),
    "the target as a column": (
        lambda: as_source(TABLE, target="c0", columns=["c0", "c1"]),
        ValueError,
        "not hold the target 'c0'",
    ),
    "no columns": (lambda: as_source(TABLE, columns=[]), ValueError, "at least one column"),
    "batch_size": (lambda: as_source([ROWS], batch_size=0), ValueError, "batch_size must be"),
    "name": (lambda: as_source([ROWS], name=""), ValueError, "source_name must have"),
    "four parts": (
        lambda: next(as_source([(ROWS, LABELS, None, 1)]).batches(Provenance())),
        ValueError,
        "got 4 parts at row 0",
    ),
    "gap": (
        lambda: next(as_source([ROWS], name="a").batches(Provenance().with_range("a", 3, 4))),
        StateMismatchError,
        "must be its beginning",
    ),
    "null": (
        lambda: list(
            as_source(pa.table({"a": [1.0, 2.0, None]}), batch_size=2, name="t").batches(
                Provenance()
            )
        ),
        ValueError,
        "X must not be null, got null at row 2 of t, column 'a'",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_no_source_is_refused_with_the_reason(case):
    call, error, message = REFUSALS[case]
    with pytest.raises(error, match=message):
        call()


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "streamchi2.sources.tables", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"streamchi2\[arrow\]"):
        as_source(tmp_path / "rows.csv")
