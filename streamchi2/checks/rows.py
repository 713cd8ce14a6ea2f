"""Validation of X and sample_weight: shape, dtype, finite, non-negative, dense or CSR.

Every refusal names the argument, the rule, the value found and where it stands, and happens
before anything has changed. What comes out is what the rest of the library may rely on:

* dense rows are two-dimensional float32 or float64 arrays (other numbers become float64), row by
  row in memory: the order in which numpy adds depends on the layout, and so does rounding;
* sparse rows are canonical ``csr_array``: sorted columns, no duplicates, no stored zeros.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from streamchi2.checks.table import Table

Floats: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64
Rows: TypeAlias = Floats | sparse.csr_array

_NUMBER_KINDS = "biuf"
_ROW_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_MAX_WEIGHT = 1e140  # squares, times the growth of an epoch, summed: still finite
_MIN_WEIGHT = 1e-150  # whose square is a normal float64: sums of weights may be divided by


def as_rows(X: ArrayLike | Rows, *, name: str = "X") -> Rows:
    """Return ``X`` as non-negative finite rows, shape (n, d), with n and d at least 1.

    >>> as_rows([[1, 2], [0, 3]])
    array([[1., 2.],
           [0., 3.]])
    >>> as_rows([[1.0, 2.0], [0.5, -3.0]])
    Traceback (most recent call last):
        ...
    ValueError: Negative values in data: X must be non-negative, got -3.0 at row 1, column 1
    """
    rows = _as_floats(X, name=name, object_numbers=False)
    _refuse_values(rows, name=name, negative=False)
    return rows


def as_values(X: ArrayLike | Rows, *, name: str = "X") -> Rows:
    """Like :func:`as_rows`, but a flat sequence of values counts as one row."""
    refuse_masked(X, name=name)
    if not sparse.issparse(X) and np.ndim(X) == 1:
        X = np.asarray(X)[None, :]
    return as_rows(X, name=name)


def as_estimator_rows(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Return ``X`` as non-negative rows with the width and names that ``estimator`` knows.

    As everywhere in scikit-learn, object arrays that hold nothing but numbers are welcome.
    With ``reset=True`` nothing is checked against earlier batches.
    """
    return _estimator_floats(estimator, X, reset=reset, negative=False, accept_sparse=True)


class _Recorder(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Lets scikit-learn find out which columns a batch has."""


def columns_of(X: Any) -> tuple[int, NDArray[Any] | None]:
    """Return the number of columns of a batch, and their names if scikit-learn sees any."""
    if isinstance(X, Table):
        return int(X.shape[1]), X.columns
    recorder = _Recorder()
    validate_data(recorder, X if hasattr(X, "shape") else np.asarray(X), skip_check_array=True)
    return int(recorder.n_features_in_), getattr(recorder, "feature_names_in_", None)


def check_named_alike(rows: Any, X: Any, *, name: str) -> None:
    """Refuse rows whose columns have other names, or another order, than those of ``X``."""
    names, expected = (getattr(frame, "columns", None) for frame in (rows, X))
    if names is not None and expected is not None and list(names) != list(expected):
        raise ValueError(
            f"{name} must have the columns of X in their order, got {list(names)[:5]} and "
            f"{list(expected)[:5]}"
        )


def as_estimator_features(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return ``X`` as dense finite features of any sign; columns are checked as above."""
    features = _estimator_floats(estimator, X, reset=reset, negative=True, accept_sparse=False)
    assert isinstance(features, np.ndarray)
    return features


def as_features(X: ArrayLike, *, name: str = "X") -> Floats:
    """Return ``X`` as dense finite features of any sign, shape (n, d).

    >>> as_features([[1, -2]])
    array([[ 1., -2.]])
    """
    if sparse.issparse(X):
        raise TypeError(f"{name} must be dense, got a sparse matrix; use toarray()")
    features = _as_floats(X, name=name, object_numbers=True)
    _refuse_values(features, name=name, negative=True)
    assert isinstance(features, np.ndarray)
    return features


def as_weights(
    sample_weight: ArrayLike | None, n_rows: int, *, name: str = "sample_weight"
) -> NDArray[np.float64] | None:
    """Return one float64 weight per row, 0 or in [1e-150, 1e140], or None where all weigh one.

    >>> as_weights([1, 2], 3)
    Traceback (most recent call last):
        ...
    ValueError: sample_weight must hold one weight per row: got shape (2,) for 3 rows
    """
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, name=name)
    given = np.asarray(sample_weight)
    if given.dtype.kind == "O":
        _refuse_long_integers(given, name=name)
    if given.dtype.kind not in _NUMBER_KINDS:
        raise TypeError(f"{name} must hold numbers, got dtype {given.dtype}")
    if given.ndim == 0:
        given = np.full(n_rows, given)
    if given.shape != (n_rows,):
        raise ValueError(
            f"{name} must hold one weight per row: got shape {given.shape} for {n_rows} rows"
        )
    weights = given.astype(np.float64)
    wrong = np.flatnonzero(~(weights >= 0.0) | np.isinf(weights))
    if wrong.size:
        raise ValueError(
            f"{name} must be finite and non-negative, got {weights[wrong[0]]} at row {wrong[0]}"
        )
    if weights.max(initial=0.0) > _MAX_WEIGHT:
        row = int(weights.argmax())
        raise ValueError(f"{name} must be at most {_MAX_WEIGHT}, got {weights[row]} at row {row}")
    tiny = np.flatnonzero((weights > 0.0) & (weights < _MIN_WEIGHT))
    if tiny.size:
        raise ValueError(
            f"{name} must be 0 or at least {_MIN_WEIGHT}, since smaller weights vanish in sums, "
            f"got {weights[tiny[0]]} at row {tiny[0]}; multiply all weights by one number, or use 0"
        )
    return weights


def refuse_masked(values: Any, *, name: str) -> None:
    """Refuse masked arrays: what is masked would be learnt as if it were not.

    >>> refuse_masked(np.ma.array([1, 2], mask=[0, 1]), name="y")
    Traceback (most recent call last):
        ...
    TypeError: y must be a plain array, got a masked one with 1 masked value; leave out the rows, \
    or use filled()
    """
    where = ""
    if isinstance(values, list | tuple):  # numpy reads what is below the masks
        row, values = next(
            ((row, part) for row, part in enumerate(values) if isinstance(part, np.ma.MaskedArray)),
            (0, None),
        )
        where = f" at row {row}"
    if isinstance(values, np.ma.MaskedArray):
        n_masked = int(np.ma.getmaskarray(values).sum())
        raise TypeError(
            f"{name} must be a plain array, got a masked one with {n_masked} masked "
            f"value{'' if n_masked == 1 else 's'}{where}; leave out the rows, or use filled()"
        )


def _refuse_long_integers(given: NDArray[Any], *, name: str) -> None:
    largest = float(np.finfo(np.float64).max)
    for row, value in enumerate(given.flat):
        if isinstance(value, int) and abs(value) > largest:
            raise ValueError(
                f"{name} must be finite, got an integer beyond {largest:.1e} at row {row}"
            )


def _estimator_floats(
    estimator: Any, X: Any, *, reset: bool, negative: bool, accept_sparse: bool
) -> Rows:
    if not accept_sparse and sparse.issparse(X):
        raise TypeError(
            f"Sparse data was passed to {type(estimator).__name__}, which needs dense features; "
            "use X.toarray()"
        )
    if isinstance(X, Table):
        if not reset:
            X.check_same_columns(estimator)
        rows: Rows = _as_floats(X.rows, name="X", object_numbers=False, estimator=estimator)
    elif _is_plain(X) and (reset or _has_known_shape(estimator, X)):
        rows = _in_one_layout(X)
    else:
        if not reset:
            # Width and names first: "you gave 8 columns" helps more than "NaN in the ninth".
            checked = X if hasattr(X, "shape") else np.asarray(X)
            if len(np.shape(checked)) == 2:
                validate_data(estimator, checked, reset=False, skip_check_array=True)
        rows = _as_floats(X, name="X", object_numbers=True, estimator=estimator)
    _refuse_values(rows, name="X", negative=negative)
    return rows


def _is_plain(X: Any) -> bool:
    """Tell whether scikit-learn's checks, 0.1 ms a call, would return ``X`` as it is."""
    return type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype in _ROW_DTYPES


def _has_known_shape(estimator: Any, X: NDArray[Any]) -> bool:
    width = getattr(estimator, "n_features_in_", None)
    return width == X.shape[1] and not hasattr(estimator, "feature_names_in_")


def _in_one_layout(rows: NDArray[Any]) -> NDArray[Any]:
    return np.require(rows, requirements=["C_CONTIGUOUS", "ALIGNED"])


def _as_floats(X: Any, *, name: str, object_numbers: bool, estimator: Any = None) -> Rows:
    refuse_masked(X, name=name)
    _refuse_times(X, name=name)
    found = check_array(
        X,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=None,
        ensure_all_finite=False,
        input_name=name,
        estimator=estimator,
    )
    if found.dtype.kind == "O" and object_numbers and not sparse.issparse(found):
        found = _numbers_of_objects(found, name=name)
    if found.dtype.kind not in _NUMBER_KINDS:
        raise TypeError(f"{name} must hold numbers, got dtype {found.dtype}")
    dtype = found.dtype if found.dtype in (np.float32, np.float64) else np.float64
    if not sparse.issparse(found):
        return _in_one_layout(np.asarray(found, dtype=dtype))
    rows = sparse.csr_array(found, dtype=dtype)
    tidy = rows.has_canonical_format and rows.data.flags.c_contiguous and rows.data.all()
    if not tidy:
        rows = rows.copy()  # the caller's matrix is not ours to tidy
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def _refuse_times(X: Any, *, name: str) -> None:
    """Refuse the dates and durations of a pandas frame by column."""
    dtypes = getattr(X, "dtypes", ())
    for column, dtype in zip(getattr(X, "columns", ()), dtypes, strict=False):
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise TypeError(
                f"{name} must hold numbers, got {dtype} in column {column!r}; leave the column "
                "out, or turn it into a number"
            )


def _numbers_of_objects(found: NDArray[Any], *, name: str) -> NDArray[np.float64]:
    numbers = np.empty(found.shape)
    for (row, column), value in np.ndenumerate(found):
        # numpy calls a timedelta64 an integer
        if not isinstance(value, Real) or isinstance(value, np.timedelta64):
            raise TypeError(
                f"{name} must hold numbers, got {value!r} at row {row}, column {column}: "
                "an argument must be neither a string nor anything else that is not a number"
            )
        try:
            numbers[row, column] = value
        except OverflowError:
            raise ValueError(
                f"{name} must be finite, got an integer beyond {np.finfo(np.float64).max:.1e} at "
                f"row {row}, column {column}"
            ) from None
    return numbers


def _refuse_values(rows: Rows, *, name: str, negative: bool) -> None:
    values = rows.data if isinstance(rows, sparse.csr_array) else rows
    if values.size == 0:  # sparse rows without a single non-zero
        return
    # NaN propagates through min and max, so two fast passes see every kind of bad value.
    low, high = values.min(), values.max()
    if (low >= 0.0 or (negative and low > -np.inf)) and high < np.inf:
        return
    allowed = np.isfinite(values) if negative else (values >= 0.0) & np.isfinite(values)
    row, column, value = _first_outside(rows, allowed)
    where = f"got {value} at row {row}, column {column}"
    if np.isnan(value):
        raise ValueError(f"{name} must not contain NaN, {where.replace('nan', 'NaN')}")
    if np.isinf(value):
        raise ValueError(f"{name} must be finite (no inf), {where}")
    raise ValueError(f"Negative values in data: {name} must be non-negative, {where}")


def _first_outside(rows: Rows, allowed: NDArray[np.bool_]) -> tuple[int, int, float]:
    first = int(np.argmin(allowed))
    values = rows.data if isinstance(rows, sparse.csr_array) else rows
    return *place_of(rows, first), float(values.flat[first])


def place_of(rows: Rows, index: int) -> tuple[int, int]:
    """Return row and column of a value, counted row by row (of sparse rows, among those stored).

    >>> place_of(np.zeros((2, 3)), 4)
    (1, 1)
    """
    if isinstance(rows, sparse.csr_array):
        row = int(np.searchsorted(rows.indptr, index, side="right")) - 1
        return row, int(rows.indices[index])
    row, column = divmod(index, rows.shape[1])
    return row, column
