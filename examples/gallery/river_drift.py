"""
A river pipeline, and a stream that changes
===========================================

Rows are dicts, as everywhere in river: a missing key is a zero, and keys may appear at any time. In
the middle of the stream all labels change their meaning. Three models go on: one that remembers
everything, one as it comes, which forgets by itself, and one that river's drift detector replaces.
"""

# %%
# The stream
# ----------
# Blank cells are left out of the dicts. From row 900 on every label is three more, modulo ten.

from itertools import islice

import matplotlib.pyplot as plt
import numpy as np
from river import drift, linear_model, metrics, optim
from sklearn.datasets import load_digits

import streamchi2.river as chi2
from streamchi2.plots import plot_progress


def digits():
    """Yield digits as dicts of shares of ink, and their labels."""
    images, labels = load_digits(return_X_y=True)
    for image, label in zip(images / images.sum(axis=1, keepdims=True), labels, strict=True):
        yield {f"cell {i}": float(ink) for i, ink in enumerate(image) if ink > 0}, int(label)


def renamed_in_the_middle():
    """Yield the same digits; from row 900 on the labels mean something else."""
    for position, (x, y) in enumerate(digits()):
        yield x, y if position < 900 else (y + 3) % 10


# %%
# A pipeline
# ----------
# The sampler gives features to any model of river's. Their length is one, so that linear models
# want a learning rate near 1; river's usual 0.01 would learn a hundred times too slowly.

pipeline = chi2.ExpChi2Sampler(n_components=128, seed=0) | linear_model.SoftmaxRegression(
    optim.SGD(1.0)
)
accuracy = metrics.Accuracy()
for x, y in islice(digits(), 500):
    if (guess := pipeline.predict_one(x)) is not None:
        accuracy.update(y, guess)
    pipeline.learn_one(x, y)
print(f"river's softmax regression on the features: {accuracy}")

# %%
# The classifier does both at once, and solves for the weights instead of taking small steps.

fused = chi2.ExpChi2Classifier(n_components=128, seed=0)
accuracy = metrics.Accuracy()
for x, y in islice(digits(), 500):
    if (guess := fused.predict_one(x)) is not None:
        accuracy.update(y, guess)
    fused.learn_one(x, y)
print(f"the classifier of this library:             {accuracy}")

# %%
# Labels change
# -------------
# A learner compares the errors of the latest rows with those of left-out rows of the same classes,
# and begins anew where they are far higher. river's ``DriftRetrainingClassifier`` stands around a
# model and watches its errors, here with ``ADWIN``, and begins with a new model when they rise.

all_rows = {"n_components": 128, "seed": 0, "half_life": None, "latest_rows": 0}
models = {
    "remembers all": chi2.ExpChi2Classifier(**all_rows),
    "as it comes": chi2.ExpChi2Classifier(n_components=128, seed=0),
    "replaced at a change": drift.DriftRetrainingClassifier(
        chi2.ExpChi2Classifier(**all_rows), drift.ADWIN(), train_in_background=False
    ),
}
figure, panels = plt.subplots(3, 1, figsize=(7.5, 8), sharex=True, layout="constrained")
for panel, (name, model) in zip(panels, models.items(), strict=True):
    truth, guesses = [], []
    for x, y in renamed_in_the_middle():
        guess = model.predict_one(x)
        if guess is not None:
            truth.append(y)
            guesses.append(guess)
        model.learn_one(x, y)
    start = 1797 - len(truth)
    plot_progress(truth, guesses, estimator=model, start=start, ax=panel)
    panel.set_title(name)
    after = np.mean(np.array(truth[-600:]) == np.array(guesses[-600:]))
    print(f"{name:22} the last 600 rows: {after:.3f}")
plt.show()
