"""help() of every estimator says all there is to say, and says it once."""

import importlib
import inspect
import re

import pytest

from streamchi2.estimators.documented import documented, entries

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
    described = section(inspect.getdoc(estimator), "Parameters")
    takes = inspect.signature(estimator).parameters
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
    takes = inspect.signature(estimator).parameters
    unused = {
        "descriptors": {"descriptor_columns_", "descriptor_path_", "descriptor_weights_"},
    }
    for parameter, belonging in unused.items():
        has -= set() if parameter in takes else belonging
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


def test_one_source_gives_all_fit_streams_the_same_arguments():
    common = set.intersection(
        *(set(inspect.signature(param.values[0].fit_stream).parameters) for param in FIT_STREAM)
    )
    for param in FIT_STREAM:
        others = set(inspect.signature(param.values[0].fit_stream).parameters) - common
        assert not others


class Plain:
    """A class.

    %(parameters)s

    %(attributes)s
    """

    def __init__(self, beta=1.0):
        self.beta = beta


class TestDocumented:
    def test_a_parameter_without_text_is_refused_by_name(self):
        with pytest.raises(TypeError, match=r"parameters of Plain .* got nothing for \['beta'\]"):
            documented({}, {})(Plain)

    def test_an_attribute_without_text_is_refused_by_name(self):
        class Silent(Plain):
            __doc__ = Plain.__doc__
            beta_ = property(lambda self: self.beta)

        with pytest.raises(TypeError, match=r"attributes of Silent .*\['beta_'\]"):
            documented(entries("beta : float\n    Scale."), {"beta_": "float"})(Silent)

    def test_a_docstring_without_the_marks_is_refused(self):
        class Unmarked(Plain):
            """Words."""

        with pytest.raises(TypeError, match=r"Unmarked must have one line %\(parameters\)s"):
            documented(entries("beta : float\n    Scale."), {})(Unmarked)

    def test_stripped_docstrings_stay_stripped(self):
        class Stripped(Plain):
            __doc__ = None

        assert documented({}, {})(Stripped).__doc__ is None

    @pytest.mark.parametrize(
        "text", ["beta: float", "beta : float\nno indent", "a : b\n  c\na : b"]
    )
    def test_entries_that_cannot_be_read_are_refused(self, text):
        with pytest.raises(ValueError, match="must be"):
            entries(text)
