"""Faults in the middle of learning: out of memory, and Ctrl-C.

    python examples/reliability/faults.py --every 1 --limits 40

A call that learns is run again and again from the same state. At each run one fault comes, at
another of the lines that it runs through in this library: MemoryError at every line, or Ctrl-C,
which waits for the end of a block. Afterwards the estimator must be *whole*, that is, have the
statistics of one that has learnt as many rows undisturbed, and go on; or it must be *torn* and
refuse to go on with an error that says so. A silent half block is what must never be. Then real
limits of address space, in processes of their own (Linux).
"""

import argparse
import collections
import os
import signal
import subprocess
import sys

import numpy as np

import streamchi2.river
from streamchi2 import ExpChi2Classifier, ExpChi2Regressor
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded

DRAWS = np.random.default_rng(0)
ROWS = DRAWS.dirichlet(np.ones(5), 700)
LABELS = DRAWS.integers(0, 3, 700)
NUMBERS = ROWS[:, 0] + ROWS[:, 1]


def out_of_memory():
    raise MemoryError


def learn(model, start, end):
    """Let an estimator learn some rows: in one call, or one by one."""
    numbers = isinstance(model, (ExpChi2Regressor, streamchi2.river.ExpChi2Regressor))
    answers = NUMBERS if numbers else LABELS
    if hasattr(model, "partial_fit"):
        model.partial_fit(ROWS[start:end], answers[start:end])
        return
    for place in range(start, end):
        row = dict(enumerate(ROWS[place].tolist()))
        model.learn_one(row, answers[place].item())


def observe(model, start, end):
    """Let an estimator learn some rows without targets."""
    if hasattr(model, "observe"):
        model.observe(ROWS[start:end])
        return
    for row in ROWS[start:end].tolist():
        model.observe_one(dict(enumerate(row)))


# Rows 0 to 250 have been learnt, 250 to 254 observed; the rows from 254 to the end given here come
# in a call that fails, or one by one.
SETTINGS = {"basis": "orthogonal", "alpha": 1.0}
CASES = {
    "classifier": (lambda: ExpChi2Classifier(24, n_pca=8, random_state=0, **SETTINGS), 290),
    "regressor": (lambda: ExpChi2Regressor(24, n_pca=8, random_state=0, **SETTINGS), 290),
    "fading": (lambda: ExpChi2Regressor(24, half_life=90.0, random_state=0, **SETTINGS), 290),
    "river classifier": (
        lambda: streamchi2.river.ExpChi2Classifier(24, seed=0, **SETTINGS),
        257,
    ),
    "river regressor": (
        lambda: streamchi2.river.ExpChi2Regressor(24, seed=0, **SETTINGS),
        257,
    ),
}
BEGIN, END = 254, 300


class FaultAtLine:
    """Calls a function at one of the lines of this library that are run through."""

    def __init__(self, number, fault):
        self.left, self.fault, self.fired = number, fault, False

    def __call__(self, frame, event, _):
        """Trace a frame of this library."""
        if "streamchi2" not in frame.f_code.co_filename:
            return None
        if event == "line" and not self.fired:
            self.left -= 1
            if self.left < 0:
                self.fired = True
                self.fault()
        return self


def started(make):
    """Return the bytes of an estimator before the call that will fail."""
    model = make()
    learn(model, 0, 250)
    observe(model, 250, BEGIN)
    return dumped(model)


def statistics_of(model):
    """Return the statistics of all rows, pending ones included, as bytes."""
    return dumped(model._stream.settled().statistics)


def state_after(model, end, calm):
    """Tell what a fault has left: "whole", "torn" where it says so, or "half a block"."""
    n_rows = model.n_samples_seen_
    try:
        dumped(model)
    except StateMismatchError as error:
        return "torn" if "broke off" in str(error) else "half a block"
    if not BEGIN <= n_rows <= end or statistics_of(model) != calm[n_rows]:
        return "half a block"
    learn(model, n_rows, END)
    return "whole" if statistics_of(model) == calm[END] else "half a block"


def undisturbed(start, end):
    """Return the statistics after every row of a run without faults."""
    calm, model = {}, loaded(start)
    for row in range(BEGIN, END + 1):
        if row <= end or row == END:
            calm[row] = statistics_of(model)
        if row < END:
            learn(model, row, row + 1)
    return calm


def trials(name, fault, every=1, first=0):
    """Let one fault come at every so many lines; return what came of it, counted."""
    make, end = CASES[name]
    start, counts = started(make), collections.Counter()
    calm, number, fired = undisturbed(start, end), first, True
    sys_trace = sys.gettrace()
    while fired:
        model, tracer = loaded(start), FaultAtLine(number, fault)
        try:
            sys.settrace(tracer)
            learn(model, BEGIN, end)
            outcome = "completed"
        except (MemoryError, KeyboardInterrupt) as error:
            outcome = type(error).__name__
        finally:
            sys.settrace(sys_trace)
            # An error that a tracer raises at the end of a with statement skips its __exit__, which
            # real ones cannot; Ctrl-C would be put off for good.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        fired = tracer.fired
        if fired:
            state = state_after(model, end, calm)
            counts[outcome, state] += 1
            if state == "half a block":
                print(f"{name}: half a block after a fault at line {number}")
        number += every
    return counts


def interrupt():
    signal.raise_signal(signal.SIGINT)


FAULTS = {"out of memory": out_of_memory, "Ctrl-C": interrupt}


LIMITED = """
import resource, sys
import numpy as np
from streamchi2 import ExpChi2Classifier
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded
rows = np.random.default_rng(0).dirichlet(np.ones(8), 4000)
labels = np.arange(4000) % 3
def new(): return ExpChi2Classifier(1200, basis="orthogonal", alpha=1.0, random_state=0)
def bits(model): return dumped(model._stream.settled().statistics)
model = new().partial_fit(rows[:2048], labels[:2048])
data = dumped(model)
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + int(sys.argv[1]) * 2**10, -1))
failed = False
try:
    model.partial_fit(rows[2048:], labels[2048:])
except MemoryError:
    failed = True
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
n, calm = model.n_samples_seen_, loaded(data)
if n > 2048:
    calm.partial_fit(rows[2048:n], labels[2048:n])
try:
    state = "whole" if bits(model) == bits(calm) else "half a block"
except StateMismatchError:
    state = "torn"
print("MemoryError" if failed else "completed", state, sep="\\n")
"""


def limited(kibibytes):
    """Return what came of a batch that was learnt with so much room left, by a real limit."""
    # Memory that arrays give back is given back to the system, and cannot be had again for nothing.
    eager = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", LIMITED, str(kibibytes)]
    run = subprocess.run(
        command, env=os.environ | eager, capture_output=True, text=True, check=False
    )
    lines = run.stdout.splitlines()
    return tuple(lines) if run.returncode == 0 else (f"ended with {run.returncode}", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="lines between two faults")
    parser.add_argument("--limits", type=int, default=40, help="real limits of memory to try")
    arguments = parser.parse_args()
    counts = collections.Counter()
    for name in CASES:
        for what, fault in FAULTS.items():
            of_case = trials(name, fault, arguments.every)
            print(f"{name:18} {what:14}", dict(of_case), flush=True)
            counts += of_case
    limits = collections.Counter(
        limited(int(room)) for room in np.geomspace(500, 60000, arguments.limits)
    )
    print("real limits", dict(limits))
    return sum(n for (_, state), n in (counts + limits).items() if state not in ("whole", "torn"))


if __name__ == "__main__":
    raise SystemExit(main())
