"""Transport through a foreign model: re-estimating k spoils nothing that river has learnt."""

import numpy as np
import pytest
from conftest import DATA
from river import linear_model, optim
from sklearn.datasets import load_digits

from streamchi2.river import ExpChi2Sampler


def stream_of(rows, labels):
    """Begin with rows of which only the six largest values are left: k for them suits no other."""
    order = np.random.default_rng(0).permutation(len(labels))
    rows, labels = rows[order], labels[order]
    cut = np.sort(rows[:64], axis=1)[:, -6:-5]
    rows[:64] = np.where(rows[:64] >= cut, rows[:64], 0.0)
    rows = rows / rows.sum(axis=1, keepdims=True)
    names = [f"bin {i}" for i in range(rows.shape[1])]
    return [
        ({name: value for name, value in zip(names, row, strict=True) if value}, bool(label))
        for row, label in zip(rows.tolist(), labels, strict=True)
    ]


def progressive_accuracy(sampler, stream):
    model = sampler | linear_model.LogisticRegression(optim.SGD(3.0))
    hits = 0
    for x, y in stream:
        hits += model.predict_one(x) == y
        model.learn_one(x, y)
    return hits / len(stream)


@pytest.mark.parametrize("name", ["digits", "fashion_bow"])
def test_a_foreign_model_does_as_well_as_with_the_final_k_from_the_start(name, shared_set):
    if name == "digits":
        rows, numbers = load_digits(return_X_y=True)
        labels = numbers < 5
    else:
        rows = np.asarray(shared_set(name)[:2000])
        with np.load(DATA / f"{name}.npz") as stored:
            labels = stored["y"][:2000] < 5
    stream = stream_of(rows, labels)
    adapting = ExpChi2Sampler(128, n_terms=3, seed=0)
    adapted = progressive_accuracy(adapting, stream)
    assert adapting.transports_
    oracle = adapting.new_shard()
    ideal = progressive_accuracy(oracle, stream)
    assert list(oracle.k_) == list(adapting.k_)
    assert abs(adapted - ideal) <= 0.005
