"""How well does each chi2 series approximate sum 2xy/(x+y) at equal numbers of coordinates?

    python examples/benchmarks/series_error.py

Mean and worst absolute error over all pairs of 300 rows (each divided by its sum, so the exact
values lie between 0 and 1), for 1, 3, 5 and 7 coordinates per value. scikit-learn's map, which
stores no scale, is given its tabulated sampling interval; the last column is the gain of refined
over greedy landmarks in predicted rms error.
"""

import warnings

import numpy as np
from data_sets import load
from scipy import sparse
from sklearn.kernel_approximation import AdditiveChi2Sampler

from streamchi2 import (
    ChebyshevSeries,
    DirectSeries,
    LogHistogram,
    VZSeries,
    chi2_distance,
    greedy_parameters,
    refined_parameters,
    zolotarev_parameters,
)
from streamchi2.series import predicted_error

SETS = ["digits", "fashion_bow", "fashion_hog", "spambase", "news20_tf"]
METHODS = {
    "direct, refined": lambda h, n: DirectSeries(refined_parameters(h, n)),
    "direct, greedy": lambda h, n: DirectSeries(greedy_parameters(h, n)),
    "direct, Zolotarev": lambda h, n: DirectSeries(zolotarev_parameters(h.low, h.high, n)),
    "Chebyshev": ChebyshevSeries.from_histogram,
    "VZ, fitted period": VZSeries.from_histogram,
    "scikit-learn": lambda h, n: AdditiveChi2Sampler(
        sample_steps=(n + 1) // 2, sample_interval=None if n in (1, 3, 5) else 0.4
    ).fit(np.ones((1, 1))),
}


def errors(series, rows, exact):
    if isinstance(series, AdditiveChi2Sampler):
        series.fit(rows)
    coordinates = series.transform(rows)
    inner = coordinates @ coordinates.T
    error = np.abs((inner.toarray() if sparse.issparse(inner) else inner) - exact)
    return error.mean(), error.max()


def main():
    warnings.simplefilter("ignore", DeprecationWarning)
    gains = []
    for name in SETS:
        if (loaded := load(name)) is None:
            continue
        rows = loaded[0]
        histogram = LogHistogram().update(rows)
        sample = rows[np.random.default_rng(0).permutation(rows.shape[0])[:300]]
        exact = 1.0 - chi2_distance(sample)  # rows sum to one
        print(f"\n{name}: values from {histogram.low:.2g} to {histogram.high:.2g}")
        print(f"{'coordinates':20}" + "".join(f"{n:>20}" for n in (1, 3, 5, 7)))
        for method, make in METHODS.items():
            cells = [errors(make(histogram, n), sample, exact) for n in (1, 3, 5, 7)]
            print(f"{method:20}" + "".join(f"{mean:12.1e} {worst:.1e}" for mean, worst in cells))
        gain = [
            predicted_error(histogram, greedy_parameters(histogram, n)).rms
            / predicted_error(histogram, refined_parameters(histogram, n)).rms
            for n in (2, 3, 4, 5)
        ]
        gains += gain
        print("greedy rms / refined rms for 2, 3, 4, 5 terms: ", np.round(gain, 1))
    print(f"\ngeometric mean of greedy rms / refined rms: {np.exp(np.mean(np.log(gains))):.2f}")


if __name__ == "__main__":
    main()
