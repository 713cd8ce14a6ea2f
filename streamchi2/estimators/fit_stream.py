"""fit_stream: learning from sources that do not fit into memory, with checkpoints on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import clone, is_regressor

from streamchi2.checks.params import as_positive_int
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, load, save
from streamchi2.provenance import Provenance, n_learnt
from streamchi2.sources import Batch, as_source, progress_bar, read_ahead
from streamchi2.stream import Stream
from streamchi2.threads import deferred_interrupts


class FitStream:
    """``fit_stream`` for an estimator that holds a stream."""

    _stream: Stream
    _fitted_stream: Any
    _learn_batch: Any
    __sklearn_is_fitted__: Any
    __sklearn_tags__: Any

    def fit_stream(
        self,
        source: Any,
        *,
        target: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        delimiter: str | None = None,
        target_dtype: Any = None,
        batch_size: int = 4096,
        source_name: str | None = None,
        forget: bool = True,
        checkpoint: Any = None,
        checkpoint_every: int = 100_000,
        verbose: int = 1,
        callback: Callable[[int, int | None], Any] | None = None,
    ) -> Self:
        """Learn from a source larger than memory, as a ``partial_fit`` loop would, bit for bit.

        A thread reads the next batches while the present one is learnt; what is held in memory
        depends on the batches and on D, never on the number of rows. (Of a Parquet file one row
        group is held: write wide tables with row groups of some ten thousand rows.)

        Parameters
        ----------
        source : iterable, path, list of paths, DataFrame, pyarrow Dataset or Table
            Batches X, (X, y) or (X, y, sample_weight), where y may be None for rows without
            targets; or a file of Parquet, Feather, CSV or JSON lines, a folder, a pattern such as
            ``data/*.csv``, a list of these, a pandas or polars DataFrame, or a table (these need
            the extra ``arrow``). It is read by another thread.
        target : str, optional
            Column of a table that holds the targets. Where it is null, a row has none and is
            learnt from as by ``observe``. In CSV, empty cells are null, and those that hold one of
            the usual words for it, such as NA, NaN or null; but quoted text is text, and with
            ``target_dtype=str`` only empty cells are null.
        weight : str, optional
            Column of a table that holds the sample weights; it must not hold nulls.
        columns : sequence of str, optional
            Columns of a table to learn from; by default all but the target and the weights. Columns
            without a name, as pandas writes an index, are left out with a warning.
        delimiter : str, optional
            Character between the cells of a CSV file, by default a comma. With it, files of any
            ending are read as CSV.
        target_dtype : dtype, optional
            What targets of a table are read as: str, int or float. By default regressors read
            float and others the type of the column, which in CSV is guessed; with str the label
            "001" stays text.
        batch_size : int, default=4096
            Rows read from a table at a time. It does not change the result.
        source_name : str, optional
            What :attr:`provenance_` calls the rows. Files are then named by it and their path below
            the folder or pattern, so the name does not depend on where the folder lies. Without it
            files are named by their name and a digest of their path, and other rows are not
            recorded.
        forget : bool, default=True
            Start afresh, as ``fit`` does. False goes on, and leaves out what :attr:`provenance_`
            says has been learnt from this source before. A file that grew is gone on with; one
            that was rewritten is refused.
        checkpoint : str or path, optional
            File to which the estimator is saved every ``checkpoint_every`` rows and at the end. If
            it exists, learning goes on from there, and ends with the model of a run that was
            never interrupted. One made under other parameters or from other sources is refused.
        checkpoint_every : int, default=100_000
            Rows between two checkpoints.
        verbose : int, default=1
            0 shows nothing; otherwise a progress bar is shown in a terminal or a notebook if tqdm
            is installed (the extra ``progress``).
        callback : callable, optional
            Called as callback(n_done, n_rows) after each batch; n_rows is None where it is unknown.
            What it raises ends the run; what has been learnt stays.

        Returns
        -------
        estimator
            This one. Where a batch is refused, those before it have been learnt.

        Examples
        --------
        >>> from streamchi2 import ExpChi2Sampler
        >>> batches = ([[0.1 * i, 1.0 - 0.1 * i]] for i in range(10))
        >>> sampler = ExpChi2Sampler(16, random_state=0)
        >>> sampler.fit_stream(batches, source_name="tenths").provenance_
        {'tenths': 10}
        """
        if target is not None and target_dtype is None and is_regressor(self):
            target_dtype = float  # in CSV it would be guessed from the first rows
        rows = as_source(
            source,
            target=target,
            weight=weight,
            columns=columns,
            delimiter=delimiter,
            target_dtype=target_dtype,
            batch_size=batch_size,
            name=source_name,
        )
        first = forget or not self.__sklearn_is_fitted__()
        learnt = {} if first else self._stream.provenance
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, checkpoint_every, frozenset(rows.names))
            if saved.restore(self, learnt):
                learnt, first = self._stream.provenance, False
        needed = self.__sklearn_tags__().target_tags.required
        if first and needed and rows.may_name_target and target is None:
            raise TypeError("target must name the column that holds the targets, got None")
        n_done = sum(n_learnt(learnt, name) for name in rows.names)
        progress = progress_bar(rows.n_rows, n_done=n_done, verbose=verbose, callback=callback)
        with progress as report, closing(read_ahead(rows.batches(learnt))) as batches:
            for batch in batches:
                with batch.named_in_errors():
                    self._take_in(batch, first=first)
                first = False
                if saved is not None:
                    saved.count(self, batch.n_rows)
                report(batch.n_rows)
        if first:
            raise ValueError("source must hold at least one row, got none")
        if saved is not None and saved.n_rows_since:
            saved.save(self)
        return self

    @property
    def provenance_(self) -> dict[str, int]:
        """What was learnt from files and named sources: how many rows, from the first one on.

        Estimators that have learnt the same row refuse to :meth:`merge`.
        """
        provenance = self._fitted_stream().provenance
        return {name: entry.n_rows for name, entry in sorted(provenance.items())}

    def _take_in(self, batch: Batch, *, first: bool) -> None:
        """Learn from a batch and record where it came from, both or, if it is refused, neither."""
        if first:
            with deferred_interrupts():
                self._learn_batch(batch, first=True)
                self._stream.provenance = batch.recorded_in({})
            return
        stream = self._stream
        with stream.lock, deferred_interrupts():
            n_before, before = stream.n_rows, stream.provenance
            after = batch.recorded_in(before)  # refuses rows that have been learnt
            try:
                self._learn_batch(batch, first=False)
            except BaseException:  # whole blocks may have been learnt before Ctrl-C
                n_rows = stream.n_rows - n_before
                if n_rows and batch.weights is not None:  # rows of weight zero never reach it
                    n_rows = int(np.flatnonzero(np.asarray(batch.weights))[n_rows - 1]) + 1
                stream.provenance = batch.recorded_in(before, n_rows)
                raise
            stream.provenance = after


@dataclass
class Checkpoint:
    """A file that an estimator is saved to every so many rows, and goes on from.

    Parameters
    ----------
    path : str or path
        Where to; its folder must exist.
    every : int
        Rows between two checkpoints.
    sources : frozenset of str
        Names of what is being read.
    """

    path: Any
    every: int
    sources: frozenset[str]
    n_rows_since: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        as_positive_int(self.every, name="checkpoint_every")
        if not Path(self.path).parent.is_dir():
            raise FileNotFoundError(f"checkpoint must be in a folder that exists, got {self.path}")
        if not self.sources:
            raise ValueError(
                "source_name must be given with checkpoint unless the source is a file: a later "
                "run must know that it reads the same rows"
            )

    def restore(self, estimator: Any, present: Provenance) -> bool:
        """Let an estimator be what was saved, and tell whether something was.

        ``present`` is the provenance that the run begins with. A file that does not hold such a run
        is refused.
        """
        dumped(clone(estimator))  # refuses parameters that cannot be saved before all the work
        if not Path(self.path).exists():
            return False
        saved = load(self.path)
        if type(saved) is not type(estimator):
            self._refuse(f"hold a {type(estimator).__name__}, got a {type(saved).__name__}")
        for name, now, before in estimator._different_params(saved):
            self._refuse(f"have {name}={now!r}, got {before!r}")
        if not saved.__sklearn_is_fitted__():
            return False
        learnt = saved._stream.provenance
        if self._others(learnt) != self._others(present):
            self._refuse(
                f"be of the sources {sorted(self.sources | present.keys())}, got {sorted(learnt)}"
            )
        estimator._stream = saved._stream
        return True

    def _others(self, learnt: Provenance) -> Provenance:
        return {name: entry for name, entry in learnt.items() if name not in self.sources}

    def _refuse(self, rule: str) -> NoReturn:
        raise StateMismatchError(
            f"checkpoint {self.path} must {rule}; remove the file to start afresh"
        )

    def count(self, estimator: Any, n_rows: int) -> None:
        """Save if that many more rows make it due."""
        self.n_rows_since += n_rows
        if self.n_rows_since >= self.every:
            self.save(estimator)

    def save(self, estimator: Any) -> None:
        """Save now, replacing the last checkpoint as a whole or not at all."""
        save(estimator, self.path)
        self.n_rows_since = 0
