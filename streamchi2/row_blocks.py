"""Work on many rows, cut into blocks of fixed size and shared out among threads.

numpy's ufuncs and scipy's transforms release the interpreter lock, so threads are enough. Blocks
never depend on the number of workers, and each writes its own part of the result: 1, 2 or 7
workers give the same bits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from streamchi2.batch import as_positive_int

BLOCK_ROWS = 128  # large enough to hide the interpreter, small enough to stay in the cache


def for_each_block(
    work: Callable[[int, int], None], n_rows: int, *, n_jobs: int | None = None
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

    Examples
    --------
    >>> squares = [0] * 300
    >>> def work(start, stop):
    ...     squares[start:stop] = [i * i for i in range(start, stop)]
    >>> for_each_block(work, 300, n_jobs=2)
    >>> squares[:4], squares[-1]
    ([0, 1, 4, 9], 89401)
    """
    blocks = [(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS)]
    workers = min(n_workers(n_jobs), len(blocks))
    if len(blocks) <= 1:
        for start, stop in blocks:
            work(start, stop)
        return
    with _one_blas_thread:
        if workers == 1:
            for start, stop in blocks:
                work(start, stop)
        else:
            _share_out(work, blocks, workers)


def _share_out(
    work: Callable[[int, int], None], blocks: list[tuple[int, int]], workers: int
) -> None:
    futures = [_pool(workers).submit(work, start, stop) for start, stop in blocks]
    try:
        for future in futures:
            future.result()
    finally:
        for future in futures:
            future.cancel()
        for future in futures:
            if not future.cancelled():
                future.exception()  # waits for what still runs


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
    if n_jobs == 0:
        raise ValueError(
            "n_jobs must be None, a positive number or a negative one (-1: all cores), got 0"
        )
    wanted = as_positive_int(n_jobs, name="n_jobs", minimum=-(2**31))
    return wanted if wanted > 0 else max(1, _n_cores() + 1 + wanted)


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    # Kept for the life of the process and shared by all estimators: threads are no state.
    return ThreadPoolExecutor(workers, thread_name_prefix="streamchi2")


class _OneBlasThread:
    """BLAS on one thread inside, and afterwards on as many as before anybody came in.

    The number belongs to the process. Everyone who comes in sets it, and everyone who leaves lifts
    it to what the first one found: lifting it to what one has found oneself, as threadpoolctl
    does, makes the limit permanent where callers overlap.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._before = [(library, library.num_threads) for library in _blas()]
            self._n_inside += 1
            for library in _blas():
                library.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
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


_one_blas_thread = _OneBlasThread()


def _forget_threads() -> None:
    """Start afresh in a forked child, which inherits the pool but none of its threads."""
    _pool.cache_clear()
    if _one_blas_thread._n_inside:
        _one_blas_thread.lift()
    _one_blas_thread.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
