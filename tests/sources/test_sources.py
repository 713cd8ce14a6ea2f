"""Sources that are tables: what may be one, and what comes out of it."""

import gzip
import json
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler
from streamchi2.provenance import with_rows
from streamchi2.sources import as_source

N, WIDTH = 50, 3
ROWS = np.random.default_rng(0).random((N, WIDTH))
LABELS = np.array(["ham", "spam"])[np.arange(N) % 2]
TABLE = pa.table({f"c{i}": ROWS[:, i] for i in range(WIDTH)} | {"label": LABELS})


def read(source, learnt=None):
    """All rows, targets and given flags of a source, joined."""
    batches = list(source.batches(learnt or {}))
    rows = np.concatenate([batch.rows.rows for batch in batches])
    targets = [batch.targets for batch in batches]
    given = [np.ones(b.n_rows, bool) if b.given is None else b.given for b in batches]
    for left, right in pairwise(batches):
        assert right.start in (0, left.start + left.n_rows)
    return rows, None if targets[0] is None else np.concatenate(targets), np.concatenate(given)


def columns_of(source):
    return next(source.batches({})).rows.columns.tolist()


def write_json(table, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def write_gzip(table, path):
    with gzip.open(path, "wb") as file:
        pa.csv.write_csv(table, file)


FILES = {
    "parquet": lambda table, path: pq.write_table(table, path, row_group_size=7),
    "feather": pa.feather.write_feather,
    "csv": pa.csv.write_csv,
    "csv.gz": write_gzip,
    "jsonl": write_json,
}
FRAMES = {
    "table": lambda: TABLE,
    "chunked table": lambda: pa.concat_tables([TABLE[:11], TABLE[:0], TABLE[11:]]),
    "pandas": TABLE.to_pandas,
    "indexed": lambda: TABLE.to_pandas().set_index(np.arange(N)[::-1]),
    "category": lambda: TABLE.to_pandas().astype({"label": "category"}),
    "polars": lambda: pl.from_arrow(TABLE),
    "polars categories": lambda: pl.from_arrow(TABLE).cast({"label": pl.Categorical}),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The same table in every place it may be read from."""
    home = tmp_path_factory.mktemp("tables")
    found = {kind: make() for kind, make in FRAMES.items()}
    for kind, write in FILES.items():
        found[kind] = home / f"rows.{kind}"
        write(TABLE, found[kind])
        folder = home / kind
        (folder / "later").mkdir(parents=True)
        write(TABLE[:20], folder / f"0.{kind}")
        write(TABLE[20:], folder / "later" / f"1.{kind}")
        (folder / "_SUCCESS").touch()
        (folder / ".hidden").touch()
        found[f"folder of {kind}"] = str(folder)
        found[f"pattern of {kind}"] = f"{home}/{kind[:-1]}?/**/*.{kind}"
    return found | {"dataset": ds.dataset(home / "rows.parquet")}


KINDS = [*FRAMES, *(f"{how}{kind}" for how in ("", "folder of ", "pattern of ") for kind in FILES)]


@pytest.mark.parametrize("kind", [*KINDS, "dataset"])
@pytest.mark.parametrize("batch_size", [4, 1000])
def test_every_kind_of_table_gives_the_same_rows(places, kind, batch_size):
    source = as_source(places[kind], target="label", batch_size=batch_size, name="memory")
    rows, labels, given = read(source)
    np.testing.assert_array_equal(rows, ROWS)
    np.testing.assert_array_equal(labels, LABELS)
    assert given.all()
    assert source.n_rows == (None if "csv" in kind or "json" in kind else N)
    for batch in source.batches({}):
        assert batch.n_rows <= batch_size
        assert batch.rows.columns.tolist() == ["c0", "c1", "c2"]
        assert batch.rows.rows.flags.c_contiguous


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "chunked table", "pandas"])
@settings(max_examples=10)
@given(n_learnt=st.integers(0, N), batch_size=st.integers(1, 30))
def test_what_has_been_learnt_is_left_out(places, kind, n_learnt, batch_size):
    source = as_source(places[kind], target="label", batch_size=batch_size, name="memory")
    learnt = with_rows({}, source.names[0], 0, n_learnt)
    if n_learnt < N:
        assert next(source.batches(learnt)).start == n_learnt
        np.testing.assert_array_equal(read(source, learnt)[0], ROWS[n_learnt:])
    else:
        assert list(source.batches(learnt)) == []


def test_a_list_is_read_as_listed_and_a_pattern_in_order(tmp_path):
    for name, rows in (("b", TABLE[:20]), ("a", TABLE[20:])):
        (tmp_path / name).mkdir()
        pa.csv.write_csv(rows, tmp_path / name / "rows.csv")
    listed = as_source([tmp_path / "b", str(tmp_path / "a" / "rows.csv")], target="label")
    np.testing.assert_array_equal(read(listed)[0], ROWS)
    pattern = as_source(str(tmp_path / "[ab]" / "rows.csv"), target="label")
    np.testing.assert_array_equal(read(pattern)[0], ROWS[np.r_[20:N, 0:20]])
    assert sorted(pattern.names) == sorted(listed.names)


def test_a_name_takes_the_place_of_the_folder_in_the_names_of_files(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        pa.csv.write_csv(TABLE, tmp_path / folder / "rows.csv")
    expected = ("days/a/rows.csv", "days/b/rows.csv")
    assert as_source(tmp_path, target="label", name="days").names == expected
    assert as_source(f"{tmp_path}/*/rows.csv", target="label", name="days").names == expected
    with pytest.raises(ValueError, match="every file must be named once"):
        as_source([tmp_path / "a", tmp_path / "b"], target="label", name="days")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([3, None, 1]), pa.array([1.5, None, 2.0]), pa.array([True, None, False]),
        pa.array(["b", None, "a"]), pa.array(["b", None, "a"]).dictionary_encode(),
        pa.array([None, None, None], pa.int8()), pa.nulls(3), pa.array([None] * 3, pa.string()),
    ],
    ids=lambda column: str(column.type),
)  # fmt: skip
def test_a_null_target_is_no_target(column):
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": column})
    (batch,) = as_source(table, target="y").batches({})
    if column.type == pa.string() and column.null_count == 3:
        assert batch.targets is None  # text of an unknown kind
        return
    given = column.is_valid().to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(batch.given, given)
    assert batch.targets[given].tolist() == [it for it in column.to_pylist() if it is not None]


WORDS = ["NA", "null", "nan", "N/A", '"NA"', '"two, words"', '""']


def test_labels_of_a_csv_are_text_whatever_they_say_when_asked(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,y", *(f"1,{word}" for word in WORDS), "1,", "1,001"]))
    _, labels, given = read(as_source(path, target="y", target_dtype=str))
    assert labels[given].tolist() == [word.strip('"') for word in WORDS] + ["001"]
    assert given.tolist() == [True] * len(WORDS) + [False, True]
    # Where it is guessed what they are, words for nothing are nothing unless they are quoted.
    _, labels, given = read(as_source(path, target="y"))
    assert labels[given].tolist() == ["NA", "two, words", "", "001"]


@pytest.mark.parametrize(
    ("dtype", "expected"), [(None, [3, 1]), (str, ["3", "1"]), (float, [3.0, 1.0]), (int, [3, 1])]
)
def test_targets_of_a_table_are_made_what_is_asked(dtype, expected):
    table = pa.table({"x": [1.0, 2.0], "y": [3, 1]})
    _, targets, _ = read(as_source(table, target="y", target_dtype=dtype))
    assert targets.tolist() == expected
    assert targets.dtype.kind == np.array(expected).dtype.kind


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_head_of_a_text_does_not_decide_its_types(tmp_path, kind):
    path, n = tmp_path / f"late.{kind}", 120_000  # beyond the block from which types are guessed
    first, last = ("1,2", "0.5,2.5") if kind == "csv" else ('{"a":1,"y":2}', '{"a":0.5,"y":2.5}')
    path.write_text("\n".join([*["a,y"][: kind == "csv"], *[first] * 4 * n, last, ""]))
    *_, batch = as_source(path, target="y", target_dtype=float).batches({})
    assert (batch.rows.rows[-1, 0], batch.targets[-1]) == (0.5, 2.5)


def test_text_in_columns_of_a_csv_that_are_not_learnt_does_not_matter(places):
    rows, _, _ = read(as_source(places["csv"], columns=["c1", "c0"]))
    np.testing.assert_array_equal(rows, ROWS[:, [1, 0]])


def test_the_index_of_a_stored_frame_is_no_column(tmp_path):
    frame = TABLE.to_pandas().iloc[3:]  # whose index is no plain range
    for written, expected in ((frame, ["c0", "c1", "c2"]), (frame.set_index("c2"), ["c0", "c1"])):
        written.iloc[::2].to_parquet(tmp_path / "frame.parquet")
        assert columns_of(as_source(tmp_path / "frame.parquet", target="label")) == expected


def test_an_index_without_a_name_is_left_out_of_a_csv_with_a_warning(tmp_path):
    TABLE.to_pandas().to_csv(tmp_path / "once.csv")
    pd.read_csv(tmp_path / "once.csv").to_csv(tmp_path / "twice.csv")
    for name, left_out in (("once", r"\[''\]"), ("twice", r"\['', 'Unnamed: 0'\]")):
        path, columns = tmp_path / f"{name}.csv", {"target": "label"}
        with pytest.warns(UserWarning, match=f"are left out: {left_out}; name the columns") as seen:
            sampler = ExpChi2Sampler(8).fit_stream(path, **columns)
        assert seen[0].filename == __file__
        assert sampler.feature_names_in_.tolist() == ["c0", "c1", "c2"]
    chosen = as_source(tmp_path / "once.csv", columns=["", "c0"])
    np.testing.assert_array_equal(read(chosen)[0][:, 0], np.arange(N))


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()]
)
def test_numbers_of_every_type_are_read(kind):
    column = pa.array([1, 0, 1]).cast(kind)
    (batch,) = as_source(pa.table({"a": column, "b": [0.5, 1.5, 2.5]})).batches({})
    np.testing.assert_array_equal(batch.rows.rows, [[1, 0.5], [0, 1.5], [1, 2.5]])


@pytest.mark.parametrize("kind", ["table", "feather", "jsonl", "semicolons"])
def test_weights_come_from_a_column(tmp_path, kind):
    weights, source, options = np.arange(N), tmp_path / f"rows.{kind}", {}
    table = TABLE.append_column("w", pa.array(weights))
    if kind == "table":
        source = table
    elif kind == "semicolons":
        options = {"delimiter": ";"}
        pa.csv.write_csv(table, source, pa.csv.WriteOptions(**options))
    else:
        FILES[kind](table, source)
    batches = list(as_source(source, target="label", weight="w", **options).batches({}))
    np.testing.assert_array_equal(np.concatenate([b.rows.rows for b in batches]), ROWS)
    np.testing.assert_array_equal(np.concatenate([b.weights for b in batches]), weights)


def test_an_error_of_a_file_among_others_names_it(tmp_path):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": [0.5, 1.5]}), tmp_path / "1.parquet")
    with pytest.raises(pa.ArrowInvalid, match="truncated") as caught:
        read(as_source(tmp_path))
    assert "1.parquet" in caught.value.__notes__[0]


# In the block from which types are guessed, or not.
@pytest.mark.parametrize("n_good", [50, 80_000])
@pytest.mark.parametrize("bad", ["x,0.5,0.5,ham", "0.5,0.5,ham"], ids=["text", "short"])
def test_an_error_of_a_csv_names_line_and_file(tmp_path, bad, n_good):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["c0,c1,c2,label", *["0.1,0.2,0.3,spam"] * n_good, bad]))
    with pytest.raises(ValueError, match=f"Row #{n_good + 2}:") as caught:  # line 1 is the header
        read(as_source(path, target="label", batch_size=100))
    assert str(path) in "".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def test_a_link_to_a_file_of_a_folder_is_that_file(tmp_path):
    rows = "x,y,label\n" + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(90))
    (tmp_path / "a.csv").write_text(rows)
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    (tmp_path / "c.csv").hardlink_to(tmp_path / "a.csv")
    model = ExpChi2Classifier(8, random_state=0).fit_stream(tmp_path, target="label")
    assert model.n_samples_seen_ == 90
    assert [name.split("#")[0] for name in model.provenance_] == ["a.csv"]


def test_an_empty_batch_does_not_end_a_run():
    rows, labels = np.eye(4), [0, 1, 0, 1]
    batches = [(rows, labels), (rows[:0], []), (rows, labels)]
    model = ExpChi2Classifier(8, random_state=0).fit_stream(iter(batches))
    assert model.n_samples_seen_ == 8


def test_a_first_file_without_rows_does_not_make_text_of_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,label\n")
    rows = "x,y,label\n" + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(9))
    (tmp_path / "b.csv").write_text(rows)
    model = ExpChi2Classifier(8, random_state=0).fit_stream(tmp_path, target="label")
    assert model.classes_.tolist() == [0, 1]
