r"""Several memories of one stream, and how much each of them is trusted now.

A model that forgets with half-life h is good where the world keeps still for about h rows. Here
several half-lives and "never" learn side by side from the same features. Before a block of rows is
learnt, every memory's model predicts it; the likelihoods of what came decide about the weights
(:func:`~streamchi2.memory.fixed_share.fixed_share`); what is predicted is the pool of all models
under their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamchi2.memory.confidence import ClassConfidence, NumberConfidence
from streamchi2.memory.faded_sums import FadedSums
from streamchi2.memory.fixed_share import fixed_share
from streamchi2.memory.weight_history import WeightHistory
from streamchi2.solvers.calibration import Calibration
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge, tuned_ridge
from streamchi2.state import (
    Array,
    Int,
    Kind,
    Labels,
    Maybe,
    Object,
    Param,
    Saved,
    SavedValue,
    TupleOf,
    require,
)
from streamchi2.statistics.change import Change
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.feature_statistics import FeatureBlock, chosen
from streamchi2.statistics.moments import effective_count
from streamchi2.statistics.row_buffer import Boundaries
from streamchi2.statistics.target_moments import RegressionMoments, TargetMoments
from streamchi2.statistics.targets import has_target
from streamchi2.validation import Floats, positions_of_labels, union_of_labels

HALF_LIVES = (64.0, 256.0, 1024.0)
BLOCK_ROWS = 32  # between two looks at the weights
_SOLUTIONS = 4  # of a memory, in each of its half-lives
_LONGEST = 1024  # rows between two solutions

Confidence: TypeAlias = ClassConfidence | NumberConfidence
Remembered: TypeAlias = ClassMoments | TargetMoments  # of rows with targets, none forgotten


@dataclass(frozen=True)
class MemoryParams(SavedValue):
    """How the models of all memories are solved: the penalty, or the criterion that chooses it."""

    STATE: ClassVar[dict[str, Kind]] = {"alpha": Param()}

    alpha: float | str

    def validate(self) -> None:
        """Require a penalty or a criterion."""
        known = isinstance(self.alpha, float) or self.alpha in ("auto", "gcv", "reml")
        require(known, "alpha must be a float or a criterion")


@dataclass(frozen=True, eq=False)
class Expert(SavedValue):
    """The model of one memory, and where in the stream it was solved and its penalty chosen."""

    STATE: ClassVar[dict[str, Kind]] = {
        "linear": Object((LinearModel,)),
        "classes": Maybe(Labels()),
        "solved_at": Int(1),
        "tuned_at": Int(1),
    }

    linear: LinearModel
    classes: NDArray[Any] | None
    solved_at: int
    tuned_at: int

    def for_classes(self, classes: NDArray[Any] | None) -> LinearModel:
        """Return the model with an output for each class, zero for those it does not know.

        That is the model of ridge regression for a class without rows.
        """
        if classes is None or self.classes is None or classes.size == self.classes.size:
            return self.linear
        places, linear = positions_of_labels(self.classes, classes), self.linear
        coef = np.zeros((linear.centre.size, classes.size))
        intercept = np.zeros(classes.size)
        coef[:, places], intercept[places] = linear.coef, linear.intercept
        return LinearModel(coef, intercept, linear.centre, linear.alpha)

    def validate(self) -> None:
        """Require a label for every output."""
        fits = self.classes is None or self.classes.size == self.linear.intercept.size
        require(fits, "labels must be one an output")
        require(self.tuned_at <= self.solved_at, "a penalty that was chosen later")


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is known of the memories once a block's targets have been seen."""

    experts: tuple[Expert, ...]
    confidences: tuple[Confidence, ...]
    weights: NDArray[np.float64]


class MemoryLadder(Saved):
    """Sums of a few half-lives, the models of all memories, and their weights.

    The last memory forgets nothing; its moments are those that the stream keeps anyway, and are
    given to every method that solves.

    A model is solved again when rows have grown by six to twelve per cent, at most a quarter of
    its half-life or 1024 rows; its penalty is chosen again when rows have doubled. Weights move
    with every block. Everything happens at the ends of blocks, which are absolute positions.

    Parameters
    ----------
    params : MemoryParams
        How models are solved.
    blocks : tuple of FeatureBlock
        All rows with targets so far.
    position : int
        Where they end.

    Notes
    -----
    Memory is D^2 numbers a half-life. A block of 32 rows costs one product of 32 D^2 operations
    and a scaled addition of D^2 numbers a half-life; a solution costs D^3/3, and there is one in
    32, 64, 256 and up to 1024 rows for the memories of 64, 256, 1024 rows and for ever. Memories
    that are hardly trusted are solved as often: to let those of a weight below .01 wait four times
    as long saved a quarter of all solutions, and cost .013 of accuracy where labels changed
    abruptly and .033 where old ones came back (D = 256, simulated).
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "params": Object((MemoryParams,)),
        "position": Int(1),
        "classes": Maybe(Labels()),
        "sums": Object((FadedSums,)),
        "experts": TupleOf(Object((Expert,))),
        "confidences": TupleOf(Object((ClassConfidence, NumberConfidence))),
        "weights": Array(),
        "history": Object((WeightHistory,)),
    }

    def __init__(
        self,
        params: MemoryParams,
        blocks: tuple[FeatureBlock, ...],
        position: int,
    ) -> None:
        self.params = params
        self.position = position
        self.classes: NDArray[Any] | None = None
        rows = [_known(block) for block in blocks]
        numeric = rows[0][1].ndim == 2
        weights = np.concatenate([own for _, _, own in rows])
        total = float(weights.sum())
        parts = [own @ features.astype(np.float64) for features, _, own in rows]
        origin: NDArray[np.float64] = np.sum(parts, axis=0) / total
        targets = np.concatenate([own for _, own, _ in rows])
        if numeric:
            target_origin = weights @ targets / total
        else:
            self.classes = np.unique(targets)
            target_origin = np.zeros(self.classes.size)
        self.sums = FadedSums(HALF_LIVES, origin, target_origin)
        for block in blocks:
            self.sums.absorb(*self._filled(block, self.classes))
        n_memories = len(HALF_LIVES) + 1
        self.experts: tuple[Expert, ...] = ()
        confidence: Confidence = ClassConfidence()
        if numeric:
            squares = self.sums.moments(len(HALF_LIVES) - 1).target_scatter / total
            confidence = NumberConfidence(np.maximum(squares, np.finfo(np.float64).tiny), 1.0)
        self.confidences = (confidence,) * n_memories
        # Up to here nothing has been forgotten; the others must earn their weight.
        self.weights = np.eye(n_memories)[-1]
        self.history = WeightHistory.of_none(n_memories)
        self._solved: tuple[Expert, ...] | None = None  # as of now; no state, worked out on demand

    @property
    def half_lives(self) -> tuple[float | None, ...]:
        """The half-lives; the last memory has none."""
        return (*self.sums.half_lives.tolist(), None)

    def current_experts(self, never: Remembered) -> tuple[Expert, ...]:
        """Return the models in force, those that are due solved; nothing that is saved changes."""
        if self._solved is None:
            self._solved = tuple(self._expert(k, never) for k in range(self.weights.size))
        return self._solved

    def _expert(self, place: int, never: Remembered) -> Expert:
        known = self.experts[place] if self.experts else None
        if known is not None:
            half_life = self.half_lives[place]
            longest = _LONGEST if half_life is None else int(half_life / _SOLUTIONS)
            longest = min(_LONGEST, 1 << max(0, longest.bit_length() - 1))
            if Boundaries((1,), (1 << 62,), 1, longest).after(known.solved_at) > self.position:
                return known
        is_last = place == self.sums.half_lives.size
        moments = never.summary(whole=False) if is_last else self.sums.moments(place)
        return self._solution(moments, known)

    def _solution(self, moments: RegressionMoments, known: Expert | None) -> Expert:
        alpha = self.params.alpha
        if isinstance(alpha, str) and (known is None or self.position >= 2 * known.tuned_at):
            linear = tuned_ridge(moments, alpha)  # type: ignore[arg-type]
            return Expert(linear, self.classes, self.position, self.position)
        tuned_at = self.position if known is None else known.tuned_at
        if isinstance(alpha, str):
            assert known is not None
            alpha = known.linear.alpha
        return Expert(ridge(moments, alpha), self.classes, self.position, tuned_at)

    def judged(self, block: FeatureBlock, never: Remembered) -> Verdict:
        """Return what a block's targets say of the memories, whose models have not seen it."""
        experts = self.current_experts(never)
        features, targets, weights = _known(block)
        if not weights.size:
            return Verdict(experts, self.confidences, self.weights)
        classes = self._classes_with(targets)
        answers: Any = targets if classes is None else positions_of_labels(targets, classes)
        likelihoods, confidences = [], []
        for expert, confidence in zip(experts, self.confidences, strict=True):
            scores = expert.for_classes(classes).scores(features)
            found: NDArray[np.float64] = confidence.log_likelihoods(scores, answers)
            likelihoods.append(weights * found)
            confidences.append(confidence.after(scores, answers, weights))
        trusted = fixed_share(self.weights, np.stack(likelihoods, axis=1))
        return Verdict(experts, tuple(confidences), trusted)

    def learn(self, block: FeatureBlock, verdict: Verdict) -> None:
        """Take in the next block, about which the verdict was given."""
        self.learning(block, verdict).finish()

    def learning(self, block: FeatureBlock, verdict: Verdict) -> Change:
        """Return the change that :meth:`learn` makes."""
        _, targets, _ = _known(block)
        classes, sums = self._classes_with(targets), self.sums
        if classes is not None and self.classes is not None and classes.size > self.classes.size:
            sums = sums.with_outputs(positions_of_labels(self.classes, classes), classes.size)
        position = self.position + block.n_rows
        values = {
            "sums": sums,
            "classes": classes,
            "position": position,
            "experts": verdict.experts,
            "confidences": verdict.confidences,
            "weights": verdict.weights,
            "history": self.history.after(position, verdict.weights),
            "_solved": None,
        }
        return Change(self, values, (sums.absorbing(*self._filled(block, classes)),))

    def _classes_with(self, targets: NDArray[Any]) -> NDArray[Any] | None:
        return None if self.classes is None else union_of_labels(self.classes, targets)

    @staticmethod
    def _filled(
        block: FeatureBlock, classes: NDArray[Any] | None
    ) -> tuple[Floats, NDArray[np.float64], NDArray[np.float64]]:
        """Return all rows of a block, numbers for targets, weight zero where there is none."""
        given = has_target(block.targets, block.n_rows)
        assert block.targets is not None
        weights = np.where(given, block.weights, 0.0)
        if classes is None:
            return block.features, np.where(given[:, None], block.targets, 0.0), weights
        one_hot = np.zeros((block.n_rows, classes.size))
        codes = positions_of_labels(block.targets["label"][given], classes)
        one_hot[np.flatnonzero(given), codes] = 1.0
        return block.features, one_hot, weights

    def pooled(
        self, never: Remembered, classes: NDArray[Any] | None
    ) -> tuple[LinearModel, Calibration | None]:
        r"""Return the one model that all memories together are, and how sure it is of classes.

        ``classes`` are all labels that were seen or announced.

        Numbers are the mean :math:`\sum_k w_k f_k`. Classes are the logarithmic pool
        :math:`p \propto \prod_k p_k^{w_k}`, which is linear in the features before the softmax, as
        its parts are: a prediction costs what it costs for one memory. Its log-loss is at most
        :math:`\sum_k w_k \ell_k`; it and that of the mixture :math:`\sum_k w_k p_k`, for which
        the bound of :func:`~streamchi2.memory.fixed_share.fixed_share` holds, were measured to
        differ by .004 a row or less.
        """
        shares = self.weights
        if self.classes is not None:
            shares = shares * [one.inverse_temperature for one in self.confidences]  # type: ignore[union-attr]
        total = float(shares.sum())
        shares = shares / total
        parts = [expert.for_classes(classes) for expert in self.current_experts(never)]
        linear = LinearModel(
            sum(s * part.coef for s, part in zip(shares, parts, strict=True)),
            sum(s * part.intercept for s, part in zip(shares, parts, strict=True)),
            sum(s * part.centre for s, part in zip(shares, parts, strict=True)),
            parts[int(self.weights.argmax())].alpha,
        )
        if classes is None:
            return linear, None
        return linear, Calibration(np.zeros(classes.size), total)

    def with_pending(self, block: FeatureBlock | None) -> Self:
        """Return a ladder that has learnt a few more rows, unjudged, and solves every model."""
        twin = self.copy() if block is not None else self._shallow()
        if block is not None:
            twin.learn(block, Verdict(twin.experts, twin.confidences, twin.weights))
        # All are due; penalties stay those that were chosen.
        twin.experts = tuple(
            Expert(one.linear, one.classes, 1, one.tuned_at) for one in twin.experts
        )
        twin._solved = None
        return twin

    def n_effective(self, never: Remembered) -> float:
        """Return the number of rows that the memories stand for, under their weights."""
        counts = [
            effective_count(*pair)
            for pair in zip(
                self.sums.weight.tolist(), self.sums.squared_weight.tolist(), strict=True
            )
        ]
        return float(self.weights @ [*counts, never.features.count])

    def fade(self, factor: float) -> None:
        """Let everything seen so far count ``factor`` times as much."""
        self.sums.fade(factor)
        self._solved = None

    def _shallow(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = self._shallow()
        twin.sums = self.sums.copy()
        return twin

    def get_state(self) -> dict[str, Any]:
        """Return the declared fields; models that were solved on demand are no state."""
        return {name: vars(self)[name] for name in self.STATE}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return a ladder in this state."""
        ladder = object.__new__(cls)
        ladder.__dict__.update(state, _solved=None)
        return ladder

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solved": None}

    def validate(self) -> None:
        """Require models, confidences and weights for every memory, of one width."""
        n_memories, sums = self.sums.half_lives.size + 1, self.sums
        require(len(self.experts) in (0, n_memories), "a model for every memory, or none yet")
        require(len(self.confidences) == n_memories, "a confidence for every memory")
        require(self.weights.shape == (n_memories,), "a weight for every memory")
        fits = (self.weights >= 0.0).all() and abs(float(self.weights.sum()) - 1.0) < 1e-6
        require(fits, "weights must not be negative and add up to one")
        require(self.history.weights.shape[1] == n_memories, "a history of other memories")
        n_targets = sums.target_origin.size
        kind = NumberConfidence if self.classes is None else ClassConfidence
        require(all(type(one) is kind for one in self.confidences), "confidences of another kind")
        if self.classes is not None:
            ascend = (self.classes[1:] > self.classes[:-1]).all()
            require(ascend and self.classes.size == n_targets, "classes must ascend, one a target")
        for one in self.confidences:
            if isinstance(one, NumberConfidence):
                require(one.variances.size == n_targets, "variances must be one a target")
        for expert in self.experts:
            require(expert.solved_at <= self.position, "a model of rows that were not seen")
            require(expert.linear.centre.size == sums.origin.size, "a model of other features")
            require((expert.classes is None) == (self.classes is None), "a model of other targets")
            if expert.classes is not None and self.classes is not None:
                same = expert.classes.dtype.kind == self.classes.dtype.kind
                known = same and np.isin(expert.classes, self.classes).all()
                require(known, "a model of classes that were not seen")
            else:
                require(expert.linear.intercept.size == n_targets, "a model of other targets")


def _known(block: FeatureBlock) -> tuple[Floats, NDArray[Any], NDArray[np.float64]]:
    """Return features, targets and weights of the rows that have a target."""
    given = has_target(block.targets, block.n_rows)
    targets = chosen(block.targets, given)
    if targets.dtype.names is not None:
        targets = targets["label"]
    return chosen(block.features, given), targets, chosen(block.weights, given)
