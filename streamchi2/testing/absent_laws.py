"""Law "absent = 0": what a sparse row or a dict leaves out equals a zero."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from streamchi2.testing.comparison import broken, compare, difference, readings
from streamchi2.testing.front_ends import ArrayFrontEnd, DictFrontEnd, written_out
from streamchi2.testing.reproduction import reproduction

Stream = Sequence[dict[str, float]]


def check_absent_is_zero(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    classes: Any = None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> None:
    """Check that what a sparse row does not store equals a zero, stored or dense.

    Parameters
    ----------
    estimator : estimator
        One that learns sparse rows too.
    rows, targets : array
        Dense rows with a zero among them: without one there is nothing to see, which is refused.
    classes : array-like, optional
        For classifiers that must be told at the first call.
    rtol, atol : float
        How far readings may differ: sparse sums are taken in another order.
    """
    front = ArrayFrontEnd()
    rows, targets = front.stream(rows, targets)
    if sparse.issparse(rows):
        rows = rows.toarray()
    if rows.all():
        raise ValueError("rows must hold a zero for the law 'absent = 0' to be seen, got none")
    code = partial(
        reproduction,
        "check_absent_is_zero", estimator, rows=rows, targets=targets, classes=classes,
        rtol=rtol, atol=atol,
    )  # fmt: skip
    dense = front.learn(front.fresh(estimator), rows, targets, classes=classes)
    n_rows, n_columns = rows.shape
    everywhere = (np.tile(np.arange(n_columns), n_rows), np.arange(n_rows + 1) * n_columns)
    forms = {
        "absent": sparse.csr_array(rows),
        "stored": sparse.csr_array((np.ravel(rows), *everywhere), shape=rows.shape),
    }
    words: dict[str, Any] = {"code": code, "rtol": rtol, "atol": atol}
    for name, form in forms.items():
        found = front.learn(front.fresh(estimator), form, targets, classes=classes)
        compare("absent = 0", dense, found, rows, case=f"when zeros learnt are {name}", **words)
        for method, wanted in readings(dense, rows).items():
            where = difference(wanted, readings(dense, form)[method], rtol, atol)
            if where is not None and method != "predict":  # scores are, and labels may tie
                what = f"{method} differs {where} when zeros read are {name}"
                raise broken("absent = 0", estimator, what, code)


def check_absent_keys(estimator: Any, rows: Stream, targets: Sequence[Any] | None = None) -> None:
    """Check that a missing key, a key whose value is zero and the order of keys are one input.

    Parameters
    ----------
    estimator : estimator of river's kind
        With ``clone``, ``learn_one`` and one of ``transform_one``, ``predict_proba_one`` and
        ``predict_one``; it must draw the same in every clone, so with a seed.
    rows : sequence of dict
        The stream, such as :func:`dict_streams` gives. With the same keys and no zero in all rows
        there is nothing to see, which is refused.
    targets : sequence, optional
        One per row, for those that learn them.

    Examples
    --------
    >>> from streamchi2.river import ExpChi2Sampler
    >>> check_absent_keys(ExpChi2Sampler(8, seed=0), [{"red": 1.0, "green": 0.0}, {"blue": 2.0}])
    """
    front = DictFrontEnd()
    rows, targets = front.stream(rows, targets)
    forms = {
        "absent": [{name: value for name, value in row.items() if value} for row in rows],
        "written out": written_out(rows),
        "in another order": [dict(reversed(row.items())) for row in rows],
    }
    if forms["absent"] == forms["written out"]:
        raise ValueError(
            "rows must have a zero or a key that some of them lack for the law 'absent = 0' to be "
            f"seen, got {len(rows)} rows with the keys {list(rows[0])} and no zero"
        )
    expected = readings(front.learn(front.fresh(estimator), rows, targets), rows)
    code = partial(reproduction, "check_absent_keys", estimator, rows=rows, targets=targets)
    for form, others in forms.items():
        found = readings(front.learn(front.fresh(estimator), others, targets), others)
        for name, wanted in expected.items():
            where = difference(wanted, found[name])
            if where is not None:
                what = f"{name} differs {where} with zeros {form}"
                raise broken("absent = 0", estimator, what, code)
