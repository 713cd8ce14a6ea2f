"""Ctrl-C between two blocks of a stream, never inside one.

Statistics that are left in the middle of a block are worth nothing. Inside
:class:`deferred_interrupts` the signal is noted, and delivered at the next :func:`checkpoint` or
at the end, to whatever handler was there before: by default as KeyboardInterrupt.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class deferred_interrupts:  # noqa: N801  # read as a statement: with deferred_interrupts():
    """Context in which Ctrl-C waits for a checkpoint or the end.

    Only the main thread is ever interrupted, so in others this does nothing; nor does it where the
    signal is ignored or left to the system. Entering and leaving take some microseconds.

    Examples
    --------
    >>> steps = []
    >>> try:
    ...     with deferred_interrupts():
    ...         signal.raise_signal(signal.SIGINT)
    ...         steps.append("the block is finished")
    ...         checkpoint()
    ...         steps.append("the next block")
    ... except KeyboardInterrupt:
    ...     steps.append("stopped")
    >>> steps
    ['the block is finished', 'stopped']
    """

    _handler: Callable[[int, FrameType | None], Any] | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        if handler == _waiting.note or not callable(handler):
            return
        self._handler = _waiting.handler = handler
        try:
            signal.signal(signal.SIGINT, _waiting.note)
        except ValueError:  # the main thread of a subinterpreter
            self._handler = None

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            _waiting.deliver()


def checkpoint() -> None:
    """Deliver an interrupt that has been waiting; a place where the state is whole."""
    if _waiting.came and threading.current_thread() is threading.main_thread():
        _waiting.deliver()


class _Waiting:
    """The signal that has been noted, and who is to get it."""

    def __init__(self) -> None:
        self.came = False
        self.handler: Callable[[int, FrameType | None], Any] | None = None

    def note(self, number: int, frame: FrameType | None) -> None:
        self.came = True

    def deliver(self) -> None:
        if self.came and self.handler is not None:
            self.came = False
            self.handler(signal.SIGINT, None)


_waiting = _Waiting()
