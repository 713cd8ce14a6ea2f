"""A new basis or series is one class and one line in its registry."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from maps import plan, spec_of, tracker_of
from numpy.testing import assert_allclose

from streamchi2.bases import BASES, Basis
from streamchi2.files import dumped, loaded
from streamchi2.saving import saved
from streamchi2.series import SERIES, Series
from streamchi2.series.series import room_for

ROWS = np.random.default_rng(0).dirichlet(np.ones(6), 400)


@saved("test.roots")
@dataclass(frozen=True)
class SquareRootBasis(Basis):
    """The first coordinates as they are: a linear kernel of the first terms."""

    dof: ClassVar[float] = 2.0

    n_inputs: int
    n_components: int
    beta: float

    @classmethod
    def plan(cls, plan):
        return cls(plan.n_inputs, plan.n_components, plan.beta)

    def features(self, inputs, out):
        out[:] = inputs[:, : self.n_components]

    def exact_kernel(self, rows):
        return np.asarray(rows @ rows.T)


@saved("test.root_series")
@dataclass(frozen=True)
class RootSeries(Series):
    """One coordinate: the square root, whose squared distances are those of Hellinger."""

    n_terms: int = 1

    @classmethod
    def from_histogram(cls, histogram, n_terms):
        return cls(n_terms)

    def coordinates(self, values, out=None):
        room = room_for(values, self.n_terms, out)
        room[:] = 0.0
        np.sqrt(values, out=room[0])
        return room


def test_a_new_basis_works_without_touching_another_file(monkeypatch):
    monkeypatch.setitem(BASES, "roots", SquareRootBasis)
    tracker = tracker_of(spec_of(6, n_components=6, basis="roots", n_terms=2), ROWS)
    (part,) = tracker.parts
    assert isinstance(part.block.basis, SquareRootBasis)
    features = tracker.feature_map.transform(ROWS)
    assert_allclose(features, part.block.series.transform(ROWS)[:, :6], atol=1e-6)
    assert part.kernel_error().rms >= 0.0
    assert tracker.merged(tracker).n_rows == 800


def test_a_new_series_works_without_touching_another_file(monkeypatch):
    monkeypatch.setitem(SERIES, "roots", RootSeries)
    spec = spec_of(6, n_components=4096, series="roots", n_terms=1, beta=2.0)
    features = plan(spec, ROWS[:64]).transform(ROWS[:50]).astype(np.float64)
    roots = np.sqrt(ROWS[:50])
    squares = np.square(roots[:, None] - roots).sum(axis=2)
    # 2048 pairs of phases: one deviation is below 1/sqrt(4096), of 1225 pairs below five.
    assert_allclose(features @ features.T, np.exp(-squares), atol=5 / 64)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("series", SERIES)
def test_every_map_comes_back_from_a_file(basis, series):
    spec = spec_of(6, n_components=16, basis=basis, series=series)
    feature_map = plan(spec, ROWS[:64])
    twin = loaded(dumped(feature_map))
    assert twin == feature_map
    assert np.array_equal(twin.transform(ROWS), feature_map.transform(ROWS))
    assert loaded(dumped(spec)) == spec
