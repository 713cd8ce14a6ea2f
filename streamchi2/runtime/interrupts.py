"""Signals between two blocks of a stream, never inside one.

Statistics that are left in the middle of a block are worth nothing, and a handler may raise: Ctrl-C
does, and so do the alarms of timeouts. Inside :class:`deferred_interrupts` signals are noted, and
delivered at the next :func:`checkpoint` or at the end, to whatever handlers were there before.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], Any]

# Those that people, timers and supervisors send; faults of the program itself do not wait.
_NAMES = ["INT", "TERM", "HUP", "QUIT", "BREAK", "ALRM", "VTALRM", "PROF", "USR1", "USR2"]
SIGNALS = tuple(getattr(signal, f"SIG{name}") for name in _NAMES if hasattr(signal, f"SIG{name}"))


class deferred_interrupts:  # noqa: N801  # read as a statement: with deferred_interrupts():
    """Context in which signals wait for a checkpoint or the end.

    Handlers written in Python run in the main thread only, so in others this does nothing; nor does
    it to signals that are ignored or left to the system. Entering and leaving take some
    microseconds. Exceptions that one thread sends to another by other means are not held back.

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

    __slots__ = ("_outermost",)

    def __enter__(self) -> None:
        self._outermost = False
        if threading.current_thread() is not threading.main_thread() or _waiting.inside:
            return
        try:
            self._outermost = _waiting.inside = True
            _waiting.take_over()
        except BaseException:  # a signal that came before its handler was replaced
            _waiting.give_back()
            raise

    def __exit__(self, *_: object) -> None:
        if self._outermost:
            _waiting.give_back()


def checkpoint() -> None:
    """Deliver signals that have been waiting; a place where the state is whole."""
    if _waiting.came and threading.current_thread() is threading.main_thread():
        _waiting.deliver()


class _Waiting:
    """The signals that have been noted, and who is to get them."""

    def __init__(self) -> None:
        self.inside = False
        self.came: list[tuple[int, FrameType | None]] = []
        self.handlers: dict[int, _Handler] = {}

    def take_over(self) -> None:
        """Note signals from now on that somebody handles."""
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if handler == self.note or not callable(handler):
                continue
            self.handlers[number] = handler
            try:
                signal.signal(number, self.note)
            except ValueError:  # the main thread of a subinterpreter
                return

    def give_back(self) -> None:
        """Deliver what came, and leave signals to their handlers again."""
        try:
            self.inside = False  # from here on signals are passed on, and their handlers may raise
            self._restore()
        except BaseException:
            self._restore()
            raise
        finally:
            self.deliver()

    def _restore(self) -> None:
        for number, handler in self.handlers.items():
            if signal.getsignal(number) == self.note:
                signal.signal(number, handler)

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: later, or at once where nobody waits."""
        if self.inside:
            self.came.append((number, frame))
        else:
            self.handlers[number](number, frame)

    def deliver(self) -> None:
        """Hand each signal to its handler, the others too where one raises."""
        if self.came:
            number, frame = self.came.pop(0)
            try:
                self.handlers[number](number, frame)
            finally:
                self.deliver()


_waiting = _Waiting()
