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
# The battery takes seconds: with other parameters than the first it is run on demand.
CASES = [
    pytest.param(
        cls, params, id=f"{cls.__name__}({params})", marks=[pytest.mark.thorough] if number else []
    )
    for cls in KINDS
    for number, params in enumerate(cls._unit_test_params())
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
