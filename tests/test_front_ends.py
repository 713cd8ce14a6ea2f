"""docs/front_ends.md against the classes: all names are there, and no gap goes unexplained."""

import inspect
import re
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import streamchi2
from streamchi2 import river

PAGE = Path(__file__).parents[1] / "docs" / "front_ends.md"
CLASSES = ("ExpChi2Sampler", "ExpChi2Classifier", "ExpChi2Regressor")
# Which river has for several targets a row; scikit-learn's classes learn matrices.
OF_SEVERAL = ("ExpChi2MultiLabelClassifier", "ExpChi2MultiTargetRegressor")
ROUTING = re.compile(r"(get|set)_\w*(request|routing)")  # scikit-learn's, of metadata


def rows_of(text):
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines[1:]]


ROWS = rows_of(PAGE.read_text(encoding="utf-8"))


def quoted(cells):
    """Return the names that the cells promise; a cell without a place promises none."""
    promised = (cell for cell in cells if not cell.startswith(("no place", "no names", "with ")))
    return {name for cell in promised for name in re.findall(r"`(\w+)`", cell)}


def public(module):
    """Return all parameters, methods and attributes of the classes of a front end."""
    names = {name for name in OF_SEVERAL if hasattr(module, name)}
    for name in (*CLASSES, *sorted(names)):
        kind = getattr(module, name)
        get = kind._get_param_names if issubclass(kind, BaseEstimator) else kind(1)._get_params
        names |= {*get(), *(name for name in dir(kind) if not name.startswith("_"))}
    return {name for name in names if not ROUTING.fullmatch(name)}


@pytest.mark.parametrize(
    ("module", "column"), [(streamchi2, 1), (river, 2)], ids=["sklearn", "river"]
)
def test_the_table_names_all_there_is_and_nothing_else(module, column):
    promised, there = quoted([row[column] for row in ROWS]), public(module)
    assert sorted(there - promised) == []
    assert sorted(promised - there) == []


def test_river_lacks_nothing_that_it_has_a_place_for():
    for what, _, theirs in ROWS:
        assert quoted([theirs]) or re.fullmatch(r"no place: .{10,}", theirs), what
    # What both have goes by the same name where it is not a method.
    ours = quoted([row[1] for row in ROWS]) & {"alpha", "basis", "class_weight", "descriptors"}
    assert ours <= quoted([row[2] for row in ROWS])


@pytest.mark.parametrize("name", CLASSES)
def test_parameters_are_given_by_name_and_in_the_order_of_the_guide(name):
    guide = re.findall(r"\*\*`(\w+)`\*\*", (PAGE.parent / "guide/parameters.md").read_text("utf-8"))
    for module in (streamchi2, river):
        params = list(inspect.signature(getattr(module, name)).parameters.values())
        assert [param.name for param in params if param.kind is not param.KEYWORD_ONLY] == [
            "n_components"
        ]
        names = [param.name.replace("seed", "random_state") for param in params]
        names = [each for each in names if each != "prefix"]  # of the names of river's features
        assert names == sorted(names, key=guide.index)


def test_a_page_with_a_gap_is_seen():
    (gap,) = rows_of("| what | a | b |\n| seed | `random_state` | nothing |")
    assert not quoted([gap[2]])


def test_readings_of_river_are_those_of_its_model():
    model = river.ExpChi2Classifier(16, alpha=0.1, seed=0)
    with pytest.raises(AttributeError, match="no model yet"):
        _ = model.coef_
    with pytest.raises(AttributeError, match="no label yet"):
        _ = model.classes_
    number = river.ExpChi2Regressor(16, alpha=0.1, seed=0)
    for place in range(30):
        row = {"a": 1.0 + place % 3, "b": 1.0}
        model.learn_one(row, ("x", "y", "z")[place % 3])
        number.learn_one(row, float(place % 3))
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert model.coef_.shape == (3, 16)
    assert model.intercept_.shape == (3,)
    assert number.coef_.shape == (16,)
    assert isinstance(float(number.intercept_), float)
