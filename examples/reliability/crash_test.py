"""Kill a process that saves, again and again, and see what is left of its file.

    python examples/reliability/crash_test.py --kills 200

A child is forked, saves eight states of two classifiers in a loop, one of them river's, and is
killed by SIGKILL at a random instant; then the file must load and equal one of the states. A tenth
as many kills of a child that simply writes over its file show what happens otherwise. Runs where
there is ``fork``.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from streamchi2 import ExpChi2Classifier
from streamchi2.errors import FormatError
from streamchi2.files import dumped, load, loaded, save
from streamchi2.river import ExpChi2Classifier as RiverClassifier

N_STAGES, ROWS_EACH, N_FEATURES = 4, 200, 160


def states():
    """Return the bytes of two classifiers at four stages of their lives, a few 100 kB each."""
    draws = np.random.default_rng(0)
    plain = ExpChi2Classifier(N_FEATURES, random_state=0)
    one_by_one = RiverClassifier(N_FEATURES, seed=0)
    files = []
    for _ in range(N_STAGES):
        rows, labels = draws.dirichlet(np.ones(16), ROWS_EACH), draws.integers(0, 3, ROWS_EACH)
        files.append(dumped(plain.partial_fit(rows, labels)))
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
            one_by_one.learn_one(dict(enumerate(row)), label)
        files.append(dumped(one_by_one))
    return files


def careless_save(model, path):
    path.write_bytes(dumped(model))


def forked_saver(models, path, how):
    """Return the number of a child that saves until it is killed."""
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                how(model, path)
    return child


def n_lost(models, files, path, how, n_kills):
    """Kill as many children, and return how often the file was no state that was saved."""
    how(models[0], path)
    lost = 0
    for number in range(n_kills):
        child = forked_saver(models, path, how)
        time.sleep(random.uniform(0.0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            lost += dumped(load(path)) not in files
        except FormatError:
            lost += 1
        print(f"\r{how.__name__:14} {number + 1:5} kills, {lost} files lost", end="", flush=True)
    print()
    return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    n_kills = parser.parse_args().kills
    random.seed(0)
    files = states()
    models = [loaded(data) for data in files]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        lost = n_lost(models, set(files), path, save, n_kills)
        left = len(list(Path(folder).glob(".model.*.part")))
        save(models[0], path)
        still = len(list(Path(folder).glob(".model.*.part")))
        print(f"{left} temporary files left by the last children, {still} after one more save")
        n_lost(models, set(files), path, careless_save, max(n_kills // 10, 1))
    return lost


if __name__ == "__main__":
    raise SystemExit(main())
