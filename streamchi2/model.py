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

from streamchi2.checks import Floats
from streamchi2.errors import NoTargetError
from streamchi2.features import FeatureMap
from streamchi2.saving import Value, saved
from streamchi2.solvers.block_vectors import consecutive
from streamchi2.solvers.calibration import Calibration
from streamchi2.solvers.choice import Choice, LearnerSpec
from streamchi2.solvers.components import Components, NumberOfComponents
from streamchi2.solvers.dual import DualFactor
from streamchi2.solvers.group_lasso import definite, entry_alphas
from streamchi2.solvers.left_out import GramSpectrum, SampledRows
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.problem import Decision, RegressionProblem
from streamchi2.solvers.through_origin import through_origin
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.targets import Targets, matrix
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
    calibration : Calibration or None, default=None
        Shifts of scores, and what makes probabilities of them, where outputs are labels.
    feature_map : FeatureMap or None, default=None
        From rows to features; None where rows are features.
    scales : ndarray or None, default=None
        Of the descriptors, by group lasso.
    """

    linear: LinearModel
    targets: Targets
    calibration: Calibration | None = None
    feature_map: FeatureMap | None = None
    scales: NDArray[np.float64] | None = None

    @cached_property
    def classes(self) -> NDArray[Any]:
        """Labels of the outputs, sorted, or the names of the columns as they came."""
        return self.targets.classes_sorted[0]

    @cached_property
    def labels(self) -> list[Any]:
        """The same as the objects of Python that came first: an array may make 2.0 of 2."""
        return [self.targets.names[column] for column in self.targets.classes_sorted[1]]

    @cached_property
    def shifts(self) -> NDArray[np.float64]:
        """What scores are shifted by."""
        return np.zeros(1) if self.calibration is None else self.calibration.shifts

    def scores(self, features: Floats) -> NDArray[np.float64]:
        """Return shifted scores, one per row and output, in the precision of the features."""
        return self.linear.scores(features) - self.shifts

    def scores_of_row(self, features: Floats) -> NDArray[np.float64]:
        """Return one shifted score per output for one row of features, shape (D,)."""
        return self.linear.scores_of_row(features) - self.shifts

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of classes, or of labels, for scores of this model."""
        if self.calibration is None:
            raise ValueError("numbers have no probabilities")
        return self.calibration.probabilities(scores)


def choose(learnt: Learnt, spec: LearnerSpec) -> Choice:
    """Return what left-out scores of sampled rows decide: the penalty, scales and probabilities.

    A function of statistics and sample alone; the penalty is not chosen where the user gives one.
    """
    statistics, targets = _labelled(learnt)
    with one_blas_thread:
        factors = _class_factors(statistics, targets, spec)
        rows = _sampled_rows(learnt, spec, factors)
        if is_dual(learnt, spec):
            decision = _dual_decision(rows, spec, targets)
        else:
            problem = _problem(statistics, targets, spec, factors)
            decision = _primal_decision(problem, rows, spec, targets)
        residuals = decision.residuals / (2.0 if _is_signed(spec) else 1.0)
        calibration = None
        if targets.kind != "numbers":
            fitted = rows.targets - residuals, rows.targets, rows.weights
            weights = _class_weights(statistics, targets) * (1.0 if factors is None else factors)
            calibration = (
                Calibration.of_classes(*fitted, weights / weights.sum(), spec.class_shift)
                if targets.kind == "labels"
                else Calibration.of_indicators(*fitted)
            )
    squares, members = np.square(residuals), np.ones_like(residuals)
    if targets.kind == "labels":
        squares, members = squares.sum(axis=1, keepdims=True), rows.targets
    totals = rows.weights @ members
    errors = rows.weights @ (members * squares) / np.where(totals > 0.0, totals, 1.0)
    sampled = members.sum(axis=0)
    return Choice(decision.alpha, statistics.counted, errors, sampled, calibration, decision.scales)


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
    order = targets.classes_sorted[1]
    linear, scales = None, None
    with one_blas_thread:
        factors = _class_factors(statistics, targets, spec)
        if is_dual(learnt, spec):
            linear = _dual_model(statistics, targets, choice, factors, factor)
        if linear is None:
            problem = _problem(statistics, targets, spec, factors)
            linear, scales = problem.solve(spec, choice.alpha, choice.scales)
    if _is_signed(spec):  # back to scores of 0 and 1
        linear = replace(linear, coef=linear.coef / 2.0, intercept=linear.intercept / 2.0 + 0.5)
    calibration = choice.calibration
    if calibration is not None:
        calibration = calibration.ordered(order)
    return Model(linear.ordered(order), targets, calibration, learnt.feature_map, scales)


def is_dual(learnt: Learnt, spec: LearnerSpec) -> bool:
    """Tell whether the model is solved in dual form."""
    kept = None if learnt.statistics is None else learnt.statistics.kept
    simple = spec.penalty == "ridge" and spec.n_pca is None and spec.fit_intercept
    return kept is not None and simple and spec.alpha != 0.0


def components_of(learnt: Learnt, n_pca: NumberOfComponents) -> Components:
    """Return principal components of all features, with or without targets."""
    statistics = learnt.statistics
    if statistics is None:
        raise ValueError("principal components need statistics of the features, got none")
    return Components.of(statistics.features(), statistics.sizes, n_pca)


def descriptor_entries(learnt: Learnt, spec: LearnerSpec) -> NDArray[np.float64]:
    """Return the largest penalty of a group lasso at which each descriptor is in."""
    statistics, targets = _labelled(learnt)
    with one_blas_thread:
        spec = replace(spec, penalty="group_lasso")
        factors = _class_factors(statistics, targets, spec)
        problem = _problem(statistics, targets, spec, factors)
        return entry_alphas(definite(problem.moments), problem.groups)


def _labelled(learnt: Learnt) -> tuple[FeatureStatistics, Targets]:
    statistics, targets = learnt.statistics, learnt.targets
    if statistics is None or targets is None or not statistics.n_labelled:
        raise NoTargetError("no row has had a target yet")
    return statistics, targets


def _is_signed(spec: LearnerSpec) -> bool:
    return spec.signed and not spec.fit_intercept


@dataclass(frozen=True, eq=False)
class _Rows:
    """Sampled rows, each with the weight and the mean target of all its copies."""

    features: NDArray[np.float64]  # (m, D)
    targets: NDArray[np.float64]  # (m, t)
    weights: NDArray[np.float64]  # (m,)


def _sampled_rows(learnt: Learnt, spec: LearnerSpec, factors: NDArray[np.float64] | None) -> _Rows:
    """Return the rows to be left out: of those that are kept the ones with the smallest keys."""
    statistics, columns = _labelled(learnt)
    limit = _SPECTRUM_ROWS if is_dual(learnt, spec) else _SAMPLED_ROWS
    sample = statistics.sampled(limit)
    if sample.rows is None:
        raise NoTargetError("no row has had a target yet")
    features, weights = sample.rows, sample.weights
    targets = _padded(sample.targets, columns.n_columns)
    if factors is not None:
        members = weights[:, None] * targets * factors
        weights = members.sum(axis=1)
        targets = members / weights[:, None]
    return _Rows(np.asarray(features, dtype=np.float64), targets, weights)


def _class_weights(statistics: FeatureStatistics, targets: Targets) -> NDArray[np.float64]:
    """Return the total weight of the rows of each class."""
    kept = statistics.kept
    if kept is not None:
        return np.asarray(matrix(kept.targets, targets.n_columns).T @ kept.weights)
    if statistics.by_class:
        weights = np.array([part.weight for part in statistics.labelled])
    else:
        moments = statistics.regression(whole=False)
        weights = moments.weight * moments.target_mean
    return _padded(weights, targets.n_columns)


def _class_factors(
    statistics: FeatureStatistics, targets: Targets, spec: LearnerSpec
) -> NDArray[np.float64] | None:
    """Return how many times as much the rows of each class count; None where weights say it."""
    if spec.class_weight != "balanced":
        return None
    weights = _class_weights(statistics, targets)
    return class_factors("balanced", np.arange(weights.size), weights)


def _dense(targets: NDArray[Any], n_columns: int) -> NDArray[np.float64]:
    """Return the targets of a block as a matrix without gaps."""
    columns = matrix(targets, n_columns)
    return columns if isinstance(columns, np.ndarray) else np.asarray(columns.toarray())


def _padded(values: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
    """Return values with zeros for columns that came later, or without rows so far."""
    missing = n_columns - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)]) if missing else values


def _dual_decision(rows: _Rows, spec: LearnerSpec, targets: Targets) -> Decision:
    by_variance = targets.kind == "numbers"
    sample = SampledRows.alone(rows.features, rows.targets, rows.weights, by_variance=by_variance)
    spectrum = GramSpectrum.of(sample)
    alpha = spectrum.chosen() if isinstance(spec.alpha, str) else spec.alpha
    return Decision(alpha, None, spectrum.left_out(alpha))


def _primal_decision(
    problem: RegressionProblem, rows: _Rows, spec: LearnerSpec, targets: Targets
) -> Decision:
    sample = SampledRows.of(
        problem.moments,
        problem.coordinates(rows.features),
        2.0 * rows.targets - 1.0 if _is_signed(spec) else rows.targets,
        rows.weights,
        by_variance=targets.kind == "numbers",
        intercept=spec.fit_intercept,
    )
    return problem.decide(spec, sample)


def _dual_model(
    statistics: FeatureStatistics,
    targets: Targets,
    choice: Choice,
    factors: NDArray[np.float64] | None,
    factor: DualFactor | None,
) -> LinearModel | None:
    """Return the model of the kept rows; None where the penalty is too small for a factor."""
    kept = statistics.kept
    assert kept is not None
    if factor is None:
        factor = DualFactor(choice.alpha)
        weights = kept.weights if factors is None else kept.weights * factors[kept.targets]
        factor.add(kept.features, weights)
    return factor.solve(_dense(kept.targets, targets.n_columns)) if factor.is_definite else None


def _problem(
    statistics: FeatureStatistics,
    targets: Targets,
    spec: LearnerSpec,
    factors: NDArray[np.float64] | None,
) -> RegressionProblem:
    """Return the regression in the coordinates in which it is to be solved."""
    folded = statistics.folded()
    # Ridge regression reads one triangle of the scatter, of which no copy is needed.
    whole = spec.n_pca is not None or spec.penalty != "ridge"
    factors = None if factors is None else factors[: folded.n_targets]
    moments = folded.regression(factors, whole=whole)
    moments = replace(
        moments,
        target_mean=_padded(moments.target_mean, targets.n_columns),
        cross=_padded(moments.cross, targets.n_columns),
        target_scatter=_padded(moments.target_scatter, targets.n_columns),
    )
    if not spec.fit_intercept:
        moments = through_origin(moments, signed=spec.signed)
    groups = consecutive(statistics.sizes)
    if spec.n_pca is None:
        return RegressionProblem(moments, None, groups, moments.mean)
    components = Components.of(folded.features(), statistics.sizes, spec.n_pca)
    # Only without rows that lack targets, and without weights of classes, which components do not
    # know, is this the scatter that was decomposed.
    same = not statistics.n_unlabelled and factors is None and spec.fit_intercept
    values = components.pairs[0].values if len(groups) == 1 and same else None
    vectors = components.vectors
    return RegressionProblem(
        vectors.moments(moments, values), vectors, vectors.outputs, moments.mean
    )
