"""Ctrl-C between two blocks of a stream, never inside one.

Statistics that are left in the middle of a block are worth nothing, and the handler of Ctrl-C
raises wherever the program is. Inside :class:`deferred_interrupts` it is noted, and delivered at
the next :func:`checkpoint` or at the end to the handler that was there before.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], Any]


class _Note:
    """Handler that keeps Ctrl-C for the handler that was there before."""

    __slots__ = ("frames", "handler")

    def __init__(self, handler: _Handler) -> None:
        self.handler = handler
        self.frames: list[FrameType | None] = []

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.frames[:] = [frame]  # a second one before the first is delivered says no more

    def deliver(self) -> None:
        if self.frames:
            self.handler(signal.SIGINT, self.frames.pop())


class deferred_interrupts:  # noqa: N801  # read as a statement: with deferred_interrupts():
    """Context in which Ctrl-C waits for a checkpoint or the end.

    Handlers written in Python run in the main thread only, so in others this does nothing; nor does
    it where Ctrl-C is ignored or left to the system. Other signals, and exceptions that one thread
    sends to another, are not held back.

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

    __slots__ = ("_note",)

    def __enter__(self) -> None:
        self._note: _Note | None = None
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and not isinstance(handler, _Note) and _in_main_thread():
            self._note = _Note(handler)
            # Last: Ctrl-C that comes before this raises here, and nothing is to be undone.
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        note = self._note
        if note is None:  # not the outermost
            return
        if isinstance(signal.getsignal(signal.SIGINT), _Note):  # not if the caller set another
            signal.signal(signal.SIGINT, note.handler)
        note.deliver()


def checkpoint() -> None:
    """Deliver Ctrl-C where it has been waiting; a place where the state is whole."""
    note = signal.getsignal(signal.SIGINT)
    if isinstance(note, _Note) and _in_main_thread():
        note.deliver()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
