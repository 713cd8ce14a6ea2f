"""The rows of the saved examples as sources of fit_stream."""

from itertools import pairwise

import pyarrow as pa
from saved_examples import ESTIMATORS, N_ROWS, ROWS

from streamchi2 import ExpChi2Sampler
from streamchi2.files import dumped

SEEDED = [
    name
    for name, (make, _) in ESTIMATORS.items()
    if hasattr(make(), "fit_stream") and make().get_params().get("random_state", 0) == 0
]


def table_of(rows, targets=None):
    columns = {f"c{i}": rows[:, i] for i in range(rows.shape[1])}
    return pa.table(columns if targets is None else columns | {"y": targets})


def batches_of(targets, *ends, weights=None):
    """The example rows cut at some positions, as a list of batches."""
    cuts = [0, *ends, N_ROWS]
    for start, stop in pairwise(cuts):
        part = slice(start, stop)
        if weights is not None:
            yield ROWS[part], None if targets is None else targets[part], weights[part]
        else:
            yield ROWS[part] if targets is None else (ROWS[part], targets[part])


def sampler():
    return ExpChi2Sampler(8, random_state=0)


def without_provenance(estimator):
    estimator._stream.provenance = {}
    return dumped(estimator)
