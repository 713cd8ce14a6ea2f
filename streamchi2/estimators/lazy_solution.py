"""A model that is worked out when it is first asked for, once, whichever thread asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Solution = TypeVar("Solution")


class LazySolution(Generic[Solution]):
    """Holds a function without arguments, and its result after the first :meth:`get`.

    Law: the function runs at most once, and the result never changes. An estimator swaps in a
    fresh holder whenever it has learnt, in one assignment; reading changes the holder, not the
    estimator.

    Parameters
    ----------
    solve : callable
        Returns an immutable model. It must be picklable where the estimator is to be.

    Examples
    --------
    >>> holder = LazySolution(lambda: print("solving") or 42)
    >>> holder.get(), holder.get()
    solving
    (42, 42)
    """

    def __init__(self, solve: Callable[[], Solution]) -> None:
        self._solve = solve
        self._lock = threading.Lock()
        self._found: tuple[Solution] | None = None

    def get(self) -> Solution:
        """Return the model, working it out if nobody has yet."""
        with self._lock:
            if self._found is None:
                self._found = (self._solve(),)
            return self._found[0]

    def found(self) -> Solution | None:
        """Return the model if somebody has asked for it before, else None; never solve."""
        known = self._found
        return None if known is None else known[0]

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"_solve": self._solve, "_found": self._found}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())
