"""
Features stay valid when the series changes
===========================================

As a stream goes on, the nodes k of the series are estimated again. New nodes mean new
coordinates, and without a remedy everything learnt so far would be spoilt. So the new coordinates
are rotated onto the old ones. This example takes that apart: a model goes on with features that
were transported, and with features as they come.
"""

# %%
# Two sets of nodes
# -----------------
# Before: Zolotarev's nodes for values from 1e-4 to 1, which know no data. After 1000 rows k is
# estimated from what has arrived. The frequencies stay the same throughout.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier

from streamchi2 import DirectSeries, LogHistogram, refined_parameters, zolotarev_parameters
from streamchi2.bases import OrthogonalBasis
from streamchi2.features import MapBlock
from streamchi2.series.transport import RotatedSeries, transported

rows, labels = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(rows))
rows, labels = (rows / rows.sum(axis=1, keepdims=True))[order], labels[order]

basis = OrthogonalBasis(64 * 5, 512, seed=0, beta=3.5)
old = MapBlock(RotatedSeries(DirectSeries(zolotarev_parameters(1e-4, 1.0, 5))), basis)
histogram = LogHistogram().update(rows[:1000])
new = DirectSeries(refined_parameters(histogram, 5))
rotated, residual = transported(old.series, new, histogram)

before = old.transform(rows)
after = {
    "as they come": old.with_series(RotatedSeries(new)).transform(rows),
    "transported": old.with_series(rotated).transform(rows),
}


def moved(features):
    """Return how far features are from those before, relative to their length."""
    return np.linalg.norm(features - before) / np.linalg.norm(before)


for name, features in after.items():
    print(f"{name:13} features move by {moved(features):.1%}")

# %%
# The same features, before and after
# -----------------------------------

figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
shown = np.random.default_rng(1).choice(before.size, 4000, replace=False)
colours = {"as they come": "#D55E00", "transported": "#0072B2"}
for panel, (name, features) in zip(panels, after.items(), strict=True):
    panel.scatter(
        before.ravel()[shown], features.ravel()[shown], s=3, color=colours[name], alpha=0.5, lw=0
    )
    panel.set(title=f"{name}: moved by {moved(features):.1%}", xlabel="before the change of k")
    panel.set_aspect("equal")
panels[0].set_ylabel("the same feature after it")
plt.show()

# %%
# A model that goes on
# --------------------
# A ridge classifier has learnt 1000 rows before the change, and learns some more after it. The
# oracle used the new nodes, rotated, from the beginning.


def accuracies(first, then):
    """Return accuracy on the last 397 rows, for growing numbers of rows after the change."""
    scores = []
    for n_after in n_rows_after:
        seen = np.vstack([first[:1000], then[1000 : 1000 + n_after]])
        model = RidgeClassifier(alpha=0.1, solver="cholesky").fit(seen, labels[: 1000 + n_after])
        scores.append(model.score(then[1400:], labels[1400:]))
    return scores


n_rows_after = (0, 50, 100, 200, 400)
curves = {name: accuracies(before, features) for name, features in after.items()}
oracle = accuracies(after["transported"], after["transported"])
figure, panel = plt.subplots(figsize=(7, 3.4), layout="constrained")
panel.plot(n_rows_after, oracle, ":", color="#555555", lw=2, label="oracle, new k all along")
for name, curve in curves.items():
    panel.plot(n_rows_after, curve, marker="o", color=colours[name], label=name)
    print(f"{name:13} " + "  ".join(f"{accuracy:.3f}" for accuracy in curve))
print(f"{'oracle':13} " + "  ".join(f"{accuracy:.3f}" for accuracy in oracle))
panel.set(xlabel="rows learnt since the change", ylabel="accuracy on later rows", ylim=(None, 1))
panel.legend(frameon=False)
panel.spines[["top", "right"]].set_visible(False)
plt.show()
