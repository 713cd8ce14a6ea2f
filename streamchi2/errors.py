"""The two errors that are this library's own; every other refusal is a ValueError or TypeError."""


class StateMismatchError(ValueError):
    """Two states cannot be merged because they were built under different settings.

    >>> raise StateMismatchError("bins_per_octave must agree to merge, got 64 and 32")
    Traceback (most recent call last):
        ...
    streamchi2.errors.StateMismatchError: bins_per_octave must agree to merge, got 64 and 32
    """


class FormatError(ValueError):
    """A file is not one that :func:`streamchi2.load` may trust: foreign, damaged or too new.

    >>> raise FormatError("not a streamchi2 file")
    Traceback (most recent call last):
        ...
    streamchi2.errors.FormatError: not a streamchi2 file
    """
