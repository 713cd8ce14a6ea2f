"""A warning that is made an error: river's rows are learnt before it is given, and none is lost."""

import warnings

import numpy as np
import pandas as pd
import pytest

from streamchi2.errors import PrecisionWarning
from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler

N = 1400
ROWS = np.random.default_rng(0).random((N, 3)) * np.where(np.arange(N) < 400, 1.0, 1e6)[:, None]
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c"])
LABELS = pd.Series(np.where(ROWS[:, 0] > ROWS[:, 1], "ham", "spam"))
NUMBERS = pd.Series(ROWS[:, 0] / ROWS.sum(axis=1))
KINDS = {
    "sampler": (ExpChi2Sampler, None),
    "classifier": (ExpChi2Classifier, LABELS),
    "regressor": (ExpChi2Regressor, NUMBERS),
}


def learn_one_by_one(model, targets):
    """Learn all rows, and return how many were answered by an error."""
    n_errors = 0
    for place, row in enumerate(FRAME.to_dict("records")):
        try:
            model.learn_one(row, *([] if targets is None else [targets[place]]))
        except PrecisionWarning:
            n_errors += 1
    return n_errors


@pytest.mark.parametrize("kind", KINDS)
def test_a_warning_that_is_made_an_error_costs_no_row(kind):
    make, targets = KINDS[kind]
    silent, single, framed = (make(16, n_terms=2, seed=0) for _ in range(3))
    with warnings.catch_warnings(action="ignore"):
        learn_one_by_one(silent, targets)
    assert learn_one_by_one(single, targets) == 1  # once in the life of a stream
    with pytest.raises(PrecisionWarning, match="at row 1024"):
        framed.learn_many(FRAME, *([] if targets is None else [targets]))
    assert single.n_samples_seen_ == framed.n_samples_seen_ == N
    assert dumped(single) == dumped(silent)
    loaded(dumped(framed))  # refused where what is absorbed and the queue disagree
