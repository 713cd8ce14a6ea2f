"""Order of the examples in the gallery."""

from pathlib import Path

ORDER = [
    "digits_stream",
    "file_types",
    "text_stream",
    "river_drift",
    "parquet_resumed",
    "dask_cluster",
    "descriptors",
    "transport",
    "outliers_and_clusters",
    "laws_for_your_estimator",
]


class InReadingOrder:
    """Sort by the list above; what is not in it comes last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Return where a file stands."""
        stem = Path(name).stem
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"
