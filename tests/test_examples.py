"""Every example runs from any folder, without a warning, and says something."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_the_example_runs(script, tmp_path):
    environment = {
        **os.environ,
        "PYTHONPATH": str(script.parents[1]),
        "MPLCONFIGDIR": str(tmp_path),
    }
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
    for picture in tmp_path.glob("*.png"):
        assert picture.stat().st_size > 10_000
