"""A million rows from a Parquet file: speed, memory, and what is left of a killed run.

    python examples/benchmarks/out_of_core.py               # several minutes
    python examples/benchmarks/out_of_core.py --quick       # the same on little, in half a minute

The file is written to a temporary folder: rows of fashion_bow (digits, where that is not at hand)
drawn with replacement, every value times log-normal noise, divided by their sums. Then

* ``fit_stream`` on the file and a ``partial_fit`` loop over the same rows in memory are timed in
  turn, each in a process of its own;
* one process streams the whole file, and reports the most memory that it held;
* another one, with checkpoints, is killed by SIGKILL half-way and started again: both models must
  be equal to the last bit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import data_sets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamchi2 import ExpChi2Classifier, load, save
from streamchi2.files import dumped

CHUNK = 1 << 16


def write_table(path, n_rows):
    """Write rows and labels, a row group of 65536 at a time."""
    loaded = data_sets.load("fashion_bow") or data_sets.load("digits")
    rows, labels, n_train = loaded
    random, writer = np.random.default_rng(0), None
    for start in range(0, n_rows, CHUNK):
        drawn = random.integers(0, n_train, min(CHUNK, n_rows - start))
        noise = np.exp(random.normal(scale=0.2, size=(drawn.size, rows.shape[1])))
        noisy = (rows[drawn] * noise).astype(np.float32)
        noisy /= noisy.sum(axis=1, keepdims=True)
        columns = {f"word {i}": noisy[:, i] for i in range(rows.shape[1])}
        table = pa.table(columns | {"label": labels[drawn].astype(np.int32)})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def model_of(n_features):
    return ExpChi2Classifier(n_features, random_state=0)


def stream(path, n_features, checkpoint=None, every=None):
    """Learn a file; checkpoints only where a path for them is given."""
    more = {} if checkpoint is None else {"checkpoint": checkpoint, "checkpoint_every": every}
    return model_of(n_features).fit_stream(path, target="label", **more)


def loop(rows, labels, n_features):
    model = model_of(n_features)
    for start in range(0, len(rows), 4096):
        model.partial_fit(rows[start : start + 4096], labels[start : start + 4096])
    return model


def work(task, path, n_features, checkpoint, every):
    """Do one thing in this process, and print what it took as JSON."""
    if task == "loop":
        table = pq.read_table(path)
        labels = table.column("label").to_numpy()
        rows = np.column_stack([column.to_numpy() for column in table.columns[:-1]])
        start, busy = time.perf_counter(), time.process_time()
        model = loop(rows, labels, n_features)
    else:
        start, busy = time.perf_counter(), time.process_time()
        model = stream(path, n_features, checkpoint, every)
    spent = {"seconds": time.perf_counter() - start, "processor": time.process_time() - busy}
    if task == "save":
        save(model, checkpoint + ".whole")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # kilobytes on Linux
    print(json.dumps(spent | {"gigabytes": most, "rows": model.n_samples_seen_}))


def process(*arguments):
    command = [sys.executable, __file__, "--task", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def outcome(*arguments):
    child = process(*arguments)
    printed, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"a process failed: {arguments}")
    return json.loads(printed)


def compare_speed(path, n_features, repeats):
    """Time both ways in turn. Where the cores are busy, processor time says more than the clock."""
    spent = {"stream": [], "loop": []}
    for _ in range(repeats):
        for task, runs in spent.items():
            runs.append(outcome(task, path, n_features))
    for clock in ("seconds", "processor"):
        streamed, looped = (min(run[clock] for run in runs) for runs in spent.values())
        pairs = zip(*spent.values(), strict=True)
        each = ", ".join(f"{theirs[clock] / mine[clock]:.2f}" for mine, theirs in pairs)
        n_rows = spent["loop"][0]["rows"]
        print(
            f"rows a second ({clock}): fit_stream {n_rows / streamed:.0f}, loop in memory "
            f"{n_rows / looped:.0f}, ratio {looped / streamed:.2f} (pair by pair {each})"
        )
    print("the aim is a ratio of 0.8", flush=True)


def kill_half_way(path, n_features, checkpoint, every, n_rows):
    """Start a run, kill it after half of its checkpoints, and say what is left."""
    child = process("stream", path, n_features, checkpoint, every)
    versions, wanted = set(), max(n_rows // every // 2, 1)
    while len(versions) < wanted and child.poll() is None:
        time.sleep(0.02)
        if os.path.exists(checkpoint):
            versions.add(os.stat(checkpoint).st_mtime_ns)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    (n_kept,) = load(checkpoint).provenance_.values()
    print(f"killed with exit code {child.returncode}; the checkpoint holds {n_kept} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=2048)
    parser.add_argument("--timed-rows", type=int, default=65_536)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        task, path, n_features, *more = arguments.task
        checkpoint, every = more or (None, 0)
        work(task, path, int(n_features), checkpoint, int(every))
        return
    n_rows, n_features, n_timed = arguments.rows, arguments.features, arguments.timed_rows
    if arguments.quick:
        n_rows, n_features, n_timed = 20_000, 256, 10_000
    with tempfile.TemporaryDirectory() as folder:
        path, small = str(Path(folder, "rows.parquet")), str(Path(folder, "few.parquet"))
        write_table(path, n_rows)
        write_table(small, n_timed)
        size = os.path.getsize(path) / 1e6
        print(f"{n_rows} rows, D = {n_features}; the file has {size:.0f} MB", flush=True)
        compare_speed(small, n_features, arguments.repeats)
        checkpoint, every = str(Path(folder, "run")), max(n_rows // 10, 1)
        whole = outcome("save", path, n_features, checkpoint, 10 * n_rows)
        rate = whole["rows"] / whole["seconds"]
        print(
            f"whole file: {whole['seconds']:.0f} s, {rate:.0f} rows/s, at most "
            f"{whole['gigabytes']:.2f} GB resident; the aim is 1.5 GB",
            flush=True,
        )
        Path(checkpoint).unlink()
        kill_half_way(path, n_features, checkpoint, every, n_rows)
        rest = outcome("stream", path, n_features, checkpoint, every)
        print(f"went on for {rest['seconds']:.0f} s, {rest['gigabytes']:.2f} GB")
        equal = dumped(load(checkpoint)) == dumped(load(checkpoint + ".whole"))
        print(f"the two models are equal to the last bit: {equal}")
        if not equal:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
