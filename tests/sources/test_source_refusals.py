"""What is no source, and what is said of it."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy import sparse

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
    "no files": (
        lambda: as_source([], target="y"),
        ValueError,
        "source must name at least one file, got an empty list",
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
        r"not hold the target or the weight \['c0'\]",
    ),
    "the weight as a column": (
        lambda: as_source(TABLE, weight="c0", columns=["c0", "c1"]),
        ValueError,
        r"not hold the target or the weight \['c0'\]",
    ),
    "one column as target and weight": (
        lambda: as_source(TABLE, target="c0", weight="c0", columns=["c1"]),
        ValueError,
        r"not hold the target or the weight \['c0', 'c0'\]",
    ),
    "a weight of words": (
        lambda: as_source(TABLE, weight="label"),
        TypeError,
        "column 'label' must hold numbers",
    ),
    "a weight of batches": (
        lambda: as_source([ROWS], weight="w"),
        TypeError,
        "weight must be left out unless source is a table, got 'w'",
    ),
    "a weight that is null": (
        lambda: list(
            as_source(pa.table({"a": [1.0, 2.0], "w": [1.0, None]}), weight="w").batches({})
        ),
        ValueError,
        "weight must not be null, got null at row 1 of the table, column 'w'",
    ),
    "a delimiter of a table": (
        lambda: as_source(TABLE, delimiter=";"),
        TypeError,
        "delimiter must be left out unless source is a file, got ';'",
    ),
    "a long delimiter": (
        lambda: as_source("rows.csv", delimiter=";;"),
        ValueError,
        "delimiter must be one character, got ';;'",
    ),
    "a dtype that is none": (
        lambda: as_source(TABLE, target="label", target_dtype="words"),
        TypeError,
        "target_dtype must be str, int, float or None, got 'words'",
    ),
    "text for a regressor": (
        lambda: as_source(TABLE, target="label", target_dtype=str, numbers=True),
        TypeError,
        "target_dtype must be int or float for a regressor",
    ),
    "two formats": (
        lambda: as_source(["a.csv", "b.parquet"]),
        ValueError,
        r"files must be of one format, got \['a.csv', 'b.parquet'\]",
    ),
    "a file twice": (
        lambda: as_source(["a.csv", "./a.csv"]),
        ValueError,
        "source must name every file once, got './a.csv' twice",
    ),
    "a pattern of nothing": (
        lambda: as_source("no-such-*.csv"),
        FileNotFoundError,
        "source must match at least one file, got 'no-such-",
    ),
    "no columns": (lambda: as_source(TABLE, columns=[]), ValueError, "at least one column"),
    "batch_size": (lambda: as_source([ROWS], batch_size=0), ValueError, "batch_size must be"),
    "name": (lambda: as_source([ROWS], name=""), ValueError, "source_name must have"),
    "four parts": (
        lambda: next(as_source([(ROWS, LABELS, None, 1)]).batches({})),
        ValueError,
        "got 4 parts at row 0",
    ),
    "null": (
        lambda: list(
            as_source(pa.table({"a": [1.0, 2.0, None]}), batch_size=2, name="t").batches({})
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
