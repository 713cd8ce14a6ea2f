"""Handwritten digits as a stream: learn, predict, audit, compare.

    python examples/quickstart.py

Each image is a histogram of ink over 64 cells. Batches of 50 arrive; each is predicted before it is
learnt. At the end the streamed model meets a linear one and the exact kernel on images that neither
has seen. A picture is saved as quickstart.png where matplotlib is installed.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV

from streamchi2 import ExpChi2Classifier, exp_chi2_kernel

BATCH, N_STREAM = 50, 1300


def main():
    rows, labels = load_digits(return_X_y=True)
    rows = rows / rows.sum(axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(labels))
    rows, labels = rows[order], labels[order]
    stream, held_out = slice(0, N_STREAM), slice(N_STREAM, None)

    model = ExpChi2Classifier(n_components=512, random_state=0)
    seen, right = [], []
    print(f"a stream of {N_STREAM} digits, in batches of {BATCH}; predicted, then learnt")
    for start in range(0, N_STREAM, BATCH):
        batch = slice(start, min(start + BATCH, N_STREAM))
        if start:
            right.extend(model.predict(rows[batch]) == labels[batch])
            seen.append(start + BATCH)
            done = "#" * (30 * seen[-1] // N_STREAM)
            print(f"\r[{done:30}] {seen[-1]:5} rows  accuracy {np.mean(right):.3f}", end="")
        model.partial_fit(rows[batch], labels[batch])
    print()

    error = model.kernel_error()
    print(f"kernel: beta {model.beta_:.2f}, {model.n_terms_} terms at k = {model.k_.round(4)}")
    print(f"audit against the exact kernel: rms error {error.rms:.4f}, worst {error.worst:.4f}")

    linear = RidgeClassifierCV(np.logspace(-6, 2, 17)).fit(rows[stream], labels[stream])
    scores = {
        "linear ridge": linear.score(rows[held_out], labels[held_out]),
        "streamchi2, one pass": model.score(rows[held_out], labels[held_out]),
        "exact kernel, all rows": exact_accuracy(rows, labels, stream, held_out, model.beta_),
    }
    print(f"\naccuracy on {len(labels) - N_STREAM} digits that were never learnt")
    for name, score in scores.items():
        print(f"  {name:24} {score:.3f}")
    save_picture(model, np.array(seen), np.array(right))


def exact_accuracy(rows, labels, stream, held_out, beta):
    """Kernel ridge on the exact exp-chi2 kernel, the penalty chosen by leave-one-out."""
    kernel = exp_chi2_kernel(rows[stream], beta=beta)
    targets = np.eye(10)[labels[stream]] - 0.1
    errors = {}
    for penalty in np.logspace(-4, 1, 11):
        inverse = np.linalg.inv(kernel + penalty * np.eye(len(kernel)))
        weights = inverse @ targets
        errors[penalty] = np.mean((weights / np.diag(inverse)[:, None]) ** 2), weights
    weights = min(errors.values(), key=lambda pair: pair[0])[1]
    scores = exp_chi2_kernel(rows[held_out], rows[stream], beta=beta) @ weights
    return np.mean(scores.argmax(axis=1) == labels[held_out])


def save_picture(model, seen, right):
    try:
        import matplotlib as mpl
    except ImportError:
        print('\nno picture: install matplotlib with  pip install "streamchi2[plot]"')
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, inputs) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    window = right.reshape(-1, BATCH).mean(axis=1)
    left.plot(seen, window, color="#bbbbbb", label="last batch")
    left.plot(seen, np.cumsum(window) / np.arange(1, window.size + 1), color="#0072b2", label="all")
    left.set(xlabel="rows seen", ylabel="accuracy before learning", ylim=(0.6, 1.0))
    left.set_title("Predicted, then learnt")
    left.legend(frameon=False, loc="lower right")

    histogram = model.input_histogram_
    inputs.plot(histogram.centres, histogram.density(), color="#0072b2", lw=0.8)
    for k in model.k_:
        inputs.axvline(k, color="#d55e00", lw=1, ls="--")
    inputs.set(xscale="log", xlabel="value of a cell", ylabel="density per log unit")
    inputs.set_xticks([0.003, 0.01, 0.03, 0.08], ["0.003", "0.01", "0.03", "0.08"])
    inputs.minorticks_off()
    inputs.set_title("What came in, and the landmarks k")
    figure.savefig("quickstart.png", dpi=120)
    print("\npicture saved as quickstart.png")


if __name__ == "__main__":
    main()
