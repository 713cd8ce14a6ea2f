"""Estimators for river pipelines: dict rows, frames of any eager backend, one row at a time."""

from streamchi2.river.classifier import ExpChi2Classifier
from streamchi2.river.drift import DriftEvent
from streamchi2.river.regressor import ExpChi2Regressor
from streamchi2.river.sampler import ExpChi2Sampler

__all__ = ["DriftEvent", "ExpChi2Classifier", "ExpChi2Regressor", "ExpChi2Sampler"]
