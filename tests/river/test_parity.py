"""Two front ends, one engine: river's estimators and scikit-learn's on the same rows."""

import numpy as np
import pytest
from named_streams import histograms, learnt

from streamchi2 import ExpChi2Classifier as MatrixClassifier
from streamchi2 import ExpChi2Regressor as MatrixRegressor
from streamchi2.estimators.base import drawn_seed
from streamchi2.feature_map import FeatureMap
from streamchi2.feature_map.feature_map import MapBlock
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor
from streamchi2.river.dict_rows import DictReader
from streamchi2.state import Archive, Object
from streamchi2.statistics.row_buffer import as_matrix
from streamchi2.stream import Stream

D = 96
ROWS, LABELS, NUMBERS = histograms(300)
READER = DictReader()
MATRIX = as_matrix([READER.read(row).without_zeros() for row in ROWS])
TEST = slice(280, 300)
KINDS = {
    "classifier": (ExpChi2Classifier, MatrixClassifier, LABELS),
    "regressor": (ExpChi2Regressor, MatrixRegressor, NUMBERS),
}
BASES = {
    "orthogonal": {"n_buckets": 512},
    "additive": {"basis": "additive", "n_buckets": D},
    "landmarks": {"basis": "landmarks", "n_buckets": 512},
    "gaussian": {"basis": "gaussian", "n_buckets": 512},
    "fading": {"n_buckets": 512, "half_life": 150.0},
}


def pair(kind, params):
    named, matrices, targets = KINDS[kind]
    params = {"n_components": D, "alpha": 0.05, "basis": "orthogonal", **params}
    return named(seed=drawn_seed(7), **params), matrices(random_state=7, **params), targets


def bits_of(stream):
    """Return the whole state of a stream, to compare bit for bit."""
    archive = Archive()
    state = Object((Stream,)).dump(stream, archive)
    return state, [(array.dtype, array.shape, array.tobytes()) for array in archive.arrays]


def scores_of(kind, named, matrices):
    """Return the scores of both, those of river one row at a time."""
    model = named._schedule.model
    ours = np.array([named._scores_one(model, row) for row in ROWS[TEST]])
    if kind == "regressor":
        return ours[:, 0], matrices.predict(MATRIX[TEST])
    return ours, matrices._class_scores(matrices._model(), MATRIX[TEST])


def assert_close(ours, theirs, named):
    """Compare scores of one model: sums of D products of features below one with coefficients.

    They are added in another order, and products of float32 round otherwise for one row alone.
    """
    precision = np.float64 if named._present_map().is_rowwise else np.float32
    size = np.abs(named._schedule.model.linear.coef).sum(axis=0).max()
    tolerance = 64 * np.finfo(precision).eps * size
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("basis", BASES)
def test_statistics_agree_bit_for_bit_and_predictions_to_rounding(kind, basis):
    named, matrices, targets = pair(kind, BASES[basis])
    start = 0
    for position in (64, D, 2 * D, 256):  # where both have just solved
        learnt(named, ROWS[start:position], targets[start:position])
        matrices.partial_fit(MATRIX[start:position], targets[start:position])
        start = position
        if named._stream.is_planned:
            assert bits_of(named._stream) == bits_of(matrices._stream)
            assert named._present_map() == matrices._reading.feature_map
            ours, theirs = scores_of(kind, named, matrices)
            assert_close(ours, theirs, named)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_first", [70, 200])  # rows kept on one side; moments on both
def test_merged_shards_agree(kind, n_first):
    sides = []
    for side, rows in zip(pair(kind, BASES["orthogonal"])[:2], (ROWS, MATRIX), strict=True):
        targets = KINDS[kind][2]

        def learn(model, part, rows=rows, targets=targets):
            if rows is ROWS:
                return learnt(model, rows[part], targets[part])
            return model.partial_fit(rows[part], targets[part])

        learn(side, slice(0, n_first))
        shard = learn(side.new_shard(), slice(n_first, 280))
        side.merge(shard)
        sides.append(side)
    named, matrices = sides
    assert bits_of(named._stream) == bits_of(matrices._stream)
    ours, theirs = scores_of(kind, named, matrices)
    assert_close(ours, theirs, named)


@pytest.mark.parametrize("kind", KINDS)
def test_the_penalty_is_chosen_alike(kind):
    # River chooses it when rows have doubled: at 64 and 128, among others.
    for position in (64, 128):
        named, matrices, targets = pair(kind, {"n_buckets": 512, "alpha": "auto"})
        learnt(named, ROWS[:position], targets)
        matrices.fit(MATRIX[:position], targets[:position])
        assert named.alpha_ == pytest.approx(matrices.alpha_, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_featurised_once_to_be_learnt(kind, monkeypatch):
    n_rows, calls, inside = 600, [], []

    def counted(method):
        def wrapper(self, rows, **more):
            if not inside:
                calls.append((self, rows.shape[0]))
            inside.append(True)
            try:
                return method(self, rows, **more)
            finally:
                inside.pop()

        return wrapper

    for owner in (FeatureMap, MapBlock):
        monkeypatch.setattr(owner, "transform", counted(owner.transform))
    rows, labels, numbers = histograms(n_rows)
    named = KINDS[kind][0](512, basis="orthogonal", seed=0)
    learnt(named, rows, labels if kind == "classifier" else numbers)
    final = named._present_map()
    count = sum(n for feature_map, n in calls if feature_map in (final, final.blocks[0]))
    # A classifier reads 128 sampled rows when it chooses its temperature from moments, at row 512.
    sampled = 128 if kind == "classifier" else 0
    assert count == named._schedule.fitted_at + sampled
    # Provisional maps of 1, 4 and 16 rows serve up to rows 3, 15 and 63.
    assert sum(n for _, n in calls) == count + 3 + 15 + 60
