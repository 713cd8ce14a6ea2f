"""One BLAS thread inside, as many as before outside."""

import pytest

from streamchi2.runtime import blas
from streamchi2.runtime.blas import OneBlasThread, _blas, one_blas_thread


def test_leaving_an_inner_limit_does_not_lift_the_outer_one():
    with one_blas_thread:
        with one_blas_thread:
            pass
        assert {library.num_threads for library in _blas()} == {1}


def test_an_exception_on_the_way_in_does_not_let_others_in_without_the_limit(monkeypatch):
    limit = OneBlasThread()

    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(blas, "_blas", interrupted)
        with pytest.raises(KeyboardInterrupt), limit:
            pass
    n_before = [library.num_threads for library in _blas()]
    with limit:
        assert {library.num_threads for library in _blas()} == {1}
    assert [library.num_threads for library in _blas()] == n_before
