"""
File types on your own disk
===========================

Which kind of file is a fragment of 512 bytes, one sector of a disk, from? Real data that
everybody has: the files of your Python installation. A fragment becomes a histogram of its bytes,
256 counts, and a model learns them in one pass. Forensics and intrusion detection do this with
fragments of disks and of network flows. With longer fragments, 4096 bytes, a linear model on
square roots was as good as the kernel.
"""

# %%
# Fragments
# ---------
# Up to 40 files of each kind, up to 5 fragments from each, at random places. Training and test
# fragments come from different files. PNG files come with matplotlib; the archives are made here.

import io
import random
import sysconfig
import zipfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import ConfusionMatrixDisplay

from streamchi2 import ExpChi2Classifier

KINDS = {
    "py": [".py"],
    "pyc": [".pyc"],
    "binary": [".so", ".pyd", ".dylib", ".dll"],
    "text": [".txt", ".md", ".rst"],
    "png": [".png"],
    "csv": [".csv"],
    "json": [".json"],
}
SIZE, N_FILES, N_FRAGMENTS = 512, 40, 5
PLACES = {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), mpl.get_data_path()}


def files_by_kind(places, pick):
    """Return up to N_FILES files of each kind that hold at least a fragment."""
    kind_of = {ending: kind for kind, endings in KINDS.items() for ending in endings}
    paths_of = {kind: [] for kind in KINDS}
    for path in sorted({p for place in places for p in Path(place).rglob("*")}):
        if (kind := kind_of.get(path.suffix)) and path.is_file() and path.stat().st_size >= SIZE:
            paths_of[kind].append(path)
    return {kind: pick.sample(paths, min(N_FILES, len(paths))) for kind, paths in paths_of.items()}


def archive_of(paths):
    """Return the bytes of a zip archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.write(path, path.name)
    return held.getvalue()


def fragments(data, pick):
    """Return byte histograms of some fragments."""
    last = len(data) - SIZE
    starts = [pick.randint(0, last) for _ in range(min(N_FRAGMENTS, 1 + last // SIZE))]
    values = np.frombuffer(data, np.uint8)
    return [np.bincount(values[start : start + SIZE], minlength=256) for start in starts]


pick = random.Random(0)
chosen = files_by_kind(PLACES, pick)
contents = {kind: [path.read_bytes() for path in paths] for kind, paths in chosen.items()}
sources = chosen["py"] + chosen["text"]
contents["zip"] = [archive_of(pick.sample(sources, 4)) for _ in range(N_FILES)]

train, test = [], []
for kind, files in contents.items():
    if len(files) < 4:  # too few to divide
        continue
    for number, data in enumerate(files):
        side = test if number % 4 == 0 else train
        side += [(histogram, kind) for histogram in fragments(data, pick)]
pick.shuffle(train)
print(f"{len(train)} fragments to learn, {len(test)} to test")

# %%
# Learnt online
# -------------
# Batches of 50 fragments. ``norm="l1"`` turns counts into shares.

X, y = np.array([row for row, _ in train]), np.array([kind for _, kind in train])
X_test, y_test = np.array([row for row, _ in test]), np.array([kind for _, kind in test])

model = ExpChi2Classifier(n_components=512, norm="l1", random_state=0)
for start in range(0, len(y), 50):
    model.partial_fit(X[start : start + 50], y[start : start + 50])
    if start % 250 == 200:
        print(f"{start + 50:5} fragments learnt: {model.score(X_test, y_test):.3f} of the test")

# %%
# Linear ridge on square roots of the shares, all fragments at once, for comparison:

roots, roots_test = (np.sqrt(rows / rows.sum(axis=1, keepdims=True)) for rows in (X, X_test))
linear = RidgeClassifierCV(np.logspace(-4, 2, 13)).fit(roots, y)
print(f"linear: {linear.score(roots_test, y_test):.3f}")

# %%
# Who is taken for whom
# ---------------------
# Compressed bytes look alike whatever they hold: PNG and zip both use deflate. All the rest is told
# apart well.

figure, panel = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
ConfusionMatrixDisplay.from_predictions(
    y_test, model.predict(X_test), ax=panel, colorbar=False, cmap="Blues", normalize="true",
    values_format=".2f",
)  # fmt: skip
panel.set_title(f"{len(y_test)} fragments of other files, {model.score(X_test, y_test):.0%} right")
plt.show()
