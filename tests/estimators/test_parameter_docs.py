"""help() of every estimator says all there is to say, and says it once."""

import importlib
import inspect
import re

import pytest

from streamchi2.docstrings import documented, entries

CLASSES = [
    pytest.param(getattr(importlib.import_module(module), name), id=f"{module}.{name}")
    for module in ("streamchi2", "streamchi2.river")
    for name in importlib.import_module(module).__all__
    if name.startswith(("ExpChi2", "Streaming"))
]
FIT_STREAM = [param for param in CLASSES if hasattr(param.values[0], "fit_stream")]


def _section(words: str, title: str) -> str:
    found = re.search(
        rf"^{title}\n-{{{len(title)}}}\n(.*?)(?=^\w[^\n]*\n---|\Z)", words, re.S | re.M
    )
    assert found, title
    return found[1]


def section(words: str, title: str) -> list[tuple[str, str, str]]:
    """Return name, type and text of the entries of a section, written without our own parser."""
    parts = re.split(r"^(\S.*)\n", _section(words, title), flags=re.M)
    assert parts[0] == ""
    headers = [header.split(" : ", 1) for header in parts[1::2]]
    assert all(len(header) == 2 for header in headers), headers
    return [(*header, text) for header, text in zip(headers, parts[2::2], strict=True)]


def default_written(kind: str) -> object:
    return eval(re.search(r"default(?:=| ``)(.*?)`*$", kind)[1])


@pytest.mark.parametrize("estimator", CLASSES)
def test_every_parameter_is_described_once_with_its_default(estimator):
    words = inspect.getdoc(estimator)
    described = section(words, "Parameters")
    if "Other Parameters" in words:
        described += section(words, "Other Parameters")
    takes = inspect.signature(estimator).parameters
    # What a user sets stands first, in the signature and on the page.
    assert [name for name, _, _ in described] == list(takes)
    for name, kind, text in described:
        assert default_written(kind) == takes[name].default
        assert len(text.split()) > 4


@pytest.mark.parametrize("estimator", CLASSES)
def test_every_fitted_attribute_is_described_once(estimator):
    names = [name for name, _, _ in section(inspect.getdoc(estimator), "Attributes")]
    assert len(set(names)) == len(names)
    has = {
        name
        for name, thing in inspect.getmembers_static(estimator)
        if isinstance(thing, property) and name.endswith("_") and not name.startswith("_")
    }
    assert set(names) == has


@pytest.mark.parametrize("estimator", CLASSES)
def test_nobody_is_sent_to_another_class_for_a_parameter(estimator):
    words = inspect.getdoc(estimator)
    assert "%(" not in words
    for title in ("Parameters", "Attributes"):
        for name, _, text in section(words, title):
            assert not re.search(r"(?i)\b(as (in|for)|see) :(class|meth)", text), name
    assert not re.search(r"(?i)laws: as for", words)


@pytest.mark.parametrize("estimator", CLASSES)
def test_every_argument_of_every_method_is_described_once(estimator):
    for name, method in inspect.getmembers(estimator, inspect.isfunction):
        if name.startswith("_") or not method.__module__.startswith("streamchi2."):
            continue
        takes = [
            own
            for own, parameter in inspect.signature(method).parameters.items()
            if own != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        words = inspect.getdoc(method)
        assert words, name
        if takes:
            described = re.findall(r"^(\w+)(?: :.*)?$", _section(words, "Parameters"), re.M)
            assert described == takes, name


@pytest.mark.parametrize("estimator", FIT_STREAM)
def test_arguments_of_fit_stream_are_in_signature_and_help(estimator):
    takes = dict(inspect.signature(estimator.fit_stream).parameters)
    del takes["self"]
    described = section(inspect.getdoc(estimator.fit_stream), "Parameters")
    assert [name for name, _, _ in described] == list(takes)
    for name, kind, _ in described:
        assert takes[name].kind not in (
            inspect.Parameter.VAR_KEYWORD,
            inspect.Parameter.VAR_POSITIONAL,
        )
        if "default=" in kind:
            assert default_written(kind) == takes[name].default
        else:
            assert takes[name].default in (None, inspect.Parameter.empty)


class TestDocumented:
    def test_a_parameter_without_text_is_refused_by_name(self):
        class Silent:
            """%(parameters)s"""

            def __init__(self, unheard=1.0):
                pass

        with pytest.raises(KeyError, match="unheard"):
            documented()(Silent)

    def test_a_class_may_say_it_in_its_own_words(self):
        class Plain:
            """%(parameters)s"""

            def __init__(self, alpha=1.0, n_terms=3):
                pass

        class Special(Plain):
            """%(parameters)s"""

        words = entries("alpha : float\n    Usual.\nSpecial.alpha : int\n    Unusual.")
        for kind in (Plain, Special):
            documented(words)(kind)
        assert section(Plain.__doc__, "Parameters")[0][1:] == (
            "float, default=1.0",
            "    Usual.\n\n",
        )
        assert section(Special.__doc__, "Parameters")[0][1] == "int, default=1.0"
        assert section(Plain.__doc__, "Other Parameters")[0][0] == "n_terms"

    def test_stripped_docstrings_stay_stripped(self):
        class Stripped:
            __doc__ = None

        assert documented()(Stripped).__doc__ is None
