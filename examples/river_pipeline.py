"""How well does a river pipeline learn handwritten digits while they stream past?

    python examples/river_pipeline.py

Each of scikit-learn's 1797 digits is a histogram of ink over 64 cells. Two models predict every one
of them before they learn it: the fused classifier, and river's own softmax regression behind the
sampler. In the middle of the stream the labels are shuffled, and a classifier that watches its own
errors notices.
"""

from river import evaluate, linear_model, metrics, optim, utils
from sklearn.datasets import load_digits

from streamchi2.river import ExpChi2Classifier, ExpChi2Sampler


def digits():
    """Yield one dict of shares of ink per digit, with its label; blank cells are left out."""
    images, labels = load_digits(return_X_y=True)
    for image, label in zip(images / images.sum(axis=1, keepdims=True), labels, strict=True):
        yield {f"cell {i}": float(ink) for i, ink in enumerate(image) if ink > 0}, int(label)


def renamed_in_the_middle():
    for position, (x, y) in enumerate(digits()):
        yield x, y if position < 900 else (y + 3) % 10


def main():
    print("The fused classifier:")
    fused = ExpChi2Classifier(n_components=512, seed=0)
    evaluate.progressive_val_score(
        digits(), fused, metrics.Accuracy() + metrics.CohenKappa(), print_every=600, show_time=True
    )
    print(f"penalty chosen by cross-validation: {fused.alpha_:.3g}, beta {fused.beta_:.3g}")

    print("\nriver's softmax regression on the features of the sampler:")
    pipeline = ExpChi2Sampler(n_components=128, seed=0) | linear_model.SoftmaxRegression(
        optim.SGD(1.0)
    )
    evaluate.progressive_val_score(
        digits(), pipeline, metrics.Accuracy(), print_every=600, show_time=True
    )

    print("\nLabels change at row 900; the classifier watches its errors with ADWIN:")
    watching = ExpChi2Classifier(n_components=256, seed=0, drift_detector="adwin")
    evaluate.progressive_val_score(
        renamed_in_the_middle(),
        watching,
        utils.Rolling(metrics.Accuracy, window_size=300),
        print_every=300,
    )
    for event in watching.drift_events_:
        print(
            f"change found at row {event.found_at}; "
            f"from row {event.acted_at} on the past counts {event.memory:.0%}"
        )


if __name__ == "__main__":
    main()
