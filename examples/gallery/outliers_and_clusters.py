"""
Anomalies and clusters: what works on the features, and what does not
=====================================================================

Features of a kernel can be given to anything that takes numbers. Not everything gains by it. Here
one digit is kept out of a stream, four times over; which scores find it when it turns up?
"""

# %%
# Four scores
# -----------
# *Residual of kernel PCA*: how much of a row's feature vector lies outside the principal
# components of what was learnt (Hoffmann 2007, doi:10.1016/j.patcog.2006.07.009). *Residual of
# linear PCA*: the same with square roots of the shares in place of features. River's
# *HalfSpaceTrees*, on the shares, and on 20 principal components of the features.

import matplotlib.pyplot as plt
import numpy as np
from river import anomaly
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from streamchi2 import ExpChi2PCA, ExpChi2Sampler

X, y = load_digits(return_X_y=True)
shares = X / X.sum(axis=1, keepdims=True)
roots = np.sqrt(shares)
DIGITS = [0, 3, 6, 8]
CHI2 = {"n_components": 256, "basis": "subspace", "random_state": 0}


def kernel_residual(seen, asked):
    """Return the length of features outside the leading components; learnt batch by batch."""
    sampler, pca = ExpChi2Sampler(**CHI2), ExpChi2PCA(n_pca=100, **CHI2)
    for start in range(0, len(seen), 250):
        sampler.partial_fit(seen[start : start + 250])
        pca.partial_fit(seen[start : start + 250])
    features = sampler.transform(asked) - sampler.transform(seen).mean(axis=0)
    return np.square(features).sum(axis=1) - np.square(pca.transform(asked)).sum(axis=1)


def linear_residual(seen, asked):
    """Return the same of linear PCA, with 10 components, the best number for it here."""
    pca = PCA(10).fit(np.sqrt(seen))
    inside = pca.inverse_transform(pca.transform(np.sqrt(asked)))
    return np.square(np.sqrt(asked) - inside).sum(axis=1)


def half_space_trees(seen, asked):
    """Return the scores of river's HalfSpaceTrees, inputs scaled to 0..1 as they want them."""
    low, high = seen.min(axis=0), seen.max(axis=0)
    scaled = [np.clip((rows - low) / np.maximum(high - low, 1e-9), 0, 1) for rows in (seen, asked)]
    trees = anomaly.HalfSpaceTrees(n_trees=5, height=8, window_size=250, seed=0)
    for row in scaled[0].tolist():
        trees.learn_one(dict(enumerate(row)))
    return [trees.score_one(dict(enumerate(row))) for row in scaled[1].tolist()]


def trees_on_features(seen, asked):
    """Return the scores of HalfSpaceTrees on principal components of the features."""
    pca = ExpChi2PCA(n_pca=20, **CHI2).fit(seen)
    return half_space_trees(pca.transform(seen), pca.transform(asked))


# %%
# Which find the digit that was kept out?
# ---------------------------------------
# Area under the ROC curve; 0.5 is guessing.

scores = {
    "kernel PCA residual": kernel_residual,
    "linear PCA residual": linear_residual,
    "HalfSpaceTrees on shares": half_space_trees,
    "HalfSpaceTrees on features": trees_on_features,
}
draws, areas_of = np.random.default_rng(0), {name: [] for name in scores}
for digit in DIGITS:
    ordinary = draws.permutation(np.flatnonzero(y != digit))
    asked = np.concatenate([ordinary[1000:1200], np.flatnonzero(y == digit)])
    for name, score in scores.items():
        area = roc_auc_score(y[asked] == digit, score(shares[ordinary[:1000]], shares[asked]))
        areas_of[name].append(area)
for name, areas in areas_of.items():
    print(f"{name:27} mean {np.mean(areas):.3f}, worst digit {min(areas):.3f}")

# %%
figure, panel = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
for name, areas in areas_of.items():
    panel.plot(DIGITS, areas, "o-", ms=5, lw=1, label=name)
panel.axhline(0.5, color="black", lw=1, ls=":")
panel.set(xlabel="digit that was kept out", ylabel="area under ROC curve", xticks=DIGITS)
panel.legend(frameon=False, fontsize="small", loc="lower left", ncols=2)
panel.set(ylim=(0.0, 1.02), title="Anomalies found")
panel.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# On average the residual of kernel PCA finds them best, though not every digit. Trees that cut one
# coordinate at a time gain nothing from features in which every coordinate holds a little of
# everything: leave these methods to the raw histograms.
#
# Clusters
# --------
# KMeans with ten clusters against the ten digits (adjusted Rand index, 1 is perfect):

features = ExpChi2Sampler(256, basis="subspace", random_state=0).fit_transform(shares)
for name, rows in {"shares": shares, "roots": roots, "features": features}.items():
    index = [
        adjusted_rand_score(y, KMeans(10, n_init=1, random_state=seed).fit_predict(rows))
        for seed in range(3)
    ]
    print(f"{name:9} {np.mean(index):.3f}")

# %%
# The three are much alike: for clusters alone the features are not worth their cost.
