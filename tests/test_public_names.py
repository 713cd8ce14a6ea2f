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
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.rst"
# Names our adapter "river", so that river itself can no longer be had under its own name.
SHADOWS = re.compile(
    r"from streamchi2 import (\([^)]*|[^\n]*)\briver\b|streamchi2\.river as river\b"
)
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


def test_no_code_that_readers_copy_shadows_river_itself():
    for line in ("from streamchi2 import load, river", "import streamchi2.river as river"):
        assert SHADOWS.search(line)
    assert not SHADOWS.search("from streamchi2.river import ExpChi2Sampler\nfrom river import base")
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder, ends in {
        "docs": ("md", "rst", "py"),
        "examples": ("md", "py"),
        "streamchi2": ("py",),
    }.items():
        texts += [path for end in ends for path in (ROOT / folder).rglob(f"*.{end}")]
    assert len(texts) > 100
    assert [path.name for path in texts if SHADOWS.search(path.read_text(encoding="utf-8"))] == []
