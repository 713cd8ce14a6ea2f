"""One BLAS thread inside, as many as before outside."""

from streamchi2.runtime.blas import _blas, one_blas_thread


def test_leaving_an_inner_limit_does_not_lift_the_outer_one():
    with one_blas_thread:
        with one_blas_thread:
            pass
        assert {library.num_threads for library in _blas()} == {1}
