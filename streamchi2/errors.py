"""The errors and warnings of this library's own; other refusals are ValueError or TypeError."""

__all__ = [
    "BasisHint",
    "FormatError",
    "NoTargetError",
    "PrecisionWarning",
    "StateMismatchError",
]


class StateMismatchError(ValueError):
    """Two states cannot be merged because they were built under different parameters.

    >>> raise StateMismatchError("bins_per_octave must agree to merge, got 64 and 32")
    Traceback (most recent call last):
        ...
    streamchi2.errors.StateMismatchError: bins_per_octave must agree to merge, got 64 and 32
    """


class NoTargetError(ValueError):
    """No row of a stream has had a target yet, so there is nothing to predict.

    >>> raise NoTargetError("no row has had a target yet")
    Traceback (most recent call last):
        ...
    streamchi2.errors.NoTargetError: no row has had a target yet
    """


class FormatError(ValueError):
    """A file is not one that :func:`streamchi2.load` may trust: foreign, damaged or too new.

    >>> raise FormatError("not a streamchi2 file")
    Traceback (most recent call last):
        ...
    streamchi2.errors.FormatError: not a streamchi2 file
    """


class BasisHint(UserWarning):
    """Another basis is usually better for such rows; given once, when a map is planned.

    Silence it with a filter, or by naming a basis other than "subspace".

    Examples
    --------
    >>> import warnings
    >>> from streamchi2.errors import BasisHint
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", BasisHint)
    ...     # models are fitted here without hints
    """


class PrecisionWarning(UserWarning):
    """A stream has drifted so far that its features no longer give the kernel that was asked for.

    Given at most once in the life of a stream: where re-estimated k moved the coordinates by more
    than half; where, with ``n_terms="auto"``, the series errs by more than the random features;
    where the first rows have set ``beta="auto"`` to more than ten times, or less than a tenth of,
    what later rows ask for; or where the features of ``basis="additive"`` vanish in float32. More
    terms from the start, such as ``n_terms=12``, follow a drift of k further; the message names
    what to do.

    Examples
    --------
    >>> import warnings
    >>> from streamchi2.errors import PrecisionWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", PrecisionWarning)
    ...     # a stream that drifts too far raises an error here
    """
