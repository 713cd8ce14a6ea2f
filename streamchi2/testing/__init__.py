"""The laws of this library as checks, and hypothesis strategies to try them on.

For our estimators and for yours: each ``check_...`` takes an estimator that has the methods the law
speaks of, and raises :class:`LawBroken`, which says what broke and on what. They need hypothesis:
``pip install "streamchi2[test]"``.

>>> import numpy as np
>>> from streamchi2 import ExpChi2Sampler
>>> rows = np.random.default_rng(0).dirichlet(np.ones(4), size=100)
>>> check_cut(ExpChi2Sampler(32, random_state=0), rows, cuts=[3, 70])
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError as error:
    raise ImportError(
        "streamchi2.testing needs hypothesis, which comes with the extra streamchi2[test]: "
        'pip install "streamchi2[test]"'
    ) from error

from streamchi2.testing.bad_arguments import bad_labels, bad_numbers, bad_rows, bad_weights
from streamchi2.testing.evidence import LawBroken, readings, state_of
from streamchi2.testing.laws_of_dicts import check_absent_keys
from streamchi2.testing.laws_of_learning import (
    check_absent_is_zero,
    check_cut,
    check_late_classes,
    check_merge,
    check_order_of_k,
    check_threads,
)
from streamchi2.testing.laws_of_state import check_no_trace, check_pure_reads, check_save
from streamchi2.testing.strategies import (
    cuttings,
    dict_streams,
    histogram_rows,
    labelled_streams,
    landmarks,
    positive_values,
    realistic_rows,
    value_arrays,
)

__all__ = [
    "LawBroken",
    "bad_labels",
    "bad_numbers",
    "bad_rows",
    "bad_weights",
    "check_absent_is_zero",
    "check_absent_keys",
    "check_cut",
    "check_late_classes",
    "check_merge",
    "check_no_trace",
    "check_order_of_k",
    "check_pure_reads",
    "check_save",
    "check_threads",
    "cuttings",
    "dict_streams",
    "histogram_rows",
    "labelled_streams",
    "landmarks",
    "positive_values",
    "readings",
    "realistic_rows",
    "state_of",
    "value_arrays",
]
