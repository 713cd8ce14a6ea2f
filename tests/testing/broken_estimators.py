"""Estimators with a planted bug each, one for every law, and sound ones beside them."""

import numpy as np
from river import base
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

NAMES = ["red", "green", "blue", "hue 0", "hue 1", *(f"x{index}" for index in range(8))]


class MeanScaler(TransformerMixin, BaseEstimator):
    """Sound: divides by the mean of all rows seen. Sums are of whole numbers, so exact."""

    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def partial_fit(self, X, y=None, sample_weight=None):
        rows = self._checked(X)
        weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, float)
        if weights.shape != (len(rows),):
            raise ValueError(f"sample_weight must be one per row, got shape {weights.shape}")
        if hasattr(self, "total_") and self.total_.shape != (rows.shape[1],):
            raise ValueError(f"X must have {self.total_.size} columns, got {rows.shape[1]}")
        self._learn(rows, weights)
        return self

    def _checked(self, X):
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
        if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
            raise ValueError("X must be of shape (n, d), not empty and finite")
        return rows

    def _learn(self, rows, weights):
        # 2**40 makes the sums those of integers: in any order the same.
        whole = np.floor(rows * 2.0**40)
        self.total_ = getattr(self, "total_", 0.0) + weights @ whole
        self.weight_ = getattr(self, "weight_", 0.0) + weights.sum()

    def merge(self, other):
        if hasattr(other, "total_"):
            self.total_ = getattr(self, "total_", 0.0) + other.total_
            self.weight_ = getattr(self, "weight_", 0.0) + other.weight_
        return self

    def transform(self, X):
        return self._checked(X) / (1.0 + self.total_ / self.weight_ / 2.0**40)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class CountsBatches(MeanScaler):
    """Cut: the mean over batches, not over rows."""

    def _learn(self, rows, weights):
        super()._learn(rows, weights / weights.sum())


class MergesByHalf(MeanScaler):
    """Merge: forgets the weight of the other."""

    def merge(self, other):
        if hasattr(other, "total_"):
            self.total_ = getattr(self, "total_", 0.0) + other.total_
        return self


class NotNeutral(MeanScaler):
    """Merge: an empty shard leaves its mark."""

    def merge(self, other):
        super().merge(other)
        self.n_merges_ = getattr(self, "n_merges_", 0) + 1
        return self


class Steals(MeanScaler):
    """Merge: takes from the other what it adds."""

    def merge(self, other):
        super().merge(other)
        if hasattr(other, "total_"):
            other.total_ = other.total_ * 0.0
        return self


class LearnsBeforeItChecks(MeanScaler):
    """No trace: a refused batch has been counted."""

    def partial_fit(self, X, y=None, sample_weight=None):
        self.n_calls_ = getattr(self, "n_calls_", 0) + 1
        return super().partial_fit(X, y, sample_weight)


class AcceptsAnything(MeanScaler):
    """No trace: nothing is refused."""

    def partial_fit(self, X, y=None, sample_weight=None):
        try:
            return super().partial_fit(X, y, sample_weight)
        except (ValueError, TypeError):
            return self


class DependsOnWorkers(MeanScaler):
    """Threads: the number of workers is in the result."""

    def transform(self, X):
        return super().transform(X) * (1.0 + 1e-15 * ((self.n_jobs or 1) - 1))


class SeesStoredZeros(MeanScaler):
    """Absent = 0: counts what a sparse row stores."""

    def _checked(self, X):
        rows = super()._checked(X)
        return rows + X.nnz / rows.size if hasattr(X, "nnz") else rows


class CountsReadings(MeanScaler):
    """Pure reads: an attribute that appears."""

    def transform(self, X):
        self.n_reads_ = getattr(self, "n_reads_", 0) + 1
        return super().transform(X)


class LearnsFromReadings(MeanScaler):
    """Pure reads: what is read is learnt."""

    def transform(self, X):
        scaled = super().transform(X)
        self._learn(self._checked(X) + 1.0, np.ones(len(scaled)))
        return scaled


class RemembersReadings(MeanScaler):
    """Pure reads: rows that were read weigh more when they are learnt, though nobody sees it."""

    read = frozenset()

    def transform(self, X):
        type(self).read = self.read | {id(self)}
        return super().transform(X)

    def _learn(self, rows, weights):
        super()._learn(rows, weights * (2.0 if id(self) in self.read else 1.0))


class Forgetful(MeanScaler):
    """Save: the weight is lost on the way."""

    def __getstate__(self):
        return super().__getstate__() | {"weight_": 1.0}


class IgnoresWeights(MeanScaler):
    """Weights: two is not twice."""

    def _learn(self, rows, weights):
        super()._learn(rows, np.sign(weights))


class TakesWeightsForRows(MeanScaler):
    """Weights: small weights pass for few rows, and are mistrusted."""

    def transform(self, X):
        return self._checked(X) / (1.0 + self.total_ / (self.weight_ + 1.0) / 2.0**40)


class Silent(BaseEstimator):
    """Learns, and has no method to read."""

    def partial_fit(self, X, y=None):
        return self


class NearestMean(ClassifierMixin, BaseEstimator):
    """Sound: the class whose mean is nearest."""

    def partial_fit(self, X, y, classes=None):
        rows, labels = np.asarray(X, dtype=float), np.asarray(y)
        if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
            raise ValueError("X must be of shape (n, d), not empty and finite")
        if len(labels) != len(rows):
            raise ValueError("y must be one per row")
        sums = dict(getattr(self, "sums_", {}))
        if sums and next(iter(sums.values()))[0].shape != rows.shape[1:]:
            raise ValueError("X must have as many columns as before")
        for label in np.unique(labels).tolist():
            total, count = sums.get(label, (0.0, 0))
            some = np.floor(rows[labels == label] * 2.0**40)
            sums[label] = total + some.sum(axis=0), count + len(some)
        self._take(sums, classes)
        return self

    def _take(self, sums, classes):
        self.sums_ = sums
        self.classes_ = np.array(sorted(sums))

    def _means(self):
        return np.array([self.sums_[label][0] / self.sums_[label][1] for label in self.classes_])

    def decision_function(self, X):
        apart = np.asarray(X, dtype=float)[:, None] * 2.0**40 - self._means()
        return -(apart**2).sum(axis=2)

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]


class TiresOut(NearestMean):
    """No dip: between 150 and 250 rows it says the same of every row."""

    tired = range(150, 251)

    def predict(self, X):
        n_rows = sum(count for _, count in self.sums_.values())
        labels = super().predict(X)
        return np.full_like(labels, self.classes_[0]) if n_rows in self.tired else labels


class WearsOut(TiresOut):
    """No dip: from 900 rows on, as after a second epoch, it says the same of every row."""

    tired = range(601, 10**6)


class FearsWeights(NearestMean):
    """No dip: says the same of every row after a weight above one."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.heavy_ = sample_weight is not None and np.max(sample_weight) > 1.0
        return super().partial_fit(X, y, classes)

    def predict(self, X):
        labels = super().predict(X)
        return np.full_like(labels, self.classes_[0]) if self.heavy_ else labels


class PrefersAnnounced(NearestMean):
    """Late classes: those announced at the start are favoured."""

    def _take(self, sums, classes):
        super()._take(sums, classes)
        if classes is not None:
            self.bonus_ = 1.0

    def decision_function(self, X):
        return super().decision_function(X) * (1.0 + getattr(self, "bonus_", 0.0))


class DictMeans(base.MiniBatchTransformer):
    """Sound, of river's kind: the mean of each key, zero where it was absent."""

    def __init__(self):
        self.n = 0
        self.totals = {}

    def learn_one(self, x, w=1.0):
        for value in x.values():
            if not isinstance(value, float):
                raise TypeError(f"values must be floats, got {value!r}")
        self._learn(x, w)

    def _learn(self, x, w):
        self.n += w
        for name, value in x.items():
            if value:
                total = self.totals.get(name, 0.0) + w * np.floor(value * 2.0**30)
                self.totals[name] = float(total)

    def learn_many(self, X):
        for row in X.to_dict("records"):
            self.learn_one(row)

    def transform_one(self, x):
        return {
            name: x.get(name, 0.0) - total / self.n / 2.0**30 for name, total in self.totals.items()
        }

    def transform_many(self, X):
        raise NotImplementedError

    def merge(self, other):
        self.n += other.n
        for name, total in other.totals.items():
            self.totals[name] = self.totals.get(name, 0.0) + total


class DictCutBug(DictMeans):
    """Cut: a frame counts once."""

    def learn_many(self, X):
        super().learn_many(X)
        self.n -= len(X) - 1


class DictMergeBug(DictMeans):
    """Merge: forgets how many rows the other has seen."""

    def merge(self, other):
        n = self.n
        super().merge(other)
        self.n = n


class DictSaveBug(DictMeans):
    """Save: the count is lost on the way."""

    def __getstate__(self):
        return self.__dict__ | {"n": 1}


class DictReadBug(DictMeans):
    """Pure reads: what is read is counted."""

    def transform_one(self, x):
        row = super().transform_one(x)
        self.n += 1
        return row


class DictTraceBug(DictMeans):
    """No trace: counts before it checks."""

    def learn_one(self, x, w=1.0):
        self.n += 0.5
        super().learn_one(x, w)


class DictZeroBug(DictMeans):
    """Absent = 0: tells a zero from an absent key."""

    def _learn(self, x, w):
        super()._learn(x, w)
        self.totals["keys"] = self.totals.get("keys", 0.0) + len(x)


class DictScaleBug(DictMeans):
    """Weights: small weights pass for few rows."""

    def transform_one(self, x):
        return {name: total / (self.n + 1.0) / 2.0**30 for name, total in self.totals.items()}


class DictNearestMean(base.Classifier):
    """Sound, of river's kind: wraps the classifier above."""

    _wrapped = NearestMean

    def __init__(self):
        self.model = self._wrapped()

    def _row(self, x):
        if not all(isinstance(value, float) for value in x.values()):
            raise TypeError(f"values must be floats, got {x!r}")
        return [[x.get(name, 0.0) for name in NAMES]]

    def learn_one(self, x, y):
        self.model.partial_fit(self._row(x), [y])

    def predict_one(self, x):
        return self.model.predict(self._row(x)).item()


class DictTiresOut(DictNearestMean):
    """No dip, as above."""

    _wrapped = TiresOut
