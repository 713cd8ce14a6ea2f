"""Every law that applies to an estimator, on rows and labels that hypothesis strategies draw."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamchi2.testing.front_ends import front_end_of
from streamchi2.testing.laws import LAWS, forgets, reasons

# Laws tried on one longer stream, in which labels can be learnt: for how many rows. Merges and
# weights stay below 256, for maps that are planned again must not be planned between shards, nor
# between rows and their repetitions; and the first shard has the 64 rows that plan a map.
_LONG = {"merge": 120, "threads": 700, "weights": 160, "no dip": 600, "any order": 1800}

# Derandomised, so that a broken law is broken for everyone; one failure, the smallest. Without the
# phase that explains: it traces every line, and the program in the message explains.
_SETTINGS = settings(
    derandomize=True, database=None, deadline=None, report_multiple_bugs=False,
    phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
)  # fmt: skip


class LawReport(dict[str, str]):
    """By the name of each law: "holds", or why it was not checked."""

    def __str__(self) -> str:
        return "\n".join(f"{law:12} {said}" for law, said in self.items())


def check_all(
    estimator: Any,
    *,
    skip: Mapping[str, str] | None = None,
    example_targets: Callable[[Any, Any], Any] | None = None,
    max_examples: int = 10,
    rtol: float = 0.0,
) -> LawReport:
    """Check every law that applies to an estimator, on rows and labels drawn for it.

    The laws of cuts, saving, reading, absent values and late classes are tried on streams
    that hypothesis draws and, where one breaks, makes as small as it can; the others on one longer
    stream, in which labels can be learnt.

    Parameters
    ----------
    estimator : estimator
        Of scikit-learn's kind (``partial_fit``) or river's (``learn_one``), with a ``random_state``
        or ``seed`` that is an int where it has one. Clones of it learn; itself it stays as it is.
    skip : dict of str -> str, optional
        Laws that the estimator does not promise, each with the reason, which is reported.
    example_targets : callable, optional
        From labels (0, 1 and 2) and rows, both arrays, to targets, for estimators that learn
        others than one label or number a row.
    max_examples : int, default=10
        How many streams are drawn for each of the laws tried on such.
    rtol : float, default=0
        How far readings may differ where the law asks for the same bits: for estimators that sum
        in another order. The laws that hold up to rounding are tried with 1e-5 at least.

    Returns
    -------
    LawReport
        By the name of each law: "holds", or why it was not checked.

    Raises
    ------
    LawError
        When a law is broken; the message ends with a program that shows it again.

    Examples
    --------
    >>> from streamchi2 import StreamingPCA
    >>> print(check_all(StreamingPCA(2)))
    cut          holds
    merge        holds
    threads      not checked: the estimator has no n_jobs
    absent = 0   not checked: the estimator takes no sparse rows
    late classes not checked: the estimator is no classifier
    weights      holds
    no dip       not checked: the estimator predicts no target
    any order    not checked: it does not forget by itself
    no trace     holds
    save         holds
    pure reads   holds
    """
    for name in ("random_state", "seed"):
        if not isinstance(seed := getattr(estimator, name, 0), int | np.integer):
            raise ValueError(f"{name} must be an int for clones to draw the same, got {seed!r}")
    skip = dict(skip or {})
    if unknown := sorted(set(skip) - set(LAWS)):
        raise ValueError(f"skip must name laws among {list(LAWS)}, got {unknown}")
    subject = _Subject(estimator, example_targets, rtol, max_examples)
    report = LawReport()
    for law in LAWS:
        why = skip.get(law, reasons(subject.front, estimator).get(law))
        report[law] = "holds" if why is None else f"not checked: {why}"
        if why is None:
            subject.try_law(law)
    return report


class _Subject:
    """An estimator, and how it is given streams of rows and labels."""

    def __init__(
        self, estimator: Any, example_targets: Any, rtol: float, max_examples: int
    ) -> None:
        self.estimator = estimator
        self.front = front_end_of(estimator)
        self.example_targets = example_targets or self._usual_targets
        self.rtol = rtol
        self.max_examples = max_examples

    def _usual_targets(self, labels: Any, rows: Any) -> Any:
        usual = {"labels": labels, "numbers": labels + rows[:, 0]}
        return usual.get(self.front.predicts(self.estimator))

    def check(self, law: str, rows: Any, labels: Any, **more: Any) -> None:
        """Check one law on one stream."""
        rtol = max(self.rtol, inspect.signature(LAWS[law]).parameters["rtol"].default)
        LAWS[law](self.estimator, rows, self.example_targets(labels, rows), rtol=rtol, **more)

    def try_law(self, law: str) -> None:
        """Check one law on what it needs: bad calls, a long stream or streams that are drawn."""
        if law == "no trace":
            self.check_bad_calls()
        elif law in _LONG:
            self.check_long(law)
        else:

            def check(data: st.DataObject) -> None:
                self.check_drawn(law, data)

            settings(_SETTINGS, max_examples=self.max_examples)(given(st.data())(check))()

    def check_long(self, law: str) -> None:
        """Check one law on a longer stream, in which labels can be learnt."""
        n_features = getattr(self.estimator, "n_components", None)
        # Twice as many rows as features are learnt where that is affordable: n = D is in between.
        wanted = 3 * n_features if law == "no dip" and isinstance(n_features, int) else 0
        rows, labels = _stream(min(max(_LONG[law], wanted), 3600))
        more: dict[str, Any] = {"cuts": [70, 75]} if law == "merge" else {}
        if law == "weights" and not (self.front.is_river or forgets(self.estimator)):
            more = {"counts": np.arange(len(labels)) % 4}
        self.check(law, rows, labels, **more)

    def check_drawn(self, law: str, data: st.DataObject) -> None:
        """Check one law on a stream that is drawn."""
        rows, labels = data.draw(labelled_streams())
        if "cuts" in inspect.signature(LAWS[law]).parameters:
            self.check(law, rows, labels, cuts=data.draw(cuttings(len(rows))))
        else:
            self.check(law, rows, labels)

    def check_bad_calls(self) -> None:
        """Check that bad calls are refused, of a fitted estimator and of one that is not."""
        rows, labels = _stream(40)
        for bad in self.bad_calls(rows[:2], labels[:2]):
            self.check("no trace", rows, labels, arguments=bad)
            if np.shape(bad.get("X", ()))[1:] in ((), rows.shape[1:]):  # first rows have any width
                self.check("no trace", rows, labels, arguments=bad, fitted=False)

    def bad_calls(self, rows: Any, labels: Any) -> Iterator[dict[str, Any]]:
        """Yield arguments that must be refused by whoever learns."""
        targets = self.example_targets(labels, rows)
        target = {} if targets is None else {"y": self.front.targets(targets)}
        if self.front.is_river:
            target = {name: it[0] for name, it in target.items()}
            yield from ({"x": {"x0": 1.0, "x1": bad}, **target} for bad in ("one", None))
            return
        for bad in (np.inf * rows, rows[:0], rows[0], rows[:, :, None], None, rows[:, 1:]):
            yield {"X": bad, **target}
        for n_targets in (1, 3) if target else ():
            yield {"X": rows, "y": np.resize(target["y"], n_targets)}
        for weights in (np.ones(1), np.ones(3), ["heavy", "light"]):
            if self.front.accepts(self.estimator, "sample_weight"):
                yield {"X": rows, **target, "sample_weight": weights}


def _stream(n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows of three classes that overlap, and their labels."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, n_rows)
    labels[:3] = np.arange(3)
    shapes = random.uniform(0.5, 3.0, (3, 6))
    rows = random.standard_gamma(shapes[labels])
    return rows / rows.sum(axis=1, keepdims=True), labels


_seeds = st.integers(0, 2**32 - 1)


@st.composite
def realistic_rows(
    draw: st.DrawFn, max_rows: int = 100, max_columns: int = 8, *, min_rows: int = 1
) -> NDArray[np.float64]:
    """Return rows as they come from data: L1-normalised, counts, or mostly zero.

    Only a seed and a few choices are drawn, so that long streams stay cheap and shrink well. There
    is one zero at least, as the law of absent values needs.
    """
    shape = draw(st.integers(min_rows, max_rows)), draw(st.integers(2, max_columns))
    random = np.random.default_rng(draw(_seeds))
    kind = draw(st.sampled_from(["shares", "counts", "sparse shares"]))
    if kind == "counts":
        rows = random.poisson(3.0, shape).astype(np.float64)
    else:
        rows = random.dirichlet(np.full(shape[1], 0.7), size=shape[0])
    if kind == "sparse shares":
        rows[random.random(rows.shape) < 0.6] = 0.0
    rows[0, 0] = 0.0
    return rows


@st.composite
def labelled_streams(
    draw: st.DrawFn, max_rows: int = 100, max_columns: int = 8
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return realistic rows and a label for each, 0, 1 or 2; two rows and labels at least."""
    rows = draw(realistic_rows(max_rows, max_columns, min_rows=2))
    labels = np.random.default_rng(draw(_seeds)).integers(0, 3, rows.shape[0])
    labels[:2] = 0, 1
    return rows, labels


def cuttings(n_rows: int) -> st.SearchStrategy[list[int]]:
    """Return positions at which ``n_rows`` rows, two at least, are cut: one to all of them."""
    some = st.sets(st.integers(1, n_rows - 1), min_size=1, max_size=8).map(sorted)
    return some | st.just(list(range(1, n_rows)))
