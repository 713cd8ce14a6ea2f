"""The laws of this library as checks, and hypothesis strategies to try them on.

For our estimators and for yours, of scikit-learn's kind or river's: each ``check_...`` raises
:class:`LawError` where its law is broken, with a program that shows the failure again, and
ValueError or TypeError where it could see nothing. :func:`check_all` runs every law that applies.
They need hypothesis: ``pip install "streamchi2[test]"``.

>>> import numpy as np
>>> from hypothesis import given, settings
>>> from streamchi2 import ExpChi2Sampler
>>> rows = np.random.default_rng(0).dirichlet(np.ones(4), size=100)
>>> check_cut(ExpChi2Sampler(32, random_state=0), rows, cuts=[3, 70])
>>> @settings(max_examples=5, database=None)
... @given(cut_streams())
... def test_cut(stream):
...     rows, _, cuts = stream
...     check_cut(ExpChi2Sampler(32, random_state=0), rows, cuts=cuts)
>>> test_cut()
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError as error:
    raise ImportError(
        "streamchi2.testing needs hypothesis, which comes with the extra streamchi2[test]: "
        'pip install "streamchi2[test]"'
    ) from error

from streamchi2.testing.absent_laws import check_absent_is_zero, check_absent_keys
from streamchi2.testing.all_laws import LawReport, check_all
from streamchi2.testing.bad_arguments import bad_labels, bad_numbers, bad_rows, bad_weights
from streamchi2.testing.comparison import LawError, readings, state_of
from streamchi2.testing.dip_law import check_no_dip
from streamchi2.testing.learning_laws import (
    check_cut,
    check_late_classes,
    check_merge,
    check_order_of_k,
    check_threads,
)
from streamchi2.testing.state_laws import check_no_trace, check_pure_reads, check_save
from streamchi2.testing.strategies import (
    cut_streams,
    cuttings,
    dict_streams,
    histogram_rows,
    labelled_streams,
    labels_of,
    nodes,
    positive_values,
    realistic_rows,
    row_counts,
    value_arrays,
)
from streamchi2.testing.weight_laws import check_repeated_rows, check_scale_of_weights

__all__ = [
    "LawError",
    "LawReport",
    "bad_labels",
    "bad_numbers",
    "bad_rows",
    "bad_weights",
    "check_absent_is_zero",
    "check_absent_keys",
    "check_all",
    "check_cut",
    "check_late_classes",
    "check_merge",
    "check_no_dip",
    "check_no_trace",
    "check_order_of_k",
    "check_pure_reads",
    "check_repeated_rows",
    "check_save",
    "check_scale_of_weights",
    "check_threads",
    "cut_streams",
    "cuttings",
    "dict_streams",
    "histogram_rows",
    "labelled_streams",
    "labels_of",
    "nodes",
    "positive_values",
    "readings",
    "realistic_rows",
    "row_counts",
    "state_of",
    "value_arrays",
]
