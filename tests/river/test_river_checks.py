"""River's own battery: every applicable check, no exemptions.

``pytest -m thorough`` runs it with further parameters.
"""

import numpy as np
import pytest
from named_streams import histograms
from river import checks, datasets

from streamchi2 import river

ROWS, WORDS, NUMBERS = histograms(400)
KINDS = [getattr(river, name) for name in river.__all__]
# The battery takes seconds: with other parameters than those of the class it is run on demand.
OTHERS = {
    river.ExpChi2Classifier: [
        {"n_components": 33, "alpha": 0.1, "half_life": 99.0, "basis": "orthogonal"},
        {"n_components": 300, "beta": 1.0, "series": "chebyshev", "basis": "gaussian"},
        {"n_components": 64, "basis": "additive", "n_pca": 5, "penalty": "lasso"},
        {
            "n_components": 2,
            "basis": "landmarks",
            "landmarks": [{"x": 1.0, 0: 0.5}, {"y": 1.0, 1: 2.0}],
            "class_weight": "balanced",
        },
        {
            "n_components": 48,
            "descriptors": {"all text": "", "some": ["empty_server_form_handler", "ordinal_date"]},
        },
    ],
    # River's checks drop columns at random, by which a scale of the first rows may be wrong.
    river.ExpChi2Regressor: [
        {"n_components": 300, "beta": 1.0, "half_life": 99.0, "basis": "orthogonal"},
        {"n_components": 33, "series": "vz", "basis": "cosine", "adapt": False},
        {"n_components": 40, "beta": 1.0, "basis": "landmarks", "half_life": 99.0},
        {"n_components": 64, "basis": "additive"},
        {"n_components": 32, "penalty": "lasso", "alpha": 0.1, "n_pca": 0.9},
        {
            "n_components": 48,
            "descriptors": {"text": "", "numbers": [0, 1, 2]},
            "n_pca": 9,
            "penalty": "group_lasso",
            "alpha": 0.1,
        },
    ],
    river.ExpChi2Sampler: [
        {"n_components": 33, "beta": 0.5, "half_life": 99.0, "dof": 1.0, "seed": 1},
        {"n_components": 64, "series": "chebyshev", "basis": "gaussian", "n_buckets": 128},
        {"n_components": 20, "basis": "landmarks", "n_buckets": 128},
        {"n_components": 64, "basis": "additive", "prefix": "share of "},
        {"n_components": 1, "basis": "landmarks", "landmarks": [{"x": 1.0, 0: 0.5}]},
    ],
}
CASES = [
    pytest.param(
        cls, params, id=f"{cls.__name__}({params})", marks=[pytest.mark.thorough] if number else []
    )
    for cls in KINDS
    for number, params in enumerate([*cls._unit_test_params(), *OTHERS.get(cls, [])])
]


class Songs:
    """Stands for river's data set "Music", which is downloaded and has negative values."""

    def take(self, n_rows):
        labels = ({"ash": w == "ash", "much": y > 1.0} for w, y in zip(WORDS, NUMBERS, strict=True))
        return zip(ROWS[:n_rows], labels, strict=False)


@pytest.mark.parametrize(("cls", "params"), CASES)
def test_river_accepts_the_estimator(cls, params, monkeypatch):
    monkeypatch.setattr(datasets, "Music", Songs)
    model = cls(**params)
    assert model._unit_test_skips() == set()
    checks.check_estimator(model)


def test_tags_say_what_input_is_expected():
    model = river.ExpChi2Classifier()
    assert model._tags == {"positive input"}
    assert model._multiclass
    assert not river.ExpChi2Sampler()._supervised


def test_constructor_arguments_are_stored_unchanged_and_alpha_may_be_mutated():
    model = river.ExpChi2Classifier(64, alpha=1, seed=5)
    assert (model.n_components, model.alpha, model.seed) == (64, 1, 5)
    model.mutate({"alpha": 2.0})
    model.learn_one({"a": 1.0}, True)
    assert model.alpha_ == 2.0
    with pytest.raises(ValueError, match="n_components"):
        model.mutate({"n_components": 5})


@pytest.mark.parametrize("cls", KINDS)
def test_docstrings_describe_all_parameters(cls):
    names = cls(8)._get_params()
    assert all(f"\n{name} : " in cls.__doc__ for name in names)
    assert "keys" in cls.__doc__
    assert np.isscalar(cls(8).n_samples_seen_)
    assert "half_life" in names
    with pytest.raises(ValueError, match="half_life must be a number of rows"):
        cls(8, half_life="ever").observe_one({"a": 1.0})
