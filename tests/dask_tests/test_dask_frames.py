"""Dask DataFrames, read from Parquet files of several row groups and made in memory."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import streamchi2.dask
from streamchi2 import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler

RANDOM = np.random.default_rng(0)
N = 900
COLUMNS = list("abcdef")
ROWS = pd.DataFrame(RANDOM.dirichlet(np.full(6, 0.5), N), columns=COLUMNS)
LABELS = np.array(["ham", "spam", "eggs"])[np.argmax(ROWS[["a", "b", "c"]].to_numpy(), axis=1)]
WEIGHTS = RANDOM.integers(0, 3, N).astype(float)
TABLE = ROWS.assign(y=LABELS, w=WEIGHTS, number=ROWS["a"] + ROWS["b"])
MODEL = ExpChi2Classifier(16, basis="orthogonal", alpha=1.0, adapt=False, random_state=0)
# One float32 rounding of each of the features, in sums that are taken in another order.
ATOL = 1e-5


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=["files", "row groups"])
def frame(request, tmp_path):
    """Six files of three row groups; a partition is a file or a row group."""
    for number in range(6):
        part = TABLE.iloc[number * 150 : (number + 1) * 150]
        part.to_parquet(tmp_path / f"{number}.parquet", row_group_size=50)
    found = dd.read_parquet(tmp_path, split_row_groups=request.param == "row groups")
    assert found.npartitions == (18 if request.param == "row groups" else 6)
    # Dask reads a single column in fewer partitions than six: what X and y must not do apart.
    assert found["y"].optimize().npartitions < found[COLUMNS].optimize().npartitions
    return found


def scores(model):
    return model.decision_function(ROWS)


def test_columns_of_one_frame_are_learnt_as_by_one_machine(frame):
    alone = clone(MODEL).fit(ROWS, LABELS)
    for arguments in (
        {"X": frame[COLUMNS], "y": frame["y"]},
        {"X": frame[[*COLUMNS, "y"]], "target": "y"},
    ):
        together = streamchi2.dask.fit(clone(MODEL), **arguments)
        assert together.n_samples_seen_ == N
        assert together.feature_names_in_.tolist() == COLUMNS
        np.testing.assert_allclose(scores(together), scores(alone), atol=ATOL)
        assert len(together.provenance_) == frame.npartitions
        assert sum(together.provenance_.values()) == N


def test_a_column_of_weights_counts(frame):
    together = streamchi2.dask.fit(
        clone(MODEL), frame[[*COLUMNS, "y", "w"]], target="y", weight="w"
    )
    alone = clone(MODEL).fit(ROWS, LABELS, sample_weight=WEIGHTS)
    np.testing.assert_allclose(scores(together), scores(alone), atol=ATOL)
    sampler = ExpChi2Sampler(8, adapt=False, random_state=0)
    together = streamchi2.dask.fit(clone(sampler), frame[[*COLUMNS, "w"]], weight="w")
    alone = clone(sampler).fit(ROWS, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(together.transform(ROWS), alone.transform(ROWS))


def test_rows_without_a_target_are_observed():
    table = TABLE[[*COLUMNS, "number"]].copy()
    table.loc[:299, "number"] = np.nan  # two whole partitions and part of a third
    frame = dd.from_pandas(table, chunksize=140)
    model = ExpChi2Regressor(
        16, basis="orthogonal", n_pca=8, alpha=1.0, adapt=False, random_state=0
    )
    together = streamchi2.dask.fit(clone(model), frame, target="number")
    alone = clone(model).fit_stream(table, target="number")
    assert together.n_samples_seen_ == N
    np.testing.assert_allclose(together.predict(ROWS), alone.predict(ROWS), atol=ATOL)


def test_known_divisions_are_aligned():
    alone = clone(MODEL).fit(ROWS, LABELS)
    rows = dd.from_pandas(ROWS, npartitions=6)
    labels = dd.from_pandas(pd.Series(LABELS), npartitions=4)
    together = streamchi2.dask.fit(clone(MODEL), rows, labels)
    np.testing.assert_allclose(scores(together), scores(alone), atol=ATOL)


def test_empty_partitions_change_nothing():
    frame = dd.from_pandas(TABLE[[*COLUMNS, "y"]], npartitions=5)
    cut = dd.concat([frame.partitions[:1].loc[1:0], frame])
    assert cut.partitions[0].compute().empty
    together = streamchi2.dask.fit(clone(MODEL), cut, target="y")
    np.testing.assert_allclose(scores(together), scores(clone(MODEL).fit(ROWS, LABELS)), atol=ATOL)


REFUSALS = {
    "target beside y": (lambda frame: {"X": frame, "y": frame["y"], "target": "y"}, TypeError,
        "y must be left out"),
    "target of an array": (lambda frame: {"X": frame[COLUMNS].to_dask_array(), "target": "y"},
        TypeError, "target must be left out unless X is a Dask DataFrame"),
    "another column": (lambda frame: {"X": frame, "target": "label"}, ValueError,
        "target must name a column, one of .*'label'"),
    "another column of weights": (lambda frame: {"X": frame, "target": "y", "weight": "W"},
        ValueError, "weight must name a column"),
    "text among the columns": (lambda frame: {"X": frame, "target": "number"}, TypeError,
        "column 'y' must hold numbers"),
    "other partitions, unknown": (
        lambda frame: {"X": frame[COLUMNS].repartition(npartitions=2), "y": frame["y"]},
        ValueError, "target='y'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("frame", ["files"], indirect=True)
def test_what_does_not_belong_together_is_refused(frame, case):
    arguments, error, message = REFUSALS[case]
    with pytest.raises(error, match=message):
        streamchi2.dask.fit(clone(MODEL), **arguments(frame))


def test_errors_name_the_partition():
    table = TABLE[[*COLUMNS, "y", "w"]].copy()
    table.loc[400, "w"] = np.nan
    with pytest.raises(ValueError, match="weight") as caught:
        streamchi2.dask.fit(
            clone(MODEL), dd.from_pandas(table, npartitions=3), target="y", weight="w"
        )
    assert caught.value.__notes__[0].startswith("in partition 1 of ")
