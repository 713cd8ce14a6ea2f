"""Worker threads for blocks of rows, one BLAS thread where several would only wait, and Ctrl-C.

numpy's ufuncs and scipy's transforms release the interpreter lock, so threads are enough. Blocks
never depend on the number of workers, and each writes its own part of the result: 1, 2 or 7
workers give the same bits.

The number of BLAS threads belongs to the process. LAPACK's reductions call BLAS thousands of times
for microseconds each: with two threads on a busy machine they were seen to take a hundred times as
long as with one. And blocks of rows are shared out among threads of our own.

Ctrl-C comes between two blocks of a stream, never inside one: statistics that are left in the
middle of a block are worth nothing, and the handler of Ctrl-C raises wherever the program is.
Inside :class:`deferred_interrupts` it is noted, and delivered at the next :func:`checkpoint` or at
the end to the handler that was there before.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import cache
from numbers import Integral
from types import FrameType
from typing import Any
from weakref import WeakSet

from threadpoolctl import ThreadpoolController

BLOCK_ROWS = 128  # large enough to hide the interpreter, small enough to stay in the cache


class OneBlasThread:
    """BLAS on one thread inside, and afterwards on as many as before anybody came in.

    The number belongs to the process. Everyone who comes in sets it, and the last one who leaves
    lifts it to what the first one saw, so that nobody's sums change because another thread has
    finished. Code outside this library that sets the number meanwhile can still change bits.

    >>> with one_blas_thread:
    ...     max(library.num_threads for library in blas_libraries())
    1
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # who was interrupted on the way may come in again
        self._n_inside = 0
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            libraries = blas_libraries()
            if self._n_inside == 0:
                self._before = [library.num_threads for library in libraries]
            # First: an exception on the way, Ctrl-C for instance, may leave a limit that is never
            # lifted, which costs time; never somebody inside without one, which changes sums.
            self._n_inside += 1
            _set_blas_threads([1] * len(libraries))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:  # others inside rely on the limit: sums depend on it
                _set_blas_threads(self._before)

    def start_afresh(self) -> None:
        """Forget, in a forked child, the callers whose threads it did not inherit."""
        if self._n_inside:
            _set_blas_threads(self._before)
        self._lock = threading.RLock()
        self._n_inside = 0


def _set_blas_threads(numbers: list[int]) -> None:
    for library, number in zip(blas_libraries(), numbers, strict=True):
        # Newer threadpoolctl heeds one thread at a time, the first until it ends.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


@cache
def blas_libraries() -> list[Any]:
    """Return controllers of the BLAS libraries that are loaded.

    Looking for them takes milliseconds, a limit set by threadpoolctl itself 150 us.
    """
    libraries = ThreadpoolController().lib_controllers
    return [library for library in libraries if library.user_api == "blas"]


one_blas_thread = OneBlasThread()


def for_each_block(
    work: Callable[[int, int], None],
    n_rows: int,
    *,
    n_jobs: int | None = None,
    block_rows: int = BLOCK_ROWS,
) -> None:
    """Call ``work(start, stop)`` for each block of rows, in threads where that pays.

    An exception in a worker is raised here, with its traceback, once no worker is running any
    more. Where there are several blocks BLAS runs on one thread, whatever the number of workers:
    its sums depend on how many threads share them.

    Parameters
    ----------
    work : callable
        Must be pure but for writing rows ``start`` to ``stop`` of its result.
    n_rows : int
        Number of rows; one block or less is worked on in the calling thread.
    n_jobs : int or None, default=None
        As in scikit-learn: None is 1, -1 is all cores, -2 all but one.
    block_rows : int, default=128
        Rows of a block; must depend on nothing but the kind of work.

    Examples
    --------
    >>> squares = [0] * 300
    >>> def work(start, stop):
    ...     squares[start:stop] = [i * i for i in range(start, stop)]
    >>> for_each_block(work, 300, n_jobs=2)
    >>> squares[:4], squares[-1]
    ([0, 1, 4, 9], 89401)
    """
    starts = range(0, n_rows, block_rows)
    blocks = [(start, min(start + block_rows, n_rows)) for start in starts]
    workers = min(n_workers(n_jobs), len(blocks))
    with one_blas_thread if len(blocks) > 1 else nullcontext():
        if workers <= 1:
            for start, stop in blocks:
                work(start, stop)
            return
        futures = [_pool(workers).submit(work, start, stop) for start, stop in blocks]
        try:
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()
            wait(futures)


def n_workers(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` asks for, as scikit-learn reads it.

    >>> n_workers(None), n_workers(3)
    (1, 3)
    >>> n_workers(0)
    Traceback (most recent call last):
        ...
    ValueError: n_jobs must be None, a positive number or a negative one (-1: all cores), got 0
    """
    if n_jobs is None:
        return 1
    is_integer = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if not is_integer or n_jobs == 0:
        raise (ValueError if is_integer else TypeError)(
            "n_jobs must be None, a positive number or a negative one (-1: all cores), got "
            f"{n_jobs!r}"
        )
    wanted = int(n_jobs)
    return wanted if wanted > 0 else max(1, _n_cores() + 1 + wanted)


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    # Kept for the life of the process and shared by all estimators: threads are no state.
    return ThreadPoolExecutor(workers, thread_name_prefix="streamchi2")


_locks: WeakSet[Any] = WeakSet()
_held: list[list[Any]] = []  # by those who are forking


def new_lock() -> Any:
    """Return a lock that a fork waits for: a child finds what it guards whole, and can have it.

    It waits for a call that is learning to end, at most.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _hold_locks() -> None:
    _held.append(list(_locks))
    for lock in _held[-1]:
        lock.acquire()


def _release_locks() -> None:
    for lock in _held.pop():
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_hold_locks, after_in_parent=_release_locks, after_in_child=_release_locks
    )
    # A forked child inherits the pool but none of its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=one_blas_thread.start_afresh)


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

    __slots__ = ("_frames", "_handler")

    def __enter__(self) -> None:
        self._frames: list[FrameType | None] = []
        self._handler: Any = None
        handler = signal.getsignal(signal.SIGINT)
        inner = isinstance(handler, deferred_interrupts)
        if callable(handler) and not inner and _in_main_thread():
            self._handler = handler
            # Last: Ctrl-C that comes before this raises here, and nothing is to be undone.
            signal.signal(signal.SIGINT, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Note Ctrl-C for the handler that was there before."""
        self._frames[:] = [frame]  # a second one before the first is delivered says no more

    def __exit__(self, *_: object) -> None:
        unchanged = isinstance(signal.getsignal(signal.SIGINT), deferred_interrupts)
        if unchanged and self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        self.deliver()

    def deliver(self) -> None:
        """Call that handler if Ctrl-C has come."""
        if self._frames:
            self._handler(signal.SIGINT, self._frames.pop())


def checkpoint() -> None:
    """Deliver Ctrl-C where it has been waiting; a place where the state is whole."""
    waiting = signal.getsignal(signal.SIGINT)
    if isinstance(waiting, deferred_interrupts) and _in_main_thread():
        waiting.deliver()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
