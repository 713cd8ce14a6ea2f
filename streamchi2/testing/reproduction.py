"""A failed check as a program that can be pasted into a Python prompt."""

from __future__ import annotations

import base64
import importlib
import inspect
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Beyond these numbers of values an array is packed, then left to the one who passed it.
_LITERAL_VALUES, _PACKED_VALUES = 1000, 50_000

_HEAD = "import base64, zlib\nimport numpy as np\nfrom numpy import array, inf, nan"


def program(check: str, arguments: dict[str, Any]) -> str:
    """Return a program that runs a check again.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> print(program("check_cut", {"estimator": GaussianNB(), "rows": np.eye(2), "cuts": [1]}))
    import base64, zlib
    import numpy as np
    from numpy import array, inf, nan
    from sklearn.naive_bayes import GaussianNB
    from streamchi2.testing import *
    <BLANKLINE>
    estimator = GaussianNB()
    rows = array([[1.0, 0.0], [0.0, 1.0]], dtype='<f8')
    cuts = [1]
    check_cut(estimator=estimator, rows=rows, cuts=cuts)
    """
    arguments = {name: value for name, value in arguments.items() if value is not None}
    lines = [f"{name} = {literal(value)}" for name, value in arguments.items()]
    call = f"{check}({', '.join(f'{name}={name}' for name in arguments)})"
    heads = [_HEAD, *sorted(_imports(arguments["estimator"])), "from streamchi2.testing import *"]
    return "\n".join([*heads, "", *lines, call])


def literal(value: Any) -> str:
    """Return a value as Python source.

    Examples
    --------
    >>> print(literal({"x": np.float32(0.5), "y": np.array([1, 2])}))
    {'x': np.float32(0.5), 'y': array([1, 2], dtype='<i8')}
    """
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {literal(it)}' for key, it in value.items())}}}"
    return constructor(value) if _has_parameters(value) else repr(value)


def constructor(value: Any) -> str:
    """Return the call that makes an object, with what differs from the defaults.

    Examples
    --------
    >>> from streamchi2 import ExpChi2Sampler
    >>> constructor(ExpChi2Sampler(8, random_state=0))
    'ExpChi2Sampler(n_components=8, random_state=0)'
    """
    words = [
        f"{name}={literal(getattr(value, name))}"
        for name, parameter in inspect.signature(type(value)).parameters.items()
        if repr(getattr(value, name, parameter.default)) != repr(parameter.default)
    ]
    return f"{type(value).__name__}({', '.join(words)})"


def _array(values: NDArray[Any]) -> str:
    dtype = repr(values.dtype.str)
    shape = "" if values.size else f".reshape{values.shape}"
    if values.size > _PACKED_VALUES:
        return f"...  # {values.size} values, too many to print: those that the check was given"
    if values.size <= _LITERAL_VALUES or values.dtype.kind not in "fiub":
        return f"array({values.tolist()!r}, dtype={dtype}){shape}"
    packed = base64.b85encode(zlib.compress(values.tobytes()))
    data = f"bytearray(zlib.decompress(base64.b85decode({packed!r})))"
    return f"np.frombuffer({data}, dtype={dtype}).reshape({values.shape})"


def _has_parameters(value: Any) -> bool:
    return any(hasattr(value, name) for name in ("get_params", "learn_one"))


def _imports(value: Any) -> set[str]:
    """Return the imports of the class of an estimator, and of those among its parameters."""
    kind = type(value)
    parts = kind.__module__.split(".")
    line = f"# the class {kind.__name__} must be defined here"
    for length in range(len(parts), 0, -1):  # to the shortest module that has the class
        module = ".".join(parts[:length])
        if getattr(importlib.import_module(module), kind.__name__, None) is kind:
            line = f"from {module} import {kind.__name__}"
    inner = [getattr(value, name, None) for name in inspect.signature(kind).parameters]
    return {line}.union(*(_imports(it) for it in inner if _has_parameters(it)))
