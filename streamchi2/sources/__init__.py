"""Sources: where the rows of a long stream come from, batch by batch, and how they are read."""

from streamchi2.sources.batches import Batch, Source, as_batch, progress_bar, read_ahead
from streamchi2.sources.opening import as_source

__all__ = [
    "Batch",
    "Source",
    "as_batch",
    "as_source",
    "progress_bar",
    "read_ahead",
]
