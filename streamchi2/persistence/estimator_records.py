"""How estimators are saved: constructor words, columns, the stream and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from streamchi2.estimators.classifier import ExpChi2Classifier
from streamchi2.estimators.pca import ExpChi2PCA
from streamchi2.estimators.regressor import ExpChi2Regressor
from streamchi2.estimators.sampler import ExpChi2Sampler
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge
from streamchi2.estimators.streaming_ridge_classifier import StreamingRidgeClassifier
from streamchi2.persistence import solving_records as solving
from streamchi2.persistence.array_fields import Landmarks, Names
from streamchi2.persistence.checks import require
from streamchi2.persistence.fields import Field, Flag, Integer, Later, Maybe, Scalar
from streamchi2.persistence.map_records import ADAPTIVE_MAP, MAPPED_MOMENTS, stream_record
from streamchi2.persistence.stream_checks import (
    column_rules,
    descriptor_rules,
    known_class_rules,
    target_shape_rules,
)
from streamchi2.persistence.tracker_records import CLASS_MOMENTS, MOMENTS, TARGET_MOMENTS
from streamchi2.persistence.tree import Group, Record, Values
from streamchi2.persistence.word_fields import DescriptorColumns, Word

_OUTPUTS = (None, "default", "pandas", "polars")  # what scikit-learn's set_output knows


@dataclass(frozen=True, eq=False)
class Anatomy:
    """The parts of one kind of estimator: tracker, way of solving, and attributes of its own."""

    kind: type
    tracker: Record
    solving: solving.Solving
    rules: Callable[[Values], None] = column_rules
    own: Mapping[str, Field] = field(default_factory=dict)

    def record(self) -> Record:
        """Return how it is saved; what constructor words mean is checked when it next learns."""
        fitted: dict[str, Field] = {
            "n_features_in_": Integer(low=1),
            "feature_names_in_": Maybe(Names()),
            "_stream": stream_record(self.tracker),
            **self.own,
            "words": self.solving.words,
        }
        names = self.kind._get_param_names()  # type: ignore[attr-defined]
        parameters = Group(dict.fromkeys(names, Word()) | _wide_words(names))
        return Record(
            self.kind,
            {"parameters": parameters, "output": Scalar(), "state": Maybe(Group(fitted))},
            self.built,
            taken=self.taken,
            rules=self.checked,
            guard=_lock_of,
        )

    def taken(self, estimator: Any) -> Values:
        """Return all that makes up an estimator."""
        attributes = dict(vars(estimator))
        parameters = {name: attributes.pop(name) for name in estimator.get_params(deep=False)}
        output = attributes.pop("_sklearn_output_config", {}).get("transform")
        for name in (self.solving.attribute, "_start"):
            attributes.pop(name, None)  # both follow from the words in force
        state = None
        if attributes:
            words = self.solving.taken(estimator)
            state = {"feature_names_in_": None, **attributes, "words": words}
        return {"parameters": parameters, "output": output, "state": state}

    def checked(self, values: Values) -> None:
        """Refuse a state whose parts contradict each other."""
        require(values["output"] in _OUTPUTS, "output must be known to scikit-learn")
        if values["state"] is not None:
            self.rules(values["state"])

    def built(self, values: Values) -> Any:
        """Return the estimator."""
        estimator = self.kind(**values["parameters"])
        if values["output"] is not None:
            estimator.set_output(transform=values["output"])
        state = values["state"]
        if state is not None:
            attributes = {name: value for name, value in state.items() if name != "words"}
            if attributes["feature_names_in_"] is None:
                del attributes["feature_names_in_"]
            attributes[self.solving.attribute] = self.solving.made(state)
            if self.kind is StreamingPCA:
                attributes["_start"] = state["words"]["start"]
            estimator.__dict__.update(attributes)
        return estimator


def _wide_words(names: Iterable[str]) -> dict[str, Field]:
    """Return the kinds of those constructor words that are no scalars."""
    wide = {"landmarks": Later(Landmarks()), "descriptors": Later(DescriptorColumns())}
    return {name: kind for name, kind in wide.items() if name in names}


def _lock_of(estimator: Any) -> AbstractContextManager[Any]:
    stream = vars(estimator).get("_stream")
    return nullcontext() if stream is None else stream.lock


def _mapped_rules(labelled: type | None, rules: Callable[[Values], None]) -> Any:
    """Return rules for an estimator whose map feeds one kind of tracker."""

    def checked(state: Values) -> None:
        found = state["_stream"].tracker.labelled
        expected = type(None) if labelled is None else labelled
        require(isinstance(found, expected), f"targets must be tracked by {expected.__name__}")
        linear = state["words"].linear
        require((linear is None) == (labelled is None), "words of another kind of estimator")
        descriptor_rules(state["_stream"].tracker.map, state["words"])
        rules(state)

    return checked


_CLASSES = {"_known": solving.KNOWN_CLASSES}
_NUMBERS = {"_flat_targets": Flag()}

ESTIMATORS = tuple(
    anatomy.record()
    for anatomy in (
        Anatomy(ExpChi2Sampler, ADAPTIVE_MAP, solving.BY_READING),
        Anatomy(ExpChi2PCA, MAPPED_MOMENTS, solving.BY_SOLUTION, _mapped_rules(None, column_rules)),
        Anatomy(
            ExpChi2Classifier,
            MAPPED_MOMENTS,
            solving.BY_SOLUTION,
            _mapped_rules(CLASS_MOMENTS.kind, known_class_rules),
            _CLASSES,
        ),
        Anatomy(
            ExpChi2Regressor,
            MAPPED_MOMENTS,
            solving.BY_SOLUTION,
            _mapped_rules(TARGET_MOMENTS.kind, target_shape_rules),
            _NUMBERS,
        ),
        Anatomy(StreamingPCA, MOMENTS, solving.BY_COMPONENTS),
        Anatomy(
            StreamingRidge, TARGET_MOMENTS, solving.BY_LEAST_SQUARES, target_shape_rules, _NUMBERS
        ),
        Anatomy(
            StreamingRidgeClassifier,
            CLASS_MOMENTS,
            solving.BY_LEAST_SQUARES,
            known_class_rules,
            _CLASSES,
        ),
    )
)
