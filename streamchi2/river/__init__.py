"""Estimators for river pipelines: dict rows, frames of any eager backend, one row at a time."""

from streamchi2.river.classifier import ExpChi2Classifier
from streamchi2.river.regressor import ExpChi2Regressor
from streamchi2.river.sampler import ExpChi2Sampler
from streamchi2.river.several_targets import (
    ExpChi2MultiLabelClassifier,
    ExpChi2MultiTargetRegressor,
)

__all__ = [
    "ExpChi2Classifier",
    "ExpChi2MultiLabelClassifier",
    "ExpChi2MultiTargetRegressor",
    "ExpChi2Regressor",
    "ExpChi2Sampler",
]
