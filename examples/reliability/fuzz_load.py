"""Feed damaged and forged files to ``load``: each must be refused, or be something whole.

    python examples/reliability/fuzz_load.py --files 100000

Three kinds of mutation take turns: bytes changed, cut, doubled or spliced (the digest no longer
fits); the same with a digest that fits again; and values of the header or of an array replaced
under a right digest, as a forger would: that loads a wrong model at worst, as anyone can train one.
"""

import argparse
import copy
import hashlib
import random
import resource
import sys
import time
import warnings

import numpy as np

import streamchi2.river as online
from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    LogHistogram,
)
from streamchi2.errors import FormatError
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge, StreamingRidgeClassifier
from streamchi2.files import dumped, loaded
from streamchi2.files.container import packed, unpacked

NASTY = [None, True, -1, 0, 1, 7, 2**31, 2**62, -0.0, 0.5, 1e308, -1e308, 5e-324, "", "auto"]
NASTY += ["moments", [], {}, [0], {"class": "moments"}, {"same": 0}, float("nan")]
NASTY += [{"array": ["<f8", [2**40], "C"]}, {"tuple": [1]}, [[0.0]], "\ud800"]


def seeds():
    """Return small files of several kinds."""
    draws = np.random.default_rng(0)
    rows, labels = draws.dirichlet(np.ones(4), 66), draws.integers(0, 3, 66)
    names = np.array(["ham", "spam", "eggs"])[labels]
    two = {"left": slice(0, 2), "right": [3, 2]}
    things = [
        LogHistogram().update(rows[:2]),
        LogHistogram(half_life=3).update(rows[:9]),
        ExpChi2Sampler(4, random_state=0).fit(rows),
        ExpChi2Sampler(4, random_state=0, half_life=9).fit(rows[:2]),
        ExpChi2Classifier(4, random_state=0).fit(rows[:9], names[:9]),
        ExpChi2Classifier(4, random_state=0).fit(rows, labels).observe(rows[:2]),
        ExpChi2Regressor(4, random_state=0, n_pca=2).fit(rows, rows[:, :2]),
        ExpChi2Classifier(12, random_state=0).fit(rows, labels),
        ExpChi2Classifier(None, basis="additive", random_state=0).fit(rows, names),
        ExpChi2Classifier(4, basis="landmarks", landmarks=rows[:5], random_state=0).fit(
            rows, labels
        ),
        ExpChi2Regressor(64, basis="subspace", random_state=0).fit(rows, rows[:, 0]),
        ExpChi2PCA(4, descriptors=two, n_pca=2, random_state=0, half_life=9).fit(rows),
        StreamingRidge().fit(rows[:3], rows[:3, 0]),
        StreamingPCA(2, half_life=9).fit(np.tile(rows, (16, 1))),
        StreamingRidgeClassifier().fit(np.tile(rows, (16, 1)), np.tile(names, 16)),
        named(online.ExpChi2Sampler(4, seed=0), rows[:6]),
        named(online.ExpChi2Classifier(4, seed=0), rows[:9], names.tolist()),
        named(online.ExpChi2Classifier(6, basis="landmarks", seed=0), rows[:6], labels.tolist()),
        named(online.ExpChi2Classifier(70, seed=0), rows, labels.tolist()),
        named(online.ExpChi2Regressor(4, half_life=9.0, seed=0), rows, rows[:, 0].tolist()),
    ]
    return [dumped(thing) for thing in things]


def named(model, rows, targets=None):
    """Return a river estimator that has learnt rows one by one."""
    for place, row in enumerate(rows.tolist()):
        x = dict(enumerate(row))
        model.learn_one(x) if targets is None else model.learn_one(x, targets[place])
    return model


def changed_bytes(data, pick):
    """Change bytes here and there, cut, double or splice."""
    data = bytearray(data)
    for _ in range(pick.randint(1, 4)):
        place, kind = pick.randrange(len(data)), pick.randrange(5)
        if kind == 0:
            data[place] ^= 1 << pick.randrange(8)
        elif kind == 1:
            data[place] = pick.choice(b'\x00\xff\x7f{}[]"0-e')
        elif kind == 2:
            del data[place : place + pick.randint(1, 64)]
        elif kind == 3:
            data[place:place] = data[place : place + pick.randint(1, 64)]
        else:
            start = pick.randrange(len(data))
            data[place : place + 8] = data[start : start + 8]
        if not data:
            return b""
    return bytes(data)


def resealed(data):
    """Let length and digest fit again."""
    body = bytearray(data[:-32])
    body[16:24] = (len(body) + 32).to_bytes(8, "little")
    return bytes(body) + hashlib.sha256(body).digest()


def forged(data, pick):
    """Replace a value of the header, or bytes of an array, under a right digest."""
    tree, body = unpacked(data)
    body = bytearray(body)
    for _ in range(pick.randint(1, 2)):
        if body and pick.random() < 0.4:
            body[pick.randrange(len(body))] = pick.choice([0, 255, 127, 128, 240])
            continue
        inner = tree
        while True:
            key = pick.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            below = inner[key]
            if not isinstance(below, dict | list) or not below or pick.random() < 0.1:
                break
            inner = below
        inner[key] = copy.deepcopy(pick.choice(NASTY))
    return b"".join(packed(tree, [memoryview(body)]))


def verdict(data):
    """Return "refused" or "loaded"; whatever else happens, a warning included, is raised."""
    try:
        loaded(data)
    except FormatError:
        return "refused"
    return "loaded"


def fuzz(n_files, *, seed=0, progress=True):
    """Return how many files were refused and how many loaded."""
    warnings.simplefilter("error")
    pick, originals, counts = random.Random(seed), seeds(), {"refused": 0, "loaded": 0}
    for number in range(n_files):
        original = pick.choice(originals)
        data = forged(original, pick) if number % 3 == 2 else changed_bytes(original, pick)
        if number % 3 == 1:
            data = resealed(data)
        counts[verdict(data)] += 1
        if progress and number % 1000 == 999:
            print(f"\r{number + 1} files, {counts}", end="", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.perf_counter()
    counts = fuzz(arguments.files, seed=arguments.seed)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    print(f"\r{arguments.files} files: {counts['refused']} refused by FormatError, ", end="")
    print(f"{counts['loaded']} loaded, no other exception")
    print(f"peak memory {peak:.0f} MB, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
