"""Work on many rows, cut into blocks of fixed size and shared out among threads.

numpy's ufuncs and scipy's transforms release the interpreter lock, so threads are enough. Blocks
never depend on the number of workers, and each writes its own part of the result: 1, 2 or 7
workers give the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

from streamchi2.runtime.blas import one_blas_thread
from streamchi2.validation import as_positive_int

BLOCK_ROWS = 128  # large enough to hide the interpreter, small enough to stay in the cache


def for_each_block(
    work: Callable[[int, int], None],
    n_rows: int,
    *,
    n_jobs: int | None = None,
    block_rows: int = BLOCK_ROWS,
    ends: Sequence[int] | None = None,
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
    ends : sequence of int, optional
        Where blocks end, in place of multiples of ``block_rows``.

    Examples
    --------
    >>> squares = [0] * 300
    >>> def work(start, stop):
    ...     squares[start:stop] = [i * i for i in range(start, stop)]
    >>> for_each_block(work, 300, n_jobs=2)
    >>> squares[:4], squares[-1]
    ([0, 1, 4, 9], 89401)
    """
    if ends is None:
        ends = [min(start + block_rows, n_rows) for start in range(0, n_rows, block_rows)]
    blocks = list(pairwise((0, *ends)))
    workers = min(n_workers(n_jobs), len(blocks))
    if len(blocks) <= 1:
        for start, stop in blocks:
            work(start, stop)
        return
    with one_blas_thread:
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


if hasattr(os, "register_at_fork"):
    # A forked child inherits the pool but none of its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)
