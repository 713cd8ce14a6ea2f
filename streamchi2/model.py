"""From a stream to a model: in dual form at first, then from moments.

The dual form ends where rows exceed features by an eighth (:attr:`Stream.dual_rows`).

Two schedules use it. scikit-learn's estimators solve when they are read; river's solve at growing
positions of the stream and predict with the last model in between (:class:`RefitSchedule`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from streamchi2.checks import Floats, positions_of_labels
from streamchi2.errors import NoTargetError
from streamchi2.feature_map import FeatureMap
from streamchi2.reading import Reading
from streamchi2.solvers.block_vectors import BlockVectors, consecutive
from streamchi2.solvers.calibration import (
    Calibration,
    LabelCalibration,
    fitted_softmax,
    left_out_scores,
    own_shares,
    quantile_shifts,
)
from streamchi2.solvers.components import Eigenpairs, principal_components
from streamchi2.solvers.dual_ridge import DualRidge
from streamchi2.solvers.group_lasso import definite, entry_alphas
from streamchi2.solvers.leave_one_out import DualFit, DualRows, DualSolution, GrowingRidge
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.problem import PenaltyParams, RegressionProblem, RegressionSolution, solve
from streamchi2.solvers.through_origin import through_origin
from streamchi2.state import Array, Kind, Labels, Maybe, Object, SavedValue, require
from streamchi2.statistics.block_moments import BlockMoments
from streamchi2.statistics.class_weight import ClassWeight, class_factors
from streamchi2.statistics.feature_statistics import CALIBRATION_ROWS, FeatureStatistics
from streamchi2.statistics.moments import Moments
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.separate_moments import SeparateMoments
from streamchi2.statistics.target_moments import RegressionMoments
from streamchi2.statistics.targets import has_target
from streamchi2.threads import one_blas_thread

NumberOfComponents = float | tuple[float | None, ...] | None


@dataclass(frozen=True)
class ModelParams:
    """The constructor parameters that decide how statistics become a model."""

    n_pca: NumberOfComponents = None  # with descriptors, one for each
    penalty: PenaltyParams = field(default_factory=PenaltyParams)
    calibrate: str | None = None
    calibration_rows: int = CALIBRATION_ROWS  # of the sample, once rows are no longer kept
    class_weight: ClassWeight = None
    fit_intercept: bool = True
    signed: bool = False  # without an intercept: whether targets 0 and 1 are -1 and 1


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of features, and the mean about which they are taken.

    Each descriptor has eigenpairs of its own; without descriptors there is one tuple of pairs.
    """

    mean: NDArray[np.float64]  # (D,)
    pairs: tuple[Eigenpairs, ...]
    variance_shares: tuple[NDArray[np.float64], ...]
    count: float  # of rows
    weight: float
    feature_map: FeatureMap | None = None

    @property
    def vectors(self) -> BlockVectors:
        """The directions, those of one descriptor after those of the other."""
        return BlockVectors(tuple(pairs.vectors for pairs in self.pairs))

    @property
    def variances(self) -> tuple[NDArray[np.float64], ...]:
        """Variance along each component: scatter over the number of rows less one."""
        # Weights need not count rows: the scatter is per unit of weight.
        per_row = self.count / self.weight if self.weight > 0.0 else 1.0
        freedom = max(self.count - 1.0, 1.0)
        return tuple(pairs.values * per_row / freedom for pairs in self.pairs)

    @property
    def singular_values(self) -> tuple[NDArray[np.float64], ...]:
        """Singular values of the centred features: roots of the scatter along each component."""
        freedom = max(self.count - 1.0, 1.0)
        return tuple(np.sqrt(variances * freedom) for variances in self.variances)

    @property
    def noise_variances(self) -> tuple[float, ...]:
        """Mean variance along the directions that are left out, for each descriptor."""
        found = zip(self.variances, self.variance_shares, self.pairs, strict=True)
        return tuple(
            noise_variance(variances, float(shares.sum()), pairs.vectors.shape[0], self.count)
            for variances, shares, pairs in found
        )


def noise_variance(
    variances: NDArray[np.float64], share: float, n_features: int, count: float
) -> float:
    """Return the mean variance along directions left out, where those kept hold a share of all.

    As in scikit-learn, directions in which so few rows cannot vary do not count.

    >>> round(noise_variance(np.array([6.0, 2.0]), 0.8, 4, 100.0), 12)
    1.0
    """
    n_left = min(n_features, round(count)) - variances.size
    if n_left <= 0 or share <= 0.0:
        return 0.0
    rest = float(variances.sum()) * (1.0 - share) / share
    return max(rest, 0.0) / n_left


def components_of(
    statistics: FeatureStatistics, n_pca: NumberOfComponents, feature_map: FeatureMap | None = None
) -> Components:
    """Return principal components with the shares of the variance that they hold."""
    folded = statistics.folded()
    moments: Moments | BlockMoments = folded.feature_moments()
    owns = consecutive(folded.sizes)
    numbers = n_pca if isinstance(n_pca, tuple) else (n_pca,) * len(owns)
    pairs, shares = [], []
    for own, number in zip(owns, numbers, strict=True):
        part = moments.part(own)
        pairs.append(principal_components(part.scatter(), number or part.n_features))
        total = float(part.upper.trace())
        values = pairs[-1].values
        shares.append(values / total if total > 0 else np.zeros_like(values))
    return Components(
        moments.mean, tuple(pairs), tuple(shares), moments.count, moments.weight, feature_map
    )


class FittedModel(SavedValue):
    """A model on the features of a map, fitted to all rows of a reading.

    Parameters
    ----------
    linear : LinearModel
        On the features.
    classes : ndarray or None, default=None
        Labels of the outputs, where there are any.
    calibration : Calibration or Calibrator, optional
        Shifts and inverse temperature of a classifier's scores, or where they come from.
    feature_map : FeatureMap or None, default=None
        From rows to features; None where rows are features.
    scales : ndarray or None, default=None
        Of the descriptors, by group lasso.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "linear": Object((LinearModel,)),
        "classes": Maybe(Labels()),
        "calibration": Maybe(Object((Calibration, LabelCalibration))),
        "scales": Maybe(Array()),
    }

    def __init__(
        self,
        linear: LinearModel,
        classes: NDArray[Any] | None = None,
        calibration: Calibration | LabelCalibration | Calibrator | None = None,
        feature_map: FeatureMap | None = None,
        scales: NDArray[np.float64] | None = None,
    ) -> None:
        self.linear = linear
        self.classes = classes
        self.feature_map = feature_map
        self.scales = scales
        self._calibration = calibration

    @property
    def calibration(self) -> Calibration | None:
        """What makes probabilities of the scores of classes, worked out when first asked for."""
        found = self._calibrated()
        return found if isinstance(found, Calibration) else None

    @property
    def label_calibration(self) -> LabelCalibration | None:
        """The same for labels of which a row may have several."""
        found = self._calibrated()
        return found if isinstance(found, LabelCalibration) else None

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of classes, or of labels, for scores already shifted."""
        found = self._calibrated()
        assert found is not None
        return found.probabilities(scores)

    def _calibrated(self) -> Calibration | LabelCalibration | None:
        if isinstance(self._calibration, Calibrator):
            if self.classes is not None and self.classes.size < 2:
                self._calibration = Calibration(np.zeros(self.classes.size), 1.0)
            else:
                self._calibration = self._calibration.calibration()
        return self._calibration

    @property
    def labels(self) -> list[Any]:
        """Labels of the outputs as plain values of Python."""
        return self._labels

    @cached_property
    def _labels(self) -> list[Any]:
        return [] if self.classes is None else self.classes.tolist()

    @cached_property
    def _coef_rows(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.linear.coef.T)

    @cached_property
    def _at_centre(self) -> NDArray[np.float64]:
        # Of one layout, whichever way the coefficients came about: sums depend on it.
        at_centre = np.einsum("ij,j->i", self._coef_rows, self.linear.centre)
        shifted: NDArray[np.float64] = self.linear.intercept + at_centre
        return shifted

    def scores_of_row(self, features: Floats) -> NDArray[np.float64]:
        """Return one score per output for one row of features, shape (D,)."""
        # No BLAS: it would wake its threads for microseconds of work. And one row at a time also
        # in batches, since a matrix product may round otherwise than its rows.
        centred = features - self.linear.centre
        scores: NDArray[np.float64] = np.einsum("ij,j->i", self._coef_rows, centred)
        return scores + self._at_centre

    def validate(self) -> None:
        """Require a label for every output, and a calibration where there are labels."""
        n_outputs = self.linear.intercept.size
        fits = self.classes is None or self.classes.size == n_outputs
        require(fits, "labels must be one an output")
        require((self.classes is None) == (self.calibration is None), "labels are calibrated")
        if self.calibration is not None:
            require(self.calibration.shifts.size == n_outputs, "shifts must be one an output")
        if self.label_calibration is not None:
            require(len(self.label_calibration.labels) == n_outputs, "one temperature an output")

    def get_state(self) -> dict[str, Any]:
        """Return the declared fields."""
        return {**super().get_state(), "calibration": self._calibrated()}

    def __getstate__(self) -> dict[str, Any]:
        # Without what predictions remember: reading a model must not change its pickle.
        names = ("linear", "classes", "feature_map", "scales")
        return {name: getattr(self, name) for name in names} | {"_calibration": self._calibrated()}


def fit(reading: Reading, params: ModelParams, alpha: float | None = None) -> FittedModel:
    """Return the model of everything that a stream has seen.

    Parameters
    ----------
    reading : Reading
        The stream.
    params : ModelParams
        How to solve.
    alpha : float, optional
        A penalty that was chosen before, in place of that of the parameters. In dual form the
        model then has no calibration: there is one from before.
    """
    if alpha is not None:
        params = replace(params, penalty=replace(params.penalty, alpha=alpha))
    (statistics, sample), targets = reading.statistics_and_sample, reading.targets
    planned = reading.feature_map if reading.has_map else None
    classes = None if targets is None else targets.classes
    with one_blas_thread:
        if _is_dual(statistics, params):
            with reading.lock:
                dual = DualRegression.of(reading, params.class_weight)
                linear, left_out = dual.solve(params.penalty.alpha, leave_out=alpha is None)
            calibrator: Calibrator | None = None
            if left_out is not None and targets is not None and targets.have_probabilities:
                rows = dual.rows
                codes = rows.targets if dual.codes is None else dual.codes
                calibrator = DualCalibrator(left_out, codes, rows.weights, params.calibrate)
            return FittedModel(linear, classes, calibrator, planned)
        folded = statistics.folded()
        if folded.labelled is None:
            raise NoTargetError("no row has had a target yet")
        known = getattr(folded.labelled, "classes", None)
        if known is not None and classes is not None and known.size < classes.size:
            folded = folded.copy()  # of classes that were announced no row has come yet
            folded.labelled.announce(classes)  # type: ignore[union-attr]
        problem = _problem(folded, params)
        found = solve(problem, params.penalty)
    linear, calibrator = found.model, None
    if params.signed and not params.fit_intercept:  # back to scores of 0 and 1
        linear = replace(linear, coef=linear.coef / 2.0, intercept=linear.intercept + 0.5)
    if sample is not None:
        factors = _factors(folded.labelled, params)
        calibrator = SampleCalibrator(found, planned, classes, sample, params, factors)
    return FittedModel(linear, classes, calibrator, planned, found.scales)


def _is_dual(statistics: FeatureStatistics, params: ModelParams) -> bool:
    simple = params.penalty.penalty == "ridge" and params.n_pca is None
    return statistics.is_dual and simple and params.fit_intercept


def _problem(statistics: FeatureStatistics, params: ModelParams) -> RegressionProblem:
    """Return the regression in the coordinates in which it is to be solved."""
    n_pca = params.n_pca
    # Ridge regression reads one triangle of the scatter, of which no copy is needed.
    whole = n_pca is not None or params.penalty.penalty != "ridge"
    moments = _moments(statistics.labelled, params, whole=whole)
    if moments.weight <= 0.0:
        raise NoTargetError("no row has had a target yet")
    if not params.fit_intercept:
        moments = through_origin(moments, signed=params.signed)
    sizes = consecutive(statistics.sizes)
    if n_pca is None:
        return RegressionProblem(moments, None, sizes, moments.mean)
    found = components_of(statistics, n_pca)
    # Only without rows that lack targets, and without weights of classes, which components do not
    # know, is this the scatter that was decomposed.
    same_rows = statistics.unlabelled is None and not statistics.separate
    diagonal = len(sizes) == 1 and same_rows
    vectors, values = found.vectors, found.pairs[0].values if diagonal else None
    projected = vectors.moments(moments, values)
    return RegressionProblem(projected, vectors, vectors.outputs, moments.mean)


def _moments(labelled: Any, params: ModelParams, *, whole: bool) -> RegressionMoments:
    """Return what the solvers read, classes weighted as the parameters say."""
    if not isinstance(labelled, SeparateMoments):
        moments: RegressionMoments = labelled.summary(whole=whole)
        return moments
    factors = class_factors(params.class_weight, labelled.classes, labelled.weights)
    # A heavy class has not more rows than a light one: the number of rows stays.
    return replace(labelled.weighted(factors).summary(whole=whole), count=labelled.count)


def _factors(labelled: Any, params: ModelParams) -> NDArray[np.float64] | None:
    """Return how much the rows of each class count, in units of the mean row; None if alike."""
    if not isinstance(labelled, SeparateMoments):
        return None
    weights = labelled.weights
    factors = class_factors(params.class_weight, labelled.classes, weights)
    return np.asarray(factors * (weights.sum() / (factors @ weights)))


def descriptor_entries(reading: Reading, params: ModelParams) -> NDArray[np.float64]:
    """Return the largest penalty of a group lasso at which each descriptor is in."""
    params = replace(params, penalty=replace(params.penalty, penalty="group_lasso"))
    with one_blas_thread:
        problem = _problem(reading.statistics.folded(), params)
        return entry_alphas(definite(problem.moments), problem.groups)


@dataclass(frozen=True, eq=False)
class DualRegression:
    """All rows with targets of a stream, for a model in dual form."""

    ridge: DualRidge
    rows: DualRows
    growing: GrowingRidge  # that has solved the first of these rows before
    codes: NDArray[np.intp] | None  # of the classes; targets are then one-hot

    @classmethod
    def of(cls, reading: Reading, class_weight: ClassWeight = None) -> DualRegression:
        """Return the regression of a reading whose rows are kept; good while its lock is held."""
        statistics = reading.statistics
        if not statistics.kept:
            raise NoTargetError("no row has had a target yet")
        blocks = statistics.kept
        shifted, gram, cache = reading.gram()
        weights = np.concatenate([block.weights for block in blocks])
        targets = np.concatenate([block.targets for block in blocks])
        known = has_target(targets, weights.size)
        if not known.any():
            raise NoTargetError("no row has had a target yet")
        ridge = DualRidge(shifted, gram, weights, blocks[0].features[0]).only(known)
        places, codes = np.flatnonzero(known), None
        targets = targets[known]
        labels = None if reading.targets is None else reading.targets.classes
        if labels is not None:
            codes = positions_of_labels(targets["label"], labels)
            if class_weight is not None:
                members = np.bincount(codes, ridge.weights, labels.size).astype(np.float64)
                factors = class_factors(class_weight, labels, members)[codes]
                heavy = factors > 0.0
                if not heavy.any():
                    raise NoTargetError("no row has had a label of a class with weight yet")
                ridge = ridge.weighted(factors).only(heavy)
                codes, places = codes[heavy], places[heavy]
            targets = np.zeros((codes.size, labels.size))  # never classes x classes
            targets[np.arange(codes.size), codes] = 1.0
        n_final = int(np.searchsorted(places, cache.n_final))
        width = shifted.shape[1]
        rows = DualRows(ridge.gram, ridge.weights, targets, n_final, places, ridge.copies, width)
        return cls(ridge, rows, cache.ridge, codes)

    def solve(
        self, alpha: float | str, *, leave_out: bool = True
    ) -> tuple[LinearModel, NDArray[np.float64] | None]:
        """Return the model and, if asked for, the scores of its rows when they are left out.

        ``alpha`` is a penalty, or "auto": it is chosen.
        """
        targets = self.rows.targets
        if alpha == "auto" or (not isinstance(alpha, str) and alpha > 0.0):
            search = self.growing.at(self.rows)
            found: DualSolution
            try:
                if isinstance(alpha, str):
                    found = search.chosen() or search.fit(1.0)
                else:
                    found = search.fit(alpha) if leave_out else search.solution(alpha)
            except LinAlgError:  # alpha is below the rounding errors of the Gram matrix
                pass
            else:
                self.growing.keep(search)
                return self.ridge.model(found), found.left_out if isinstance(
                    found, DualFit
                ) else None
        chosen, left_out = self.ridge.tune(targets, alpha)
        return self.ridge.solve(targets, chosen), left_out


class Calibrator:
    """Where the calibration of a classifier's scores comes from: scores of left-out rows."""

    def __init__(self, calibrate: str | None) -> None:
        self._calibrate = calibrate

    def left_out(self) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
        """Return scores of left-out rows, codes of their classes or indicators, and weights."""
        raise NotImplementedError

    def calibration(self) -> Calibration | LabelCalibration:
        """Return shifts, where they are asked for, and what makes probabilities of the rest."""
        with one_blas_thread:
            scores, codes, weights = self.left_out()
        if codes.ndim == 2:
            return LabelCalibration.fitted(scores, codes, weights)
        shifts = np.zeros(scores.shape[1])
        if self._calibrate == "quantile":
            members = np.bincount(codes, weights, scores.shape[1])
            shifts = quantile_shifts(scores, weights, self.shares(members / weights.sum()))
        return Calibration(shifts, *fitted_softmax(scores - shifts, codes, weights))

    def shares(self, sampled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of each class in the stream, from that among the rows at hand."""
        return sampled


class DualCalibrator(Calibrator):
    """Every row is at hand, and leaving one out has a closed form."""

    def __init__(
        self,
        scores: NDArray[np.float64],
        codes: NDArray[Any],
        weights: NDArray[np.float64],
        calibrate: str | None,
    ) -> None:
        super().__init__(calibrate)
        self._known = scores, codes, weights

    def left_out(self) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
        """Return scores of left-out rows, codes of their classes or indicators, and weights."""
        return self._known


class SampleCalibrator(Calibrator):
    """A sample of the rows that were learnt stands for all of them."""

    def __init__(
        self,
        found: RegressionSolution,
        feature_map: FeatureMap | None,
        classes: NDArray[Any] | None,
        sample: Callable[[], Reservoir],
        params: ModelParams,
        factors: NDArray[np.float64] | None = None,
    ) -> None:
        super().__init__(params.calibrate)
        self._factors = factors
        self._found, self._feature_map = found, feature_map
        self._classes, self._sample, self._n_rows = classes, sample, params.calibration_rows
        self._exact = params.penalty.penalty in ("ridge", "group_lasso")

    def left_out(self) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
        """Return scores of left-out rows, codes of their classes or indicators, and weights."""
        sample, found = self._sample().prefix(self._n_rows), self._found
        assert sample.rows is not None
        assert sample.targets is not None
        rows = sample.rows
        features = rows if self._feature_map is None else self._feature_map.transform(rows)
        features = found.problem.coordinates(features.astype(np.float64, copy=False))
        codes = targets = sample.targets
        if self._classes is not None:
            codes = positions_of_labels(sample.targets, self._classes)
            targets = np.zeros((codes.size, self._classes.size))
            targets[np.arange(codes.size), codes] = 1.0
        shares = own_shares(found.inner, found.problem.moments, features, exact=self._exact)
        weights = sample.importance()
        if sample.is_truncated:  # these rows stand for more than they are
            weights = weights * (weights.sum() / (weights @ weights))
        if self._factors is not None:
            factors = self._factors[codes]
            shares, weights = shares * factors[:, None], weights * factors
        scores = left_out_scores(found.inner.scores(features), targets, shares)
        return scores, codes, weights

    def shares(self, sampled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of each class in the whole stream."""
        return self._found.problem.moments.target_mean
