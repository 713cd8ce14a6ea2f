"""Docstrings of estimators whose parameters and attributes are described in one place."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_HEADER = re.compile(r"(\*{0,2}\w+) : (.+)")


def entries(text: str) -> dict[str, str]:
    """Return the entries of a numpydoc section by the name that each begins with.

    >>> found = entries('''
    ... beta : float
    ...     Inverse scale.
    ... dof : float
    ...     Degrees of freedom.
    ... ''')
    >>> print(found["dof"])
    dof : float
        Degrees of freedom.
    """
    found: dict[str, list[str]] = {}
    name = None
    for line in textwrap.dedent(text).strip().splitlines():
        if match := _HEADER.fullmatch(line):
            name = match[1]
            if name in found:
                raise ValueError(f"{name!r} must be described once, got {line!r} again")
            found[name] = []
        if name is None or not (match or not line or line.startswith(" ")):
            raise ValueError(f"an entry must be 'name : type' over indented lines, got {line!r}")
        found[name].append(line)
    return {name: "\n".join(lines).rstrip() for name, lines in found.items()}


def documented(
    parameters: Mapping[str, str],
    attributes: Mapping[str, str],
    arguments: Mapping[str, str] | None = None,
) -> Callable[[type[T]], type[T]]:
    """Fill the lines ``%(parameters)s`` and ``%(attributes)s`` of the docstring of a class.

    The first becomes the section "Parameters": one entry for each parameter of the constructor,
    in its order, with its default. The second becomes the section "Attributes": one for each public
    property of the class whose name ends in an underscore, described by the first paragraph of
    the docstring of the property. Public methods of the class itself that have no section
    "Parameters" get one.

    Parameters
    ----------
    parameters : mapping of str to str
        Entries by name, see :func:`entries`. One that the constructor has and this has not is
        refused, so that none is forgotten; others are left out.
    attributes : mapping of str to str
        Types of the attributes by name, in the order of the section. After a colon follows the
        parameter without which an attribute is left out.
    arguments : mapping of str to str, optional
        Entries for the arguments of methods.

    Notes
    -----
    Nothing happens where docstrings are stripped (``python -OO``).

    Examples
    --------
    >>> @documented(entries('''
    ... alpha : float
    ...     Strength of the penalty.
    ... '''), {"alpha_": "float"})
    ... class Ridge:
    ...     '''Ridge regression.
    ...
    ...     %(parameters)s
    ...
    ...     %(attributes)s
    ...     '''
    ...     def __init__(self, alpha=1.0):
    ...         self.alpha = alpha
    ...
    ...     @property
    ...     def alpha_(self):
    ...         "Penalty in use."
    ...         return self.alpha
    >>> Ridge.__doc__.splitlines()[2:6]
    ['Parameters', '----------', 'alpha : float, default=1.0', '    Strength of the penalty.']
    """

    def fill(cls: type[T]) -> type[T]:
        if cls.__doc__ is None:
            return cls
        takes = dict(inspect.signature(cls).parameters)
        sections = {
            "%(parameters)s": _section("Parameters", _entries_of(takes, parameters, cls)),
            "%(attributes)s": _section("Attributes", _attributes_of(cls, takes, attributes)),
        }
        cls.__doc__ = _filled(inspect.cleandoc(cls.__doc__), sections, cls)
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                _describe_arguments(method, arguments or {})
        return cls

    return fill


def _describe_arguments(method: Callable[..., Any], known: Mapping[str, str]) -> None:
    words = inspect.cleandoc(method.__doc__ or "")
    takes = {
        name: parameter
        for name, parameter in inspect.signature(method).parameters.items()
        if name != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    if not words or not takes or "Parameters\n---" in words:
        return
    section = _section("Parameters", _entries_of(takes, known, method))
    title = re.search(r"\n\n\w[\w ]*\n-{3,}\n", words)
    place = len(words) if title is None else title.start()
    method.__doc__ = f"{words[:place]}\n\n{section}{words[place:]}"


def _entries_of(
    takes: dict[str, inspect.Parameter], known: Mapping[str, str], thing: Any
) -> list[str]:
    missing = [name for name in takes if name not in known]
    if missing:
        raise TypeError(
            f"parameters of {thing.__name__} must be described where its decorator says, "
            f"got nothing for {missing}"
        )
    return [_with_default(known[name], parameter) for name, parameter in takes.items()]


def _with_default(entry: str, parameter: inspect.Parameter) -> str:
    header, _, body = entry.partition("\n")
    known = "default=" in header or "optional" in header
    if not known and parameter.default is not inspect.Parameter.empty:
        default = parameter.default
        written = f'"{default}"' if isinstance(default, str) else repr(default)
        # Sphinx takes a word with an underscore at its end for a link, and no literal after "=".
        link = written.endswith('_"')
        header += f", default ``{written}``" if link else f", default={written}"
    return f"{header}\n{body}"


def _attributes_of(
    cls: type, takes: dict[str, inspect.Parameter], types: Mapping[str, str]
) -> list[str]:
    found = {
        name: inspect.cleandoc(thing.__doc__ or "").split("\n\n")[0]
        for name, thing in inspect.getmembers_static(cls)
        if isinstance(thing, property) and name.endswith("_") and not name.startswith("_")
    }
    missing = [name for name, words in found.items() if name not in types or not words]
    if missing:
        raise TypeError(
            f"attributes of {cls.__name__} must have a docstring and a type where its decorator "
            f"says, got none of one for {missing}"
        )
    written = []
    for name, description in types.items():
        kind, _, needed = description.partition(": ")
        if name in found and (not needed or needed in takes):
            words = found[name].replace("\n", "\n    ")
            written.append(f"{name} : {kind}\n    {words}")
    return written


def _section(title: str, written: list[str]) -> str:
    return "\n".join([title, "-" * len(title), *written])


def _filled(words: str, sections: dict[str, str], thing: Any) -> str:
    lines = words.splitlines()
    for mark in sections:
        if lines.count(mark) != 1:
            raise TypeError(f"the docstring of {thing.__name__} must have one line {mark}")
    return "\n".join(sections.get(line, line) for line in lines)
