"""The scripts of the paper's experiments: one runs on digits alone, and tables bold honestly."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "paper"


@pytest.fixture
def results(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import results

    yield results
    del sys.modules["results"]  # a plain name, which others may want


def test_figure_1_runs_without_the_larger_sets_and_writes_its_files(tmp_path):
    script = FOLDER / "figure_1_error.py"
    environment = {
        **os.environ,
        "PYTHONPATH": str(FOLDER.parents[1]),
        "MPLCONFIGDIR": str(tmp_path),
        "STREAMCHI2_DATA": str(tmp_path),
    }
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--quick", "--out", "found"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    with (tmp_path / "found" / "figure_1_error.csv").open() as file:
        lines = [line for line in csv.DictReader(file) if line["terms"] == "5"]
    errors = {(line["data"], line["series"]): float(line["mean absolute error"]) for line in lines}
    for what in ("bow", "hog"):
        assert errors[what, "direct, refined"] < 0.1 * errors[what, "Chebyshev"]
    assert "digits, ink | direct, refined" in (tmp_path / "found/figure_1_error.md").read_text()
    assert (tmp_path / "found" / "figure_1_error.png").stat().st_size > 10_000


def test_bold_is_the_best_and_what_a_paired_test_cannot_tell_from_it(results, tmp_path):
    luck = np.linspace(0.0, 0.1, 10)  # the same for every method, seed by seed
    table = results.Results("t", "T", [100])
    for seed, share in enumerate(luck):
        sign = 1 if seed % 2 else -1
        table.add("best", 100, 0.8 + share)
        table.add("as good", 100, 0.799 + share + 0.01 * sign)
        table.add("always a bit worse", 100, 0.795 + share + 0.001 * sign)
        table.add("no size", results.ANY, 0.5 + share)
        table.add("Exact kernel", results.ANY, 0.9 + share)
    lines = dict(line.split(" | ") for line in table.markdown().splitlines()[2:])
    bold = [name.removeprefix("| ") for name, cell in lines.items() if "**" in cell]
    assert bold == ["best", "as good"]
    # Ten equal steps of 1/90 have a standard deviation of sqrt(110 / 12) / 90.
    assert lines["| best"] == f"**85.00** ± {100 * np.sqrt(110 / 12) / 90:.2f} |"
    table.save_numbers(tmp_path)
    assert results.Results("t", "T", [100]).read(tmp_path).cells == table.cells
    assert results.Results("other", "T", [100]).read(tmp_path) is None
