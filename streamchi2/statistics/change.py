"""A change of state that is either made or not, whatever fails.

What may fail, for lack of memory above all, is done first, and its results are written down in a
:class:`Change`. Making the change is then assignments and sums in place; should one of these fail
all the same, the rest is made up for by finishing the change again.
"""

from __future__ import annotations

from typing import Any, Protocol


class Step(Protocol):
    """Part of a change that can be finished again after a failure."""

    def finish(self) -> None:
        """Do what is left to do; nothing where all is done."""


class Change:
    """New values of some attributes, assigned all at once after the steps before them.

    Parameters
    ----------
    owner : object
        Whose attributes they are.
    values : dict
        By their names.
    before : tuple of Step, default=()
        What is done first.

    Examples
    --------
    >>> class Account:
    ...     balance, rows = 0, 0
    >>> account = Account()
    >>> Change(account, {"balance": 7, "rows": 1}).finish()
    >>> account.balance, account.rows
    (7, 1)
    """

    __slots__ = ("before", "owner", "values")

    def __init__(self, owner: Any, values: dict[str, Any], before: tuple[Step, ...] = ()) -> None:
        self.owner = owner
        self.values = values
        self.before = before

    def finish(self) -> None:
        """Make the change, or what is left of it."""
        for step in self.before:
            step.finish()
        vars(self.owner).update(self.values)
