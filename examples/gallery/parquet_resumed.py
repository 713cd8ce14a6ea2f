"""
Files larger than memory, and a run that is killed
==================================================

``fit_stream`` reads a folder of Parquet files batch by batch, while memory stays constant. With
``checkpoint=`` the state is saved every so many rows. Here a run is killed in the middle, as a full
disk, a timeout or a power cut would do it, and goes on where it was.
"""

# %%
# A folder of files
# -----------------
# Four files; pretend that they are too large.

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from streamchi2 import ExpChi2Classifier, load

X, y = load_digits(return_X_y=True)
folder, scratch = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
table = pd.DataFrame(X).add_prefix("cell ").assign(digit=y)
for number in range(4):
    table[300 * number : 300 * (number + 1)].to_parquet(folder / f"part-{number}.parquet")
print(*sorted(path.name for path in folder.iterdir()))

# %%
# A run without accidents
# -----------------------
# ``target`` names the column of labels, the other columns are the histogram. A callback is told
# after every batch how far it is; in a terminal or a notebook there is a progress bar.

done = []
whole = ExpChi2Classifier(256, norm="l1", random_state=0).fit_stream(
    folder, target="digit", batch_size=100, callback=lambda n_done, n_rows: done.append(n_done)
)
others = table[1200:].drop(columns="digit")
print(f"{done[-1]} rows; on {len(others)} other digits: {whole.score(others, y[1200:]):.3f}")

# %%
# The same run, killed
# --------------------
# A process of its own learns 50 rows at a time and saves every 200. After 700 rows it sends
# itself SIGKILL, which no program can catch.

PROGRAM = """
import os, signal, sys
from streamchi2 import ExpChi2Classifier

def die(n_done, n_rows):
    if n_done >= 700:
        os.kill(os.getpid(), signal.SIGKILL)

ExpChi2Classifier(256, norm="l1", random_state=0).fit_stream(
    sys.argv[1], target="digit", batch_size=50, checkpoint=sys.argv[2], checkpoint_every=200,
    callback=die,
)
"""
checkpoint = scratch / "run.chi2"
killed = subprocess.run([sys.executable, "-c", PROGRAM, folder, checkpoint], check=False)
print("ended by", signal.Signals(-killed.returncode).name)
left = load(checkpoint)
print(f"the checkpoint has {left.n_samples_seen_} rows:")
for name, n_rows in left.provenance_.items():
    print("  ", name.split("#")[0], n_rows)

# %%
# The same call again goes on from there. The model is that of the run without accidents, bit for
# bit, although that one had other batches.

resumed_from = []
resumed = ExpChi2Classifier(256, norm="l1", random_state=0).fit_stream(
    folder, target="digit", batch_size=50, checkpoint=checkpoint, checkpoint_every=200,
    callback=lambda n_done, n_rows: resumed_from.append(n_done),
)  # fmt: skip
same = np.array_equal(resumed.decision_function(others), whole.decision_function(others))
print(f"first batch after the restart ends at row {resumed_from[0]}; same model: {same}")

# %%
# What happened, in one picture:

figure, panel = plt.subplots(figsize=(7, 2.2), layout="constrained")
panel.broken_barh([(0, 600), (600, 100)], (1.6, 0.8), color=["#0072B2", "#D55E00"])
panel.broken_barh([(600, 600)], (0.6, 0.8), color="#0072B2")
panel.set(yticks=[2, 1], yticklabels=["killed run", "resumed run"], xlabel="rows")
panel.set_title("Blue: learnt and kept. Orange: learnt after the last checkpoint, so learnt again")
panel.spines[["top", "right", "left"]].set_visible(False)
panel.tick_params(axis="y", length=0)
plt.show()
