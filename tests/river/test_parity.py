"""Two front ends, one engine: river's estimators and scikit-learn's on the same rows."""

import numpy as np
import pytest
from named_streams import histograms, learnt

from streamchi2 import ExpChi2Classifier as MatrixClassifier
from streamchi2 import ExpChi2Regressor as MatrixRegressor
from streamchi2.estimators.base import drawn_seed
from streamchi2.feature_map import FeatureMap
from streamchi2.feature_map.feature_map import MapBlock
from streamchi2.river import (
    ExpChi2Classifier,
    ExpChi2MultiLabelClassifier,
    ExpChi2MultiTargetRegressor,
    ExpChi2Regressor,
)
from streamchi2.river.dict_rows import DictReader
from streamchi2.statistics.buffer import as_matrix

D = 96
ROWS, LABELS, NUMBERS = histograms(300)
READER = DictReader()
MATRIX = as_matrix([READER.read(row) for row in ROWS])
TEST = slice(280, 300)
SEVERAL = [
    {"a": label == "ash", "b": number > 1.0} for label, number in zip(LABELS, NUMBERS, strict=True)
]
PAIRS = [{"one": number, "two": -(number**2)} for number in NUMBERS]
KINDS = {
    "classifier": (ExpChi2Classifier, MatrixClassifier, LABELS),
    "regressor": (ExpChi2Regressor, MatrixRegressor, NUMBERS),
    "labels": (ExpChi2MultiLabelClassifier, MatrixClassifier, SEVERAL),
    "numbers": (ExpChi2MultiTargetRegressor, MatrixRegressor, PAIRS),
}


def as_array(targets):
    """Return targets as scikit-learn has them: a column for each name."""
    return np.array([list(y.values()) if isinstance(y, dict) else y for y in targets])


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


def statistics_of(estimator):
    """Return the statistics of all rows, pending ones included, as moments, and their sample."""
    statistics, sample = estimator._stream.reading().statistics_and_sample
    return statistics, statistics.folded().labelled.summary(), None if sample is None else sample()


def assert_same_statistics(named, matrices):
    """Compare what both have learnt of the same rows, cut into other blocks.

    River's blocks also end where models are solved, so sums are taken in another order. Deviations
    are rounded to float32 three times, hence products to 6 eps a side; sums of float32 over n rows
    to n eps. Features that are products themselves may differ by 64 eps, as the scores may.
    """
    (ours, left, kept), (theirs, right, also_kept) = map(statistics_of, (named, matrices))
    assert (ours.n_rows, ours.n_labelled) == (theirs.n_rows, theirs.n_labelled)
    assert left.weight == pytest.approx(right.weight, rel=1e-12)
    for name in ("scores", "log_weights") if kept is not None else ():
        np.testing.assert_array_equal(getattr(kept, name), getattr(also_kept, name))
    eps = np.finfo(np.float32).eps
    moved = 0.0 if named._present_map().is_rowwise else 64 * eps
    roots = np.sqrt(np.diag(left.scatter))
    rows = moved * np.sqrt(left.weight)
    squares = left.target_scatter + left.weight * left.target_mean**2
    bounds = {
        "mean": np.full(D, 1e-12 + moved),
        "scatter": 12 * eps * np.outer(roots, roots) + rows * (roots + roots[:, None]),
        "target_mean": 1e-12,
        "cross": (2 * ours.n_rows * eps * roots + rows)[:, None] * np.sqrt(squares),
        "target_scatter": 1e-12 * squares,
    }
    for name, bound in bounds.items():
        difference = np.abs(getattr(left, name) - getattr(right, name))
        assert (difference <= bound).all(), name


def scores_of(kind, named, matrices):
    """Return the scores of both, those of river one row at a time."""
    model = named._schedule.model
    ours = np.array([named._scores_one(model, row) for row in ROWS[TEST]])
    if kind in ("regressor", "numbers"):
        return ours[:, 0] if kind == "regressor" else ours, matrices.predict(MATRIX[TEST])
    return ours, matrices._class_scores(matrices._model(), MATRIX[TEST])


def assert_close(ours, theirs, named, matrices):
    """Compare scores of models from statistics that differ by rounding.

    With H w = C the scores z'w of features no longer than one move by (|dH| |w| + |dC|) / alpha.
    What is left are sums of D products of features below one with coefficients, added in another
    order; and products of float32 round otherwise for one row alone.
    """
    precision = np.float64 if named._present_map().is_rowwise else np.float32
    coef = named._schedule.model.linear.coef
    tolerance = 64 * np.finfo(precision).eps * np.abs(coef).sum(axis=0).max()
    (_, left, _), (_, right, _) = statistics_of(named), statistics_of(matrices)
    moved = np.linalg.norm(left.scatter - right.scatter, 2) * np.linalg.norm(coef, 2)
    moved += np.linalg.norm(left.cross - right.cross, 2)
    tolerance += 2 * moved / named._schedule.model.linear.alpha
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


CASES = [(kind, basis) for kind in KINDS for basis in BASES]


@pytest.mark.parametrize(("kind", "basis"), CASES)
def test_statistics_and_predictions_agree_to_rounding(kind, basis):
    named, matrices, targets = pair(kind, BASES[basis])
    start = 0
    for position in (64, D, 2 * D, 256):  # where both have just solved
        learnt(named, ROWS[start:position], targets[start:position])
        matrices.partial_fit(MATRIX[start:position], as_array(targets[start:position]))
        start = position
        if named._stream.is_planned:
            assert_same_statistics(named, matrices)
            assert named._present_map() == matrices._reading.feature_map
            ours, theirs = scores_of(kind, named, matrices)
            assert_close(ours, theirs, named, matrices)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_first", [70, 200])  # rows kept on one side; moments on both
def test_merged_shards_agree(kind, n_first):
    sides = []
    for side, rows in zip(pair(kind, BASES["orthogonal"])[:2], (ROWS, MATRIX), strict=True):
        targets = KINDS[kind][2]

        def learn(model, part, rows=rows, targets=targets):
            if rows is ROWS:
                return learnt(model, rows[part], targets[part])
            return model.partial_fit(rows[part], as_array(targets[part]))

        learn(side, slice(0, n_first))
        shard = learn(side.new_shard(), slice(n_first, 280))
        side.merge(shard)
        sides.append(side)
    named, matrices = sides
    assert_same_statistics(named, matrices)
    ours, theirs = scores_of(kind, named, matrices)
    assert_close(ours, theirs, named, matrices)


@pytest.mark.parametrize("kind", KINDS)
def test_the_penalty_is_chosen_alike(kind):
    # River chooses it when rows have doubled: at 64 and 128, among others.
    for position in (64, 128):
        named, matrices, targets = pair(kind, {"n_buckets": 512, "alpha": "auto"})
        learnt(named, ROWS[:position], targets)
        matrices.fit(MATRIX[:position], as_array(targets[:position]))
        assert named.alpha_ == pytest.approx(matrices.alpha_, rel=1e-12)


@pytest.mark.parametrize("basis", ["orthogonal", "subspace"])
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_rows_are_featurised_once_to_be_learnt(kind, basis, monkeypatch):
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
    named = KINDS[kind][0](512, basis=basis, seed=0)
    learnt(named, rows, labels if kind == "classifier" else numbers)
    final = named._present_map()
    count = sum(n for feature_map, n in calls if feature_map in (final, final.blocks[0]))
    assert count == named._schedule.fitted_at
    if basis == "orthogonal":
        # Provisional maps of 1, 4 and 16 rows serve up to rows 3, 15 and 63. A classifier also
        # judges its last model by rows 4, 16 and 61 to 64, under that model's map.
        judged = 1 + 1 + 4 if kind == "classifier" else 0
        assert sum(n for _, n in calls) == count + 3 + 15 + 60 + judged
    else:  # and maps of 64 and 256 rows, some of them with an incomplete chunk
        assert sum(n for _, n in calls) <= count + 4 + 16 + 64 + 256 + 512 + 256
