"""Random sequences of calls against a slow reference: batches, reads, copies, files, bad calls.

    python examples/reliability/call_sequences.py --sequences 300

The reference of an estimator is the list of rows that it must have learnt. After every sequence,
and at every reading on the way, the estimator must be, to the last bit, one that has learnt those
rows in a single call; whatever was saved, copied, pickled, refused or read in between. Merges are
held to rounding. Hypothesis draws the sequences and shrinks those that fail.
"""

import argparse
import collections
import copy
import pickle

import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import streamchi2.river
from streamchi2 import ExpChi2Classifier
from streamchi2.files import dumped, loaded

DRAWS = np.random.default_rng(0)
ROWS = DRAWS.dirichlet(np.ones(4), 400)
LABELS = DRAWS.integers(0, 3, 400)
NAMED = [dict(enumerate(row)) for row in ROWS.tolist()]
CALLS = collections.Counter()  # how often each was made, by all sequences of this process
SETTINGS = {"basis": "orthogonal", "alpha": 0.5}
SIZES = st.sampled_from([1, 2, 7, 30, 63, 64])
# Merged statistics are sums in another order of products of float32: 1e-6 of scores of order one,
# and the penalty of .5 keeps the equations well conditioned.
MERGED = 1e-4


class Batches:
    """How the estimator for scikit-learn is called."""

    def new(self):
        """Return an estimator that has learnt nothing."""
        return ExpChi2Classifier(12, random_state=0, adapt=False, **SETTINGS)

    def learn(self, model, start, stop):
        """Learn rows with their labels."""
        model.partial_fit(ROWS[start:stop], LABELS[start:stop], classes=[0, 1, 2])

    def observe(self, model, start, stop):
        """Learn rows without labels."""
        model.observe(ROWS[start:stop])

    def read(self, model):
        """Return what the model says of a few rows."""
        return model.decision_function(ROWS[:5])

    def bad_calls(self, model):
        """Return calls that must be refused."""
        return [
            lambda: model.partial_fit(-ROWS[:3], LABELS[:3]),
            lambda: model.partial_fit(ROWS[:3], LABELS[:2]),
            lambda: model.partial_fit(ROWS[:3], [0, 1, 7]),
            lambda: model.partial_fit(ROWS[:3, :2], LABELS[:3]),
            lambda: model.merge(ExpChi2Classifier(13)),
            lambda: model.partial_fit(ROWS[:3], LABELS[:3], sample_weight=[-1, 1, 1]),
        ]


class SingleRows:
    """How the estimator for river is called."""

    def new(self):
        """Return an estimator that has learnt nothing."""
        return streamchi2.river.ExpChi2Classifier(12, seed=0, adapt=False, **SETTINGS)

    def learn(self, model, start, stop):
        """Learn rows with their labels."""
        for place in range(start, stop):
            model.learn_one(NAMED[place], int(LABELS[place]))

    def observe(self, model, start, stop):
        """Learn rows without labels."""
        for place in range(start, stop):
            model.observe_one(NAMED[place])

    def read(self, model):
        """Return what the model says of a few rows."""
        return np.array(
            [
                [model.predict_proba_one(row).get(label, 0.0) for label in range(3)]
                for row in NAMED[:5]
            ]
        )

    def bad_calls(self, model):
        """Return calls that must be refused."""
        return [
            lambda: model.learn_one({"a": -1.0}, 0),
            lambda: model.learn_one({"a": "text"}, 0),
            lambda: model.learn_one({"a": float("nan")}, 0),
            lambda: model.learn_one({"a": 1.0}, "text among numbers"),
            lambda: model.learn_one({"a": 1.0}, 0, w=-1.0),
            lambda: model.merge(streamchi2.river.ExpChi2Classifier(13)),
        ]


class CallSequences(RuleBasedStateMachine):
    """Calls of one front end, which a subclass names, and what must have come of them."""

    calls = Batches()

    @initialize(size=SIZES)
    def begin(self, size):
        """Start with some rows."""
        self.model = self.calls.new()
        self.done = []  # (how, first row, end) of what was learnt
        self.end = 0
        self.merged = False
        self.learn(size)

    def _counted(self, name):
        CALLS[name] += 1

    @rule(size=SIZES)
    def learn(self, size):
        """Learn the next rows."""
        self._counted("learn")
        stop = min(self.end + size, len(ROWS))
        if stop > self.end:
            self.calls.learn(self.model, self.end, stop)
            self.done.append((self.calls.learn, self.end, stop))
            self.end = stop

    @rule(size=SIZES)
    def observe(self, size):
        """Learn the next rows without their labels."""
        self._counted("observe")
        stop = min(self.end + size, len(ROWS))
        if stop > self.end:
            self.calls.observe(self.model, self.end, stop)
            self.done.append((self.calls.observe, self.end, stop))
            self.end = stop

    @rule()
    def read(self):
        """Read, which must change nothing."""
        self._counted("read")
        before = dumped(self.model)
        self.calls.read(self.model)
        assert dumped(self.model) == before

    @rule(kind=st.sampled_from(["save", "pickle", "deepcopy"]))
    def go_on_from_a_copy(self, kind):
        """Let a copy take the place of the estimator."""
        self._counted(kind)
        if kind == "save":
            self.model = loaded(dumped(self.model))
        elif kind == "pickle":
            self.model = pickle.loads(pickle.dumps(self.model))
        else:
            self.model = copy.deepcopy(self.model)

    @rule(data=st.data())
    def call_badly(self, data):
        """Make a bad call, which must be refused and change nothing."""
        self._counted("bad call")
        before = dumped(self.model)
        call = data.draw(st.sampled_from(range(6)))
        try:
            self.calls.bad_calls(self.model)[call]()
        except (ValueError, TypeError):
            pass
        else:
            raise AssertionError(f"bad call {call} was not refused")
        assert dumped(self.model) == before

    @precondition(lambda self: self.end >= 64)
    @rule(size=SIZES)
    def merge_a_shard(self, size):
        """Let a shard learn the next rows, and merge it."""
        self._counted("merge")
        stop = min(self.end + size, len(ROWS))
        shard = self.model.new_shard()
        if stop > self.end:
            self.calls.learn(shard, self.end, stop)
            self.done.append((self.calls.learn, self.end, stop))
            self.end = stop
        before = dumped(shard)
        self.model.merge(shard)
        assert dumped(shard) == before
        self.merged = True

    def teardown(self):
        """Compare with an estimator that has learnt the same rows one by one."""
        CALLS["sequences"] += 1
        if not getattr(self, "done", None):
            return
        expected = self.calls.new()
        for how, start, stop in self.done:
            for place in range(start, stop):  # the slowest way: row by row
                how(expected, place, place + 1)
        assert self.model.n_samples_seen_ == expected.n_samples_seen_ == self.end
        if not self.merged:
            assert dumped(self.model) == dumped(expected)
        elif isinstance(self.calls, Batches):  # river's models are as old as their last solution
            np.testing.assert_allclose(
                self.calls.read(self.model), self.calls.read(expected), atol=MERGED
            )


class RiverSequences(CallSequences):
    """The same of river's front end."""

    calls = SingleRows()


def run(n_sequences, n_steps=12):
    """Run sequences of both front ends, and return how often each call was made."""
    settings = hypothesis.settings(
        max_examples=n_sequences,
        stateful_step_count=n_steps,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        database=None,
    )
    for machine in (CallSequences, RiverSequences):
        hypothesis.stateful.run_state_machine_as_test(machine, settings=settings)
    return CALLS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sequences", type=int, default=300)
    counts = run(parser.parse_args().sequences)
    print(dict(counts), "calls in all:", sum(counts.values()) - counts["sequences"])


if __name__ == "__main__":
    main()
