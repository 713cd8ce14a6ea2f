"""Every law that applies to an estimator, checked on rows and labels that are drawn here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.utils import get_tags

from streamchi2.testing.absent_laws import check_absent_is_zero, check_absent_keys
from streamchi2.testing.bad_arguments import bad_rows, bad_weights
from streamchi2.testing.comparison import readings
from streamchi2.testing.dip_law import check_no_dip
from streamchi2.testing.front_ends import ArrayFrontEnd, DictFrontEnd, FrontEnd, front_end_of
from streamchi2.testing.learning_laws import (
    check_cut,
    check_late_classes,
    check_merge,
    check_threads,
)
from streamchi2.testing.reproduction import constructor, literal, with_imports
from streamchi2.testing.state_laws import check_no_trace, check_pure_reads, check_save
from streamchi2.testing.strategies import cuttings, dict_streams, labelled_streams
from streamchi2.testing.weight_laws import check_repeated_rows, check_scale_of_weights

LAWS = (
    "cut", "merge", "no trace", "threads", "absent = 0", "classes", "save", "pure reads",
    "repeated rows", "scale of weights", "no dip",
)  # fmt: skip

# What every estimator of arrays must refuse, whatever else it takes.
_NEVER_ROWS = (
    "infinite", "no rows", "one dimension", "three dimensions", "nothing", "one column more",
    "one column less",
)  # fmt: skip
_NEVER_WEIGHTS = ("too few", "too many", "words")
_N_COLUMNS = 6

# Without the phase that explains: it traces every line, and the program in the message explains.
_PHASES = (Phase.generate, Phase.shrink)


@dataclass(frozen=True)
class LawReport:
    """Which laws were checked on an estimator, all of which hold, and which do not apply.

    Parameters
    ----------
    estimator : str
        The estimator as code.
    checked : tuple of str
        Laws that hold.
    not_applicable : dict of str -> str
        Laws that were not checked, each with the reason.
    """

    estimator: str
    checked: tuple[str, ...]
    not_applicable: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [self.estimator, *(f"  {law:16} holds" for law in self.checked)]
        lines += [f"  {law:16} not checked: {why}" for law, why in self.not_applicable.items()]
        return "\n".join(lines)


def check_all(
    estimator: Any,
    *,
    skip: Mapping[str, str] | None = None,
    max_examples: int = 10,
    rtol: float = 0.0,
    atol: float = 0.0,
    seed: int = 0,
) -> LawReport:
    """Check every law that applies to an estimator, on rows and labels drawn for it.

    The laws of cuts, saving, reading, absent values and late classes are tried on streams that
    hypothesis draws and, where one breaks, makes as small as it can; the others on one longer
    stream, in which labels can be learnt.

    Parameters
    ----------
    estimator : estimator
        Of scikit-learn's kind (``partial_fit``) or river's (``learn_one``), with a ``random_state``
        or ``seed`` that is an int where it has one. Clones of it learn; itself it stays as it is.
    skip : dict of str -> str, optional
        Laws that the estimator does not promise, each with the reason, which is reported.
    max_examples : int, default=10
        Streams that hypothesis draws for each law.
    rtol, atol : float, default=0
        How far readings may differ under the laws of cuts and classes: by default by not a bit.
        The laws of merges, absent values and weights allow 1e-5 at least.
    seed : int, default=0
        Of the longer streams.

    Returns
    -------
    LawReport
        What was checked, and what does not apply and why.

    Raises
    ------
    LawError
        When a law is broken; the message ends with a program that shows it again.

    Examples
    --------
    >>> from streamchi2 import StreamingPCA
    >>> print(check_all(StreamingPCA(2)))
    StreamingPCA(n_components=2)
      cut              holds
      merge            holds
      no trace         holds
      save             holds
      pure reads       holds
      repeated rows    holds
      scale of weights holds
      threads          not checked: the estimator has no parameter n_jobs
      absent = 0       not checked: the estimator takes no sparse rows
      classes          not checked: the estimator is no classifier
      no dip           not checked: the estimator predicts no target
    """
    front = front_end_of(estimator)
    _refuse_without_seed(estimator)
    skip = dict(skip or {})
    if unknown := sorted(set(skip) - set(LAWS)):
        raise ValueError(f"skip must name laws among {list(LAWS)}, got {unknown}")
    trial = _Trial(estimator, front, max_examples, rtol, atol, seed)
    trial.see_that_it_can_be_read()
    reasons = {**trial.reasons(), **skip}
    checked = []
    for law in LAWS:
        if law not in reasons:
            trial.check(law)
            checked.append(law)
    absent = {law: reasons[law] for law in LAWS if law in reasons}
    return LawReport(constructor(estimator), tuple(checked), absent)


class _Trial:
    """One estimator, what it learns, and the streams that its laws are tried on."""

    def __init__(
        self,
        estimator: Any,
        front: FrontEnd,
        max_examples: int,
        rtol: float,
        atol: float,
        seed: int,
    ) -> None:
        self.estimator = estimator
        self.front = front
        self.kind = front.kind(estimator)
        self.in_dicts = isinstance(front, DictFrontEnd)
        self.exactly = {"rtol": rtol, "atol": atol}
        self.nearly: dict[str, Any] = {"rtol": max(rtol, 1e-5), "atol": max(atol, 1e-5)}
        self.seed = seed
        # Derandomised, so that a broken law is broken for everyone; one failure, the smallest.
        self.settings = settings(
            max_examples=max_examples, derandomize=True, database=None, deadline=None,
            report_multiple_bugs=False, phases=_PHASES, suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        self.announced = self.kind == "classifier" and self._wants_classes()

    def see_that_it_can_be_read(self) -> None:
        """Refuse an estimator on which no law can be seen."""
        rows, targets = self._long_stream(20)
        readings(self._learnt(rows, targets), rows)

    def reasons(self) -> dict[str, str]:
        """Return the laws that do not apply, each with the reason."""
        has = {name: hasattr(self.estimator, name) for name in ("merge", "learn_many", "predict")}
        found = {}
        if self.in_dicts and not has["learn_many"]:
            found["cut"] = "the estimator has no learn_many"
        if not has["merge"]:
            found["merge"] = "the estimator has no merge"
        elif self._forgets():
            found["merge"] = "half_life forgets by the order of rows, which shards do not share"
        if self.in_dicts:
            found["threads"] = "river's estimators have no n_jobs"
            found["classes"] = "river's estimators are not told their classes"
            found["repeated rows"] = "models may be solved at some counts of rows only"
        else:
            if "n_jobs" not in self.estimator.get_params():
                found["threads"] = "the estimator has no parameter n_jobs"
            if not get_tags(self.estimator).input_tags.sparse:
                found["absent = 0"] = "the estimator takes no sparse rows"
            found |= self._reasons_of_classes()
        if not self.front.takes_weights(self.estimator):
            found["repeated rows"] = found["scale of weights"] = "the estimator takes no weights"
        elif self._forgets():
            found["repeated rows"] = "half_life counts rows, so that a repeated one ages the others"
        if _is_number(getattr(self.estimator, "alpha", None)):
            why = "alpha is a number, which weighs against the sum of the weights"
            found.setdefault("scale of weights", why)
        if self.kind == "transformer":
            found["no dip"] = "the estimator predicts no target"
        elif self._forgets():
            found["no dip"] = "half_life forgets rows, so that more are not learnt"
        return found

    def _forgets(self) -> bool:
        return getattr(self.estimator, "half_life", None) is not None

    def _reasons_of_classes(self) -> dict[str, str]:
        if self.kind != "classifier":
            return {"classes": "the estimator is no classifier"}
        if "classes" not in inspect.signature(self.estimator.partial_fit).parameters:
            return {"classes": "partial_fit has no parameter classes"}
        if self.announced:
            return {"classes": "partial_fit wants all classes at the first call"}
        return {}

    def check(self, law: str) -> None:
        """Check one law."""
        getattr(self, "_check_" + law.replace("= 0", "zero").replace(" ", "_"))()

    def _check_cut(self) -> None:
        def law(data: st.DataObject) -> None:
            rows, targets = self._drawn(data)
            cuts = data.draw(cuttings(len(rows)))
            more = self._classes(targets)
            check_cut(self.estimator, rows, targets, cuts=cuts, **more, **self.exactly)

        self._try(law)

    def _check_save(self) -> None:
        def law(data: st.DataObject) -> None:
            rows, targets = self._drawn(data)
            at = data.draw(st.integers(1, len(rows) - 1))
            check_save(self.estimator, rows, targets, at=at, **self._classes(targets))

        self._try(law)

    def _check_pure_reads(self) -> None:
        def law(data: st.DataObject) -> None:
            rows, targets = self._drawn(data)
            check_pure_reads(self.estimator, rows, targets, **self._classes(targets))

        self._try(law)

    def _check_absent_zero(self) -> None:
        def law(data: st.DataObject) -> None:
            if self.in_dicts:
                dicts = [{"red": 0.0, "blue": 1.0}, *data.draw(dict_streams())]
                labels = np.arange(len(dicts)) % 2
                check_absent_keys(self.estimator, dicts, self._targets(labels))
                return
            rows, targets = self._drawn(data, zeros=True)
            more = self._classes(targets)
            check_absent_is_zero(self.estimator, rows, targets, **more, **self.nearly)

        self._try(law)

    def _check_classes(self) -> None:
        def law(data: st.DataObject) -> None:
            rows, labels = self._drawn(data)
            check_late_classes(self.estimator, rows, labels, **self.exactly)

        self._try(law)

    def _check_merge(self) -> None:
        # Below 256 rows in all: maps that are planned again must not be planned between shards.
        rows, targets = self._long_stream(120)
        pieces = [slice(0, 70), slice(70, 75), slice(75, 120)]
        shards = [(rows[piece], _taken(targets, piece)) for piece in pieces]
        check_merge(self.estimator, shards, **self._classes(targets), **self.nearly)

    def _check_threads(self) -> None:
        rows, targets = self._long_stream(700)
        check_threads(self.estimator, rows, targets, **self._classes(targets))

    def _check_repeated_rows(self) -> None:
        rows, targets = self._long_stream(200)
        weights = np.arange(200) % 4
        more = self._classes(targets)
        check_repeated_rows(
            self.estimator, rows, targets, weights=weights, **more, **self.nearly
        )  # fmt: skip

    def _check_scale_of_weights(self) -> None:
        rows, targets = self._long_stream(300)
        more = self._classes(targets)
        check_scale_of_weights(self.estimator, rows, targets, **more, **self.nearly)

    def _check_no_dip(self) -> None:
        n_features = getattr(self.estimator, "n_components", None)
        # Twice as many rows as features are learnt where that is affordable: n = D is in between.
        wanted = 3 * n_features if isinstance(n_features, int) else 0
        rows, targets = self._long_stream(min(max(600, wanted), 3600))
        check_no_dip(self.estimator, rows, targets, **self._classes(targets))

    def _check_no_trace(self) -> None:
        rows, targets = self._long_stream(40)
        method = "learn_one" if self.in_dicts else "partial_fit"
        for case, arguments in self._bad_calls(rows, targets).items():
            for fitted in (False, True):
                if not fitted and "column" in case:
                    continue  # any width will do for the first rows
                model = self.front.fresh(self.estimator)
                if fitted:
                    model = self._learnt(rows, targets)
                check_no_trace(
                    model,
                    partial(_call, method=method, arguments=arguments),
                    case=f"in {method} of {'known' if fitted else 'first'} rows: {case}",
                    code=partial(self._code_of_bad_call, method, arguments, rows, targets, fitted),
                )

    def _bad_calls(self, rows: Any, targets: Any) -> dict[str, dict[str, Any]]:
        """Return keyword arguments that must be refused, by what is wrong with them."""
        if self.in_dicts:
            target = {} if targets is None else {"y": targets.tolist()[0]}
            values = {"a word for a value": "one", "None for a value": None}
            return {case: {"x": {"x0": 1.0, "x1": bad}, **target} for case, bad in values.items()}
        tags = get_tags(self.estimator).input_tags
        names = [*_NEVER_ROWS, *([] if tags.allow_nan else ["nan"])]
        names += ["negative"] if tags.positive_only else []
        bad = bad_rows(_N_COLUMNS)
        good = rows[:2]
        labels = {} if targets is None else {"y": targets[:2]}
        calls: dict[str, dict[str, Any]] = {}
        for name in names:
            n_bad = len(bad[name]) if np.ndim(bad[name]) == 2 else 2
            some = {} if targets is None else {"y": targets[:n_bad]}
            calls[f"X with {name}"] = {"X": bad[name], **some}
        if targets is not None:
            calls["y with too few"] = {"X": good, "y": targets[:1]}
            calls["y with too many"] = {"X": good, "y": targets[:3]}
        if self.front.takes_weights(self.estimator):
            for name in _NEVER_WEIGHTS:
                words = {"X": good, **labels, "sample_weight": bad_weights(2)[name]}
                calls[f"sample_weight with {name}"] = words
        if self.announced:
            calls = {case: {**words, **self._classes(targets)} for case, words in calls.items()}
        return calls

    def _code_of_bad_call(
        self, method: str, arguments: dict[str, Any], rows: Any, targets: Any, fitted: bool
    ) -> str:
        lines = [f"estimator = {constructor(self.estimator)}"]
        if fitted and self.in_dicts:
            stream = self.front.stream(rows, targets)
            learnt = "x, y" if targets is not None else "x"
            given = f"zip({literal(stream[0])}, {literal(stream[1])})"
            given = given if targets is not None else literal(stream[0])
            lines += [f"for {learnt} in {given}:", f"    estimator.learn_one({learnt})", ""]
        elif fitted:
            some = {"X": rows, "y": targets, **self._classes(targets)}
            lines.append(f"estimator.partial_fit({_words(some)})")
        lines.append("before = state_of(estimator)")
        lines.append(f"try:\n    estimator.{method}({_words(arguments)})")
        lines.append("except Exception as error:\n    print(repr(error))")
        lines.append("print('state unchanged:', state_of(estimator) == before)")
        return with_imports(lines, self.estimator, "state_of")

    def _try(self, law: Callable[[st.DataObject], None]) -> None:
        self.settings(given(st.data())(law))()

    def _drawn(
        self, data: st.DataObject, *, zeros: bool = False
    ) -> tuple[NDArray[np.float64], Any]:  # fmt: skip
        # More columns than a PCA of the estimator keeps, more rows than a first block of it.
        rows, labels = data.draw(labelled_streams(zeros=zeros))
        return rows, self._targets(labels, rows)

    def _long_stream(self, n_rows: int) -> tuple[NDArray[np.float64], Any]:
        """Return rows of three classes that overlap, and their targets."""
        random = np.random.default_rng(self.seed)
        labels = random.integers(0, 3, n_rows)
        labels[:3] = np.arange(3)
        shapes = random.uniform(0.5, 3.0, (3, _N_COLUMNS))
        rows = random.standard_gamma(shapes[labels])
        rows /= rows.sum(axis=1, keepdims=True)
        return rows, self._targets(labels, rows)

    def _targets(self, labels: NDArray[np.int64], rows: Any = None) -> Any:
        if self.kind == "classifier":
            return labels
        if self.kind == "regressor":
            return labels + (0.0 if rows is None else rows[:, 0])
        return None

    def _learnt(self, rows: Any, targets: Any) -> Any:
        rows, targets = self.front.stream(rows, targets)
        model = self.front.fresh(self.estimator)
        return self.front.learn(model, rows, targets, **self._classes(targets))

    def _classes(self, targets: Any) -> dict[str, Any]:
        return {"classes": np.unique(targets)} if self.announced else {}

    def _wants_classes(self) -> bool:
        """Return whether ``partial_fit`` refuses labels unless all classes are announced."""
        if not isinstance(self.front, ArrayFrontEnd):
            return False
        rows, labels = self._long_stream(20)
        try:
            self.front.learn(self.front.fresh(self.estimator), rows, labels)
        except (TypeError, ValueError) as error:
            self.front.learn(
                self.front.fresh(self.estimator), rows, labels, classes=np.unique(labels)
            )
            return "classes" in str(error)
        return False


def _refuse_without_seed(estimator: Any) -> None:
    for name in ("random_state", "seed"):
        if hasattr(estimator, name) and not isinstance(getattr(estimator, name), int | np.integer):
            raise ValueError(
                f"{name} must be an int for clones to draw the same, got "
                f"{getattr(estimator, name)!r}"
            )


def _call(model: Any, method: str, arguments: dict[str, Any]) -> None:
    getattr(model, method)(**arguments)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _taken(targets: Any, piece: slice) -> Any:
    return None if targets is None else targets[piece]


def _words(arguments: Mapping[str, Any]) -> str:
    given = {name: value for name, value in arguments.items() if value is not None or name == "X"}
    return ", ".join(f"{name}={literal(value)}" for name, value in given.items())
