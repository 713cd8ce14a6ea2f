"""
The laws, on an estimator of your own
=====================================

``streamchi2.testing`` holds the laws of this library as checks for any estimator with
``partial_fit`` or ``learn_one``. Here a scaler with a planted bug meets them. The bug is a common
one: averages of averages, which are right as long as all batches have the same size.
"""

# %%
# An estimator with a bug
# -----------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from streamchi2.testing import LawError, check_all, check_cut


class MeanScaler(TransformerMixin, BaseEstimator):
    """Divide every column by the mean of what has been seen."""

    def fit(self, X, y=None):
        """Forget everything and learn."""
        vars(self).pop("mean_", None)
        return self.partial_fit(X)

    def partial_fit(self, X, y=None):
        """Learn from one more batch."""
        rows = validate_data(self, X, reset=not hasattr(self, "mean_"))
        self._absorb(rows)
        return self

    def _absorb(self, rows):
        n_batches = getattr(self, "n_batches_", 0)
        mean = getattr(self, "mean_", np.zeros(rows.shape[1]))
        self.mean_ = mean + (rows.mean(axis=0) - mean) / (n_batches + 1)  # the bug
        self.n_batches_ = n_batches + 1

    def transform(self, X):
        """Return rows in units of the means."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False) / (1e-9 + np.abs(self.mean_))


# %%
# A test that does not find it
# ----------------------------
# Four batches of the same size: everything looks fine.

rows = np.random.default_rng(0).gamma(1.0, size=(100, 3))
check_cut(MeanScaler(), rows, cuts=[25, 50, 75], rtol=1e-9)

# %%
# Other cuts would have. Two batches, the first of n rows:

wrong = []
for n_rows in range(1, 100):
    scaler = MeanScaler().partial_fit(rows[:n_rows]).partial_fit(rows[n_rows:])
    wrong.append(np.abs(scaler.mean_ / rows.mean(axis=0) - 1).max())

figure, panel = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
panel.plot(range(1, 100), wrong, color="#D55E00")
panel.set(xlabel="rows in the first of two batches", ylabel="relative error of the mean")
panel.set_title("The bug hides where batches are equal")
panel.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The laws find it
# ----------------
# ``check_all`` draws streams and cuttings with hypothesis, finds one that breaks the law, makes it
# as small as it can, and prints a program that shows it again.

try:
    check_all(MeanScaler(), rtol=1e-9)
except LawError as error:
    print(error)

# %%
# The remedy
# ----------
# Count rows, not batches.


class SoundScaler(MeanScaler):
    """The same, weighted by the number of rows."""

    def _absorb(self, rows):
        n_rows = getattr(self, "n_rows_", 0) + len(rows)
        mean = getattr(self, "mean_", np.zeros(rows.shape[1]))
        self.mean_ = mean + (rows.mean(axis=0) - mean) * len(rows) / n_rows
        self.n_rows_ = n_rows


print(check_all(SoundScaler(), rtol=1e-9))

# %%
# In a test suite it is one line for pytest:
#
# .. code-block:: python
#
#    def test_the_laws_hold():
#        check_all(SoundScaler(), rtol=1e-9)
