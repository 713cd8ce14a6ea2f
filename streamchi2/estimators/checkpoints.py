"""Checkpoints of a long run: the estimator as it is, whose provenance says where to go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from sklearn.base import clone

from streamchi2.checks.params import as_positive_int
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, load, save
from streamchi2.provenance import Provenance


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
