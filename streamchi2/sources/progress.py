"""A progress bar for people who watch: rows a second and the time that remains."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    n_rows: int | None, *, n_done: int = 0, verbose: int = 1
) -> Iterator[Callable[[int], object]]:
    """Show rows as they are reported to the function that this context gives.

    Nothing is shown with ``verbose=0``, where stderr is no terminal, or without tqdm (the extra
    ``progress``).

    >>> with progress_bar(100, verbose=0) as report:
    ...     report(100)
    """
    bar = _tqdm(n_rows, n_done) if verbose and sys.stderr.isatty() else None
    if bar is None:
        yield lambda n_rows: None
        return
    try:
        yield bar.update
    finally:
        bar.close()


def _tqdm(n_rows: int | None, n_done: int):  # type: ignore[no-untyped-def]  # tqdm has no types
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=n_rows, initial=n_done, unit=" rows", unit_scale=True, file=sys.stderr)
