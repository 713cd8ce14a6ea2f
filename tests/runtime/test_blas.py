"""One BLAS thread inside, as many as before outside."""

import sys

import pytest

from streamchi2.runtime import blas
from streamchi2.runtime.blas import OneBlasThread, _blas, one_blas_thread


def test_leaving_an_inner_limit_does_not_lift_the_outer_one():
    with one_blas_thread:
        with one_blas_thread:
            pass
        assert {library.num_threads for library in _blas()} == {1}


@pytest.fixture
def two_threads():
    before = [(library, library.num_threads) for library in _blas()]
    for library in _blas():
        library.set_num_threads(2)
    yield
    for library, n_threads in before:
        library.set_num_threads(n_threads)


def test_an_exception_on_the_way_in_or_out_does_not_let_others_learn_without_the_limit(two_threads):
    # Ctrl-C may come at any line, in a prediction for instance; sums must not change for that.
    number, fired = 0, True
    while fired:
        limit, fired, left = OneBlasThread(), False, number

        def fault(frame, event, _):
            nonlocal fired, left
            if frame.f_code.co_filename != blas.__file__:
                return None
            if event == "line" and not fired:
                left -= 1
                if left < 0:
                    fired = True
                    raise KeyboardInterrupt
            return fault

        before = sys.gettrace()
        try:
            sys.settrace(fault)
            with limit:
                pass
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        for library in _blas():
            library.set_num_threads(2)
        with limit:
            assert {library.num_threads for library in _blas()} == {1}, f"line {number}"
        number += 1
    assert number > 5
