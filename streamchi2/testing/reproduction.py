"""Estimators, rows, labels and cuts as code that can be pasted into a Python prompt."""

from __future__ import annotations

import base64
import importlib
import inspect
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Beyond these numbers of values an array is packed, then left to the one who passed it.
LITERAL_VALUES = 1000
PACKED_VALUES = 50_000

_IN_VARIABLES = ("rows", "targets", "shards", "weights")


def reproduction(check: str, estimator: Any, **arguments: Any) -> str:
    """Return a program that runs a check again; arguments that are None are left out.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> print(reproduction("check_cut", GaussianNB(), rows=np.eye(2), targets=["a", "b"], cuts=[1]))
    import numpy as np
    from sklearn.naive_bayes import GaussianNB
    from streamchi2.testing import check_cut
    <BLANKLINE>
    estimator = GaussianNB()
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    targets = ['a', 'b']
    check_cut(estimator, rows, targets, cuts=[1])
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    variables = {name: given.pop(name) for name in _IN_VARIABLES if name in given}
    lines = [f"estimator = {constructor(estimator)}"]
    lines += [f"{name} = {literal(value)}" for name, value in variables.items()]
    places = [name for name in variables if name != "weights"]
    words = [f"{name}={literal(value)}" for name, value in given.items()]
    words += ["weights=weights"] if "weights" in variables else []
    lines.append(f"{check}({', '.join(['estimator', *places, *words])})")
    return with_imports(lines, estimator, check)


def with_imports(lines: list[str], estimator: Any, *checks: str) -> str:
    """Return lines of code with the imports that they need above them."""
    text = "\n".join(lines)
    heads = [f"import {name}" for name in ("base64", "zlib") if f"{name}." in text]
    heads += ["import numpy as np"] if "np." in text else []
    heads += ["from scipy import sparse"] if "sparse." in text else []
    heads += sorted({_import_of(kind) for kind in _kinds(estimator)})
    heads += [f"from streamchi2.testing import {', '.join(checks)}"] if checks else []
    return "\n".join([*heads, "", text])


def constructor(estimator: Any) -> str:
    """Return the call that makes an estimator, with what differs from the defaults.

    Examples
    --------
    >>> from streamchi2 import ExpChi2Sampler
    >>> constructor(ExpChi2Sampler(8, random_state=0))
    'ExpChi2Sampler(n_components=8, random_state=0)'
    """
    kind = type(estimator)
    words = [
        f"{name}={literal(getattr(estimator, name))}"
        for name, parameter in inspect.signature(kind).parameters.items()
        if hasattr(estimator, name) and not _same(getattr(estimator, name), parameter.default)
    ]
    return f"{kind.__name__}({', '.join(words)})"


def literal(value: Any) -> str:  # noqa: PLR0911  # one for each type
    """Return a value as Python source.

    Examples
    --------
    >>> print(literal({"x": np.float32(0.5), "y": [np.nan, np.array([1, 2])]}))
    {'x': 0.5, 'y': [np.nan, np.array([1, 2])]}
    """
    if sparse.issparse(value):
        return f"sparse.csr_array({literal(value.toarray())})"
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else f"{'-' if value < 0 else ''}np.inf"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{literal(key)}: {literal(of)}' for key, of in value.items())}}}"
    if _has_parameters(value):
        return constructor(value)
    return repr(value)


def _array(values: NDArray[Any]) -> str:
    if values.size > PACKED_VALUES:
        shape = " x ".join(map(str, values.shape))
        return f"...  # {shape} values, too many to print: those that the check was given"
    if values.size > LITERAL_VALUES and values.dtype.kind in "fiub":
        packed = base64.b85encode(zlib.compress(np.ascontiguousarray(values).tobytes())).decode()
        data = f"zlib.decompress(base64.b85decode({packed!r}))"
        return f"np.frombuffer({data}, dtype={values.dtype.str!r}).reshape({values.shape}).copy()"
    if values.size == 0:
        return f"np.empty({values.shape}, dtype={values.dtype.str!r})"
    text = literal(values.tolist())
    usual = np.asarray(values.tolist()).dtype == values.dtype
    return f"np.array({text})" if usual else f"np.array({text}, dtype={values.dtype.str!r})"


def _kinds(estimator: Any) -> set[type]:
    """Return the class of an estimator, and of those among its parameters."""
    parameters = inspect.signature(type(estimator)).parameters
    inner = [getattr(estimator, name, None) for name in parameters]
    others = [_kinds(value) for value in inner if _has_parameters(value)]
    return {type(estimator)}.union(*others)


def _has_parameters(value: Any) -> bool:
    own = hasattr(value, "get_params") or hasattr(value, "clone")
    return own and not isinstance(value, type)


def _import_of(kind: type) -> str:
    """Return the shortest import that gives a class."""
    if "<locals>" in kind.__qualname__ or kind.__module__ == "__main__":
        return f"# {kind.__name__} is a class of your own: define it here"
    parts = kind.__module__.split(".")
    for length in range(1, len(parts) + 1):
        module = ".".join(parts[:length])
        if getattr(importlib.import_module(module), kind.__name__, None) is kind:
            return f"from {module} import {kind.__name__}"
    return f"from {kind.__module__} import {kind.__qualname__}"


def _same(value: Any, default: Any) -> bool:
    if default is inspect.Parameter.empty or isinstance(value, np.ndarray):
        return False
    try:
        return type(value) is type(default) and bool(value == default)
    except ValueError:  # of arrays inside, whose equality is no single truth
        return False
