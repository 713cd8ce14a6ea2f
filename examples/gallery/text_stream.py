"""
Text as a stream of word counts
===============================

Docstrings of the libraries that are installed here anyway: which one does a text come from? Words
are counted under hashed names, so that no vocabulary is needed before the stream begins. For such
wide, sparse counts the additive basis is the right one: the coordinates of the series themselves,
without the exponential.
"""

# %%
# The texts
# ---------
# Docstrings are read from the source files, nothing is imported. Code examples, names of parameters
# and cross references would give a library away, so only plain words of the first paragraphs
# are kept, and no name of a library among them.

import importlib.util
import random
import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import MultinomialNB

from streamchi2 import ExpChi2Classifier
from streamchi2.errors import BasisHint

LIBRARIES = ["numpy", "scipy", "sklearn", "river", "matplotlib"]
GIVE_AWAY = re.compile(r"\b(numpy|np|scipy|sklearn|scikit|learn|river|matplotlib|mpl|plt)\b")


def texts_of(library, most):
    """Return the words above the lists of parameters in docstrings of one library."""
    folder = Path(importlib.util.find_spec(library).origin).parent
    paths = sorted(path for path in folder.rglob("*.py") if "test" not in str(path))
    texts = set()
    for path in random.Random(0).sample(paths, len(paths)):
        for text in re.findall(r'"""(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL):
            plain = re.sub(r"\n\s*(Parameters|Returns|Examples)\n.*", "", text, flags=re.DOTALL)
            plain = GIVE_AWAY.sub("", re.sub(r"[`:.][\w.]+|[^a-z ]", " ", plain.lower()))
            if len(plain.split()) >= 20:
                texts.add(" ".join(plain.split()))
        if len(texts) >= most:
            break
    return sorted(texts)


draws = np.random.default_rng(0)
texts = [(text, library) for library in LIBRARIES for text in texts_of(library, 300)]
texts = [texts[place] for place in draws.permutation(len(texts))]
n_test = len(texts) // 4
print(f"{len(texts)} texts, {n_test} of them to test; for example:")
print(f"  {texts[0][1]}: {texts[0][0][:80]} ...")

# %%
# Five learners, one pass
# -----------------------
# ``HashingVectorizer`` gives counts in 16384 columns. Naive Bayes and a linear model on square
# roots (the Hellinger distance) are what one would try first; both learn in batches too.

counts = HashingVectorizer(n_features=2**14, alternate_sign=False, norm=None, stop_words="english")
X = counts.transform(text for text, _ in texts)
y = np.array([library for _, library in texts])

chi2 = {"norm": "l1", "random_state": 0}
learners = {
    "naive Bayes": MultinomialNB(alpha=0.1),
    "linear on roots, SGD": SGDClassifier(random_state=0),
    "exp-chi2, orthogonal": ExpChi2Classifier(1024, basis="orthogonal", **chi2),
    "exp-chi2, subspace": ExpChi2Classifier(1024, basis="subspace", **chi2),
    "additive chi2": ExpChi2Classifier(4096, basis="additive", **chi2),
}
# The default basis would warn that another suits such rows; here it is compared on purpose.
warnings.simplefilter("ignore", BasisHint)
scores = {}
for name, learner in learners.items():
    rows = X.sqrt() if "roots" in name else X
    for start in range(n_test, len(y), 200):
        batch = slice(start, start + 200)
        learner.partial_fit(rows[batch], y[batch], classes=LIBRARIES)
    scores[name] = learner.score(rows[:n_test], y[:n_test])
    print(f"{name:22} {scores[name]:.3f}")

# %%
# Naive Bayes wins and is much the cheapest: use it if one model of texts is all that you need.
# The kernels are close to each other on so few texts, and the additive one has the most features
# here. They are for cases where texts are one descriptor among others.

figure, panel = plt.subplots(figsize=(7, 2.8), layout="constrained")
bars = panel.barh(list(scores), list(scores.values()), color=["#999999"] * 2 + ["#0072B2"] * 3)
panel.bar_label(bars, fmt="%.3f", padding=3)
panel.axvline(1 / len(LIBRARIES), color="black", lw=1, ls=":")
panel.set(xlim=(0, 1), xlabel="accuracy on other texts (dotted: guessing)")
panel.set_title("Which library is it from?")
panel.invert_yaxis()
panel.spines[["top", "right"]].set_visible(False)
plt.show()
