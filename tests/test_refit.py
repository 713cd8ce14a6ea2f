"""When a model that is solved again and again has its penalty chosen again."""

import numpy as np
import pytest

from streamchi2.refit import RefitSchedule
from streamchi2.river import ExpChi2Classifier


def judged(*latest, schedule=None):
    """Return a schedule tuned on 64 rows after some batches of (rows, wrong) predictions."""
    schedule = RefitSchedule() if schedule is None else schedule
    schedule.tuned_on = 64
    for n_rows, n_wrong in latest:
        schedule.judge(n_rows, n_wrong)
    return schedule


@pytest.mark.parametrize("n_wrong", [0, 1])
def test_a_single_error_is_no_surprise(n_wrong):
    assert judged((512, 0), (64, n_wrong)).tuned_on == 64


def test_errors_after_none_are_a_surprise():
    assert judged((512, 0), (64, 3)).tuned_on == 0


def test_errors_at_the_usual_rate_are_no_surprise():
    assert judged(*[(64, 16)] * 20).tuned_on == 64
    assert judged(*[(64, 16)] * 20, (64, 32)).tuned_on == 0


def test_old_errors_fade():
    schedule = judged((1000, 500))
    n_judged, n_wrong = schedule.n_judged, schedule.n_wrong
    for _ in range(8):
        schedule.judge(0, 0)
    assert schedule.n_judged == pytest.approx(n_judged / 2)
    assert schedule.n_wrong == pytest.approx(n_wrong / 2)


def test_a_penalty_chosen_on_one_class_is_chosen_again_when_others_come():
    """While all labels are equal every penalty is as good, and the largest is taken."""
    generator = np.random.default_rng(0)
    centres = generator.dirichlet(np.ones(12), size=2)
    labels = np.repeat([0, 1, 0, 1], [260, 30, 30, 30])
    rows = [
        {f"bin {i}": float(v) for i, v in enumerate(generator.dirichlet(40.0 * centres[label]))}
        for label in labels
    ]
    model, alphas, hits = ExpChi2Classifier(64, seed=0), [], []
    for row, label in zip(rows, labels.tolist(), strict=True):
        hits.append(model.predict_one(row) == label)
        model.learn_one(row, label)
        alphas.append(model.alpha_)
    assert alphas[259] > 1e3  # rows would have to double before the next choice
    assert alphas[-1] < 10.0
    assert np.mean(hits[-40:]) > 0.9
