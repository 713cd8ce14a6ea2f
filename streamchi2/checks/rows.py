"""Validation of X and sample_weight: shape, dtype, finite, non-negative, dense or CSR.

Every refusal names the argument, the rule, the value found and where it stands, and happens
before anything has changed. What comes out is what the rest of the library may rely on:

* dense rows are two-dimensional float32 or float64 arrays (other numbers become float64), row by
  row in memory: the order in which numpy adds depends on the layout, and so does rounding;
* sparse rows are canonical ``csr_array``: sorted columns, no duplicates, no stored zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

Array: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64
Rows: TypeAlias = Floats | sparse.csr_array
Indices: TypeAlias = NDArray[np.intp]

_LARGEST = float(np.finfo(np.float64).max)
_ROW_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_MAX_WEIGHT = 1e140  # squares, times the growth of an epoch, summed: still finite
_MIN_WEIGHT = 1e-150  # whose square is a normal float64: sums of weights may be divided by


@dataclass(frozen=True, eq=False)
class Table:
    """Dense rows and their column names, for readers of tables: a DataFrame without pandas.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        Numbers.
    columns : ndarray of str, shape (d,)
        With dtype object, as scikit-learn keeps names.

    Examples
    --------
    >>> table = Table(np.eye(3), np.array(["red", "green", "blue"], dtype=object))
    >>> table[:2].shape
    (2, 3)
    """

    rows: NDArray[Any]
    columns: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        return self.rows.shape

    def __getitem__(self, chosen: slice) -> Self:
        return type(self)(self.rows[chosen], self.columns)

    def check_same_columns(self, estimator: Any) -> None:
        """Refuse rows of another width than the estimator's, or of other names if it has some."""
        width, names = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
        if self.shape[1] != width:
            raise ValueError(f"X must have {width} columns, got {self.shape[1]}")
        if names is not None and not np.array_equal(names, self.columns):
            index = int(np.argmax(names != self.columns))
            raise ValueError(
                "X must have the column names it had at first, in that order: "
                f"got {self.columns[index]!r} for {names[index]!r} in column {index}"
            )


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
    return _as_floats(X, name=name)


def as_values(X: ArrayLike | Rows, *, name: str = "X") -> Rows:
    """Like :func:`as_rows`, but a flat sequence of values counts as one row."""
    if isinstance(X, list | tuple | np.ndarray) and np.ndim(X) == 1:
        X = np.asanyarray(X)[None, :]
    return _as_floats(X, name=name)


def as_features(X: ArrayLike, *, name: str = "X", estimator: Any = None) -> Floats:
    """Return ``X`` as dense finite features of any sign, shape (n, d).

    >>> as_features([[1, -2]])
    array([[ 1., -2.]])
    """
    if sparse.issparse(X):
        raise TypeError(
            f"Sparse data was passed: {name} must be dense, got a sparse matrix; use toarray()"
        )
    features = _as_floats(X, name=name, estimator=estimator, signed=True)
    assert isinstance(features, np.ndarray)
    return features


def as_estimator_rows(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Return ``X`` as non-negative rows with the width and names that ``estimator`` knows.

    With ``reset=True`` nothing is checked against earlier batches.
    """
    return _as_floats(_with_known_columns(estimator, X, reset), name="X", estimator=estimator)


def as_estimator_features(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return ``X`` as dense finite features of any sign; columns are checked as above."""
    return as_features(_with_known_columns(estimator, X, reset), estimator=estimator)


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


def as_weights(
    sample_weight: ArrayLike | None, n_rows: int, *, name: str = "sample_weight"
) -> Array | None:
    """Return one float64 weight per row, 0 or in [1e-150, 1e140], or None where all weigh one.

    >>> as_weights([1, 2], 3)
    Traceback (most recent call last):
        ...
    ValueError: sample_weight must hold one weight per row: got shape (2,) for 3 rows
    """
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, name=name)
    weights = as_float64(np.asarray(sample_weight), name=name)
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"{name} must hold one weight per row: got shape {weights.shape} for {n_rows} rows"
        )
    for allowed, rule in (
        ((weights >= 0.0) & np.isfinite(weights), "finite and non-negative"),
        (weights <= _MAX_WEIGHT, f"at most {_MAX_WEIGHT}"),
        (
            (weights == 0.0) | (weights >= _MIN_WEIGHT),
            f"0 or at least {_MIN_WEIGHT}, since smaller weights vanish in sums (multiply all by "
            "one number, or use 0)",
        ),
    ):
        if not allowed.all():
            row = int(np.argmin(allowed))
            raise ValueError(f"{name} must be {rule}, got {weights[row]} at row {row}")
    return weights


def refuse_masked(values: Any, *, name: str) -> None:
    """Refuse masked arrays: what is masked would be learnt as if it were not.

    >>> refuse_masked(np.ma.array([1, 2], mask=[0, 1]), name="y")
    Traceback (most recent call last):
        ...
    TypeError: y must be a plain array, got a masked one; leave out rows, or use filled()
    """
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise TypeError(
            f"{name} must be a plain array, got a masked one; leave out rows, or use filled()"
        )


def as_float64(values: NDArray[Any], *, name: str) -> Array:
    """Return numbers of any type, objects included, as float64 in one layout.

    >>> as_float64(np.array([1, "2"], dtype=object), name="y")
    Traceback (most recent call last):
        ...
    TypeError: y must hold numbers, got '2' at row 1; an argument must be neither a string nor \
    anything else that is not a number
    """
    if values.dtype.kind == "O":
        for index, value in np.ndenumerate(values):
            # numpy calls a timedelta64 an integer
            if not isinstance(value, Real) or isinstance(value, np.timedelta64):
                raise TypeError(
                    f"{name} must hold numbers, got {value!r} at {_place(index)}; an argument must "
                    "be neither a string nor anything else that is not a number"
                )
            if isinstance(value, int) and abs(value) > _LARGEST:
                raise ValueError(
                    f"{name} must be finite, got an integer beyond {_LARGEST:.1e} at "
                    f"{_place(index)}"
                )
    elif values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got dtype {values.dtype}")
    return values.astype(np.float64, order="C")


def _with_known_columns(estimator: Any, X: Any, reset: bool) -> Any:
    """Return what holds the values, once width and names are found to be the known ones.

    That comes first: "you gave 8 columns" helps more than "NaN in the ninth".
    """
    if isinstance(X, Table):
        if not reset:
            X.check_same_columns(estimator)
        return X.rows
    width = X.shape[1] if _is_plain(X) and not hasattr(estimator, "feature_names_in_") else None
    if not reset and width != getattr(estimator, "n_features_in_", -1):
        checked = X if hasattr(X, "shape") else np.asarray(X)
        if len(np.shape(checked)) == 2:
            validate_data(estimator, checked, reset=False, skip_check_array=True)
    return X


def _is_plain(X: Any) -> bool:
    """Tell whether scikit-learn's checks, 0.1 ms a call, would return ``X`` as it is."""
    return type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype in _ROW_DTYPES


def _as_floats(X: Any, *, name: str, estimator: Any = None, signed: bool = False) -> Rows:
    if not _is_plain(X):
        refuse_masked(X, name=name)
        _refuse_times(X, name=name)
        X = check_array(
            X,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=None,
            ensure_all_finite=False,
            input_name=name,
            estimator=estimator,
        )
    if sparse.issparse(X):
        rows: Rows = _tidy_rows(X, name)
    else:
        dense = X if X.dtype in _ROW_DTYPES else as_float64(X, name=name)
        rows = np.require(dense, requirements=["C_CONTIGUOUS", "ALIGNED"])
    _refuse_values(rows, name=name, signed=signed)
    return rows


def _tidy_rows(X: Any, name: str) -> sparse.csr_array:
    if X.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got dtype {X.dtype}")
    rows = sparse.csr_array(X, dtype=X.dtype if X.dtype in _ROW_DTYPES else np.float64)
    if not (rows.has_canonical_format and rows.data.flags.c_contiguous and rows.data.all()):
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


def _refuse_values(rows: Rows, *, name: str, signed: bool) -> None:
    values = rows.data if isinstance(rows, sparse.csr_array) else rows
    if values.size == 0:  # sparse rows without a single non-zero
        return
    # NaN propagates through min and max, so two fast passes see every kind of bad value.
    low, high = values.min(), values.max()
    if (low >= 0.0 or (signed and low > -np.inf)) and high < np.inf:
        return
    allowed = np.isfinite(values) if signed else (values >= 0.0) & np.isfinite(values)
    index = int(np.argmin(allowed))
    value = values.flat[index]
    where = f"got {value} at {_place(place_of(rows, index))}"
    if np.isnan(value):
        raise ValueError(f"{name} must not contain NaN, {where.replace('nan', 'NaN')}")
    if np.isinf(value):
        raise ValueError(f"{name} must be finite (no inf), {where}")
    raise ValueError(f"Negative values in data: {name} must be non-negative, {where}")


def _place(index: tuple[int, ...]) -> str:
    return ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), index, strict=False))


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
