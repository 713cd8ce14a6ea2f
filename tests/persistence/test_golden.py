"""Files of every format there has been load for ever, and say what they said then."""

import json
from pathlib import Path

import numpy as np
import pytest
from saved_examples import ESTIMATORS, PARTS, ROWS, STAGES, answers, learn, stage_name

from streamchi2.persistence import dumped, load, loaded
from streamchi2.persistence.container import FORMAT

FILES = sorted((Path(__file__).parents[1] / "golden").glob("format-*/*.sc2"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_old_files_load_and_can_be_saved_again(path):
    thing = load(path)
    assert dumped(loaded(dumped(thing))) == dumped(thing)
    beside = path.with_suffix(".json")
    if beside.exists():
        spoken = json.loads(beside.read_text())
        said, n_rows = np.array(spoken["answers"]), spoken["rows"]
        # Other versions of BLAS and of the mathematical functions round differently.
        np.testing.assert_allclose(answers(thing, ROWS[:3]), said, rtol=2e-4, atol=2e-5)
        learn(thing, ESTIMATORS[spoken["example"]][1], n_rows, n_rows + 4)


def test_every_kind_has_a_file_of_the_present_format():
    present = {path.stem for path in FILES if path.parent.name == f"format-{FORMAT}"}
    stages = [stage_name(name, n_rows) for name in ESTIMATORS for n_rows in STAGES[name]]
    expected = {name.replace(" ", "_") for name in (*stages, *PARTS, "unfitted")}
    assert present >= expected
