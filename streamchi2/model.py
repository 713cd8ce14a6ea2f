"""From what a stream has learnt to a model: what is left open is chosen, then it is solved.

Ridge regression is solved in dual form while labelled rows are kept, and from moments afterwards;
everything else from moments, for which the kept rows are folded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.rows import Array, Floats
from streamchi2.errors import NoTargetError
from streamchi2.features import FeatureMap
from streamchi2.saving import Value, saved
from streamchi2.solvers.calibration import Calibration
from streamchi2.solvers.choice import Choice, LearnerSpec
from streamchi2.solvers.components import Components, NumberOfComponents
from streamchi2.solvers.dual import DualFactor
from streamchi2.solvers.group_lasso import GroupLasso
from streamchi2.solvers.left_out import GramSpectrum, SampledRows
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.problem import RegressionProblem
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.forgetting import ExpectedErrors
from streamchi2.statistics.targets import Targets, aligned, dense
from streamchi2.statistics.weights import class_factors
from streamchi2.threads import one_blas_thread

__all__ = [
    "Choice",
    "Components",
    "LearnerSpec",
    "Model",
    "choose",
    "components_of",
    "descriptor_entries",
    "fit",
    "is_dual",
]

_SPECTRUM_ROWS = 512  # of which eigenvectors are taken
_SAMPLED_ROWS = 1024  # that are left out under the moments of all rows


class Learnt(Protocol):
    """What models are made of."""

    statistics: FeatureStatistics | None
    targets: Targets | None

    @property
    def feature_map(self) -> FeatureMap | None:
        """From rows to features; None where rows are features."""


@saved("model")
@dataclass(frozen=True, eq=False)
class Model(Value):
    """A model on the features of a map.

    Parameters
    ----------
    linear : LinearModel
        On the features, its outputs in the order of ``classes``.
    targets : Targets
        What was known of the targets.
    expected : ExpectedErrors
        Squared errors of rows that were left out.
    calibration : Calibration or None, default=None
        Shifts of scores, and what makes probabilities of them, where outputs are labels.
    feature_map : FeatureMap or None, default=None
        From rows to features; None where rows are features.
    scales : ndarray or None, default=None
        Of the descriptors, by group lasso.
    """

    linear: LinearModel
    targets: Targets
    expected: ExpectedErrors
    calibration: Calibration | None = None
    feature_map: FeatureMap | None = None
    scales: Array | None = None

    @cached_property
    def classes(self) -> NDArray[Any]:
        """Labels of the outputs, sorted, or the names of the columns as they came."""
        return self.targets.classes_sorted[0]

    @cached_property
    def labels(self) -> list[Any]:
        """The same as the objects of Python that came first: an array may make 2.0 of 2."""
        return [self.targets.names[column] for column in self.targets.classes_sorted[1]]

    @cached_property
    def shifts(self) -> Array:
        """What scores are shifted by."""
        return np.zeros(1) if self.calibration is None else self.calibration.shifts

    def scores(self, features: Floats) -> Array:
        """Return shifted scores, one per row and output, in the precision of the features."""
        return self.linear.scores(features) - self.shifts

    def scores_of_row(self, features: Floats) -> Array:
        """Return one shifted score per output for one row of features, shape (D,)."""
        return self.linear.scores_of_row(features) - self.shifts

    def answers(self, targets: NDArray[Any]) -> Array:
        """Return what the scores of rows should be, before shifts; classes that came later lack."""
        n_columns = self.targets.n_columns
        if targets.ndim == 1:
            return dense(targets, n_columns)[:, self._order]
        return np.asarray(aligned(targets[:, :n_columns], n_columns))

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return self.targets.classes_sorted[1]

    def with_more(self, more: Array) -> Model:
        """Return the model with so much added to its coefficients."""
        return replace(self, linear=replace(self.linear, coef=self.linear.coef + more))

    def probabilities(self, scores: Array) -> Array:
        """Return the probabilities of classes, or of labels, for scores of this model."""
        assert self.calibration is not None  # numbers have no probabilities
        return self.calibration.probabilities(scores)


def choose(learnt: Learnt, spec: LearnerSpec) -> Choice:
    """Return what left-out scores of sampled rows decide: the penalty, scales and probabilities.

    A function of statistics and sample alone; the penalty is not chosen where the user gives one.
    """
    statistics, targets = _labelled(learnt)
    with one_blas_thread:
        factors = _class_factors(statistics, spec)
        size = _SPECTRUM_ROWS if is_dual(learnt, spec) else _SAMPLED_ROWS
        rows = _sampled_rows(statistics, size, factors)
        _, shares, weights = rows
        by_variance = targets.kind == "numbers"
        scales = None
        if is_dual(learnt, spec):
            sample = SampledRows.alone(*rows, by_variance=by_variance)
            spectrum = GramSpectrum.of(sample)
            alpha = spectrum.chosen() if isinstance(spec.alpha, str) else spec.alpha
            residuals = spectrum.left_out(alpha)
        else:
            problem = RegressionProblem.of(statistics, spec, factors)
            sample = problem.sampled(*rows, by_variance=by_variance)
            alpha, scales, residuals = problem.decide(sample)
        scores, calibration = shares - residuals, None
        if targets.kind == "indicators":
            calibration = Calibration.of_indicators(scores, shares, weights)
        elif targets.kind == "labels":
            sizes = _class_weights(statistics) * (1.0 if factors is None else factors)
            sizes = sizes / sizes.sum()
            calibration = Calibration.of_classes(scores, shares, weights, sizes, spec.class_shift)
    units = sample.units if by_variance else np.ones(1)
    expected = ExpectedErrors.of(targets.kind, residuals, shares, weights, units)
    return Choice(alpha, statistics.counted, expected, calibration, scales)


def fit(
    learnt: Learnt, spec: LearnerSpec, choice: Choice, factor: DualFactor | None = None
) -> Model:
    """Return the model of all rows.

    Parameters
    ----------
    learnt : Learnt
        What a stream has learnt.
    spec : LearnerSpec
        How to solve.
    choice : Choice
        What was chosen, at present or before.
    factor : DualFactor or None, default=None
        That of the kept rows for the penalty that was chosen, where there is one.
    """
    statistics, targets = _labelled(learnt)
    linear, scales = None, None
    with one_blas_thread:
        factors = _class_factors(statistics, spec)
        if is_dual(learnt, spec):
            linear = _dual_model(statistics, choice, factors, factor)
        if linear is None:
            problem = RegressionProblem.of(statistics, spec, factors)
            linear, scales = problem.solve(choice.alpha, choice.scales)
    order, calibration = targets.classes_sorted[1], choice.calibration
    if calibration is not None:
        calibration = calibration.ordered(order)
    parts = targets, choice.expected, calibration, learnt.feature_map, scales
    return Model(linear.ordered(order), *parts)


def is_dual(learnt: Learnt, spec: LearnerSpec) -> bool:
    """Tell whether the model is solved in dual form."""
    kept = None if learnt.statistics is None else learnt.statistics.kept
    simple = spec.penalty == "ridge" and spec.n_pca is None and spec.fit_intercept
    return kept is not None and simple and spec.alpha != 0.0


def components_of(learnt: Learnt, n_pca: NumberOfComponents) -> Components:
    """Return principal components of all features, with or without targets."""
    statistics = learnt.statistics
    assert statistics is not None
    return Components.of(statistics.features(), statistics.sizes, n_pca)


def descriptor_entries(learnt: Learnt, spec: LearnerSpec) -> Array:
    """Return the largest penalty of a group lasso at which each descriptor is in."""
    statistics, _ = _labelled(learnt)
    with one_blas_thread:
        factors = _class_factors(statistics, spec)
        problem = RegressionProblem.of(statistics, replace(spec, penalty="group_lasso"), factors)
        return GroupLasso(problem.moments, problem.groups).entry_alphas()


def _labelled(learnt: Learnt) -> tuple[FeatureStatistics, Targets]:
    """Return statistics with a column for every target, those without rows so far included."""
    statistics, targets = learnt.statistics, learnt.targets
    if statistics is None or targets is None or not statistics.n_labelled:
        raise NoTargetError("no row has had a target yet")
    if statistics.n_targets < targets.n_columns:
        statistics = statistics.copy()
        statistics.grow(targets.n_columns)
    return statistics, targets


def _sampled_rows(
    statistics: FeatureStatistics, size: int, factors: Array | None
) -> tuple[Array, Array, Array]:
    """Return features, targets and weights of rows to be left out, each with all its copies."""
    sample = statistics.sampled(size)
    weights, targets = sample.weights, dense(sample.targets, statistics.n_targets)
    if factors is not None:
        members = weights[:, None] * targets * factors
        weights = members.sum(axis=1)
        targets = members / weights[:, None]
    return np.asarray(sample.rows, dtype=np.float64), targets, weights


def _class_weights(statistics: FeatureStatistics) -> Array:
    """Return the total weight of the rows of each class."""
    kept = statistics.kept
    if kept is not None:
        weights = np.bincount(kept.targets, kept.weights, statistics.n_targets)
        return weights.astype(np.float64)
    if statistics.by_class:
        return np.array([part.weight for part in statistics.labelled])
    return statistics.labelled[0].target_sums  # about an origin of zeros


def _class_factors(statistics: FeatureStatistics, spec: LearnerSpec) -> Array | None:
    """Return how many times as much the rows of each class count; None where weights say it."""
    if spec.class_weight != "balanced":
        return None
    weights = _class_weights(statistics)
    return class_factors("balanced", np.arange(weights.size), weights)


def _dual_model(
    statistics: FeatureStatistics, choice: Choice, factors: Array | None, factor: DualFactor | None
) -> LinearModel | None:
    """Return the model of the kept rows; None where the penalty is too small for a factor."""
    kept = statistics.kept
    assert kept is not None
    if factor is None:
        factor = DualFactor(choice.alpha)
        weights = kept.weights if factors is None else kept.weights * factors[kept.targets]
        factor.add(kept.features, weights)
    return factor.solve(dense(kept.targets, statistics.n_targets)) if factor.is_definite else None
