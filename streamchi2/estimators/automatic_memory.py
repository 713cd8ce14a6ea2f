"""``half_life="auto"``: who may ask for it, and what can be read of the memories that it weighs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.memory import HALF_LIVES, MemoryParams
from streamchi2.model import ModelParams
from streamchi2.reading import never_forgotten
from streamchi2.stream import Stream


def is_automatic(half_life: Any) -> bool:
    """Tell whether a stream is to find the length of its memory itself.

    >>> is_automatic("auto"), is_automatic(250.0), is_automatic(None)
    (True, False, False)
    """
    return isinstance(half_life, str) and half_life == "auto"


def refuse_automatic(half_life: Any, name: str) -> None:
    """Refuse memories that nothing can judge.

    >>> refuse_automatic("auto", "ExpChi2Sampler")
    Traceback (most recent call last):
        ...
    ValueError: half_life must be a number or None for ExpChi2Sampler, got 'auto': memories are \
weighed by how well they predict targets on features of a map; ExpChi2Classifier and \
ExpChi2Regressor do
    """
    if is_automatic(half_life):
        raise ValueError(
            f"half_life must be a number or None for {name}, got 'auto': memories are weighed by "
            "how well they predict targets on features of a map; ExpChi2Classifier and "
            "ExpChi2Regressor do"
        )


def memory_params(half_life: Any, params: ModelParams) -> MemoryParams | None:
    """Return how the models of all memories are solved, or None where there is one memory.

    They are solved again every few dozen rows, so only what a Cholesky factor solves is allowed.
    """
    if not is_automatic(half_life):
        return None
    refused = {
        "n_pca": (params.n_pca, None, "components would change with every solution"),
        "penalty": (params.penalty.penalty, "ridge", "others take too long to solve so often"),
        "calibrate": (params.calibrate, None, "memories are pooled by their probabilities"),
        "class_weight": (params.class_weight, None, "sums are not kept of each class"),
    }
    for name, (found, allowed, reason) in refused.items():
        if found != allowed:
            raise ValueError(
                f"{name} must be {allowed!r} with half_life='auto', got {found!r}: models of "
                f"several memories are solved again every few dozen rows, and {reason}"
            )
    alpha = params.penalty.alpha
    return MemoryParams(alpha if isinstance(alpha, str) else float(alpha))


def check_same_memory(half_life: Any, params: ModelParams, stream: Stream | None) -> None:
    """Refuse parameters under which a stream's memories were not learnt."""
    if stream is None:
        memory_params(half_life, params)
        return
    present, before = memory_params(half_life, params), stream.memory_params
    if (present is None) != (before is None):
        was = stream.half_life if before is None else "auto"
        raise ValueError(
            f"half_life must not change in the middle of a stream, got {half_life!r} after {was!r}"
        )
    if present is not None and before is not None and present != before:
        raise ValueError(
            "alpha must not change in the middle of a stream with half_life='auto', whose memories "
            f"are judged by models under it, got {present.alpha!r} after {before.alpha!r}"
        )


class MemoryReadings:
    """Fitted attributes of an estimator with ``half_life="auto"``."""

    half_life: Any

    def _remembering_stream(self, name: str) -> Stream:
        stream: Stream | None = vars(self).get("_stream")
        if stream is None or stream.memory_params is None:
            raise AttributeError(f"{name} needs half_life='auto' and a row that was learnt")
        return stream

    @property
    def memory_weights_(self) -> dict[float | None, float]:
        """How much each half-life is trusted now; the key None is the memory that never forgets.

        Weights add up to one. They move every 32 rows once there are as many rows as features;
        until then nothing is forgotten.
        """
        stream = self._remembering_stream("memory_weights_")
        memory = stream.memory
        if memory is None:
            return {**dict.fromkeys(HALF_LIVES, 0.0), None: 1.0}
        return dict(zip(memory.half_lives, memory.weights.tolist(), strict=True))

    @property
    def memory_history_(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """At most 512 evenly spaced positions of the stream, and the weights of all memories there.

        Shapes (m,) and (m, K), in the order of ``memory_weights_``.
        """
        memory = self._remembering_stream("memory_history_").memory
        if memory is None:
            return np.zeros(0, np.int64), np.zeros((0, len(HALF_LIVES) + 1))
        return memory.history.positions.copy(), memory.history.weights.copy()

    @property
    def n_effective_rows_(self) -> float:
        """Number of rows that the memories stand for, each counted with its weight."""
        stream = self._remembering_stream("n_effective_rows_")
        with stream.lock:
            if stream.memory is None or stream.statistics is None:
                return float(stream.n_rows)
            return stream.memory.n_effective(never_forgotten(stream.statistics))
