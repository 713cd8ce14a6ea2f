"""One BLAS thread where several would only wait for each other.

The number of BLAS threads belongs to the process. LAPACK's reductions call BLAS thousands of times
for microseconds each: with two threads on a busy machine they were seen to take a hundred times as
long as with one. And blocks of rows are shared out among threads of our own.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class OneBlasThread:
    """BLAS on one thread inside, and afterwards on as many as before anybody came in.

    The number belongs to the process. Everyone who comes in sets it, and the last one who leaves
    lifts it to what the first one found, so that nobody's sums change because another thread has
    finished. Code outside this library that sets the number meanwhile can still change bits.

    >>> with one_blas_thread:
    ...     max(library.num_threads for library in _blas())
    1
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._before: list[tuple[Any, int]] = []
        self._own = threading.local()  # how often the present thread is inside

    def __enter__(self) -> None:
        depth = getattr(self._own, "depth", 0)
        if depth == 0:
            with self._lock:
                if self._n_inside == 0:
                    self._before = [(library, library.num_threads) for library in _blas()]
                self._n_inside += 1
                for library in _blas():
                    library.set_num_threads(1)
        # Last: an exception on the way, Ctrl-C for instance, may leave a limit that is never
        # lifted, which costs time; never somebody inside without one, which would change sums.
        self._own.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._own.depth -= 1
        if self._own.depth:
            return
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:  # others inside rely on the limit: sums depend on it
                self.lift()

    def lift(self) -> None:
        """Give BLAS back the threads that it had."""
        for library, n_threads in self._before:
            library.set_num_threads(n_threads)
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread()  # newer threadpoolctl heeds one thread at a time


@cache
def _blas() -> list[Any]:
    # Looking for the loaded libraries takes milliseconds, a limit set by its own means 150 us.
    found = ThreadpoolController().lib_controllers
    return [library for library in found if library.user_api == "blas"]


one_blas_thread = OneBlasThread()


def _start_afresh() -> None:
    """Lift in a forked child the limit of callers that it did not inherit."""
    if one_blas_thread._n_inside:
        one_blas_thread.lift()
    one_blas_thread.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)
