"""How a saved stream is read again: the words in force, and the lazy solution made from them.

The words in force are saved beside the constructor's, which a user may have changed since the
last batch: a loaded estimator predicts what the saved one would have predicted. Solutions
themselves are not saved, since they follow from stream and words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from streamchi2.estimators.known_classes import KnownClasses
from streamchi2.estimators.lazy_solution import LazySolution
from streamchi2.estimators.linear_words import LinearWords, _solved, checked_words
from streamchi2.estimators.map_words import Reading
from streamchi2.estimators.solution import LearnerWords, Solution
from streamchi2.estimators.streaming_pca import _principal_components
from streamchi2.persistence.array_fields import Array, Labels
from streamchi2.persistence.checks import require
from streamchi2.persistence.fields import Field, Flag, Integer, Maybe, Scalar
from streamchi2.persistence.map_records import value_record
from streamchi2.persistence.tree import Group, Record, Values
from streamchi2.persistence.word_fields import OneOrEach
from streamchi2.solvers.eigen import Eigenpairs
from streamchi2.solvers.principal import check_n_pca


@dataclass(frozen=True, eq=False)
class Solving:
    """How one kind of estimator turns its stream into answers.

    ``attribute`` holds the solution, ``words`` is how its words are saved, ``taken`` finds them in
    an estimator, and ``made`` returns a solution for the state of an estimator.
    """

    words: Field
    taken: Callable[[Any], Any]
    made: Callable[[Values], Any]
    attribute: str = "_solution"


def _learner_words(values: Values) -> LearnerWords:
    n_pca = values["n_pca"]
    for number in n_pca if isinstance(n_pca, tuple) else (n_pca,):
        check_n_pca(number)
    require(values["calibrate"] in (None, "quantile"), "calibrate must be null or 'quantile'")
    return LearnerWords(**values)


def _solution(state: Values) -> Solution:
    known = state.get("_known")
    return Solution(state["_stream"], state["words"], None if known is None else known.labels)


def _linear_solution(state: Values) -> LazySolution[Any]:
    return LazySolution(partial(_solved, state["_stream"], state["words"]))


def _components_words(estimator: Any) -> Values:
    solution = estimator._solution
    _, number, start = solution._solve.args
    # Only a warm refresh will start from what has been read.
    solved = estimator.solver == "warm" and solution.found() is not None
    return {"number": number, "start": start, "solved": solved}


def _components(state: Values) -> LazySolution[Any]:
    words, stream = state["words"], state["_stream"]
    number, start, width = words["number"], words["start"], stream.tracker.n_features
    is_count = type(number) is int and 1 <= number <= width
    is_share = type(number) is float and 0.0 < number <= 1.0
    require(is_count or is_share, "number must be a count of components or a share")
    if start is not None:
        require(start.vectors.shape == (width, start.values.size), "start must fit the columns")
        n_basis = start.basis.shape[1]
        fits = start.basis.shape[0] == width and start.values.size <= n_basis <= width
        require(fits and start.values.size > 0, "start must fit the columns")
    solution = LazySolution(partial(_principal_components, stream, number, start))
    if words["solved"]:
        solution.get()
    return solution


LINEAR_WORDS = Record(
    LinearWords,
    {"penalty": Scalar(), "alpha": Scalar(), "l1_ratio": Scalar()},
    lambda values: checked_words(**values),
)
_MAPPED_WORDS = Record(
    LinearWords, LINEAR_WORDS.fields, lambda values: checked_words(**values, grouped=True)
)
LEARNER_WORDS = Record(
    LearnerWords,
    {"n_pca": OneOrEach(), "linear": Maybe(_MAPPED_WORDS), "calibrate": Scalar()},
    _learner_words,
)
KNOWN_CLASSES = value_record(KnownClasses, {"labels": Labels(), "complete": Flag()})
EIGENPAIRS = value_record(
    Eigenpairs,
    {"values": Array(), "vectors": Array(2), "basis": Array(2), "n_steps": Integer()},
)

BY_READING = Solving(
    Group({}),
    taken=lambda estimator: {},
    made=lambda state: Reading(state["_stream"]),
    attribute="_reading",
)
BY_SOLUTION = Solving(
    LEARNER_WORDS, taken=lambda estimator: estimator._solution.words, made=_solution
)
BY_LEAST_SQUARES = Solving(
    LINEAR_WORDS,
    taken=lambda estimator: estimator._solution._solve.args[1],
    made=_linear_solution,
)
BY_COMPONENTS = Solving(
    Group({"number": Scalar(), "start": Maybe(EIGENPAIRS), "solved": Flag()}),
    taken=_components_words,
    made=_components,
)
