"""The cut law through river: one by one, in frames of any size, with readers, after a pickle."""

import functools
import itertools

import pandas as pd
import pytest
from named_streams import NAMES, histograms, learnt, learnt_in_frames, make, state_of, targets_for

from streamchi2.river import ExpChi2Classifier

ROWS, LABELS, NUMBERS = histograms(460)
LABELS = [label if i % 11 else None for i, label in enumerate(LABELS)]  # None: only observed


def targets_of(name):
    return targets_for(name, LABELS, NUMBERS)


@functools.cache
def state_one_by_one(name):
    """Return the state after all rows, learnt one by one."""
    return state_of(learnt(make(name), ROWS, targets_of(name)))


@pytest.mark.parametrize("name", [name for name in NAMES if "classifier" not in name])
@pytest.mark.parametrize("cuts", [[460], [1, 63, 64, 65, 65, 250, 460]])
def test_any_cutting_gives_the_same_model_bit_for_bit(name, cuts):
    model = learnt_in_frames(make(name), ROWS, targets_of(name), cuts)
    assert state_of(model) == state_one_by_one(name)


@pytest.mark.parametrize("name", [name for name in NAMES if "classifier" in name])
def test_frames_of_rows_with_and_without_labels_are_rows_one_by_one(name):
    model, frames = make(name), []
    for row, label in zip(ROWS, LABELS, strict=True):
        if not frames or (label is None) != (frames[-1][1][-1] is None):
            frames.append(([], []))
        frames[-1][0].append(row)
        frames[-1][1].append(label)
    for rows, labels in frames:
        if labels[0] is None:
            model.observe_many(pd.DataFrame(rows))
        else:
            model.learn_many(pd.DataFrame(rows), pd.Series(labels))
    assert state_of(model) == state_one_by_one(name)


def test_between_two_solutions_the_last_model_answers():
    model = ExpChi2Classifier(64, latest_rows=0, half_life=None, seed=0)
    last, changes = None, []
    for position, (row, label) in enumerate(zip(ROWS[:128], LABELS, strict=False), 1):
        learnt(model, [row], [label])
        shares = model.predict_proba_one(ROWS[300])
        if shares != last:
            changes.append(position)
        last = shares
    gaps = [after - before for before, after in itertools.pairwise(changes)]
    # Blocks are a sixteenth to an eighth of the rows that count.
    assert all(gap <= max(1, before / 8) + 1 for gap, before in zip(gaps, changes, strict=False))
    assert all(gap >= before // 16 for gap, before in zip(gaps, changes, strict=False))
