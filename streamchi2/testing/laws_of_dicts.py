"""The law of absent values for estimators that learn dicts, one at a time, as river's do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamchi2.testing.evidence import broken

_READERS = ("transform_one", "predict_proba_one", "predict_one")
Stream = Sequence[dict[str, float]]


def check_absent_keys(estimator: Any, rows: Stream, targets: Sequence[Any] | None = None) -> None:
    """Check that a missing key, a key whose value is zero and the order of keys are one input.

    Parameters
    ----------
    estimator : estimator of river's kind
        With ``clone``, ``learn_one`` and one of ``transform_one``, ``predict_proba_one`` and
        ``predict_one``; it must draw the same in every clone, so with a seed.
    rows : sequence of dict
        The stream, such as :func:`dict_streams` gives.
    targets : sequence, optional
        One per row, for those that learn them.

    Examples
    --------
    >>> from streamchi2.river import ExpChi2Sampler
    >>> check_absent_keys(ExpChi2Sampler(8, seed=0), [{"red": 1.0, "green": 0.0}, {"blue": 2.0}])
    """
    names = sorted({name for row in rows for name in row})
    forms = {
        "absent": [{name: value for name, value in row.items() if value} for row in rows],
        "written out": [{name: row.get(name, 0.0) for name in names} for row in rows],
        "in another order": [dict(reversed(row.items())) for row in rows],
    }
    expected = _readings(_learnt(estimator, rows, targets), rows)
    for form, others in forms.items():
        for place, (wanted, found) in enumerate(
            zip(expected, _readings(_learnt(estimator, others, targets), others), strict=True)
        ):
            if wanted != found:
                raise broken(
                    "absent = 0", estimator, f"row {place} of {list(rows)} with zeros {form}"
                )


def _learnt(estimator: Any, rows: Stream, targets: Sequence[Any] | None) -> Any:
    learner = estimator.clone()
    for place, row in enumerate(rows):
        learner.learn_one(row, *(() if targets is None else (targets[place],)))
    return learner


def _readings(estimator: Any, rows: Stream) -> list[list[Any]]:
    readers = [getattr(estimator, name) for name in _READERS if hasattr(estimator, name)]
    return [[read(row) for read in readers] for row in rows]
