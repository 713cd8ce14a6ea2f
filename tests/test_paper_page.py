"""The page of the paper's experiments: made from the CSV files, with tests that count."""

import csv
import importlib
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t, ttest_rel

FOLDER = Path(__file__).parents[1] / "examples" / "paper"
HEAD = "data,method,size,terms,beta,learner,seed,accuracy,penalty,seconds"


@pytest.fixture
def paper(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:  # plain names, which others may want
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


def write(folder, name, cells):
    """Write a file of cells: (data, method, size, terms, beta, learner) -> accuracies by seed."""
    lines = [
        ",".join([*(f'"{word}"' for word in cell), str(seed), str(accuracy), "1", "2.0"])
        for cell, accuracies in cells.items()
        for seed, accuracy in enumerate(accuracies)
    ]
    (folder / f"{name}.csv").write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")


def test_the_page_is_what_the_script_makes_of_the_files(paper):
    page, paired = paper("page"), paper("paired")
    text = page.page((FOLDER / "page.md").read_text("utf-8"), paired.Accuracies(FOLDER))
    assert text == (FOLDER / "README.md").read_text("utf-8"), "run examples/paper/page.py"


def test_no_cell_stands_twice_in_the_files(paper):
    """Two runs beside each other on one file could write a cell twice."""
    columns = paper("cells").Cell._fields
    for path in sorted(FOLDER.glob("table_*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            cells = [tuple(line[name] for name in columns) for line in csv.DictReader(file)]
        assert len(cells) > 100, path.name
        twice = [cell for cell, times in Counter(cells).items() if times > 1]
        assert twice == [], path.name


def test_a_small_table_has_means_and_paired_differences(paper, tmp_path):
    page, paired = paper("page"), paper("paired")
    direct, other = [0.80, 0.82, 0.84, 0.83], [0.81, 0.83, 0.85, 0.85]
    write(
        tmp_path,
        "table_1_bow",
        {
            ("fashion_bow", "Direct", "3000", "5", "auto", "ridge"): direct,
            ("fashion_bow", "VZ", "3000", "5", "auto", "ridge"): other,
            ("fashion_bow", "Exact exp-chi2", "any", "-", "auto", "ridge"): other[:2],
            ("fashion_bow", "Nyström", "3000", "-", "auto", "ridge"): other[:1],
        },
    )
    accuracies = paired.Accuracies(tmp_path)
    text = page.page("before\n\n{{ one_set fashion_bow }}\nafter", accuracies)
    lines = {line.split(" | ")[0].strip("| "): line.split(" | ")[1:] for line in text.splitlines()}
    assert text.startswith("before\n")
    assert text.endswith("after")
    assert lines["Direct"][:4] == ["4", "82.25 ± 1.71", "", ""]
    assert lines["Nyström"][:4] == ["1", "81.00", "as exact", "as exact"]
    assert lines["Exact exp-chi2"][:4] == ["2", *3 * ["82.00 ± 1.41"]]  # at any size
    text = paper("tables_1_2").differences(accuracies)
    lines = {line.split(" | ")[0].strip("| "): line.split(" | ")[1:] for line in text.splitlines()}
    # Differences of 1, 1, 1 and 2: mean 1.25, standard deviation 0.5, standard error 0.25.
    assert lines["VZ"][0] == "**+1.25 ± 0.25** (4)"
    assert lines["Exact exp-chi2"][0] == "+1.00 ± 0.00 (2)"  # two draws: no test, so not bold
    assert lines["Nyström"][:2] == ["+1.00 (1)", ""]
    assert "for the 1 tests here, 5 %: 1 of them" in text
    assert page.page("({{ less ridge 3000 VZ }})", accuracies) == "(+1.25 ± 0.25)"
    # Direct is the worse of the one pair that can be tested.
    text = page.page("{{ counts VZ / Chebyshev }}", accuracies)
    assert "of 1 comparisons the mean favours Direct in 0" in text
    text = page.page("{{ ordering ridge fashion_bow / 3000 / VZ }}", accuracies)
    assert text == "−1.25 ± 0.25"
    lines = page.page("{{ orderings Chebyshev, not scaled / VZ }}", accuracies).splitlines()
    assert lines[0].startswith("| data | Direct − Chebyshev, not scaled, 3000 | ")
    assert lines[2] == "| ridge, fashion_bow |  |  |  | **−1.25 ± 0.25** (4) |  |  |"


def test_series_are_compared_over_descriptors_sizes_and_terms(paper, tmp_path):
    page, paired, tables = paper("page"), paper("paired"), paper("tables")
    direct = np.array([0.8, 0.82, 0.84])
    write(
        tmp_path,
        "table_1_bow",
        {(data, method, str(size), terms, "auto", "svm"): accuracies + 0.1 * place
         for place, data in enumerate(tables.SETS)
         for size in tables.SIZES
         for method, terms, accuracies in (
             ("Direct", "5", direct), ("VZ", "5", direct - [0.01, 0.01, 0.04 + 0.03 * place]),
         )}
        | {(data, method, str(size), "5", "1.5", "svm"): accuracies
           for data in tables.SETS
           for size in tables.SIZES
           for method, accuracies in (("Direct", direct), ("VZ", direct - [0.01, 0.02, 0.03]))}
        | {(data, "Chebyshev, not scaled", "7000", terms, "auto", "ridge"): accuracies
           for data in tables.SETS[:2]
           for terms, accuracies in (("1", direct[:2] - 0.2), ("3", direct - 0.1), ("5", direct))},
    )  # fmt: skip
    accuracies = paired.Accuracies(tmp_path)
    # Over the sets the third draw differs by 4 + 3 * 1.5 points: the mean of 1, 1 and 8.5.
    text = page.page("{{ over_all svm VZ }}", accuracies)
    assert text == "+3.50 ± 2.50"
    assert page.page("{{ over_all svm VZ / 1.5 }}", accuracies) == "+2.00 ± 0.58"
    pooled = page.page("{{ orderings VZ }}", accuracies).splitlines()[-1]
    assert pooled == "* svm, Direct − VZ: +3.50 ± 2.50 points, p = 0.296 (3 seeds)"
    assert page.page("{{ term_cost 1 Chebyshev, not scaled }}", accuracies) == "−20.00 ± 0.00"
    several = {(data, "VZ", "7000", terms, "auto", "ridge"): values
               for data in tables.SETS
               for terms, values in (("1", [0.5, 0.51, 0.52]), ("3", [0.6, 0.59, 0.6]),
                                     ("5", [0.6, 0.6, 0.6]))}  # fmt: skip
    write(tmp_path, "table_2_hog", several)
    text = page.page("{{ few_terms }}", paired.Accuracies(tmp_path))
    # With three terms the differences are 0, -1 and 0: t is -2 with 8 degrees of freedom, p = .08.
    assert (
        "from 2 terms on the mean over 4–12 draws differs from that with 5 by −0.33 to −0.33"
        in text
    )
    assert text.endswith("points; of 2 tests a difference is found with 1 by VZ")
    assert page.page("{{ term_cost 3 Chebyshev, not scaled }}", accuracies) == "−10.00 ± 0.00"


def test_differences_are_paired_and_holm_counts_the_tests(paper):
    paired, random = paper("paired"), np.random.default_rng(0)
    first, second = random.normal(80.0, 3.0, (2, 8))
    pair = dict(enumerate(first)), dict(enumerate(second, start=2))
    one = paired.Difference(*pair)
    assert one.values.size == 6
    assert one.p_value == pytest.approx(ttest_rel(first[2:], second[:6]).pvalue)

    def with_p(p):
        found = paired.Difference({0: 1.0, 1: 2.0, 2: 4.0}, {0: 0.0, 1: 0.0, 2: 0.0})
        found.__class__ = type("Known", (paired.Difference,), {"p_value": p})
        return found

    # Holm: .01 * 4 and .016 * 3 are below 5 %, .03 * 2 is not, and then nothing is.
    known = {p: with_p(p) for p in (0.016, 0.03, 0.01, 0.04)}
    assert paired.significant(known) == {0.01, 0.016}
    assert paired.n_tests({**known, "too few": paired.Difference({0: 1.0}, {0: 2.0})}) == 4


def test_draws_of_several_descriptors_are_tested_by_the_variance_within_them(paper):
    """The mean of a regression on indicators of the groups, by its textbook formulas."""
    paired, random = paper("paired"), np.random.default_rng(0)
    groups = [random.normal(centre, 1.0, size) for centre, size in ((9.0, 4), (-3.0, 5), (1.0, 1))]
    zero = dict.fromkeys(range(5), 0.0)
    parts = [paired.Difference(dict(enumerate(group)), zero) for group in groups]
    joined = paired.Difference.joined([*parts, paired.Difference({}, zero)])
    design = np.repeat(np.eye(3), [4, 5, 1], axis=0)
    values = np.concatenate(groups)
    np.testing.assert_array_equal(joined.values, values)
    coef, squares, *_ = np.linalg.lstsq(design, values, rcond=None)
    weights = np.array([4, 5, 1]) / 10
    variance = squares[0] / 7 * weights @ np.linalg.inv(design.T @ design) @ weights
    assert joined.freedom == 7
    assert joined.error == pytest.approx(np.sqrt(variance))
    expected = 2 * t.sf(abs(weights @ coef) / np.sqrt(variance), 7)
    assert joined.p_value == pytest.approx(expected)


def test_figure_1_and_the_claims_are_read_from_their_files(paper, tmp_path):
    page, paired, curves = paper("page"), paper("paired"), paper("curves")
    curves.write_lines(
        tmp_path / "figure_1_error.csv",
        ["data", "series", "terms", "mean absolute error"],
        [["words", "VZ", 1, 0.5], ["words", "VZ", 3, 0.25],
         ["words", "direct, greedy", 1, 0.1], ["words", "direct, greedy", 2, 0.01],
         ["words", "direct, greedy", 3, 0.001]],
    )  # fmt: skip
    curves.write_lines(
        tmp_path / "claims.csv",
        ["claim", "data", "difference of accuracy", "mean", "error", "seeds"],
        [["e", "words", "PCA, 1500 labels", 0.0123, 0.006, 12],
         ["e", "words", "PCA, 200 labels", -0.004, 0.0021, 12]],
    )  # fmt: skip
    accuracies = paired.Accuracies(tmp_path)
    lines = page.page("{{ error_curves }}", accuracies).splitlines()
    assert lines[0] == "| data | series | 1 | 2 | 3 |"
    assert lines[2:] == [
        "| words | VZ | 5.0e-01 |  | 2.5e-01 |",  # an odd number of terms
        "| words | direct, greedy | 1.0e-01 | 1.0e-02 | 1.0e-03 |",
    ]
    text = page.page("{{ error_ratios words / VZ / direct, greedy }}", accuracies)
    assert text == "5 to 250 times"
    lines = page.page("{{ claims }}", accuracies).splitlines()
    assert lines[2] == "| (e) | words | PCA, 1500 labels | **+1.23 ± 0.60** | 12 |"
    assert lines[3] == "| (e) | words | PCA, 200 labels | −0.40 ± 0.21 | 12 |"
    assert page.page("{{ claim e words 200 }}", accuracies) == "−0.40 ± 0.21"
    for ambiguous in ("labels", "of another name"):
        with pytest.raises(ValueError, match="values to unpack"):
            page.page(f"{{{{ claim e words {ambiguous} }}}}", accuracies)


def test_costs_of_few_terms_are_those_of_one_series_or_of_all_that_are_fitted(paper, tmp_path):
    page, paired, curves = paper("page"), paper("paired"), paper("curves")
    for name, lost in (("bow", 0.0), ("hog", 0.1)):
        means = {("Exact exp-chi2", "any"): 0.9, ("VZ", "1"): 0.88 - lost, ("direct", "1"): 0.85,
                 ("VZ", "3"): 0.9, ("Chebyshev, not scaled", "1"): 0.5 + lost}  # fmt: skip
        curves.write_lines(
            tmp_path / f"figure_2_{name}_limit.csv",
            ["method", "size", "seed", "accuracy"],
            [[*key, seed, mean + error] for key, mean in means.items()
             for seed, error in enumerate((0.01, -0.01))],
        )  # fmt: skip
    accuracies = paired.Accuracies(tmp_path)
    text = "{{ limit_costs 1 }}; {{ limit_costs 1 Chebyshev, not scaled }}; {{ limit_costs 3 VZ }}"
    assert page.page(text, accuracies) == "2.0 to 12.0; 30.0 to 40.0; 0.0 to 0.0"


def test_distances_of_the_series_are_read_from_their_file(paper, tmp_path):
    page, paired, curves = paper("page"), paper("paired"), paper("curves")
    curves.write_lines(
        tmp_path / "series_distances.csv",
        ["data", "series", "factor", "rest"],
        [["words", "VZ", 0.98, 0.0021], ["words", "Chebyshev, not scaled", 0.6, 0.0449],
         ["gradients", "VZ", 0.95, 0.012], ["gradients", "Chebyshev, not scaled", 0.8, 0.01]],
    )  # fmt: skip
    accuracies = paired.Accuracies(tmp_path)
    assert page.page("{{ series_distances }}", accuracies).splitlines() == [
        "| data | VZ | Chebyshev, not scaled |",
        "| --- | ---: | ---: |",
        "| words | 0.980, 0.21 % | 0.600, 4.5 % |",
        "| gradients | 0.950, 1.2 % | 0.800, 1 % |",
    ]
    text = "{{ distance_range factor VZ }}, {{ distance_range rest VZ / Chebyshev, not scaled }}"
    assert page.page(text, accuracies) == "0.95 to 0.98, 0.2 to 4 %"


def test_a_stream_is_compared_with_direct_and_with_itself_calibrated(paper, tmp_path):
    page, paired = paper("page"), paper("paired")
    data = "pairs of fashion_bow"
    write(
        tmp_path,
        "table_4_streamed",
        {(data, method, size, "5", "auto", learner): accuracies
         for method, size, learner, accuracies in (
             ("Direct", "3000", "ridge", [0.60, 0.62, 0.64]),
             ("Nyström", "3000", "ridge", [0.62, 0.64, 0.67]),
             ("Direct", "3000", "calibrated ridge", [0.55, 0.57, 0.58]),
             ("PCA-VZ", "3000", "ridge", [0.63]),
             ("PCA-VZ", "5000", "ridge", [0.64]),
         )}
        | {(data, method, "3000", "5", "auto / 2", "ridge"): accuracies
           for method, accuracies in (("Direct", [0.62, 0.64, 0.67]), ("VZ", [0.63, 0.65, 0.67]))},
    )  # fmt: skip
    accuracies = paired.Accuracies(tmp_path)
    lines = page.page("{{ stream_differences pairs }}", accuracies).splitlines()
    assert lines[0].startswith("| features | − Direct, 3000 | − Direct, 5000 | − Direct, 7000 |")
    # Differences of 2, 2 and 3: their mean is 2 1/3, its standard error 1/3.
    found = {line.split(" | ")[0].strip("| "): line.split(" | ")[1:] for line in lines[2:]}
    assert found["Nyström"][0] == "**+2.33 ± 0.33** (3)"
    assert found["Direct"][0] == ""
    assert found["Direct"][3] == "**−5.33 ± 0.33** (3)"
    assert page.page("{{ stream_less pairs Nyström }}", accuracies) == "+2.33"
    lines = page.page("{{ half_betas pairs }}", accuracies).splitlines()
    assert lines[0].split(" | ")[1:] == [
        "half of beta − beta", "− Direct, beta", "− Direct, half of beta |",
    ]  # fmt: skip
    assert lines[2] == "| VZ |  |  | +0.67 ± 0.33 (3) |"
    assert lines[3] == "| Direct | **+2.33 ± 0.33** (3) |  |  |"
    # Cells of two seconds: two in "series", two in "half_beta", one in "nystroem", for each seed.
    # One of "pca", another of "pca_larger".
    assert page.page("{{ hours 3600 table_4_streamed }}", accuracies) == "14"
    assert page.page("{{ hours 3600 table_1_bow }}", accuracies) == "0"
    seconds = page.page("{{ seconds }}", accuracies)
    for part in ("nystroem | 3", "pca | 1", "pca_larger | 1"):
        assert f"| table_4_streamed | {part} | 1 | 2 |" in seconds


def test_figure_2_at_the_papers_size_is_drawn_from_seeds_that_all_terms_have(paper, tmp_path):
    drawn, paired = paper("figure_2_paper_size"), paper("paired")
    of_terms = {"1": [0.5, 0.6], "5": [0.7, 0.9, 0.8]}
    cells = {
        ("fashion_bow", "Direct", "7000", terms, "auto", "ridge"): accuracies
        for terms, accuracies in of_terms.items()
    }
    cells["fashion_bow", "Exact exp-chi2", "any", "-", "auto", "ridge"] = [0.75, 0.9, 0.8]
    write(tmp_path, "table_1_bow", cells)
    accuracies = paired.Accuracies(tmp_path)
    found = drawn.differences(accuracies, "fashion_bow", "Direct")
    assert sorted(found) == [1, 5]
    np.testing.assert_allclose(found[1].values, [-25, -30])
    np.testing.assert_allclose(found[5].values, [-5, 0])
    assert drawn.differences(accuracies, "fashion_hog", "Direct") == {}
    pytest.importorskip("matplotlib", reason="draws a picture")
    drawn.picture(accuracies, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_every_part_of_the_page_can_be_made_of_few_cells(paper, tmp_path):
    page, paired = paper("page"), paper("paired")
    write(
        tmp_path,
        "table_1_bow",
        {(data, method, size, terms, beta, learner): [0.5, 0.6]
         for data in ("fashion_bow", "cifar10_three", "pairs of fashion_bow")
         for name in ("Chebyshev", "VZ", "Direct")
         for method in (name, f"{name}, 3D features")
         for size in ("3000", "7000")
         for terms in ("1", "5")
         for beta in ("auto", "1.5", "auto / 2")
         for learner in ("ridge", "svm", "calibrated ridge")},
    )  # fmt: skip
    words = {
        "one_set": "fashion_bow",
        "orderings": "VZ / Chebyshev",
        "streams": "pairs",
        "stream_differences": "pairs",
        "half_betas": "pairs",
    }
    modules = map(paper, ("tables_1_2", "tables_3_4", "running_time"))
    names = [function.__name__ for module in modules for function in module.TABLES]
    text = "\n\n".join(f"{{{{ {name} {words.get(name, '')} }}}}" for name in names)
    made = page.page(text, paired.Accuracies(tmp_path))
    assert "{{" not in made
    tables = [part.splitlines() for part in made.split("\n\n") if part.startswith("| ")]
    assert len(tables) == len(names)
    for lines in tables:
        assert len({line.count(" | ") for line in lines}) == 1, lines[0]
        assert len(lines) > 2, lines[0]
