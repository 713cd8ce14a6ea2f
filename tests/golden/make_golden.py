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

from estimator_zoo import ESTIMATORS, TRACKERS, answers, estimator_after  # noqa: E402

from streamchi2.persistence import save  # noqa: E402
from streamchi2.persistence.container import FORMAT  # noqa: E402


def main():
    folder = HERE / f"format-{FORMAT}"
    folder.mkdir(exist_ok=True)
    things = {name: estimator_after(name, 66) for name in ESTIMATORS}
    things |= {name: make() for name, make in TRACKERS.items()}
    things["unfitted"] = estimator_after("classifier", 0)
    for name, thing in things.items():
        path = folder / f"{name.replace(' ', '_')}.sc2"
        if path.exists():
            continue
        save(thing, path)
        if name in ESTIMATORS:
            path.with_suffix(".json").write_text(json.dumps(answers(thing)[:3].tolist()))
        print(f"{path.name:32} {path.stat().st_size:6} bytes")


if __name__ == "__main__":
    main()
