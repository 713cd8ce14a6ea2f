"""Several threads that learn into one estimator."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler, StreamingPCA, StreamingRidgeClassifier
from streamchi2.files import dumped, loaded
from streamchi2.statistics.targets import Targets
from streamchi2.stream import Stream

N_CLASSES, N_OF_EACH = 24, 20
CENTRES = np.eye(N_CLASSES) + 0.02
ROWS = np.random.default_rng(0).gamma(np.repeat(50 * CENTRES, N_OF_EACH, axis=0))
ROWS /= ROWS.sum(axis=1, keepdims=True)
LABELS = np.repeat([f"{'zyx'[i % 3]}{i}" for i in range(N_CLASSES)], N_OF_EACH)


@pytest.mark.parametrize(
    "model",
    [ExpChi2Classifier(64, adapt=False, random_state=0), StreamingRidgeClassifier(1e-3)],
    ids=lambda model: type(model).__name__,
)
def test_threads_that_bring_new_classes_keep_classes_and_columns_together(model, monkeypatch):
    encode = Targets.encode

    def slowly(self, *arguments):
        encoded = encode(self, *arguments)
        time.sleep(1e-3)  # others may learn between a look at the classes and the update
        return encoded

    monkeypatch.setattr(Targets, "encode", slowly)
    model.fit(ROWS[: 2 * N_OF_EACH], LABELS[: 2 * N_OF_EACH])
    failures = []

    def learn(first):
        try:
            for number in range(first, N_CLASSES, 2):
                for start in (0, N_OF_EACH // 2):
                    part = slice(number * N_OF_EACH + start, number * N_OF_EACH + start + 10)
                    model.partial_fit(ROWS[part], LABELS[part])
                    model.predict(ROWS[part])
        except Exception as failure:  # any failure at all is what this test looks for
            failures.append(failure)

    threads = [threading.Thread(target=learn, args=(first,)) for first in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert model.n_samples_seen_ == len(ROWS)
    assert_array_equal(model.classes_, np.unique(LABELS))
    assert_array_equal(model.predict(ROWS), LABELS)  # classes are far apart
    assert_array_equal(loaded(dumped(model)).predict(ROWS), LABELS)


@pytest.mark.parametrize(
    "model", [ExpChi2Sampler(16, random_state=0), StreamingPCA(2)], ids=["map", "features"]
)
def test_of_two_first_batches_at_once_one_is_refused_and_none_is_lost(model, monkeypatch):
    learn = Stream.learn

    def overtaken(self, *arguments):
        monkeypatch.setattr(Stream, "learn", learn)
        other = threading.Thread(target=model.partial_fit, args=(ROWS[:9],))
        other.start()
        other.join()
        return learn(self, *arguments)

    monkeypatch.setattr(Stream, "learn", overtaken)
    with pytest.raises(RuntimeError, match="another thread has learnt a first batch meanwhile"):
        model.partial_fit(ROWS[9:20])
    assert model.n_samples_seen_ == 9
    alone = clone(model).partial_fit(ROWS[:9]).partial_fit(ROWS[9:20])
    assert dumped(model.partial_fit(ROWS[9:20])) == dumped(alone)
