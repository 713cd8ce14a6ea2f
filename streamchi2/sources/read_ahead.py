"""Reading ahead: one thread fetches the next batches while the present one is learnt."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")


class ReadAhead(Generic[Item]):
    """The items of an iterable, in order, a few of them fetched beforehand by a thread.

    An error in the iterable reaches whoever iterates, with its traceback. Leaving the context
    ends the thread, closes the iterable if it is a generator, and waits for both: no longer than
    it takes to fetch one item.

    Parameters
    ----------
    items : iterable
        Read by the thread alone.
    depth : int, default=2
        How many items may wait; one more is being fetched.

    Examples
    --------
    >>> with ReadAhead(range(4)) as items:
    ...     print(list(items))
    [0, 1, 2, 3]
    """

    def __init__(self, items: Iterable[Item], depth: int = 2) -> None:
        self._items, self._depth = items, depth
        self._waiting: deque[Item] = deque()
        self._error: BaseException | None = None
        self._ended = self._stopped = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._read, name="streamchi2-read-ahead")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._change:
            self._stopped = True
            self._change.notify_all()
        self._thread.join()

    def __iter__(self) -> Iterator[Item]:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._ended)
                if not self._waiting:
                    break
                item = self._waiting.popleft()
                self._change.notify_all()
            yield item
            del item  # or it would live until the next one is there
        if self._error is not None:
            raise self._error

    def _read(self) -> None:
        try:
            iterator = iter(self._items)
            try:
                for item in iterator:
                    if not self._put(item):
                        return
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    close()
        except BaseException as error:  # it belongs to whoever iterates, whatever it is
            self._error = error
        finally:
            with self._change:
                self._ended = True
                self._change.notify_all()

    def _put(self, item: Item) -> bool:
        with self._change:
            self._change.wait_for(lambda: self._stopped or len(self._waiting) < self._depth)
            self._waiting.append(item)
            self._change.notify_all()
            return not self._stopped
