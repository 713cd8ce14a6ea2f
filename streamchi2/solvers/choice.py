"""What a user chose about a model, and what was chosen for them from rows that are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from streamchi2.checks.params import (
    as_choice,
    as_n_pca,
    as_number_or_choice,
    as_positive_float,
    divided,
)
from streamchi2.checks.rows import Array
from streamchi2.saving import Label, Value, saved
from streamchi2.solvers.calibration import Calibration
from streamchi2.solvers.components import NumberOfComponents
from streamchi2.statistics.forgetting import ExpectedErrors
from streamchi2.statistics.weights import as_class_weight

PENALTIES = ("ridge", "lasso", "elastic_net")  # and with descriptors group_lasso


@saved("learner_spec")
@dataclass(frozen=True)
class LearnerSpec:
    """The constructor parameters that decide how statistics become a model.

    The names are those of :class:`streamchi2.ExpChi2Classifier` and
    :class:`streamchi2.StreamingRidge`, the values what :meth:`of` makes of theirs.
    """

    n_pca: NumberOfComponents = None  # with descriptors, one for each
    penalty: str = "ridge"
    alpha: float | str = "auto"
    l1_ratio: float = 0.5
    class_shift: str | None = None
    class_weight: str | tuple[tuple[Label, float], ...] | None = None
    fit_intercept: bool = True
    signed: bool = False  # without an intercept: whether targets 0 and 1 are -1 and 1

    @classmethod
    def of(cls, params: Mapping[str, Any], names: Sequence[str] | None = None) -> Self:
        """Validate constructor parameters; those that an estimator has not are at their defaults.

        ``names`` are those of the descriptors, by default the keys of the parameter.

        >>> LearnerSpec.of({"n_pca": 11, "descriptors": {"hog": [0], "bow": [1]}}).n_pca
        (6, 5)
        >>> LearnerSpec.of({"penalty": "group_lasso"})
        Traceback (most recent call last):
            ...
        ValueError: penalty='group_lasso' needs descriptors to choose among, got None
        """
        if names is None and isinstance(params.get("descriptors"), Mapping):
            names = tuple(params["descriptors"])
        given = {name: params[name] for name in cls.__dataclass_fields__ if name in params}
        spec = cls(**given)
        if spec.penalty == "group_lasso" and names is None:
            raise ValueError("penalty='group_lasso' needs descriptors to choose among, got None")
        penalties = (*PENALTIES, "group_lasso") if names else PENALTIES
        as_choice(spec.penalty, penalties, name="penalty")
        if spec.class_shift is not None:
            as_choice(spec.class_shift, ("quantile",), name="class_shift")
        if not isinstance(spec.fit_intercept, bool | np.bool_):
            raise TypeError(f"fit_intercept must be True or False, got {spec.fit_intercept!r}")
        l1_ratio = as_positive_float(spec.l1_ratio, name="l1_ratio")
        if l1_ratio > 1.0:
            raise ValueError(f"l1_ratio must be above 0 and at most 1, got {spec.l1_ratio!r}")
        n_pca = spec.n_pca
        if n_pca is not None and names:
            n_pca = divided(n_pca, names, name="n_pca", check=as_n_pca)
        elif n_pca is not None:
            n_pca = as_n_pca(n_pca)
        return replace(
            spec,
            n_pca=n_pca,
            alpha=as_number_or_choice(spec.alpha, ("auto",), name="alpha", zero=True),
            l1_ratio=l1_ratio,
            class_weight=as_class_weight(spec.class_weight),
            fit_intercept=bool(spec.fit_intercept),
        )


@saved("choice")
@dataclass(frozen=True, eq=False)
class Choice(Value):
    """What was chosen from the scores of sampled rows that are left out.

    Parameters
    ----------
    alpha : float
        The penalty.
    counted : float
        Labelled rows that counted at the time.
    expected : ExpectedErrors
        What the errors of other rows are to be compared with.
    calibration : Calibration or None, default=None
        Where columns are labels.
    scales : ndarray or None, default=None
        Of the descriptors, by group lasso.
    """

    alpha: float
    counted: float
    expected: ExpectedErrors
    calibration: Calibration | None = None
    scales: Array | None = None
