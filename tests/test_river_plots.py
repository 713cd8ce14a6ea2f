"""Every picture of an estimator of river's is that of the estimator for scikit-learn's arrays."""

import matplotlib as mpl

mpl.use("Agg")  # before pyplot, which would look for a screen

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from river import evaluate, metrics

from streamchi2 import ExpChi2Classifier, ExpChi2PCA
from streamchi2.plots import (
    ConvergenceDisplay,
    DescriptorPathDisplay,
    InputHistogramDisplay,
    KernelDisplay,
    ProgressDisplay,
    SpectrumDisplay,
    plot_kernel,
    plot_progress,
)
from streamchi2.plots.streams import as_dicts
from streamchi2.river import ExpChi2Classifier as RiverClassifier
from streamchi2.river import ExpChi2Regressor as RiverRegressor
from streamchi2.river import ExpChi2Sampler as RiverSampler


@pytest.fixture(autouse=True)
def _no_figure_is_left_behind():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows(digits):
    return as_dicts(digits[0][:200])


@pytest.fixture(scope="module")
def classifier(digits, rows):
    model = RiverClassifier(
        60,
        descriptors={"left": list(range(32)), "right": list(range(32, 64))},
        penalty="group_lasso",
        alpha=0.05,
        n_pca=20,
        seed=0,
    )
    for row, label in zip(rows, digits[1][:200].tolist(), strict=True):
        model.learn_one(row, label)
    return model


def test_inputs_and_convergence(classifier):
    display = InputHistogramDisplay.from_estimator(classifier, descriptor="left")
    np.testing.assert_array_equal(display.k, np.sort(classifier.k_["left"]))
    display = ConvergenceDisplay.from_estimator(classifier, descriptor="right", n_terms=3)
    assert display.n_terms_in_use == classifier.n_terms_["right"]


def test_the_path_of_descriptors(classifier):
    display = DescriptorPathDisplay.from_estimator(classifier)
    assert display.in_order() == list(classifier.descriptor_path_)
    assert display.alpha == 0.05


def test_the_spectrum(classifier, digits):
    display = SpectrumDisplay.from_estimator(classifier, descriptor="left")
    assert display.variance_shares.size == 10
    assert np.all(np.diff(display.variance_shares) <= 0.0)
    assert 0.5 < display.variance_shares.sum() <= 1.0
    with pytest.raises(AttributeError, match="explained_variance_ratio_ needs n_pca, got None"):
        _ = RiverClassifier(8).explained_variance_ratio_


def test_the_spectrum_is_that_of_the_statistics(digits, rows):
    model = RiverRegressor(32, n_pca=0.5, basis="gaussian", n_buckets=256, seed=0)
    for row, label in zip(rows, digits[1][:200].tolist(), strict=True):
        model.learn_one(row, label)
    shares = model.explained_variance_ratio_
    scatter = np.linalg.eigvalsh(np.cov(model._present_map().transform(_folded(model, rows)).T))
    expected = scatter[::-1][: shares.size] / scatter.sum()
    # Features are float32: sums of 200 squares below one err by some 200 * 6e-8.
    np.testing.assert_allclose(shares, expected, atol=1e-4)
    assert shares.sum() >= 0.5 > shares[:-1].sum()


def _folded(model, rows):
    from streamchi2.statistics.row_buffer import as_matrix

    return as_matrix([model._reader.read(row) for row in rows])


@pytest.mark.parametrize("kind", ["array", "dicts", "frame"])
def test_products_of_features_against_the_exact_kernel(rows, digits, kind):
    sampler = RiverSampler(512, normalize="l1", seed=0)
    for row in rows:
        sampler.learn_one(row)
    given = {
        "array": digits[0][200:240],
        "dicts": as_dicts(digits[0][200:240]),
        "frame": pd.DataFrame(digits[0][200:240]),
    }[kind]
    display = KernelDisplay.from_estimator(sampler, given, max_rows=30)
    assert display.exact.size == 30 * 29 / 2
    assert display.rms < 0.1  # 1/sqrt(512) = .044 for independent frequencies, and the series


def test_without_rows_the_sample_of_kernel_error_is_drawn(classifier, digits):
    display = KernelDisplay.from_estimator(classifier, descriptor="left")
    error = classifier.kernel_error()["left"]
    assert (display.rms, display.worst) == pytest.approx(tuple(error), rel=1e-12)
    learner = ExpChi2Classifier(32, random_state=0).fit(digits[0][:50], digits[1][:50])
    display = KernelDisplay.from_estimator(learner)
    assert (display.rms, display.worst) == pytest.approx(tuple(learner.kernel_error()), rel=1e-12)
    pca = ExpChi2PCA(16, n_pca=3, random_state=0).fit(digits[0][:20])
    assert KernelDisplay.from_estimator(pca).rms == pytest.approx(pca.kernel_error().rms, rel=1e-12)
    with pytest.raises(ValueError, match="descriptor must be one of"):
        plot_kernel(classifier)


def test_progress_is_that_of_rivers_own_loop(rows, digits):
    labels = digits[1][:200]
    model = RiverClassifier(32, seed=0)
    display = ProgressDisplay.from_estimator(model, rows, labels)
    assert model.n_samples_seen_ == 0
    stream = zip(rows, labels.tolist(), strict=True)
    accuracy = evaluate.progressive_val_score(stream, model.clone(), metrics.Accuracy())
    assert display.start == 1  # before the first label there is nothing to predict
    assert display.running_mean()[-1] == pytest.approx(accuracy.get())
    assert "the first row was learnt unpredicted" in display.why_it_begins()


def test_progress_of_a_regressor_begins_at_the_first_row(digits):
    targets = digits[0][:60].max(axis=1)
    drawn = plot_progress(RiverRegressor(16, seed=0), digits[0][:60], targets)
    assert drawn.get_ylabel() == "absolute error before learning"
    assert drawn.lines[-1].get_xdata()[0] == 3


def test_rows_that_are_no_dicts_are_refused(digits):
    with pytest.raises(TypeError, match="X must hold dicts for an estimator of river's"):
        plot_progress(RiverClassifier(8), [[0.1, 0.9]], [1])
