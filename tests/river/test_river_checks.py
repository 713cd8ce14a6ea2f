"""River's own battery: every applicable check, no exemptions.

``pytest -m thorough`` runs it with further parameters.
"""

import pytest
from river import checks

from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler

# The battery takes seconds: with other parameters than the first it is run on demand.
CASES = [
    pytest.param(
        cls, params, id=f"{cls.__name__}({params})", marks=[pytest.mark.thorough] if number else []
    )
    for cls in (ExpChi2Sampler, ExpChi2Classifier, ExpChi2Regressor)
    for number, params in enumerate(cls._unit_test_params())
]


@pytest.mark.parametrize(("cls", "params"), CASES)
def test_river_accepts_the_estimator(cls, params):
    model = cls(**params)
    assert model._unit_test_skips() == set()
    checks.check_estimator(model)


def test_tags_say_what_input_is_expected():
    assert ExpChi2Classifier()._tags == {"positive input"}
    assert ExpChi2Classifier()._multiclass
    assert not ExpChi2Sampler()._supervised


def test_constructor_arguments_are_stored_unchanged_and_alpha_may_be_mutated():
    model = ExpChi2Classifier(64, alpha=1, seed=5)
    assert (model.n_components, model.alpha, model.seed) == (64, 1, 5)
    model.mutate({"alpha": 2.0})
    model.learn_one({"a": 1.0}, True)
    assert model.alpha_ == 2.0
    with pytest.raises(ValueError, match="n_components"):
        model.mutate({"n_components": 5})
