"""A new basis or series is one class and one line; an unknown name is refused, never guessed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from streamchi2.state import Float, Int, Kind, SavedValue

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler, river
from streamchi2.bases import BASES, Basis
from streamchi2.series import SERIES, Series
from streamchi2.series.series import room_for

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.dirichlet(np.ones(6), 400)
LABELS = (ROWS[:, 0] > ROWS[:, 1]).astype(int)
HERE = {"basis": BASES, "series": SERIES}


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("value", ["", "fourier", "Direct", "orthogonal ", "vz2", None, 3])
def test_an_unknown_name_is_refused_with_those_that_are_known(name, value):
    for model in (ExpChi2Sampler(8, **{name: value}), ExpChi2Classifier(8, **{name: value})):
        with pytest.raises((ValueError, TypeError), match=f"{name} must be") as refusal:
            model.fit(ROWS, LABELS)
        assert all(repr(known) in str(refusal.value) for known in HERE[name])
    with pytest.raises((ValueError, TypeError), match=f"{name} must be"):
        river.ExpChi2Sampler(8, **{name: value}).learn_one({"a": 1.0})


@pytest.mark.parametrize(("name", "kind"), [("basis", Basis), ("series", Series)])
def test_every_registered_class_is_of_its_kind_and_serves(name, kind):
    for known, registered in HERE[name].items():
        assert issubclass(registered, kind)
        model = ExpChi2Classifier(16, random_state=0, **{name: known}).fit(ROWS, LABELS)
        assert model.score(ROWS, LABELS) > 0.8


@dataclass(frozen=True)
class SquareRootBasis(SavedValue, Basis):
    """The first coordinates as they are: a linear kernel of the first terms."""

    STATE: ClassVar[dict[str, Kind]] = {
        "n_inputs": Int(1),
        "n_components": Int(1),
        "beta": Float(0.0),
    }
    dof: ClassVar[float] = 2.0

    n_inputs: int
    n_components: int
    beta: float

    @classmethod
    def plan(cls, plan):
        return cls(plan.n_inputs, plan.n_features, plan.beta)

    def features(self, inputs, out):
        out[:] = inputs[:, : self.n_components]

    def exact_kernel(self, rows):
        return np.asarray(rows @ rows.T)


@dataclass(frozen=True)
class RootSeries(Series):
    """One coordinate: the square root, whose squared distances are those of Hellinger."""

    STATE: ClassVar[dict[str, Kind]] = {"n_terms": Int(1)}

    n_terms: int = 1

    @classmethod
    def from_histogram(cls, histogram, n_terms):
        return cls(n_terms)

    def coordinates(self, values, out=None):
        room = room_for(values, self.n_terms, out)
        room[:] = 0.0
        np.sqrt(values, out=room[0])
        return room

    def error_bound(self, low, high):
        return high


def test_a_new_basis_works_without_touching_another_file(monkeypatch):
    monkeypatch.setitem(BASES, "roots", SquareRootBasis)
    model = ExpChi2Classifier(6, basis="roots", n_terms=2, adapt=False, random_state=0)
    for start in range(0, 400, 130):
        model.partial_fit(ROWS[start : start + 130], LABELS[start : start + 130])
    (block,) = model._stream.reading().feature_map.blocks
    assert isinstance(block.basis, SquareRootBasis)
    assert_allclose(block.transform(ROWS), block.series.transform(ROWS)[:, :6], atol=1e-6)
    assert model.score(ROWS, LABELS) > 0.9
    shard = model.new_shard().partial_fit(ROWS, LABELS)
    assert model.merge(shard).n_samples_seen_ == 800
    named = river.ExpChi2Classifier(8, basis="roots", seed=0)
    for row, label in zip(ROWS[:100], LABELS[:100], strict=True):
        named.learn_one({str(place): value for place, value in enumerate(row)}, int(label))
    assert named.predict_one({"0": 0.5, "1": 0.5}) in (0, 1)


def test_a_new_series_works_without_touching_another_file(monkeypatch):
    monkeypatch.setitem(SERIES, "roots", RootSeries)
    model = ExpChi2Classifier(64, series="roots", n_terms=1, random_state=0)
    for start in range(0, 400, 130):
        model.partial_fit(ROWS[start : start + 130], LABELS[start : start + 130])
    (block,) = model._stream.reading().feature_map.blocks
    assert isinstance(block.series.series, RootSeries)
    assert model.score(ROWS, LABELS) > 0.9
    shard = model.new_shard().partial_fit(ROWS, LABELS)
    assert model.merge(shard).n_samples_seen_ == 800
    sampler = ExpChi2Sampler(4096, series="roots", n_terms=1, beta=2.0, random_state=0).fit(ROWS)
    features = sampler.transform(ROWS[:50]).astype(np.float64)
    roots = np.sqrt(ROWS[:50])
    squares = np.square(roots[:, None] - roots).sum(axis=2)
    # 2048 pairs of phases: one deviation is below 1/sqrt(4096), of 1225 pairs below five.
    assert_allclose(features @ features.T, np.exp(-squares), atol=5 / 64)
