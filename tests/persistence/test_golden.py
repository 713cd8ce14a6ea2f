"""Files of every format there has been load for ever, and say what they said then."""

import json
from pathlib import Path

import numpy as np
import pytest
from estimator_zoo import ESTIMATORS, ROWS, TRACKERS, answers, learn

from streamchi2.persistence import dumped, load, loaded
from streamchi2.persistence.container import FORMAT

FILES = sorted((Path(__file__).parents[1] / "golden").glob("format-*/*.sc2"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_old_files_load_and_can_be_saved_again(path):
    thing = load(path)
    assert dumped(loaded(dumped(thing))) == dumped(thing)
    name, spoken = path.stem.replace("_", " "), path.with_suffix(".json")
    if spoken.exists():
        said = np.array(json.loads(spoken.read_text()))
        # Other versions of BLAS and of the mathematical functions round differently.
        np.testing.assert_allclose(answers(thing, ROWS[:3]), said, rtol=2e-4, atol=2e-5)
        learn(thing, ESTIMATORS[name][1], 66, 70)


def test_every_kind_has_a_file_of_the_present_format():
    present = {path.stem for path in FILES if path.parent.name == f"format-{FORMAT}"}
    expected = {name.replace(" ", "_") for name in (*ESTIMATORS, *TRACKERS, "unfitted")}
    assert present >= expected
