"""Write the files of the present format that are not there yet.

    python tests/golden/make_golden.py

Run it once when the format number has been raised. What is there is never written again: these
files stand for those that users have.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

from saved_examples import (  # noqa: E402
    ESTIMATORS,
    PARTS,
    STAGES,
    answers,
    estimator_after,
    stage_name,
)

from streamchi2.files import save  # noqa: E402
from streamchi2.files.container import FORMAT  # noqa: E402


def main():
    folder = HERE / f"format-{FORMAT}"
    folder.mkdir(exist_ok=True)
    things = {name: make() for name, make in PARTS.items()}
    things["unfitted"] = estimator_after("classifier", 0)
    spoken = {}
    for name in ESTIMATORS:
        for n_rows in STAGES[name]:
            thing = estimator_after(name, n_rows)
            things[stage_name(name, n_rows)] = thing
            said = answers(thing)[:3].tolist()
            spoken[stage_name(name, n_rows)] = {"example": name, "rows": n_rows, "answers": said}
    for name, thing in things.items():
        path = folder / f"{name.replace(' ', '_')}.sc2"
        if path.exists():
            continue
        save(thing, path)
        if name in spoken:
            path.with_suffix(".json").write_text(json.dumps(spoken[name]) + "\n")
        print(f"{path.name:40} {path.stat().st_size:6} bytes")


if __name__ == "__main__":
    main()
