"""Write the golden files that are not there yet.

    python tests/golden/make_golden.py

Run it once when the format number has been raised, and remove the files of the old one. What is
there is never written again: these files stand for those that users have.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

from saved_examples import ROWS, answers, estimator_after  # noqa: E402

from streamchi2.files import save  # noqa: E402

# Examples and after how many rows: young, with kept features, with moments.
EXAMPLES = {
    "sampler": 66,
    "gaussian sampler": 66,
    "subspace classifier": 66,
    "landmark classifier": 66,
    "fading classifier": 150,
    "descriptor classifier": 66,
    "regressor of two": 66,
    "pca": 66,
    "ridge": 66,
    "river classifier": 5,
    "river regressor": 150,
    "river classifier of several labels": 150,
}


def main():
    for name, n_rows in EXAMPLES.items():
        path = HERE / f"{name.replace(' ', '_')}.sc2"
        if not path.exists():
            thing = estimator_after(name, n_rows)
            save(thing, path)
            said = {"example": name, "rows": n_rows, "answers": answers(thing, ROWS[:3]).tolist()}
            path.with_suffix(".json").write_text(json.dumps(said) + "\n")
            print(f"{path.name:40} {path.stat().st_size:6} bytes")


if __name__ == "__main__":
    main()
