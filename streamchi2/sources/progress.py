"""Progress for people who watch, and for programs that do: a bar and a callback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any


@contextmanager
def progress_bar(
    n_rows: int | None,
    *,
    n_done: int = 0,
    verbose: int = 1,
    callback: Callable[[int, int | None], Any] | None = None,
) -> Iterator[Callable[[int], None]]:
    """Show rows as they are reported to the function that this context gives.

    The bar needs tqdm (the extra ``progress``). It is shown on a terminal and in a notebook,
    nowhere else, and not with ``verbose=0``.

    Parameters
    ----------
    n_rows : int or None
        Rows there are, if that is known.
    n_done : int, default=0
        Rows that were learnt in an earlier run.
    verbose : int, default=1
        0 shows no bar; the callback is called all the same.
    callback : callable, optional
        Called after every report with the rows learnt so far and ``n_rows``, by the thread that
        reports. What it raises ends the run.

    Examples
    --------
    >>> with progress_bar(100, verbose=0, callback=print) as report:
    ...     report(60)
    ...     report(40)
    60 100
    100 100
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable with (n_done, n_rows), got {callback!r}")
    bar = None
    # The stderr of a notebook is no terminal.
    if verbose and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        with suppress(ImportError):
            from tqdm.auto import tqdm  # widgets in a notebook that has them, else text

            bar = tqdm(total=n_rows, initial=n_done, unit=" rows", unit_scale=True, file=sys.stderr)

    def report(n_new: int) -> None:
        nonlocal n_done
        n_done += n_new
        if bar is not None:
            bar.update(n_new)
        if callback is not None:
            callback(n_done, n_rows)

    with nullcontext() if bar is None else bar:
        yield report
