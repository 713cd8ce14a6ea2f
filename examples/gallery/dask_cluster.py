"""
Many workers, one model
=======================

``streamchi2.dask.fit`` plans one map, sends it to every worker, and merges what they have learnt.
The rows stay where they are. Here the cluster is this process with two threads; with a ``Client``
of ``dask.distributed`` the same call runs on machines.
"""

# %%
# Rows in partitions
# ------------------
# A Dask array of six partitions. Dask DataFrames and lists of delayed batches do as well.

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from streamchi2 import ExpChi2Classifier
from streamchi2.dask import fit

X, y = load_digits(return_X_y=True)
rows, labels = da.from_array(X[:1200], chunks=(200, 64)), da.from_array(y[:1200], chunks=200)
print(rows)

# %%
# The same model as on one machine
# --------------------------------
# With ``adapt=False`` the map is planned once, from the first rows. Then the model of the
# cluster and that of one pass differ by rounding only.

model = ExpChi2Classifier(256, norm="l1", adapt=False, random_state=0)
with dask.config.set(scheduler="threads", num_workers=2):
    fit(model, rows, labels)
alone = ExpChi2Classifier(256, norm="l1", adapt=False, random_state=0).fit(X[:1200], y[:1200])
apart = np.abs(model.decision_function(X[1200:]) - alone.decision_function(X[1200:]))
print(f"on {len(y) - 1200} other digits: {model.score(X[1200:], y[1200:]):.3f}")
print(f"largest difference to one pass: {apart.max():.0e}")

# %%
# Nothing counts twice
# --------------------
# The model knows which rows it has learnt. A worker that is lost costs a retry: its partitions are
# learnt again, and the result is the same to the last bit.

for name, n_rows in model.provenance_.items():
    print(name, n_rows)

# %%
# By hand
# -------
# The same tools are there for any other way of dividing the work: ``new_shard`` gives an empty
# model with the same map, ``merge`` adds up what shards have learnt.

first = ExpChi2Classifier(256, norm="l1", random_state=0).fit(X[:300], y[:300])
shards = [first.new_shard().partial_fit(X[a : a + 300], y[a : a + 300]) for a in (300, 600, 900)]
scores = [first.score(X[1200:], y[1200:])]
for shard in shards:
    scores.append(first.merge(shard).score(X[1200:], y[1200:]))

figure, panel = plt.subplots(figsize=(6, 3), layout="constrained")
panel.plot([300, 600, 900, 1200], scores, marker="o", color="#0072B2")
panel.set(xlabel="rows merged so far", ylabel="accuracy on other digits")
panel.set_xticks([300, 600, 900, 1200])
panel.set_title("Four shards, merged one after another")
panel.spines[["top", "right"]].set_visible(False)
plt.show()
