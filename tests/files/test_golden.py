"""Files of the present format load for ever, and say what they said then."""

import json
from pathlib import Path

import numpy as np
import pytest
from saved_examples import ESTIMATORS, ROWS, answers, learn

from streamchi2.files import dumped, load, loaded

FILES = sorted((Path(__file__).parents[1] / "golden").glob("*.sc2"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_files_load_and_can_be_saved_again(path):
    thing = load(path)
    assert dumped(loaded(dumped(thing))) == dumped(thing)
    spoken = json.loads(path.with_suffix(".json").read_text())
    # Other versions of BLAS and of the mathematical functions round differently.
    said = np.array(spoken["answers"])
    np.testing.assert_allclose(answers(thing, ROWS[:3]), said, rtol=2e-4, atol=2e-5)
    learn(thing, ESTIMATORS[spoken["example"]][1], spoken["rows"], spoken["rows"] + 4)


def test_there_are_golden_files():
    assert len(FILES) >= 8
