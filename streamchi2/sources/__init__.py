"""Sources: where the rows of a long stream come from, batch by batch, and how they are read."""

from streamchi2.sources.batches import Batch, IterableSource, Source, as_batch
from streamchi2.sources.opening import as_source
from streamchi2.sources.progress import ProgressCallback, progress_bar
from streamchi2.sources.read_ahead import ReadAhead

__all__ = [
    "Batch",
    "IterableSource",
    "ProgressCallback",
    "ReadAhead",
    "Source",
    "as_batch",
    "as_source",
    "progress_bar",
]
