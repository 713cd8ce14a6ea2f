"""Sources: what may be one, what comes out of it, and what is refused."""

import gzip
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
from scipy import sparse

from streamchi2.provenance import with_rows
from streamchi2.sources import Batch, ReadAhead, as_source

N, WIDTH = 50, 3
ROWS = np.random.default_rng(0).random((N, WIDTH))
LABELS = np.array(["ham", "spam"])[np.arange(N) % 2]
TABLE = pa.table({f"c{i}": ROWS[:, i] for i in range(WIDTH)} | {"label": LABELS})


def read(source, absorbed=None):
    """All rows, targets and given flags of a source, joined."""
    batches = list(source.batches({} if absorbed is None else absorbed))
    rows = np.concatenate([batch.rows.rows for batch in batches])
    targets = [batch.targets for batch in batches]
    given = [np.ones(b.n_rows, bool) if b.given is None else b.given for b in batches]
    for left, right in pairwise(batches):
        assert right.start in (0, left.start + left.n_rows)
    return rows, None if targets[0] is None else np.concatenate(targets), np.concatenate(given)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The same table in every place it may be read from."""
    home = tmp_path_factory.mktemp("tables")
    pq.write_table(TABLE, home / "rows.parquet", row_group_size=7)
    pa.csv.write_csv(TABLE, home / "rows.csv")
    with gzip.open(home / "rows.csv.gz", "wb") as file:
        file.write((home / "rows.csv").read_bytes())
    for folder, write in (("parquet", pq.write_table), ("csv", pa.csv.write_csv)):
        (home / folder / "later").mkdir(parents=True)
        write(TABLE[:20], home / folder / f"part-0.{folder}")
        write(TABLE[20:], home / folder / "later" / f"part-0.{folder}")
        (home / folder / "_SUCCESS").touch()
    return {
        "parquet": str(home / "rows.parquet"),
        "csv": home / "rows.csv",
        "gzip": home / "rows.csv.gz",
        "dataset": ds.dataset(home / "rows.parquet"),
        "table": TABLE,
        "chunked table": pa.concat_tables([TABLE[:11], TABLE[:0], TABLE[11:]]),
        "folder": home / "parquet",
        "folder of csv": str(home / "csv"),
    }


KINDS = [
    "parquet",
    "csv",
    "gzip",
    "dataset",
    "table",
    "chunked table",
    "folder",
    "folder of csv",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_size", [4, 1000])
def test_every_kind_of_table_gives_the_same_rows(places, kind, batch_size):
    source = as_source(places[kind], target="label", batch_size=batch_size, name="memory")
    rows, labels, given = read(source)
    if kind.startswith("folder"):  # later/part-0 sorts before part-0
        order = np.r_[20:N, 0:20]
        rows, labels = rows[np.argsort(order)], labels[np.argsort(order)]
    np.testing.assert_array_equal(rows, ROWS)
    np.testing.assert_array_equal(labels, LABELS)
    assert given.all()
    assert source.n_rows == (None if "csv" in kind or kind == "gzip" else N)
    for batch in source.batches({}):
        assert batch.n_rows <= batch_size
        assert batch.rows.columns.tolist() == ["c0", "c1", "c2"]
        assert batch.rows.rows.flags.c_contiguous


@pytest.mark.parametrize("kind", ["parquet", "csv", "chunked table"])
@settings(max_examples=10)
@given(n_absorbed=st.integers(0, N), batch_size=st.integers(1, 30))
def test_what_has_been_absorbed_is_left_out(places, kind, n_absorbed, batch_size):
    source = as_source(places[kind], target="label", batch_size=batch_size, name="memory")
    absorbed = with_rows({}, source.names[0], 0, n_absorbed)
    batches = list(source.batches(absorbed))
    if n_absorbed < N:
        assert batches[0].start == n_absorbed
        np.testing.assert_array_equal(read(source, absorbed)[0], ROWS[n_absorbed:])
    else:
        assert batches == []


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 20))
def test_rows_of_an_iterable_that_have_been_absorbed_are_left_out(sizes, n_absorbed):
    ends = np.cumsum(sizes)
    parts = [(ROWS[e - n : e], LABELS[e - n : e]) for e, n in zip(ends, sizes, strict=True)]
    n_absorbed = min(n_absorbed, int(ends[-1]))
    source = as_source(parts, name="parts")
    assert source.n_rows == ends[-1]
    found = list(source.batches(with_rows({}, "parts", 0, n_absorbed)))
    rows = np.concatenate([np.empty((0, WIDTH)), *(batch.rows for batch in found)])
    labels = np.concatenate([LABELS[:0], *(batch.targets for batch in found)])
    np.testing.assert_array_equal(rows, ROWS[n_absorbed : ends[-1]])
    np.testing.assert_array_equal(labels, LABELS[n_absorbed : ends[-1]])


def test_pairs_may_come_as_lists_and_rows_as_lists_of_arrays():
    pair, rows = as_source([[ROWS, LABELS], list(ROWS)]).batches({})
    assert pair.targets is LABELS
    assert rows.targets is None
    assert (pair.n_rows, rows.n_rows) == (N, N)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([3, None, 1]), [3, 0, 1]),
        (pa.array([1.5, None, 2.0]), [1.5, 0.0, 2.0]),
        (pa.array([True, None, False]), [True, False, False]),
        (pa.array(["b", None, "a"]), ["b", "b", "a"]),
        (pa.array(["b", None, "a"]).dictionary_encode(), ["b", "b", "a"]),
        (pa.array([None, None, None], pa.int8()), [0, 0, 0]),
        (pa.nulls(3), [0.0, 0.0, 0.0]),
        (pa.array([None, None, None], pa.string()), None),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_a_null_target_is_no_target(column, expected):
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": column})
    (batch,) = as_source(table, target="y").batches({})
    if expected is None:
        assert batch.targets is None
        return
    np.testing.assert_array_equal(batch.targets, expected)
    np.testing.assert_array_equal(batch.given, column.is_valid().to_numpy(zero_copy_only=False))


def test_whole_numbers_at_the_head_of_a_csv_do_not_decide_its_types(tmp_path):
    path = tmp_path / "late.csv"
    lines = ["a,y", *("1,2" for _ in range(300_000)), "0.5,"]
    path.write_text("\n".join(lines))  # beyond the block from which types are guessed
    rows, targets, given = read(as_source(path, target="y"))
    assert rows[-1] == 0.5
    assert (targets[0], given[-1]) == (2, False)


@pytest.mark.parametrize("first", ["2", ""], ids=["whole", "null"])
def test_the_head_of_a_csv_does_not_decide_that_numbers_are_none(tmp_path, first):
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["a,y", *(f"1,{first}" for _ in range(600_000)), "1,2.5"]))
    *_, last = as_source(path, target="y", numbers=True).batches({})
    assert (last.targets.dtype, last.targets[-1]) == (np.float64, 2.5)


def test_text_in_columns_of_a_csv_that_are_not_learnt_does_not_matter(places):
    rows, _, _ = read(as_source(places["csv"], columns=["c1", "c0"]))
    np.testing.assert_array_equal(rows, ROWS[:, [1, 0]])


def test_the_index_of_a_stored_frame_is_no_column(tmp_path):
    frame = TABLE.to_pandas().iloc[3:]  # whose index is no plain range
    for name, written in (("plain", frame), ("named", frame.set_index("c2"))):
        written.iloc[::2].to_parquet(tmp_path / f"{name}.parquet")
    learnt = [
        as_source(tmp_path / f"{name}.parquet", target="label").columns
        for name in ("plain", "named")
    ]
    assert learnt == [("c0", "c1", "c2"), ("c0", "c1")]


def test_an_error_of_a_file_among_others_names_it(tmp_path):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": [0.5, 1.5]}), tmp_path / "1.parquet")
    with pytest.raises(pa.ArrowInvalid, match="truncated") as caught:
        read(as_source(tmp_path))
    assert "1.parquet" in caught.value.__notes__[0]


def test_one_weight_for_all_and_any_sparse_format_can_be_cut():
    source = as_source([(sparse.coo_array(ROWS), LABELS, 2.0)], name="a")
    (batch,) = source.batches(with_rows({}, "a", 0, 48))
    np.testing.assert_array_equal(batch.rows.toarray(), ROWS[48:])
    np.testing.assert_array_equal(batch.weights, [2.0, 2.0])


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()]
)
def test_numbers_of_every_type_are_read(kind):
    column = pa.array([1, 0, 1]).cast(kind)
    (batch,) = as_source(pa.table({"a": column, "b": [0.5, 1.5, 2.5]})).batches({})
    np.testing.assert_array_equal(batch.rows.rows, [[1, 0.5], [0, 1.5], [1, 2.5]])


def test_chosen_columns_come_in_the_order_chosen():
    (batch,) = as_source(TABLE, columns=["c2", "c0"]).batches({})
    assert batch.rows.columns.tolist() == ["c2", "c0"]
    np.testing.assert_array_equal(batch.rows.rows, ROWS[:, [2, 0]])


def test_a_target_that_a_csv_does_not_have_is_refused_by_name(places):
    with pytest.raises(ValueError, match="source must have one column 'answer'"):
        as_source(places["csv"], target="answer")


def test_batches_that_are_read_ahead_keep_their_rows_when_a_buffer_is_filled_again():
    def refilling():
        buffer, labels = np.empty((5, WIDTH)), np.empty(5, LABELS.dtype)
        for start in range(0, N, 5):
            buffer[:], labels[:] = ROWS[start : start + 5], LABELS[start : start + 5]
            yield buffer, labels

    with ReadAhead(as_source(refilling()).batches({}), depth=N) as batches:
        found = list(batches)
    np.testing.assert_array_equal(np.concatenate([batch.rows for batch in found]), ROWS)
    np.testing.assert_array_equal(np.concatenate([batch.targets for batch in found]), LABELS)


@pytest.mark.parametrize(
    "refill",
    [
        lambda buffer: buffer,
        lambda buffer: pd.DataFrame(buffer, copy=False),
        sparse.csr_array,
        list,
        lambda buffer: [list(buffer[0])],
    ],
    ids=["array", "frame", "sparse", "rows", "lists"],
)
def test_whatever_a_generator_gives_is_copied(refill):
    rows = refill(np.ones((1, 2)))
    (batch,) = as_source(iter([rows])).batches({})
    part = rows.values if isinstance(rows, pd.DataFrame) else getattr(rows, "data", rows)
    if isinstance(rows, np.ndarray):
        rows[:] = 7.0
    elif isinstance(rows, list):
        rows[0][0] = 7.0
    elif sparse.issparse(rows):
        part[:] = 7.0
    else:
        rows.iloc[:, :] = 7.0
    found = batch.rows.toarray() if sparse.issparse(rows) else np.asarray(batch.rows)
    np.testing.assert_array_equal(found, np.ones((1, 2)))


class BadRowError(ValueError):
    pass


def test_an_error_names_the_row_of_the_source_and_not_of_the_batch(places):
    *_, last = as_source(places["csv"], target="label", batch_size=20).batches({})
    message = "X must be non-negative, got 'at row 3' at row 7, column 1"
    with pytest.raises(BadRowError) as caught, last.named_in_errors():
        raise BadRowError(message)
    expected = f"X must be non-negative, got 'at row 3' at row 47 of {places['csv']}, column 1"
    assert str(caught.value) == expected
    with pytest.raises(ValueError, match="without a row") as caught, last.named_in_errors():
        raise ValueError("without a row")
    assert caught.value.__notes__ == [f"in the batch that begins at row 40 of {places['csv']}"]
    batch = Batch(ROWS, start=40)
    with (
        pytest.raises(ValueError, match="got none at row 40 of the source"),
        batch.named_in_errors(),
    ):
        batch.refuse_without_targets()


@pytest.mark.parametrize(
    "n_good", [50, 80_000]
)  # in the block from which types are guessed, or not
@pytest.mark.parametrize("bad", ["x,0.5,0.5,ham", "0.5,0.5,ham"], ids=["text", "short"])
def test_an_error_of_a_csv_names_line_and_file(tmp_path, bad, n_good):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["c0,c1,c2,label", *["0.1,0.2,0.3,spam"] * n_good, bad]))
    with pytest.raises(ValueError, match=f"Row #{n_good + 2}:") as caught:  # line 1 is the header
        read(as_source(path, target="label", batch_size=100))
    assert str(path) in "".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def test_a_list_is_read_as_listed_and_a_pattern_in_order(places, tmp_path):
    for name, rows in (("b", TABLE[:20]), ("a", TABLE[20:])):
        (tmp_path / name).mkdir()
        pa.csv.write_csv(rows, tmp_path / name / "rows.csv")
    listed = as_source([tmp_path / "b", str(tmp_path / "a" / "rows.csv")], target="label")
    np.testing.assert_array_equal(read(listed)[0], ROWS)
    for pattern in ("*/rows.csv", "**/*.csv", "[ab]/rows.csv"):
        found = as_source(str(tmp_path / pattern), target="label")
        np.testing.assert_array_equal(read(found)[0], ROWS[np.r_[20:N, 0:20]])
        assert sorted(found.names) == sorted(listed.names)


def test_a_name_takes_the_place_of_the_folder_in_the_names_of_files(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        pa.csv.write_csv(TABLE, tmp_path / folder / "rows.csv")
    expected = ("days/a/rows.csv", "days/b/rows.csv")
    assert as_source(tmp_path, target="label", name="days").names == expected
    assert as_source(f"{tmp_path}/*/rows.csv", target="label", name="days").names == expected
    with pytest.raises(ValueError, match="files must have different names if source_name is given"):
        as_source([tmp_path / "a", tmp_path / "b"], target="label", name="days")


FRAMES = {
    "pandas": TABLE.to_pandas,
    "indexed": lambda: TABLE.to_pandas().set_index(np.arange(N)[::-1]),
    "category": lambda: TABLE.to_pandas().astype({"label": "category"}),
    "polars": lambda: pl.from_arrow(TABLE),
    "polars categories": lambda: pl.from_arrow(TABLE).cast({"label": pl.Categorical}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_are_read_like_tables(kind):
    source = as_source(FRAMES[kind](), target="label", batch_size=7, name="frame")
    rows, labels, _ = read(source, with_rows({}, "frame", 0, 3))
    np.testing.assert_array_equal(rows, ROWS[3:])
    np.testing.assert_array_equal(labels, LABELS[3:])
    assert source.columns == ("c0", "c1", "c2")
    assert source.n_rows == N


@pytest.mark.parametrize("kind", ["table", "feather", "csv", "semicolons"])
def test_weights_come_from_a_column(tmp_path, kind):
    weights = np.arange(N)
    table, options = TABLE.append_column("w", pa.array(weights)), {}
    if kind == "feather":
        pa.feather.write_feather(table, tmp_path / "rows.feather")
    elif kind != "table":
        options = {"delimiter": ";"} if kind == "semicolons" else {}
        path = tmp_path / ("rows.txt" if options else "rows.csv")
        pa.csv.write_csv(table, path, pa.csv.WriteOptions(**options))
    source = table if kind == "table" else str(tmp_path / "rows.*")
    found = as_source(source, target="label", weight="w", batch_size=7, **options)
    batches = list(found.batches({}))
    np.testing.assert_array_equal(np.concatenate([b.rows.rows for b in batches]), ROWS)
    np.testing.assert_array_equal(np.concatenate([b.weights for b in batches]), weights)
    assert {batch.weights.dtype for batch in batches} == {np.dtype(np.float64)}


def test_another_delimiter_is_suspected_where_a_csv_has_one_column(tmp_path):
    (tmp_path / "rows.csv").write_text("a;y\n1;2\n")
    with pytest.raises(ValueError, match=r"got \['a;y'\]; is delimiter right\?"):
        as_source(tmp_path / "rows.csv", target="y")


def test_an_index_without_a_name_is_left_out_of_a_csv_with_a_warning(tmp_path):
    TABLE.to_pandas().to_csv(tmp_path / "once.csv")
    pd.read_csv(tmp_path / "once.csv").to_csv(tmp_path / "twice.csv")
    for name, left_out in (("once", r"\[''\]"), ("twice", r"\['', 'Unnamed: 0'\]")):
        with pytest.warns(UserWarning, match=f"are left out: {left_out}; name the columns") as seen:
            source = as_source(tmp_path / f"{name}.csv", target="label")
        assert seen[0].filename == __file__
        assert source.columns == ("c0", "c1", "c2")
    chosen = as_source(tmp_path / "once.csv", columns=["", "c0"])
    np.testing.assert_array_equal(read(chosen)[0][:, 0], np.arange(N))


@pytest.mark.parametrize("dtype", [str, "str", "string", np.str_])
def test_labels_stay_text_when_asked(tmp_path, dtype):
    (tmp_path / "rows.csv").write_text("a,y\n1,001\n2,01\n3,1\n")
    _, guessed, _ = read(as_source(tmp_path / "rows.csv", target="y"))
    _, labels, _ = read(as_source(tmp_path / "rows.csv", target="y", target_dtype=dtype))
    assert guessed.tolist() == [1, 1, 1]
    assert labels.tolist() == ["001", "01", "1"]


@pytest.mark.parametrize(
    ("dtype", "expected"), [(None, [3, 1]), (str, ["3", "1"]), (float, [3.0, 1.0]), (int, [3, 1])]
)
def test_targets_of_a_table_are_made_what_is_asked(dtype, expected):
    table = pa.table({"x": [1.0, 2.0], "y": [3, 1]})
    _, targets, _ = read(as_source(table, target="y", target_dtype=dtype))
    assert targets.tolist() == expected
    assert targets.dtype.kind == np.array(expected).dtype.kind


def test_text_that_is_no_number_says_how_to_read_it(tmp_path):
    lines = ["a,y", *["1,1"] * 400_000, "1,one"]  # beyond the block from which types are guessed
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="conversion error") as caught:
        read(as_source(tmp_path / "rows.csv", target="y"))
    assert any("target_dtype=str" in note for note in caught.value.__notes__)


def test_labels_that_differ_in_a_last_nul_stay_apart():
    table = pa.table({"x": [1.0, 2.0], "y": ["a", "a\0"]})
    (batch,) = as_source(table, target="y").batches({})
    assert batch.targets.tolist() == ["a", "a\0"]
