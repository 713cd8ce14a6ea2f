"""More than one machine: estimators fitted on Dask collections."""

try:
    import dask.delayed  # noqa: F401
except ImportError as error:
    raise ImportError("streamchi2.dask needs Dask: pip install 'streamchi2[dask]'") from error

from streamchi2.dask.fitting import fit

__all__ = ["fit"]
