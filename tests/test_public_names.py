"""Every public name is on the reference page, and says what it is in full."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

MODULES = [
    "streamchi2",
    "streamchi2.errors",
    "streamchi2.river",
    "streamchi2.plots",
    "streamchi2.testing",
    "streamchi2.dask",
]
PAGE = Path(__file__).parents[1] / "docs" / "api.rst"
PUBLIC = [
    pytest.param(module, name, id=f"{module}.{name}".removeprefix("streamchi2."))
    for module in MODULES
    for name in importlib.import_module(module).__all__
]


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_the_name_is_on_the_reference_page(module, name):
    page = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"\.\. (?:currentmodule|automodule):: ([\w.]+)\n", page)
    listed = {}
    for where, text in zip(parts[1::2], parts[2::2], strict=True):
        listed.setdefault(where, []).append(text)
    whole = ":imported-members:" in "".join(listed[module])
    assert whole or f"   {name}\n" in "".join(listed[module])


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_the_name_says_what_it_takes_and_shows_its_use(module, name):
    thing = getattr(importlib.import_module(module), name)
    words = inspect.getdoc(thing)
    assert words
    if module != "streamchi2.testing":  # whose checks and strategies share one example
        raised = isinstance(thing, type) and issubclass(thing, BaseException)
        takes = () if raised else inspect.signature(thing).parameters
        assert "Parameters\n----------" in words or not takes
        assert ">>> " in words or name.startswith("plot_")  # what is drawn is tested elsewhere
