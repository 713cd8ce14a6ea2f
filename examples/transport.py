"""Do features survive when the nodes k of the series are estimated again?

    python examples/transport.py [picture.png]

A stream of digits begins under nodes that know no data (Zolotarev's, for values from 1e-4 to
1). After 1000 rows k is estimated from what has arrived. A ridge classifier that learnt from the
earlier features goes on with the later ones: rotated onto the old coordinates ("transported"), or
as they come. The oracle used the new nodes, with the same rotation, from the beginning: without
it the frequencies would in effect be drawn anew, which alone moves accuracy by about .005.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier

from streamchi2 import DirectSeries, LogHistogram, refined_parameters, zolotarev_parameters
from streamchi2.bases import OrthogonalBasis
from streamchi2.feature_map import MapBlock
from streamchi2.series.transport import RotatedSeries, transported

N_TERMS, N_FEATURES, BETA = 5, 512, 3.5
N_BEFORE = 1000
N_AFTER = (0, 25, 50, 100, 200, 400)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"  # distinct to the colour-blind, and in print


def main() -> None:
    picture = sys.argv[1] if len(sys.argv) > 1 else "transport.png"
    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))
    rows, labels = (rows / rows.sum(axis=1, keepdims=True))[order], labels[order]

    old = map_under(zolotarev_parameters(1e-4, 1.0, N_TERMS))
    carried, plain = re_estimated(old, rows[:N_BEFORE])
    before, with_transport, without = (block.transform(rows) for block in (old, carried, plain))
    moved = relative_move(before, with_transport), relative_move(before, without)
    curves = {
        "oracle": accuracies(with_transport, with_transport, labels),
        "transported": accuracies(before, with_transport, labels),
        "as they come": accuracies(before, without, labels),
    }
    print(f"features move by {moved[0]:.1%} with transport, by {moved[1]:.0%} without")
    print("accuracy after the change, rows learnt since: " + ", ".join(map(str, N_AFTER)))
    for name, curve in curves.items():
        print(f"  {name:12} " + "  ".join(f"{accuracy:.3f}" for accuracy in curve))
    features = {"before": before, "transported": with_transport, "as they come": without}
    draw(picture, features, curves)


def map_under(k: np.ndarray) -> MapBlock:
    basis = OrthogonalBasis(64 * N_TERMS, N_FEATURES, seed=0, beta=BETA)
    return MapBlock(RotatedSeries(DirectSeries(k)), basis)


def re_estimated(old: MapBlock, seen: np.ndarray) -> tuple[MapBlock, MapBlock]:
    """Return the maps under a k estimated from rows: transported, and as it comes."""
    histogram = LogHistogram().update(seen)
    new = DirectSeries(refined_parameters(histogram, N_TERMS))
    rotated, _ = transported(old.series, new, histogram)
    return old.with_series(rotated), old.with_series(RotatedSeries(new))


def relative_move(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.sqrt(np.square(before - after).sum() / np.square(before).sum()))


def accuracies(before: np.ndarray, after: np.ndarray, labels: np.ndarray) -> list[float]:
    """Accuracy on the last 397 rows of a model that saw 1000 rows before the change, n after."""
    test = slice(1400, None)
    found = []
    for n_after in N_AFTER:
        stop = N_BEFORE + n_after
        seen = np.vstack([before[:N_BEFORE], after[N_BEFORE:stop]])
        model = RidgeClassifier(alpha=0.1, solver="cholesky").fit(seen, labels[:stop])
        found.append(model.score(after[test], labels[test]))
    return found


def draw(picture: str, features: dict[str, np.ndarray], curves: dict[str, list[float]]) -> None:
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("(no picture: matplotlib is missing, pip install 'streamchi2[plot]')")
        return
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    shown = np.random.default_rng(1).choice(features["before"].size, 4000, replace=False)
    before = features["before"]
    for panel, name, colour in ((left, "as they come", ORANGE), (middle, "transported", BLUE)):
        after = features[name]
        title = f"{name}: moved by {relative_move(before, after):.0%}"
        panel.scatter(
            before.ravel()[shown], after.ravel()[shown], s=3, color=colour, linewidths=0, alpha=0.5
        )
        panel.set(title=title, xlabel="feature before the change of k", aspect="equal")
    left.set_ylabel("the same feature after it")
    styles = {"oracle": (GREY, ":"), "transported": (BLUE, "-"), "as they come": (ORANGE, "--")}
    names = {"oracle": "oracle, new k all along"}
    for name, curve in curves.items():
        colour, line = styles[name]
        right.plot(N_AFTER, curve, line, color=colour, lw=2, label=names.get(name, name))
    right.set(
        title=f"a model with {N_BEFORE} rows behind it",
        xlabel="rows learnt since the change",
        ylabel="accuracy on later rows",
        ylim=(None, 1.0),
    )
    right.legend(frameon=False, loc="lower right")
    for panel in (left, middle, right):
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=150)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
