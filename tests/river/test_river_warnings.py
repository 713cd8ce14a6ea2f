"""A warning that is made an error: the row that brings it has been learnt, and none is lost."""

import warnings

import numpy as np
import pandas as pd
import pytest

from streamchi2.errors import PrecisionWarning
from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2Regressor, ExpChi2Sampler

N = 1400
ROWS = np.random.default_rng(0).random((N, 3)) * np.where(np.arange(N) < 400, 1.0, 1e6)[:, None]
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c"])
NUMBERS = pd.Series(ROWS[:, 0] / ROWS.sum(axis=1))
KINDS = {"sampler": (ExpChi2Sampler, None), "regressor": (ExpChi2Regressor, NUMBERS)}


def learn_one_by_one(model, targets, start=0):
    """Learn rows, and return where there was an error."""
    places = []
    for place, row in list(enumerate(FRAME.to_dict("records")))[start:]:
        try:
            model.learn_one(row, *([] if targets is None else [targets[place]]))
        except PrecisionWarning:
            places.append(place)
    return places


@pytest.mark.parametrize("kind", KINDS)
def test_a_warning_that_is_made_an_error_costs_no_row(kind):
    make, targets = KINDS[kind]
    silent, single, framed = (make(16, n_terms=2, basis="orthogonal", seed=0) for _ in range(3))
    with warnings.catch_warnings(action="ignore"):
        learn_one_by_one(silent, targets)
    places = learn_one_by_one(single, targets)
    assert len(places) == 1  # once in the life of a stream
    with pytest.raises(PrecisionWarning):
        framed.learn_many(FRAME, *([] if targets is None else [targets]))
    assert framed.n_samples_seen_ == places[0] + 1  # the rest has not been seen
    learn_one_by_one(framed, targets, places[0] + 1)
    assert dumped(single) == dumped(silent) == dumped(framed)
    loaded(dumped(framed))
