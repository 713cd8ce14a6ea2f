"""What the plots show: the numbers on the lines, the marks, and the refusals."""

import sys
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")  # before pyplot, which would look for a screen

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.transforms import Bbox
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Sampler,
    LogHistogram,
    StreamingPCA,
    Transport,
)
from streamchi2.plots import (
    plot_convergence,
    plot_descriptor_path,
    plot_input_histogram,
    plot_kernel,
    plot_progress,
    plot_spectrum,
)
from streamchi2.river import ExpChi2Classifier as RiverClassifier
from streamchi2.series.predicted_error import predicted_error


@pytest.fixture(autouse=True)
def _no_figure_is_left_behind():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def sampler(digits):
    return ExpChi2Sampler(64, random_state=0).fit(digits[0][:600])


@pytest.fixture(scope="module")
def chooser(digits):
    noise = np.random.default_rng(0).dirichlet(np.ones(64), 400)
    rows = np.hstack([digits[0][:400], noise])
    columns = {"top": slice(0, 32), "bottom": slice(32, 64), "noise": slice(64, None)}
    model = ExpChi2Classifier(
        150, descriptors=columns, penalty="group_lasso", alpha=0.05, random_state=0
    )
    return model.fit(rows, digits[1][:400])


@pytest.fixture(scope="module")
def of_river(digits):
    columns = {"left": list(range(32)), "right": list(range(32, 64))}
    model = RiverClassifier(60, descriptors=columns, n_pca=20, seed=0)
    for row, label in zip(digits[0][:200].tolist(), digits[1][:200].tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), label)
    return model


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines}


@pytest.mark.parametrize("size", [(6.4, 7.2), (11.0, 12.0)])
def test_nothing_collides_in_a_grid(sampler, chooser, digits, size):
    figure, axes = plt.subplots(3, 2, figsize=size)
    labels = digits[1][:200]
    pca = ExpChi2PCA(32, n_pca=8, random_state=0).fit(digits[0][:200])
    drawn = [
        plot_input_histogram(sampler, ax=axes[0, 0]),
        plot_kernel(sampler, ax=axes[0, 1]),
        plot_descriptor_path(chooser, ax=axes[1, 0]),
        plot_convergence(sampler, n_terms=3, ax=axes[1, 1]),
        plot_spectrum(pca, ax=axes[2, 0]),
        plot_progress(labels, np.roll(labels, 1), ax=axes[2, 1]),
    ]
    assert drawn == list(axes.flat)
    assert all(ax.get_xlabel() and ax.get_title(loc="left") for ax in drawn)
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()
    boxes = {}
    for ax in figure.axes:  # the two axes of the first plot are one place
        boxes.setdefault(ax.get_position().bounds, []).append(ax.get_tightbbox())
    places = [Bbox.union(some) for some in boxes.values()]
    assert len(places) == 6
    for place in places:
        assert figure.bbox.contains(*place.min)
        assert figure.bbox.contains(*place.max)
        assert sum(place.overlaps(other) for other in places) == 1  # with itself


def test_every_plot_is_legible_on_a_dark_ground(sampler, chooser):
    with plt.style.context("dark_background"):
        for ax in (plot_kernel(sampler), plot_descriptor_path(chooser), plot_convergence(sampler)):
            ground = np.array(mpl.colors.to_rgb(ax.get_facecolor()))
            legend = ax.get_legend()
            for text in legend.get_texts() if legend else ():
                assert np.abs(np.array(mpl.colors.to_rgb(text.get_color())) - ground).max() > 0.5
            if legend:
                np.testing.assert_array_equal(legend.get_frame().get_facecolor()[:3], ground)


def test_the_density_holds_all_inputs_and_g_vanishes_at_every_node(sampler):
    ax = plot_input_histogram(sampler)
    heights, edges, _ = ax.patches[0].get_data()
    assert heights @ np.diff(np.log(edges)) == pytest.approx(1.0, rel=1e-12)
    drawn = lines_of(ax.figure.axes[-1])
    x, envelope = drawn["|G|"].get_data()
    np.testing.assert_array_equal(x[envelope == 0.0], np.sort(sampler.k_))
    np.testing.assert_array_equal(drawn["nodes k"].get_xdata(), np.sort(sampler.k_))
    one = plot_input_histogram(SimpleNamespace(input_histogram_=LogHistogram().update([[0.5]])))
    heights, edges, _ = one.patches[0].get_data()
    assert heights @ np.diff(np.log(edges)) == pytest.approx(1.0, rel=1e-12)
    assert one.figure.axes == [one]  # without nodes


def test_curves_of_convergence_are_predicted_errors_in_one_unit(sampler):
    drawn = lines_of(plot_convergence(sampler, n_terms=4))
    np.testing.assert_array_equal(drawn["VZ"].get_xdata(), [1, 3])
    errors = drawn["direct, refined"].get_ydata()
    assert np.all(errors <= drawn["direct, greedy"].get_ydata() * (1 + 1e-9))
    histogram = sampler.input_histogram_
    unit = predicted_error(histogram, sampler.k_).rms / errors[sampler.n_terms_ - 1]
    # A node far below all values leaves the whole of 2xy/(x+y); k was fitted a bit earlier.
    assert unit == pytest.approx(predicted_error(histogram, [1e-300]).rms, rel=0.02)


@pytest.mark.parametrize("learner", [StreamingPCA(20), PCA(20), ExpChi2PCA(64, n_pca=20)])
def test_the_spectrum_says_how_many_components_are_enough(learner, digits):
    shares = learner.fit(digits[0][:300]).explained_variance_ratio_
    ax = plot_spectrum(learner)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(1, 21))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), shares)
    enough = int(ax.lines[1].get_xdata()[0])
    assert ax.get_legend().get_texts()[0].get_text() == f"50% in {enough}"
    assert shares[:enough].sum() >= 0.5 > shares[: enough - 1].sum()


def test_products_of_features_are_those_that_kernel_error_measures(sampler, of_river, digits):
    pca = ExpChi2PCA(16, n_pca=3, random_state=0).fit(digits[0][:20])
    for ax, error in (
        (plot_kernel(sampler), sampler.kernel_error()),
        (plot_kernel(pca), pca.kernel_error()),
        (plot_kernel(of_river, descriptor="left"), of_river.kernel_error()["left"]),
    ):
        exact, products = lines_of(ax)["pairs"].get_data()
        assert np.abs(products - exact).max() == pytest.approx(error.worst, rel=1e-12)
        assert f"rms {error.rms:.2g}\nworst {error.worst:.2g}" in ax.get_title(loc="left")


def test_bars_reach_to_the_penalty_at_which_a_descriptor_comes_in(chooser):
    ax = plot_descriptor_path(chooser)
    path = chooser.descriptor_path_
    ends = {bars.get_label(): bars[0].get_x() + bars[0].get_width() for bars in ax.containers}
    assert ends == pytest.approx({name: entry for name, entry in path.items() if entry > 0})
    assert [text.get_text() for text in ax.get_yticklabels()] == list(path)
    assert ax.lines[0].get_xdata()[0] == chooser.alpha_
    nothing = plot_descriptor_path(SimpleNamespace(descriptor_path_={"a": 0.0, "b": 0.0}))
    assert not nothing.containers


def test_progress_is_the_mean_over_all_rows_and_over_the_last_ones(digits):
    rng = np.random.default_rng(0)
    labels = digits[1][:400]
    predicted = np.where(rng.random(400) < 0.7, labels, -1)
    events = {"left": [Transport(256, 0.1)], "right": [Transport(512, 0.1), Transport(256, 0.1)]}
    model = SimpleNamespace(transports_=events)
    ax = plot_progress(labels, predicted, estimator=model, window=50, start=200)
    drawn = lines_of(ax)
    rows, overall = drawn["all rows so far"].get_data()
    recent = drawn["last 50 rows"].get_ydata()
    assert (rows[0], rows[-1]) == (250, 600)
    assert (overall[-1], recent[-1]) == pytest.approx(
        (np.mean(predicted == labels), np.mean((predicted == labels)[-50:]))
    )
    assert [line.get_xdata()[0] for line in ax.lines[:2]] == [256, 512]
    errors = plot_progress([1.0, 2.0], [1.5, 1.0], window=1)
    assert errors.get_ylabel() == "absolute error before learning"
    np.testing.assert_allclose(errors.lines[-1].get_ydata(), [0.5, 0.75])


def test_of_several_descriptors_the_one_asked_for_is_drawn(of_river, sampler):
    ax = plot_input_histogram(of_river, descriptor="left")
    drawn = lines_of(ax.figure.axes[-1])["nodes k"]
    np.testing.assert_array_equal(drawn.get_xdata(), np.sort(of_river.k_["left"]))
    in_use = lines_of(plot_convergence(of_river, n_terms=2, descriptor="right"))["terms in use"]
    assert in_use.get_xdata()[0] == of_river.n_terms_["right"]
    shares = plot_spectrum(of_river, descriptor="right").lines[0].get_ydata()
    np.testing.assert_array_equal(shares, of_river.explained_variance_ratio_["right"])
    assert plot_descriptor_path(of_river).get_yticklabels()[0].get_text() in ("left", "right")
    with pytest.raises(
        ValueError, match=r"descriptor must be one of \['left', 'right'\], got None"
    ):
        plot_kernel(of_river)
    with pytest.raises(ValueError, match=r"descriptor must be None .*, got 'left'"):
        plot_convergence(sampler, descriptor="left")


def test_refusals_name_the_argument_and_the_value(sampler):
    with pytest.raises(TypeError, match=r"estimator must have input_histogram_ .* GaussianNB"):
        plot_input_histogram(GaussianNB())
    with pytest.raises(TypeError, match="estimator must have explained_variance_ratio_"):
        plot_spectrum(sampler)
    with pytest.raises(TypeError, match="estimator must have descriptor_path_"):
        plot_descriptor_path(sampler)
    with pytest.raises(TypeError, match="estimator must have kernel_error"):
        plot_kernel(GaussianNB())
    with pytest.raises(ValueError, match="n_terms must be"):
        plot_convergence(sampler, n_terms=0)
    with pytest.raises(TypeError, match="ax must be matplotlib Axes or None, got 3"):
        plot_input_histogram(sampler, ax=3)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plot_progress([1, 2], [1])
    with pytest.raises(ValueError, match="must be flat and not empty, got shapes"):
        plot_progress([], [])
    assert plt.get_fignums() == []


def test_without_matplotlib_the_extra_is_named(sampler, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "streamchi2\[plot\]"'):
        plot_input_histogram(sampler)
