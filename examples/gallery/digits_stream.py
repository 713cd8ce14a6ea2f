"""
A stream of handwritten digits
==============================

Each image is a histogram of ink over 64 cells. Batches of 50 arrive; each is predicted before it is
learnt. Then we look inside: what came in, where the nodes of the series are, and how near the
features are to the exact kernel.
"""

# %%
# The stream
# ----------
# Rows are divided by their sum (``norm="l1"``), so that a digit in bold letters is the digit.
# Everything else has its default: the scale of the kernel, the number of series terms and the
# penalty are chosen from the rows as they come.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler
from streamchi2.plots import plot_convergence, plot_input_histogram, plot_kernel, plot_progress

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]

model = ExpChi2Classifier(n_components=384, norm="l1", random_state=0)
predicted = []
for start in range(0, 1300, 50):
    rows, labels = X[start : start + 50], y[start : start + 50]
    if start:
        predicted.extend(model.predict(rows))
    model.partial_fit(rows, labels)

right = np.array(predicted) == y[50:1300]
print(f"the first 500 of them: {right[:500].mean():.3f}, the last 500: {right[-500:].mean():.3f}")
print(f"digits that were never learnt: {model.score(X[1300:], y[1300:]):.3f}")

# %%
# A linear model on the same rows, all of them in memory at once:

shares = X / X.sum(axis=1, keepdims=True)
linear = RidgeClassifierCV(np.logspace(-6, 2, 17)).fit(shares[:1300], y[:1300])
print(f"linear ridge: {linear.score(shares[1300:], y[1300:]):.3f}")

# %%
# Progress
# --------
# Accuracy of what was predicted before it was learnt: of all rows so far, and of the last ones.

plot_progress(y[50:1300], predicted, estimator=model, start=50)
plt.show()

# %%
# What came in, and the series that was fitted to it
# --------------------------------------------------
# The bars are the non-zero inputs. The nodes k of the series stand where inputs are many, and the
# curve, the largest relative error of the series at each value, is zero at every node.

figure, (left, middle) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
plot_input_histogram(model, ax=left)
plot_convergence(model, ax=middle)
plt.show()

# %%
# Features against the exact kernel
# ---------------------------------
# The sampler alone gives the features. Its default basis follows the exact kernel closely; that of
# the classifier is a smoother kernel, from which as many features learn more.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for panel, basis in zip(panels, ("orthogonal", "subspace"), strict=True):
    sampler = ExpChi2Sampler(512, basis=basis, norm="l1", random_state=0).fit(X[:1300])
    plot_kernel(sampler, ax=panel)
    print(f"{basis:10} rms error {sampler.kernel_error().rms:.3f}")
plt.show()
