"""What the pictures show: the numbers on the lines, the marks, the labels, and the refusals."""

import sys
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")  # before pyplot, which would look for a screen

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.transforms import Bbox
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    LogHistogram,
    StreamingPCA,
    exp_chi2_kernel,
)
from streamchi2.feature_map.adaptive import Transport
from streamchi2.plots import (
    ConvergenceDisplay,
    DescriptorPathDisplay,
    InputHistogramDisplay,
    KernelDisplay,
    ProgressDisplay,
    SpectrumDisplay,
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


def test_the_functions_draw_on_the_axes_given_and_return_them(sampler, digits):
    figure, axes = plt.subplots(2, 2)
    rows, labels = digits[0][:200], digits[1][:200]
    pca = ExpChi2PCA(32, n_pca=8, random_state=0).fit(rows)
    model = ExpChi2Classifier(32, random_state=0)
    drawn = [
        plot_input_histogram(sampler, ax=axes[0, 0]),
        plot_convergence(sampler, n_terms=3, ax=axes[0, 1]),
        plot_spectrum(pca, ax=axes[1, 0]),
        plot_progress(model, rows, labels, ax=axes[1, 1]),
    ]
    assert drawn == list(axes.flat)
    assert all(ax.get_xlabel() and ax.get_ylabel() and ax.get_title(loc="left") for ax in drawn)
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("size", [(6.4, 4.8), (11.0, 8.0)])
def test_nothing_collides_in_a_grid(sampler, chooser, digits, size):
    figure, axes = plt.subplots(2, 2, figsize=size)
    rows, labels = digits[0][:200], digits[1][:200]
    plot_input_histogram(sampler, ax=axes[0, 0])
    plot_kernel(sampler, rows, ax=axes[0, 1])
    plot_descriptor_path(chooser, ax=axes[1, 0])
    plot_progress(ExpChi2Classifier(32, random_state=0), rows, labels, ax=axes[1, 1])
    figure.canvas.draw()
    boxes = {}
    for ax in figure.axes:  # the two axes of the first plot are one place
        boxes.setdefault(ax.get_position().bounds, []).append(ax.get_tightbbox())
    places = [Bbox.union(some) for some in boxes.values()]
    assert len(places) == 4
    for place in places:
        assert figure.bbox.contains(*place.min)
        assert figure.bbox.contains(*place.max)
        assert sum(place.overlaps(other) for other in places) == 1  # with itself


def test_the_plots_explain_themselves(sampler, digits):
    said = InputHistogramDisplay.from_estimator(sampler).ax_.texts[0].get_text()
    assert "|G| is zero at the nodes k" in said.replace("\n", " ")
    model = ExpChi2Classifier(32, random_state=0)
    drawn = plot_progress(model, digits[0][:300], digits[1][:300], batch_size=100)
    said = drawn.texts[0].get_text().replace("\n", " ")
    assert said.startswith("from row 110: the first 100 rows were learnt unpredicted")
    assert drawn.lines[-1].get_xdata()[0] == 110
    display = ProgressDisplay.from_predictions([1, 2], [1, 2], window=1)
    assert display.why_it_begins().startswith("from row 1: every row was predicted")


def test_products_of_features_are_drawn_against_the_exact_kernel(sampler, digits):
    rows = digits[0][600:700]
    display = KernelDisplay.from_estimator(sampler, rows, max_rows=40)
    features = sampler.transform(rows[:40]).astype(float)
    exact = exp_chi2_kernel(rows[:40], beta=sampler.beta_)
    pairs = np.triu_indices(40, k=1)
    drawn = display.line_.get_data()
    np.testing.assert_allclose(drawn, [exact[pairs], (features @ features.T)[pairs]])
    assert display.rms == pytest.approx(np.std(drawn[1] - drawn[0]), rel=0.5)
    assert f"worst {display.worst:.3g}" in display.ax_.texts[0].get_text().replace("\n", " ")
    same = KernelDisplay.from_estimator(sampler, sparse.csr_array(rows), max_rows=40)
    np.testing.assert_allclose(same.approximate, display.approximate, atol=1e-6)


def test_every_picture_is_legible_on_a_dark_ground(sampler, chooser, digits):
    with plt.style.context("dark_background"):
        for ax in (
            plot_kernel(sampler, digits[0][:9]),
            plot_descriptor_path(chooser),
            plot_convergence(sampler, n_terms=2),
        ):
            ground = np.array(mpl.colors.to_rgb(ax.get_facecolor()))
            legend = ax.get_legend()
            texts = [*ax.texts, *(legend.get_texts() if legend else ())]
            for text in texts:
                assert np.abs(np.array(mpl.colors.to_rgb(text.get_color())) - ground).max() > 0.5
            if legend:
                np.testing.assert_array_equal(legend.get_frame().get_facecolor()[:3], ground)


def test_bars_reach_to_the_penalty_at_which_a_descriptor_comes_in(chooser):
    display = DescriptorPathDisplay.from_estimator(chooser)
    assert display.in_order() == list(chooser.descriptor_path_)
    for name, bar in display.bars_.items():
        assert bar.get_x() + bar.get_width() == pytest.approx(chooser.descriptor_path_[name])
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == display.in_order()
    assert any("left out" in text.get_text() for text in display.ax_.texts)
    nothing = DescriptorPathDisplay({"a": 0.0, "b": 0.0}).plot()
    assert nothing.bars_ == {}
    assert [text.get_text() for text in nothing.ax_.texts[:2]] == ["never in", "never in"]


def test_the_density_holds_all_inputs_and_g_vanishes_at_every_node(sampler):
    display = InputHistogramDisplay.from_estimator(sampler)
    heights, edges, _ = display.density_.get_data()
    assert heights @ np.diff(np.log(edges)) == pytest.approx(1.0, rel=1e-12)
    x, envelope = display.line_.get_data()
    np.testing.assert_array_equal(np.sort(x[envelope == 0.0]), np.sort(sampler.k_))
    marks = display.error_ax_.lines[1].get_xdata()
    np.testing.assert_array_equal(marks, np.sort(sampler.k_))
    assert display.ax_.get_xscale() == "log"


def test_equal_inputs_have_a_density_too():
    display = InputHistogramDisplay.from_histogram(LogHistogram().update([[0.5, 0.5]])).plot()
    heights, edges, _ = display.density_.get_data()
    assert heights @ np.diff(np.log(edges)) == pytest.approx(1.0, rel=1e-12)
    assert display.error_ax_ is None


def test_a_series_without_nodes_shows_none(digits):
    other = ExpChi2Sampler(16, series="chebyshev", random_state=0).fit(digits[0][:100])
    display = InputHistogramDisplay.from_estimator(other)
    assert display.k is None
    assert display.line_ is None


def test_the_curves_of_convergence_are_the_predicted_errors_relative_to_the_mean(sampler):
    display = ConvergenceDisplay.from_estimator(sampler, n_terms=4)
    histogram = sampler.input_histogram_
    terms, drawn = display.lines_["direct, refined"].get_data()
    np.testing.assert_array_equal(terms, [1, 2, 3, 4])
    # All curves are in one unit, so that ratios of errors are those of the library.
    in_use = predicted_error(histogram, sampler.k_).rms
    greedy = display.lines_["direct, greedy"].get_ydata()
    assert np.all(drawn <= greedy * (1 + 1e-9))
    unit = in_use / drawn[sampler.n_terms_ - 1]
    assert unit == pytest.approx(
        predicted_error(histogram, [1e-300]).rms, rel=0.02
    )  # a node far below all values leaves the whole of 2xy/(x+y); k was fitted a bit earlier
    np.testing.assert_array_equal(display.lines_["VZ"].get_xdata(), [1, 3])
    assert display.n_terms_in_use == sampler.n_terms_


@pytest.mark.parametrize("learner", [StreamingPCA(20), PCA(20), ExpChi2PCA(64, n_pca=20)])
def test_the_spectrum_is_that_of_the_estimator(learner, digits):
    learner.fit(digits[0][:300])
    display = SpectrumDisplay.from_estimator(learner)
    numbers, shares = display.line_.get_data()
    np.testing.assert_array_equal(numbers, np.arange(1, 21))
    np.testing.assert_allclose(shares, learner.explained_variance_ratio_)
    enough = display.enough_for(0.5)
    assert shares[:enough].sum() >= 0.5 > shares[: enough - 1].sum()
    assert display.enough_for(0.99999) is None


def test_progress_predicts_before_it_learns_and_leaves_the_estimator_alone(digits):
    rows, labels = digits[0][:330], digits[1][:330]
    model = ExpChi2Classifier(32, random_state=0)
    display = ProgressDisplay.from_estimator(model, rows, labels, batch_size=100, window=50)
    assert not hasattr(model, "_stream")
    by_hand = ExpChi2Classifier(32, random_state=0).partial_fit(rows[:100], labels[:100])
    right = []
    for start in (100, 200, 300):
        right.extend(by_hand.predict(rows[start : start + 100]) == labels[start : start + 100])
        by_hand.partial_fit(rows[start : start + 100], labels[start : start + 100])
    np.testing.assert_array_equal(display.scores, right)
    seen, accuracy = display.line_.get_data()
    assert (seen[-1], accuracy[-1]) == (330, pytest.approx(np.mean(right)))
    assert display.window_line_.get_ydata()[-1] == pytest.approx(np.mean(right[-50:]))
    assert "accuracy" in display.ax_.get_ylabel()


def test_progress_of_a_regressor_is_its_absolute_error(digits):
    rows, labels = digits[0][:300], digits[1][:300].astype(float)
    model = ExpChi2Regressor(32, random_state=0)
    display = ProgressDisplay.from_estimator(model, rows, labels)
    assert display.metric == "absolute error"
    assert display.ax_.get_ylabel() == "absolute error before learning"


def test_progress_shows_which_memory_is_trusted(digits):
    rows, labels = digits[0][:600], digits[1][:600].copy()
    labels[300:] = 9 - labels[300:]
    model = ExpChi2Classifier(64, half_life="auto", basis="orthogonal", random_state=0)
    display = ProgressDisplay.from_estimator(model, rows, labels)
    memory = display.memory
    np.testing.assert_allclose(memory.weights.sum(axis=1), 1.0)
    assert memory.weights[memory.positions == 384, :2].sum() > 0.9  # soon after the change
    low = display.line_.get_ydata().min()
    names = [area.get_label() for area in display.areas_]
    assert names == ["half-life 64", "half-life 256", "half-life 1024", "never forgets"]
    # The band lies below both curves, and its areas are as high as the weights.
    for place, area in enumerate(display.areas_):
        box = area.get_paths()[0].get_extents()
        assert box.ymax <= low
        if place == 0:
            bottom = display.ax_.get_ylim()[0]
            top = display.areas_[-1].get_paths()[0].get_extents().ymax
            share = (box.ymax - bottom) / (top - bottom)
            assert share == pytest.approx(memory.weights[:, 0].max(), abs=1e-9)
    assert min(display.ax_.get_yticks()) >= display.ax_.get_ylim()[0]
    still = ProgressDisplay.from_predictions([1, 2], [1, 2], estimator=ExpChi2Classifier())
    assert still.memory is None


def test_progress_marks_re_estimations(digits):
    rows, labels = digits[0] * np.where(np.arange(1797) < 100, 10.0, 1.0)[:, None], digits[1]
    model = RiverClassifier(n_components=64, seed=0, n_terms=2)
    predicted = []
    for row, label in zip(rows[:700].tolist(), labels[:700].tolist(), strict=True):
        values = dict(enumerate(row))
        predicted.append(model.predict_one(values))
        model.learn_one(values, label)
    display = ProgressDisplay.from_predictions(labels[:700], predicted, estimator=model).plot()
    assert display.transports == tuple(event.position for event in model.transports_)
    assert display.transports
    drawn = {float(line.get_xdata()[0]) for line in display.ax_.lines[:-2]}
    assert drawn == {*display.transports}
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "k estimated again" in names


def test_of_several_descriptors_the_one_asked_for_is_drawn(sampler, digits):
    coarse = ExpChi2Sampler(64, n_terms=2, random_state=0).fit(digits[0][:, ::4][:100])
    names = ("input_histogram_", "k_", "n_terms_", "transports_")
    both = SimpleNamespace(
        **{
            name: {"fine": getattr(sampler, name), "coarse": getattr(coarse, name)}
            for name in names
        }
    )
    display = InputHistogramDisplay.from_estimator(both, descriptor="coarse")
    np.testing.assert_array_equal(display.k, np.sort(coarse.k_))
    assert ConvergenceDisplay.from_estimator(both, descriptor="coarse").n_terms_in_use == 2
    with pytest.raises(
        ValueError, match=r"descriptor must be one of \['fine', 'coarse'\], got None"
    ):
        plot_input_histogram(both)
    with pytest.raises(ValueError, match=r"descriptor must be None .*, got 'fine'"):
        plot_convergence(sampler, descriptor="fine")
    both.transports_ = {"fine": (Transport(256, 0.1),), "coarse": (Transport(1024, 0.1),) * 2}
    display = ProgressDisplay.from_predictions([1], [1], estimator=both)
    assert display.transports == (256, 1024)
    marks = display.plot().ax_.lines[:2]
    assert [line.get_xdata()[0] for line in marks] == [256, 1024]
    assert "k estimated again" in [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_refusals_name_the_argument_and_the_value(sampler, digits):
    with pytest.raises(TypeError, match=r"estimator must have input_histogram_ .* GaussianNB"):
        plot_input_histogram(GaussianNB())
    with pytest.raises(TypeError, match="estimator must have explained_variance_ratio_"):
        plot_spectrum(sampler)
    with pytest.raises(ValueError, match="n_terms must be"):
        plot_convergence(sampler, n_terms=0)
    with pytest.raises(TypeError, match="ax must be matplotlib Axes or None, got 3"):
        plot_input_histogram(sampler, ax=3)
    with pytest.raises(ValueError, match="batch_size must be below the number of rows, got 100"):
        plot_progress(ExpChi2Classifier(8), digits[0][:100], digits[1][:100])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ProgressDisplay.from_predictions([1, 2], [1])
    with pytest.raises(ValueError, match="must be flat and not empty, got shapes"):
        ProgressDisplay.from_predictions([], [])
    with pytest.raises(TypeError, match="estimator must have descriptor_path_ for a path"):
        plot_descriptor_path(sampler)
    with pytest.raises(TypeError, match="estimator must have transform for given rows"):
        plot_kernel(GaussianNB(), digits[0])
    with pytest.raises(TypeError, match="ExpChi2PCA, which rotates and centres them"):
        plot_kernel(ExpChi2PCA(16, random_state=0).fit(digits[0][:50]), digits[0])
    with pytest.raises(ValueError, match="n at least 2, got shapes"):
        plot_kernel(sampler, digits[0], max_rows=1)
    with pytest.raises(ValueError, match=r"basis must be .* got 'additive'"):
        plot_kernel(ExpChi2Sampler(basis="additive"), digits[0])
    assert plt.get_fignums() == []


def test_without_matplotlib_the_extra_is_named(sampler, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = InputHistogramDisplay.from_histogram(sampler.input_histogram_, sampler.k_)
    with pytest.raises(ImportError, match=r'pip install "streamchi2\[plot\]"'):
        display.plot()
