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
... @given(realistic_rows(min_rows=2))
... def test_cut(rows):
...     check_cut(ExpChi2Sampler(32, random_state=0), rows, cuts=range(1, len(rows)))
>>> test_cut()
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError as error:
    raise ImportError(
        'streamchi2.testing needs hypothesis: install the extra, pip install "streamchi2[test]"'
    ) from error

from streamchi2.testing.all_laws import (
    LawReport,
    check_all,
    cuttings,
    labelled_streams,
    realistic_rows,
)
from streamchi2.testing.checks import (
    check_absent_is_zero,
    check_cut,
    check_late_classes,
    check_merge,
    check_no_dip,
    check_no_trace,
    check_pure_reads,
    check_save,
    check_threads,
    check_weights,
    refusal,
)
from streamchi2.testing.laws import LawError, readings, state_of

__all__ = [
    "LawError", "LawReport", "check_absent_is_zero", "check_all", "check_cut", "check_late_classes",
    "check_merge", "check_no_dip", "check_no_trace", "check_pure_reads", "check_save",
    "check_threads", "check_weights", "cuttings", "labelled_streams", "readings", "realistic_rows",
    "refusal", "state_of",
]  # fmt: skip
