"""When anything happens in the life of a stream: the only place where positions are compared.

Each answer is a function of what the stream remembers, never of how its rows were cut into batches
or of when somebody read. Positions are numbers of rows of positive weight; rows that count are
rows too, faded by a half-life, and never sums of weights.
"""

from __future__ import annotations

import math

LONGEST_BLOCK = 1024
FIRST_ROWS = 64  # before a map is planned, by bases that need no data, and an origin is set
_PLANS = 4  # a young stream is planned anew whenever it has grown so many times
_PROVISIONAL = 256  # rows up to which a reader of a young stream gets a plan on all of them
_MOST_EQUAL_ROWS = 1024  # a map is planned on so many even if they are all equal
_NEARLY = 1.0 + 1e-6  # so that the longest half-lives move no position: 63.9999999 rows are 64
_REESTIMATED = 4  # nodes are looked at again whenever rows have grown so many times
_FIRST_HALVING = 1024.0  # rows that count, from which on all may come to count half
_FIRST_BEGINNING, _BETWEEN_BEGINNINGS = 512, 100  # rows before a stream may begin anew


def block_rows(counted: float) -> int:
    """Return the length of the next block: a sixteenth to an eighth of the rows that count.

    A model is solved when a block ends. Half as many rows between solutions gained no accuracy on
    digits (.9670 against .9672) at 1.2 times the cost.

    >>> [block_rows(counted) for counted in (0.0, 15.9, 16.0, 64.0, 1000.0, 1e9)]
    [1, 1, 2, 8, 64, 1024]
    """
    return min(LONGEST_BLOCK, 1 << max(0, math.frexp(counted * _NEARLY)[1] - 4))


def kept_rows(n_features: int, first_rows: int) -> int:
    """Return up to how many labelled rows features are kept, so that models are solved from them.

    An eighth more than there are features: where rows are about as many, moments may mistake the
    best penalty. On a stream of mail with 1024 features accuracy fell from .90 at 1023 rows to .82
    at 1024.
    """
    return max(first_rows, n_features + n_features // 8)


def last_plan(n_rows: int, first_rows: int) -> int:
    """Return where a young stream of so many rows was last planned: after 1, 4, 16, 64, ... rows.

    >>> [last_plan(n_rows, 1024) for n_rows in (1, 3, 4, 255, 256, 1023, 1024, 2000)]
    [1, 1, 4, 64, 256, 256, 1024, 1024]
    """
    position = 1
    while position * _PLANS <= n_rows:
        position *= _PLANS
    return min(position, first_rows) if n_rows < first_rows else first_rows


def young_block_end(n_rows: int, first_rows: int) -> int:
    """Return where the pending block of a young stream ends: at the next plan, or before it.

    >>> [young_block_end(n_rows, 100) for n_rows in (0, 1, 3, 16, 17, 60, 64, 99)]
    [1, 2, 4, 18, 18, 64, 72, 100]
    """
    if n_rows == 0:
        return 1
    end = last_plan(n_rows, first_rows)
    next_plan = min(end * _PLANS, first_rows)
    while end <= n_rows:
        end += block_rows(end)
    return min(end, next_plan)


def plans_on_all(n_rows: int, made_of_rows: bool) -> bool:
    """Tell whether who reads a young stream gets a map planned on all rows there are.

    Otherwise it is that of the last plan: planning costs more than all else, and a map of 256 rows
    is as accurate as one of all (five sets, D = 1024 and 4096: differences of either sign below
    .004). Features that are made of rows are as many as rows.
    """
    return made_of_rows or n_rows < _PROVISIONAL


def is_grown_up(n_rows: int, first_rows: int, all_equal: bool) -> bool:
    """Tell whether the map of a young stream can be planned for good.

    Rows that are all equal say nothing about a map: it waits for others, up to 1024 rows.
    """
    return n_rows >= first_rows and (not all_equal or n_rows >= _MOST_EQUAL_ROWS)


def postponed(n_rows: int) -> int:
    """Return after how many rows a stream of so many equal ones is looked at again."""
    return min(2 * n_rows, max(n_rows + 1, _MOST_EQUAL_ROWS))


def reestimation_due(before: int, after: int, first_rows: int, half_life: float | None) -> bool:
    """Tell whether nodes are to be estimated again at the end of a block.

    Due are rows 256, 1024, 4096, ... beyond the first ones and, with a half-life, every half of it.

    >>> [reestimation_due(n, n + 64, 64, None) for n in (64, 192, 256, 960, 1024)]
    [False, True, False, True, False]
    >>> reestimation_due(400, 500, 64, half_life=300)
    True
    """
    if after <= first_rows:
        return False
    if half_life is not None:
        period = max(FIRST_ROWS, round(half_life / 2))
        if before // period < after // period:
            return True
    position = FIRST_ROWS * _REESTIMATED
    while position <= after:
        if before < position and first_rows < position:
            return True
        position *= _REESTIMATED
    return False


def is_early(position: int, first_rows: int) -> bool:
    """Tell whether a wrong scale of the first rows can still be mended by learning afresh."""
    return position <= 16 * first_rows


def choice_due(counted: float, n_labelled: int, last: tuple[float, int] | None) -> bool:
    """Tell whether the penalty is to be chosen, from labelled rows that count and all of them.

    ``last`` are the two when it was chosen. Due is a choice when the rows that count have doubled
    or halved, or as many new ones have come as count. Rows without labels make no choice due.

    >>> choice_due(128.0, 128, (64.0, 64)), choice_due(127.0, 127, (64.0, 64))
    (True, False)
    >>> choice_due(144.0, 1144, (144.0, 1000))
    True
    """
    if n_labelled == 0:
        return False
    if last is None:
        return True
    then, n_then = last
    grown = counted * _NEARLY >= 2.0 * then or counted <= then / 2.0 * _NEARLY
    return n_labelled > n_then and (grown or n_labelled - n_then >= counted)


def solution_due(learning: float, solving: float) -> bool:
    """Tell whether a model is to be solved at the end of a block.

    Solving is to be at most half of all operations so far, counted from sizes and never from the
    clock.
    """
    return solving <= learning


def halving_due(counted: float) -> bool:
    """Tell whether enough rows count, at the end of a block, to let all of them count half."""
    return counted * _NEARLY >= _FIRST_HALVING


def new_beginning_due(position: int, last: int | None) -> bool:
    """Tell whether all but the latest rows may be forgotten, since something was forgotten last."""
    return position >= (_FIRST_BEGINNING if last is None else last + _BETWEEN_BEGINNINGS)
