"""Warnings that wait until a state is whole, so that a filter may make errors of them.

A stream that has taken rows off its queue must not be left before they are absorbed.
"""

from __future__ import annotations

import threading
import warnings


class _Held(threading.local):
    """Warnings that wait in this thread; None where they need not."""

    waiting: list[Warning] | None = None


_held = _Held()


class deferred_warnings:  # noqa: N801  # read as a statement: with deferred_warnings():
    """Context at whose end the warnings are given that :func:`warn` was asked for inside it.

    Of contexts inside each other the outermost gives them. It takes a microsecond.

    Examples
    --------
    >>> steps = []
    >>> try:
    ...     with warnings.catch_warnings(action="error"), deferred_warnings():
    ...         warn(UserWarning("far away"))
    ...         steps.append("the block is finished")
    ... except UserWarning as error:
    ...     steps.append(str(error))
    >>> steps
    ['the block is finished', 'far away']
    """

    __slots__ = ("_outermost",)

    def __enter__(self) -> None:
        self._outermost = _held.waiting is None
        if self._outermost:
            _held.waiting = []

    def __exit__(self, *_: object) -> None:
        if not self._outermost:
            return
        waiting, _held.waiting = _held.waiting, None
        for warning in waiting or ():
            warnings.warn(warning, stacklevel=3)  # at whoever called what holds them


def warn(warning: Warning) -> None:
    """Give a warning now or, inside :class:`deferred_warnings`, at its end."""
    if _held.waiting is None:
        warnings.warn(warning, stacklevel=3)
    else:
        _held.waiting.append(warning)
