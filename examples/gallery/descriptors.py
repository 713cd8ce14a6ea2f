"""
Choosing among several descriptors
==================================

Pictures are described by histograms of several kinds: edges, colours, ink in rows and columns.
With ``descriptors=`` each kind gets a feature map of its own and their kernels add up. A group
lasso tells which of them count.
"""

# %%
# Four descriptors of one digit
# -----------------------------
# Ink in every cell, ink in rows and columns, directions of edges, and noise that means nothing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from streamchi2 import ExpChi2Classifier
from streamchi2.plots import plot_descriptor_path

digits = load_digits()
images, y = digits.images, digits.target
draws = np.random.default_rng(0)


def edge_directions(images):
    """Return histograms of gradient directions: 8 of them in each quarter of the image."""
    down, right = np.gradient(images, axis=(1, 2))
    length, angle = np.hypot(down, right), np.arctan2(down, right)
    place = np.floor((angle / np.pi + 1) * 4).astype(int) % 8
    histograms = np.zeros((len(images), 2, 2, 8))
    for direction in range(8):
        strength = np.where(place == direction, length, 0.0)
        histograms[..., direction] = strength.reshape(-1, 2, 4, 2, 4).sum(axis=(2, 4))
    return histograms.reshape(len(images), -1)


views = {
    "cells": images.reshape(len(images), -1),
    "margins": np.hstack([images.sum(axis=1), images.sum(axis=2)]),
    "edges": edge_directions(images),
    "noise": draws.dirichlet(np.ones(32), len(images)),
}
X = np.hstack(list(views.values()))
ends = np.cumsum([view.shape[1] for view in views.values()])
columns = {
    name: slice(int(end) - view.shape[1], int(end))
    for end, (name, view) in zip(ends, views.items(), strict=True)
}
print(columns)

# %%
# All of them, or some
# --------------------
# ``n_components`` is divided evenly. Group lasso keeps a descriptor or leaves it out as a whole;
# its penalty is chosen in the same pass.

params = {"norm": "l1", "random_state": 0}
for name in views:
    alone = ExpChi2Classifier(150, **params).fit(views[name][:1200], y[:1200])
    print(f"{name:8} alone  {alone.score(views[name][1200:], y[1200:]):.3f}")
chooser = ExpChi2Classifier(600, descriptors=columns, penalty="group_lasso", **params)
chooser.fit(X[:1200], y[:1200])
print(f"together        {chooser.score(X[1200:], y[1200:]):.3f}")

# %%
# The path
# --------
# The larger the penalty, the fewer descriptors are left. Read from the right: the descriptor that
# tells most comes in first. The dashed line is the penalty in use.

figure, panel = plt.subplots(figsize=(7.5, 3), layout="constrained")
plot_descriptor_path(chooser, ax=panel)
plt.show()
