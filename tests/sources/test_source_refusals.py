"""What is no source, and what is said of it."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy import sparse

import streamchi2.sources
from streamchi2 import ExpChi2Sampler
from streamchi2.sources import as_source

ROWS = np.random.default_rng(0).random((50, 3))
LABELS = np.array(["ham", "spam"])[np.arange(50) % 2]
TABLE = pa.table({f"c{i}": ROWS[:, i] for i in range(3)} | {"label": LABELS})

REFUSALS = {
    "an array": (lambda: as_source(ROWS), TypeError, "got a ndarray"),
    "a sparse matrix": (lambda: as_source(sparse.csr_array(ROWS)), TypeError, "got a csr_array"),
    "a number": (lambda: as_source(3), TypeError, "got a int"),
    "another file": (lambda: as_source("rows.txt"), ValueError,
        r"of one format: .parquet, .pq; .* got \['rows.txt'\]; .* if delimiter is given"),
    "a target of batches": (lambda: as_source([ROWS], target="y"), TypeError,
        "target must be left out unless source is a table, got 'y'"),
    "words": (lambda: as_source(TABLE), TypeError, "column 'label' must hold numbers, got string"),
    "no such column": (lambda: as_source(TABLE, columns=["c9"]), ValueError, "one column 'c9'"),
    "no such target": (lambda: as_source(TABLE, target="t"), ValueError, "one column 't'"),
    "one name for columns": (lambda: as_source(TABLE, columns="c0"), TypeError,
        "columns must be a sequence of names, got 'c0'"),
    "a column twice": (lambda: as_source(TABLE, columns=["c0", "c0"]), ValueError,
        "columns must be distinct"),
    "the target as a column": (lambda: as_source(TABLE, target="c0", columns=["c0", "c1"]),
        ValueError, r"not hold the target or the weight \['c0'\]"),
    "the weight as a column": (lambda: as_source(TABLE, weight="c0", columns=["c0", "c1"]),
        ValueError, r"not hold the target or the weight \['c0'\]"),
    "one column as target and weight": (
        lambda: as_source(TABLE, target="c0", weight="c0", columns=["c1"]), ValueError,
        r"not hold the target or the weight \['c0', 'c0'\]"),
    "a weight of words": (lambda: as_source(TABLE, weight="label"), TypeError,
        "column 'label' must hold numbers"),
    "a weight of batches": (lambda: as_source([ROWS], weight="w"), TypeError,
        "weight must be left out unless source is a table, got 'w'"),
    "a delimiter of a table": (lambda: as_source(TABLE, delimiter=";"), ValueError,
        "delimiter must be one character, and left out unless source is a file, got ';'"),
    "a long delimiter": (lambda: as_source("rows.csv", delimiter=";;"), ValueError,
        "delimiter must be one character, .*, got ';;'"),
    "a dtype that is none": (lambda: as_source(TABLE, target="label", target_dtype="words"),
        TypeError, "target_dtype must be str, int or float, got 'words'"),
    "two formats": (lambda: as_source(["a.csv", "b.parquet"]), ValueError,
        r"files of one format: .*; got \['a.csv', 'b.parquet'\]"),
    "a pattern of nothing": (lambda: as_source("no-such-*.csv"), FileNotFoundError,
        "source must hold or match at least one file, got 'no-such-"),
    "no columns": (lambda: as_source(TABLE, columns=[]), ValueError, "at least one column"),
    "batch_size": (lambda: as_source([ROWS], batch_size=0), ValueError, "batch_size must be"),
    "name": (lambda: as_source([ROWS], name=""), ValueError, "source_name must have"),
    "four parts": (lambda: next(as_source([(ROWS, LABELS, None, 1)]).batches({})), ValueError,
        "got 4 parts at row 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_no_source_is_refused_with_the_reason(case):
    call, error, message = REFUSALS[case]
    with pytest.raises(error, match=message):
        call()


NULLS = {
    "a value": ({"a": [1.0, 2.0, None]}, "X must not contain NaN, got NaN at row 2 of t, column 0"),
    "a whole number": ({"a": [1, 2, None]}, "X must not contain NaN, got NaN at row 2 of t"),
    "a weight": ({"a": [1, 2, 3], "w": [1, 2, None]}, "sample_weight must .* at row 2 of t"),
}


@pytest.mark.parametrize("case", NULLS)
def test_a_null_is_refused_by_the_row_of_the_source(case):
    columns, message = NULLS[case]
    weight = {"weight": "w"} if "w" in columns else {}
    with pytest.raises(ValueError, match=message):
        ExpChi2Sampler(8).fit_stream(pa.table(columns), batch_size=2, source_name="t", **weight)


def test_a_csv_read_by_another_delimiter_than_its_own_is_suspected(tmp_path):
    (tmp_path / "rows.csv").write_text("a;y\n1;2\n")
    with pytest.raises(ValueError, match=r"got \['a;y'\]; is delimiter right\?"):
        as_source(tmp_path / "rows.csv", target="y")


def test_a_file_that_is_named_twice_is_refused(tmp_path):
    pa.csv.write_csv(TABLE, tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"every file must be named once, got .*a\.csv"):
        as_source([tmp_path / "a.csv", f"{tmp_path}/../{tmp_path.name}/a.csv"], target="label")


def test_text_that_is_no_number_says_how_to_read_it(tmp_path):
    lines = ["a,y", *["1,1"] * 400_000, "1,one"]  # beyond the block from which types are guessed
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="conversion error") as caught:
        list(as_source(tmp_path / "rows.csv", target="y").batches({}))
    assert any("target_dtype=str" in note for note in caught.value.__notes__)


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "streamchi2.sources.tables", raising=False)
    monkeypatch.delattr(streamchi2.sources, "tables", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"streamchi2\[arrow\]"):
        as_source(tmp_path / "rows.csv")
