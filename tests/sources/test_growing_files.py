"""Files read again: gone on with where they grew, refused where they were rewritten."""

import gzip
import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamchi2.errors import StateMismatchError
from streamchi2.sources import as_source

N = 60
TABLE = pa.table(
    {f"c{i}": np.random.default_rng(i).random(N) for i in range(3)}
    | {
        "label": pa.array(
            np.array(["ham", "spam", "égg"])[np.arange(N) % 3], mask=np.arange(N) % 7 == 0
        )
    }
    | {"w": np.arange(N) % 5}
)
COLUMNS = {"target": "label", "weight": "w"}


def write_gzip(table, path):
    with gzip.open(path, "wb") as file:
        pa.csv.write_csv(table, file)


WRITERS = {
    "csv": pa.csv.write_csv,
    "csv.gz": write_gzip,
    "parquet": lambda table, path: pq.write_table(table, path, row_group_size=7),
    "feather": pa.feather.write_feather,
}


def learn(source, provenance=None, *, n_batches=None):
    """Read a source as a learner does: its rows, and the provenance that results."""
    provenance, rows = {} if provenance is None else provenance, []
    for number, batch in enumerate(source.batches(provenance)):
        if number == n_batches:
            break
        provenance = batch.recorded_in(provenance)
        rows.append(batch.rows.rows)
    return np.concatenate(rows or [np.empty((0, 3))]), provenance


def rows_of(table):
    return table.select(["c0", "c1", "c2"]).to_pandas().to_numpy()


@pytest.fixture(params=WRITERS)
def file(request, tmp_path):
    """A path, and how to write a table to it."""
    path = tmp_path / f"rows.{request.param}"
    return path, lambda table, path=path: WRITERS[request.param](table, path)


@pytest.mark.parametrize("n_batches", [None, 1, 3])
def test_a_file_that_grew_is_gone_on_with_where_it_was(file, n_batches):
    path, write = file
    write(TABLE[:40])
    begun, provenance = learn(as_source(path, batch_size=9, **COLUMNS), n_batches=n_batches)
    n_begun = 40 if n_batches is None else 9 * n_batches
    if path.suffix != ".parquet":  # whose batches end where row groups do
        assert len(begun) == n_begun
    write(TABLE)
    rest, provenance = learn(as_source(path, batch_size=7, **COLUMNS), provenance)
    np.testing.assert_array_equal(np.concatenate([begun, rest]), rows_of(TABLE))
    assert [entry.n_rows for entry in provenance.values()] == [N]
    assert len(learn(as_source(path, batch_size=8, **COLUMNS), provenance)[0]) == 0


def changed(index, column, row, value):
    """Return the table with another value in one place."""
    values = TABLE[column].to_pylist()
    values[row] = value
    return TABLE.set_column(index, column, pa.array(values))


REWRITTEN = {
    "shorter": lambda: TABLE[:39],
    "in another order": lambda: TABLE[:40].take(np.arange(40)[::-1]),
    "a row is gone": lambda: pa.concat_tables([TABLE[:11], TABLE[12:]]),
    "one value": lambda: changed(0, "c0", 17, 0.5),
    "one label": lambda: changed(3, "label", 17, "ham"),
    "a label that was null": lambda: changed(3, "label", 14, "ham"),
    "one weight": lambda: changed(4, "w", 17, 9),
}


@pytest.mark.parametrize("case", REWRITTEN)
def test_a_file_that_was_rewritten_is_refused_before_any_of_its_rows_is_given(file, case):
    path, write = file
    write(TABLE[:40])
    _, provenance = learn(as_source(path, **COLUMNS))
    write(REWRITTEN[case]())
    with pytest.raises(StateMismatchError, match="must begin with the 40 rows") as caught:
        next(as_source(path, batch_size=9, **COLUMNS).batches(provenance))
    assert str(caught.value).startswith(f"{path} ")
    assert "forget=True" in str(caught.value)


def test_a_file_of_equal_name_size_and_ends_is_another_file(tmp_path):
    lines = [f"{i % 7},{i % 5}" for i in range(80_000)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b", *lines, ""]))
    size = path.stat().st_size
    _, provenance = learn(as_source(path))
    lines[40_000] = lines[40_000][::-1]
    path.write_text("\n".join(["a,b", *lines, ""]))
    assert path.stat().st_size == size
    with pytest.raises(StateMismatchError, match=r"rows\.csv must begin with"):
        next(as_source(path).batches(provenance))
    other = tmp_path / "other" / "rows.csv"  # in another folder it is new
    other.parent.mkdir()
    shutil.move(path, other)
    found = list(as_source(other).batches(provenance))
    assert (found[0].start, sum(batch.n_rows for batch in found)) == (0, 80_000)


def test_a_last_line_that_was_half_written_is_refused_once_it_is_whole(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,4")
    _, provenance = learn(as_source(path))
    path.write_text("a,b\n1,2\n3,45\n")
    with pytest.raises(StateMismatchError, match="must begin with the 2 rows"):
        next(as_source(path).batches(provenance))
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    assert [batch.start for batch in as_source(path).batches(provenance)] == [2]


def test_part_of_a_batch_can_be_recorded_and_gone_on_with():
    source = as_source(TABLE, name="table", batch_size=25, **COLUMNS)
    provenance = next(source.batches({})).recorded_in({}, 11)
    rest, provenance = learn(source, provenance)
    np.testing.assert_array_equal(rest, rows_of(TABLE)[11:])
    assert provenance == learn(source)[1]  # with the digest of all rows


def test_a_frame_that_changed_under_its_name_is_refused():
    frame = TABLE.to_pandas()
    _, provenance = learn(as_source(frame, name="frame", **COLUMNS))
    changed = frame.assign(c1=frame["c1"][::-1].to_numpy())
    with pytest.raises(StateMismatchError, match="frame must begin with the 60 rows"):
        next(as_source(changed, name="frame", **COLUMNS).batches(provenance))
    grown = as_source(pd.concat([frame, frame]), name="frame", **COLUMNS)
    assert [batch.start for batch in grown.batches(provenance)] == [N]


@given(st.lists(st.integers(1, N - 1), max_size=4, unique=True), st.booleans(), st.booleans())
def test_a_digest_does_not_depend_on_how_rows_are_cut_and_held(cuts, labelled, dictionary):
    table = TABLE if labelled else TABLE.drop_columns(["label"])
    if labelled and dictionary:
        table = table.set_column(3, "label", TABLE["label"].dictionary_encode())
    columns = {"target": "label"} if labelled else {"weight": "w"}
    parts = [table[start:stop] for start, stop in pairwise([0, *sorted(cuts), N])]
    _, cut = learn(as_source(pa.concat_tables(parts), name="table", batch_size=9, **columns))
    plain = TABLE if labelled else TABLE.drop_columns(["label"])
    assert cut == learn(as_source(plain, name="table", **columns))[1]


def test_files_of_equal_names_and_rows_are_files_of_their_own(tmp_path):
    for folder in "abc":
        (tmp_path / folder).mkdir()
        pq.write_table(TABLE[:20], tmp_path / folder / "part.parquet")
    source = as_source(tmp_path, batch_size=6, **COLUMNS)
    rows, provenance = learn(source)
    assert (len(rows), len(provenance)) == (60, 3)
    half = learn(source, n_batches=5)[1]  # eight rows into the second
    assert len(learn(source, half)[0]) == 60 - 26
    assert len(learn(source, provenance)[0]) == 0
