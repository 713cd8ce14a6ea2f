"""The scripts of the paper's experiments: they run on digits, resume, and compute what they say."""

import csv
import importlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from streamchi2 import chi2_distance

FOLDER = Path(__file__).parents[1] / "examples" / "paper"


@pytest.fixture
def paper(monkeypatch, tmp_path):
    """Return what imports a script by its name, on digits alone."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("STREAMCHI2_DATA", str(tmp_path))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:  # plain names, which others may want
        if str(FOLDER.parent) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


@pytest.fixture
def results(paper):
    return paper("results")


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
    for data in ("digits, ink", "digits, edges"):
        assert errors[data, "direct, refined"] < 0.1 * errors[data, "Chebyshev"]
    assert "| digits, ink | direct, refined |" in run.stdout
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


def test_a_run_says_how_far_it_is_and_what_is_left(results, monkeypatch, capsys):
    clock = iter([0.0, 0.0, 120.0, 360.0, 480.0])
    monkeypatch.setattr(results.time, "perf_counter", lambda: next(clock))
    assert list(results.draws(range(3, 5), ["bow", "hog"])) == [
        (3, "bow"), (3, "hog"), (4, "bow"), (4, "hog"),
    ]  # fmt: skip
    assert capsys.readouterr().err.splitlines() == [
        "draw 1 of 4: bow, seed 3; 0 min",
        "draw 2 of 4: hog, seed 3; 2 min, at this rate 6 left",
        "draw 3 of 4: bow, seed 4; 6 min, at this rate 6 left",
        "draw 4 of 4: hog, seed 4; 8 min, at this rate 3 left",
    ]
    clock = iter([0.0, 0.0, 0.0, 0.0, 180.0])  # two draws that are in the file already
    assert len(list(results.draws(range(2), ["bow", "hog"]))) == 4
    assert capsys.readouterr().err.splitlines()[2:] == [
        "draw 3 of 4: bow, seed 1; 0 min, at this rate 0 left",
        "draw 4 of 4: hog, seed 1; 3 min, at this rate 2 left",
    ]


class Small:
    """Sizes for tests, as the scripts have them."""

    n_train, n_test, panel, features = 60, 50, 8, (24, 40, 56)


@pytest.fixture
def small(paper, monkeypatch, tmp_path):
    """Return what runs some parts of Table 1 in a file of a name, and then the file's lines."""
    module = paper("one_descriptor")
    monkeypatch.setattr(module, "Sizes", lambda quick: Small)

    def run(name, *words):
        call = [name, "--seeds", "1", "--sets", "bow", "--out", str(tmp_path), *words]
        monkeypatch.setattr(sys, "argv", call)
        module.main("Table.", name, ("bow",))
        with (tmp_path / f"{name}.csv").open() as file:
            return [{**line, "seconds": None} for line in csv.DictReader(file)]

    return run


def test_a_run_that_was_stopped_goes_on_and_gives_the_same_file(
    small, paper, monkeypatch, tmp_path
):
    parts = "--parts", "series", "others"
    whole = small("whole", *parts)
    cells, add = paper("cells").CellFile, paper("cells").CellFile.add
    methods = {(line["method"], line["size"], line["terms"], line["beta"]) for line in whole}
    assert len(whole) == 2 * len(methods)  # ridge and svm

    class StoppedError(Exception):
        pass

    for done, n_cells in ((0, 1), (1, 14), (15, 25)):  # before, and of each piece of the run

        def stopping(self, *words, until=n_cells + done):
            if len(self.lines) == until:
                raise StoppedError
            add(self, *words)

        monkeypatch.setattr(cells, "add", stopping)
        with pytest.raises(StoppedError):
            small("pieces", *parts)
        with (tmp_path / "pieces.csv").open("a") as file:
            file.write("digits, ink,Linear,any,")  # stopped in the middle of a line
    monkeypatch.setattr(cells, "add", add)
    assert small("pieces", *parts) == whole
    monkeypatch.setattr(cells, "add", None)
    assert small("pieces", *parts) == whole  # nothing is computed twice


def test_parts_one_after_the_other_give_the_cells_of_all(small):
    whole = small("whole", "--parts", "series", "wide", "pca")
    for part in ("pca", "series", "wide"):
        found = small("parts", "--parts", part)
    assert sorted(map(str, found)) == sorted(map(str, whole))


def test_components_of_all_rows_are_taken_where_they_leave_something_out(small, monkeypatch):
    found = {(line["method"], line["size"]) for line in small("110_rows", "--parts", "pca_all")}
    names, sizes = ("PCA-Chebyshev", "PCA-VZ", "PCA-Direct"), ("24", "40", "56")
    assert found == set(itertools.product(names, sizes))
    monkeypatch.setattr(Small, "n_train", 40)
    monkeypatch.setattr(Small, "n_test", 16)  # 56 rows in all have 55 components
    found = {(line["method"], line["size"]) for line in small("56_rows", "--parts", "pca_all")}
    assert found == set(itertools.product(names, sizes[:2]))


def test_panels_add_up_to_the_gram_matrix_of_centred_features(paper):
    gram, random = paper("gram"), np.random.default_rng(0)
    panels = gram.PanelSum(9, 6)
    features = [random.normal(1.0, size=(9, 4)).astype(np.float32) for _ in range(3)]
    for panel in features:
        panels.add(panel)
    joint = np.hstack(features).astype(float)
    joint -= joint[:6].mean(axis=0)
    within, between = panels.gram()
    # Sums of 12 products of about 4 in single precision, each rounded by 6e-8 of it.
    np.testing.assert_allclose(within, joint[:6] @ joint[:6].T / 3, atol=1e-5)
    np.testing.assert_allclose(between, joint[6:] @ joint[:6].T / 3, atol=1e-5)


def test_principal_components_of_a_gram_matrix_are_those_of_the_features(paper):
    gram, features = paper("gram"), np.random.default_rng(0).normal(size=(9, 5))
    whole = gram.gram_of(features, 7)
    pca = PCA(2).fit(features[:7])
    train, test = pca.transform(features[:7]), pca.transform(features[7:])
    inside = gram.principal(whole, 2)
    np.testing.assert_allclose(inside.within, train @ train.T, atol=1e-4)
    np.testing.assert_allclose(inside.between, test @ train.T, atol=1e-4)
    assert gram.principal(whole, 6) is whole  # seven rows have six components
    panels = gram.PanelSum(9, 9)
    panels.add(features.astype(np.float32))
    joint = PCA(2).fit_transform(features)
    joint -= joint[:7].mean(axis=0)
    inside = gram.principal_of_all(panels.products(), 2, 7)
    np.testing.assert_allclose(inside.within, joint[:7] @ joint[:7].T, atol=1e-4)
    np.testing.assert_allclose(inside.between, joint[7:] @ joint[:7].T, atol=1e-4)


def test_ridge_in_gram_form_is_ridge_with_an_intercept(paper):
    gram, draws = paper("gram"), paper("draws")
    rows = draws.draw("bow", 200, 100, 0)
    features = np.vstack([rows.train, rows.test])
    accuracy, penalty = gram.ridge_accuracy(gram.gram_of(features, 200), rows)
    classes, codes = np.unique(rows.labels, return_inverse=True)
    cut, targets = 160, np.eye(classes.size)[codes]
    centred = rows.train - rows.train.mean(axis=0)
    errors = {}
    for alpha in gram.PENALTIES:
        model = Ridge(alpha, fit_intercept=False).fit(
            centred[:cut], (targets - targets.mean(axis=0))[:cut]
        )
        left = (targets - targets.mean(axis=0))[cut:] - model.predict(centred[cut:])
        errors[alpha] = np.mean(left**2)
    assert penalty == min(errors, key=errors.get)  # the valley's bottom, though not all are tried
    model = Ridge(penalty).fit(rows.train, targets)
    guesses = classes[model.predict(rows.test).argmax(axis=1)]
    assert accuracy == np.mean(guesses == rows.test_labels)


def test_exact_distances_by_the_series_are_chi2_distances(paper):
    one = paper("experiment").Experiment({}, "bow", 0, Small)
    exact = chi2_distance(one.rows, one.draw.train)
    np.testing.assert_allclose(one.distances, exact, atol=5e-5)  # as the script states


def test_distances_of_a_series_are_a_factor_and_a_rest(paper, monkeypatch, tmp_path):
    module, random = paper("series_distances"), np.random.default_rng(0)
    exact = random.uniform(1.0, 2.0, 1000)
    factor, rest = module.factor_and_rest(0.9 * exact, exact)
    assert factor == pytest.approx(0.9)
    assert rest < 1e-12  # some roundings of distances near one
    error = random.normal(scale=0.1, size=1000)
    error -= error.mean()
    factor, rest = module.factor_and_rest(0.9 * (exact + error), exact)
    assert factor == pytest.approx(0.9)
    assert rest == pytest.approx(error.std() / exact.mean())
    monkeypatch.setattr(sys, "argv", ["series_distances", "--quick", "--out", str(tmp_path)])
    module.main()
    with (tmp_path / "series_distances.csv").open() as file:
        lines = {(line["data"], line["series"]): line for line in csv.DictReader(file)}
    for data in ("digits, ink", "digits, edges", "pairs of digits, ink"):
        unscaled, direct = lines[data, "Chebyshev, not scaled"], lines[data, "Direct, refined k"]
        assert float(unscaled["factor"]) < 0.9
        assert float(direct["factor"]) == pytest.approx(1.0, abs=0.01)
        assert float(direct["rest"]) < 0.1 * float(unscaled["rest"])


def test_one_pass_of_a_stream_is_ridge_on_all_its_rows(paper):
    module, random = paper("one_pass"), np.random.default_rng(0)
    features = random.normal(3.0, size=(90, 6)).astype(np.float32)
    codes = random.integers(0, 4, 90)
    statistics = module.Statistics(6, 4)
    for start in range(0, 90, 30):
        statistics.add(features[start : start + 30].copy(), codes[start : start + 30])
    coef, intercept = statistics.model(statistics.problem(5), 0.5)
    model = Ridge(0.5).fit(features[:, :5] - statistics.shift[:5], np.eye(4)[codes])
    np.testing.assert_allclose(coef.T, model.coef_, atol=1e-5)
    np.testing.assert_allclose(intercept, model.intercept_, atol=1e-5)


def test_calibration_makes_the_score_of_a_rank_equal(paper):
    module = paper("one_pass")
    scores = np.random.default_rng(0).normal(size=(126, 5)) * np.arange(1, 6)
    ranked = module.Ranked(126, 5)
    for start in range(0, 126, 40):
        ranked.add(scores[start : start + 40])
    # Of 126 rows and 5 classes the paper's 500 of 1260 are 10.
    assert ranked.rank == 10
    np.testing.assert_array_equal(np.sort(scores - ranked.shifts(), axis=0)[-10], 0.0)


def test_principal_components_of_a_stream_keep_what_they_say(paper):
    module, random = paper("one_pass"), np.random.default_rng(0)
    features = (random.normal(size=(90, 6)) * np.arange(1, 7)).astype(np.float32)
    codes = random.integers(0, 3, 90)
    statistics = module.Statistics(6, 3)
    statistics.add(features[:60].copy(), codes[:60])
    directions = statistics.directions(6)  # a third of six, of the rows so far
    pca = PCA(2).fit(features[:60])
    np.testing.assert_allclose(np.abs(directions.T @ pca.components_.T), np.eye(2)[::-1], atol=1e-4)
    statistics.add(features[60:].copy(), codes[60:])
    coef, intercept = statistics.model(statistics.problem(6, directions), 0.5)
    model = Ridge(0.5).fit(pca.transform(features), np.eye(3)[codes])
    scores = (features - statistics.shift) @ coef + intercept
    np.testing.assert_allclose(scores, model.predict(pca.transform(features)), atol=1e-4)


@pytest.mark.parametrize("name", ["table_3_descriptors", "table_4_streamed"])
def test_the_other_tables_run_on_digits(paper, monkeypatch, tmp_path, name):
    module = paper(name)
    monkeypatch.setattr(module, "Sizes", lambda quick: Small, raising=False)
    words = [name, "--quick", "--seeds", "1", "--out", str(tmp_path)]
    if name == "table_4_streamed":
        words += ["--sets", "pairs", "--parts", "linear", "nystroem", "pca", "pca_larger"]
    monkeypatch.setattr(sys, "argv", words)
    module.main()
    with (tmp_path / f"{name}.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["data"].split()[-1] for line in lines} <= {"digits", "ink"}
    assert all(0.0 < float(line["accuracy"]) <= 1.0 for line in lines)
    if name == "table_4_streamed":
        found = {(line["method"], line["size"]) for line in lines if line["size"] != "any"}
        methods = "Nyström", "PCA-Chebyshev", "PCA-VZ", "PCA-Direct"
        assert found == set(itertools.product(methods, ("120", "200", "280")))
    before = (tmp_path / f"{name}.csv").read_bytes()
    module.main()
    assert (tmp_path / f"{name}.csv").read_bytes() == before
