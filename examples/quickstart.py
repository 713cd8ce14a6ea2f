"""Handwritten digits as a stream: learn, predict, audit, compare.

    python examples/quickstart.py

Each image is a histogram of ink over 64 cells. Batches of 50 arrive; each is predicted before it is
learnt. At the end the streamed model meets a linear one and the exact kernel on images that none
of them has seen. A picture is saved as quickstart.png where matplotlib is installed.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler, exp_chi2_kernel

BATCH, N_STREAM, N_FEATURES = 50, 1300, 768


def main():
    rows, labels = load_digits(return_X_y=True)
    rows = rows / rows.sum(axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(labels))
    rows, labels = rows[order], labels[order]
    stream, unseen = slice(0, N_STREAM), slice(N_STREAM, None)

    print(f"a stream of {N_STREAM} digits, in batches of {BATCH}; predicted, then learnt")
    model, predicted = predict_then_learn(rows[stream], labels[stream])
    error = model.kernel_error()
    print(f"kernel: beta {model.beta_:.2f}, {model.n_terms_} terms at k = {model.k_.round(4)}")
    print(f"measured against the exact kernel: rms error {error.rms:.4f}, worst {error.worst:.4f}")

    linear = RidgeClassifierCV(np.logspace(-6, 2, 17)).fit(rows[stream], labels[stream])
    scores = {
        "linear model, all rows": linear.score(rows[unseen], labels[unseen]),
        "streamchi2, one pass": model.score(rows[unseen], labels[unseen]),
        "exact kernel, all pairs": exact_accuracy(rows, labels, stream, unseen, model.beta_),
    }
    print(f"\naccuracy on {len(labels) - N_STREAM} digits that were never learnt")
    for name, score in scores.items():
        print(f"  {name:24} {score:.3f}")
    save_picture(model, labels[BATCH:N_STREAM], predicted, rows)


def predict_then_learn(rows, labels):
    """Return the model after the stream, and what it said of each batch before it learnt it."""
    model = ExpChi2Classifier(N_FEATURES, random_state=0)
    model.partial_fit(rows[:BATCH], labels[:BATCH])
    predicted = np.empty(0, dtype=labels.dtype)
    for start in range(BATCH, len(labels), BATCH):
        batch = slice(start, start + BATCH)
        predicted = np.append(predicted, model.predict(rows[batch]))
        model.partial_fit(rows[batch], labels[batch])
        seen = BATCH + len(predicted)
        accuracy = np.mean(predicted == labels[BATCH:seen])
        bar = "#" * (30 * seen // len(labels))
        print(f"\r[{bar:.<30}] {seen:5} rows  accuracy {accuracy:.3f}", end="", flush=True)
    print()
    return model, predicted


def exact_accuracy(rows, labels, stream, unseen, beta):
    """Kernel ridge on the exact exp-chi2 kernel, the penalty chosen by leave-one-out."""
    values, vectors = np.linalg.eigh(exp_chi2_kernel(rows[stream], beta=beta))
    turned = vectors.T @ (np.eye(10)[labels[stream]] - 0.1)
    by_error = {}
    for penalty in np.logspace(-4, 1, 11):
        weights = vectors @ (turned / (values + penalty)[:, None])
        diagonal = vectors**2 @ (1 / (values + penalty))  # of the inverse of kernel + penalty
        by_error[np.mean((weights / diagonal[:, None]) ** 2)] = weights
    weights = by_error[min(by_error)]
    scores = exp_chi2_kernel(rows[unseen], rows[stream], beta=beta) @ weights
    return np.mean(scores.argmax(axis=1) == labels[unseen])


def save_picture(model, labels, predicted, rows):
    try:
        import matplotlib as mpl
    except ImportError:
        print('\nno picture: install matplotlib with  pip install ".[plot]"')
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from streamchi2.plots import plot_input_histogram, plot_kernel, plot_progress

    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(12, 3.5), layout="constrained", width_ratios=[5, 5, 3.6]
    )
    plot_progress(labels, predicted, estimator=model, start=BATCH, ax=left)
    plot_input_histogram(model, ax=middle)
    # The sampler's basis follows the kernel itself; the classifier's, a smoother one.
    sampler = ExpChi2Sampler(N_FEATURES, random_state=0).fit(rows[:N_STREAM])
    plot_kernel(sampler, ax=right)
    figure.savefig("quickstart.png", dpi=120)
    print("\npicture saved as quickstart.png")


if __name__ == "__main__":
    main()
