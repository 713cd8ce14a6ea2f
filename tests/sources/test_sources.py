"""Sources: what may be one, what comes out of it, and what is refused."""

import gzip
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from streamchi2.provenance import Provenance
from streamchi2.sources import as_source

N, WIDTH = 50, 3
ROWS = np.random.default_rng(0).random((N, WIDTH))
LABELS = np.array(["ham", "spam"])[np.arange(N) % 2]
TABLE = pa.table({f"c{i}": ROWS[:, i] for i in range(WIDTH)} | {"label": LABELS})


def read(source, absorbed=None):
    """All rows, targets and given flags of a source, joined."""
    batches = list(source.batches(Provenance() if absorbed is None else absorbed))
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
    for batch in source.batches(Provenance()):
        assert batch.n_rows <= batch_size
        assert batch.rows.columns.tolist() == ["c0", "c1", "c2"]
        assert batch.rows.rows.flags.c_contiguous


@pytest.mark.parametrize("kind", ["parquet", "csv", "chunked table"])
@settings(max_examples=10)
@given(n_absorbed=st.integers(0, N), batch_size=st.integers(1, 30))
def test_what_has_been_absorbed_is_left_out(places, kind, n_absorbed, batch_size):
    source = as_source(places[kind], target="label", batch_size=batch_size, name="memory")
    absorbed = Provenance().with_range(source.names[0], 0, n_absorbed)
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
    found = list(source.batches(Provenance().with_range("parts", 0, n_absorbed)))
    rows = np.concatenate([np.empty((0, WIDTH)), *(batch.rows for batch in found)])
    labels = np.concatenate([LABELS[:0], *(batch.targets for batch in found)])
    np.testing.assert_array_equal(rows, ROWS[n_absorbed : ends[-1]])
    np.testing.assert_array_equal(labels, LABELS[n_absorbed : ends[-1]])


def test_pairs_may_come_as_lists_and_rows_as_lists_of_arrays():
    pair, rows = as_source([[ROWS, LABELS], list(ROWS)]).batches(Provenance())
    assert pair.targets is LABELS
    assert rows.targets is None
    assert (pair.n_rows, rows.n_rows) == (N, N)


def test_row_groups_that_have_been_absorbed_are_not_decoded(places):
    source = as_source(places["parquet"], target="label")
    ((_, fragment),) = source.fragments
    groups = [group.num_rows for group in fragment.row_groups]
    assert groups == [7] * 7 + [1]
    from streamchi2.sources.tables import _without_row_groups

    skipped, rest = _without_row_groups(fragment, 20)
    assert (skipped, [group.num_rows for group in rest.row_groups]) == (14, [7] * 5 + [1])
    assert sum(part.num_rows for part in rest.to_batches()) == 36


def test_files_are_told_apart_by_what_is_in_them(places):
    names = as_source(places["folder"], target="label").names
    assert len(set(names)) == 2
    assert all(name.startswith("part-0.parquet#") for name in names)
    assert names == as_source(ds.dataset(places["folder"]), target="label").names


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
    (batch,) = as_source(table, target="y").batches(Provenance())
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
    *_, last = as_source(path, target="y", numbers=True).batches(Provenance())
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


def test_equal_files_under_equal_names_count_on(tmp_path):
    for folder, rows in (("a", TABLE[:20]), ("c", TABLE[:20]), ("e", TABLE[20:])):
        (tmp_path / folder).mkdir()
        pq.write_table(rows, tmp_path / folder / "part.parquet", row_group_size=7)
    (tmp_path / "b").mkdir()
    pq.write_table(TABLE[20:], tmp_path / "b" / "other.parquet")
    source = as_source(tmp_path, target="label", batch_size=6)
    provenance = Provenance()
    for batch in source.batches(provenance):
        provenance = provenance.with_range(batch.source, batch.start, batch.start + batch.n_rows)
    assert sorted(ranges for _, ranges in provenance.entries) == [((0, 30),)] * 2 + [((0, 40),)]
    half = Provenance().with_range(source.fragments[0][0], 0, 29)  # nine rows into the second
    assert sum(batch.n_rows for batch in source.batches(half)) == 100 - 29
    assert not list(source.batches(provenance))


def test_an_error_of_a_file_among_others_names_it(tmp_path):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": [0.5, 1.5]}), tmp_path / "1.parquet")
    with pytest.raises(pa.ArrowInvalid, match="truncated") as caught:
        read(as_source(tmp_path))
    assert "1.parquet" in caught.value.__notes__[0]


def test_one_weight_for_all_and_any_sparse_format_can_be_cut():
    source = as_source([(sparse.coo_array(ROWS), LABELS, 2.0)], name="a")
    (batch,) = source.batches(Provenance().with_range("a", 0, 48))
    np.testing.assert_array_equal(batch.rows.toarray(), ROWS[48:])
    np.testing.assert_array_equal(batch.weights, [2.0, 2.0])


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()]
)
def test_numbers_of_every_type_are_read(kind):
    column = pa.array([1, 0, 1]).cast(kind)
    (batch,) = as_source(pa.table({"a": column, "b": [0.5, 1.5, 2.5]})).batches(Provenance())
    np.testing.assert_array_equal(batch.rows.rows, [[1, 0.5], [0, 1.5], [1, 2.5]])


def test_chosen_columns_come_in_the_order_chosen():
    (batch,) = as_source(TABLE, columns=["c2", "c0"]).batches(Provenance())
    assert batch.rows.columns.tolist() == ["c2", "c0"]
    np.testing.assert_array_equal(batch.rows.rows, ROWS[:, [2, 0]])


def test_a_target_that_a_csv_does_not_have_is_refused_by_name(places):
    with pytest.raises(ValueError, match="source must have one column 'answer'"):
        as_source(places["csv"], target="answer")
