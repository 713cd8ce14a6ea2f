"""One contradiction for every class that checks its state, each under a right digest."""

import numpy as np
import pytest
from saved_classes import CLASSES
from saved_examples import CODES, PARTS, estimator_after, learn

from streamchi2 import river
from streamchi2.errors import FormatError
from streamchi2.persistence import dumped, loaded
from streamchi2.persistence.container import packed, unpacked
from streamchi2.state import Saved


def solved():
    return learn(river.ExpChi2Classifier(4, seed=0), CODES, 0, 70)


def of(name, n_rows=66):
    return lambda: estimator_after(name, n_rows)


def names(text):
    return lambda _: np.frombuffer(text.encode(), np.uint8)


SEVERAL = "river classifier of several labels"
BLOCK = "stream.feature_map.parts.0.block"
# Class that must notice, example, path of the field, and what it is replaced by: a value, or a
# function of the array that it names.
FORGERIES = [
    ("AdditiveBasis", of("additive classifier"), f"{BLOCK}.basis.n_components", 1),
    ("OrthogonalBasis", PARTS["feature map"], "blocks.0.basis.dof", 2.5),
    ("GaussianBasis", of("gaussian sampler"), f"{BLOCK}.basis.beta", 0.0),
    ("CosineBasis", of("cosine sampler"), f"{BLOCK}.basis.dof", 0.0),
    ("LandmarkBasis", PARTS["map on landmarks"], "blocks.0.basis.whitening", lambda a: a[:-1]),
    ("SubspaceBasis", PARTS["map in a subspace"], "blocks.0.basis.directions", lambda a: 10 * a),
    ("HashBuckets", PARTS["folded map"], "blocks.0.buckets.n_buckets", 2**40),
    ("DirectSeries", PARTS["feature map"], "blocks.0.series.series.k", [0.0]),
    ("VZSeries", of("gaussian sampler"), f"{BLOCK}.series.series.period", 0.0),
    ("ChebyshevSeries", of("cosine sampler"), f"{BLOCK}.series.series.scale", 0.0),
    ("RotatedSeries", PARTS["feature map"], "blocks.0.series.rotation", [[1.0]]),
    ("RotatedSeries", of("cosine sampler"), f"{BLOCK}.series.rotation", [[3.0]]),
    ("MapBlock", PARTS["folded map"], "blocks.0.buckets.n_buckets", 17),
    ("FeatureMap", PARTS["feature map"], "blocks", []),
    ("FeatureMap", PARTS["map of two"], "columns", None),
    ("BlockParams", of("sampler"), "stream.feature_map.params.blocks.0.basis", "nonsense"),
    ("MapParams", of("descriptor pca"), "stream.feature_map.params.names", ["a", "a"]),
    ("MapParams", of("descriptor pca"), "stream.feature_map.params.columns.1", {"range": [5, 8]}),
    ("AdaptiveBlock", of("sampler"), "stream.feature_map.parts.0.sample.seed", 5),
    ("AdaptiveBlock", of("sampler"), f"{BLOCK}.basis.seed", 5),
    ("AdaptiveFeatureMap", of("sampler"), "stream.feature_map.parts", []),
    ("LinearModel", solved, "schedule.model.linear.centre", lambda a: a[:-1]),
    ("Calibration", solved, "schedule.model.calibration.uniform_share", 1.0),
    ("FittedModel", solved, "schedule.model.classes", lambda a: a[:-1]),
    ("RefitSchedule", solved, "schedule.tuned_on", 10**6),
    ("ClassTargets", of("classifier"), "stream.targets.labels", lambda a: a[::-1]),
    ("NumericTargets", of("regressor of two"), "stream.targets.flat", True),
    ("IndicatorTargets", of("classifier of several labels"), "stream.targets.n_targets", 1),
    ("IndicatorTargets", of(SEVERAL), "stream.targets.names", names('["ham","ham"]')),
    ("IndicatorTargets", of(SEVERAL), "stream.targets.names", names('["ham",0.5]')),
    ("LabelCalibration", of(SEVERAL), "schedule.model.calibration.labels.0.shifts",
     lambda a: a + 1.0),
    ("FittedModel", of(SEVERAL), "schedule.model.calibration.labels", []),
    ("NumericTargets", of("river regressor of two"), "stream.targets.names", names("[2]")),
    ("FeatureBlock", of("river dual classifier"), "stream.statistics.kept.0.weights",
     lambda a: a[:-1]),
    ("Block", PARTS["stream of rows"], "buffer.pending.rows", lambda a: a[:0]),
    ("LogHistogram", PARTS["histogram"], "_counts", lambda a: np.append(a, a[:1] * 0)),
    ("Moments", PARTS["stream of numbers"], "statistics.labelled.features.mean", lambda a: a[1:]),
    ("TargetMoments", PARTS["stream of numbers"], "statistics.labelled.target_mean",
     lambda a: a[1:]),
    ("ClassMoments", PARTS["stream of labels"], "statistics.labelled.class_weights",
     lambda a: a + 1.0),
    ("SeparateMoments", of("fading classifier", 300), "stream.statistics.labelled.classes",
     lambda a: a[::-1]),
    ("BlockMoments", of("descriptor pca"), "stream.statistics.unlabelled.parts.0.weight", 1.0),
    ("Reservoir", PARTS["reservoir"], "scores", lambda a: a[::-1]),
    ("FeatureStatistics", PARTS["stream of labels"], "statistics.sizes", [9]),
    ("Provenance", of("sampler"), "stream.provenance", names('["day.csv",0,""]')),
    ("Stream", PARTS["stream of a map"], "buffer.position", 7),
    ("Stream", PARTS["stream of rows"], "buffer.pending.rows", lambda a: a[:, 1:]),
    ("ExpChi2Sampler", of("sampler"), "output", "nonsense"),
    ("ExpChi2Classifier", solved, "seed", 1),
    ("ExpChi2Classifier", solved, "schedule.fitted_at", 10**6),
]  # fmt: skip


def forged(data, path, value):
    header, arrays = unpacked(data)
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    inner = header["object"]
    for key in way:
        inner = inner[key]
    if callable(value):
        number = inner[last]
        arrays[number] = value(arrays[number])
    else:
        inner[last] = value
    return b"".join(packed(header, arrays))


@pytest.mark.parametrize(
    ("name", "make", "path", "value"),
    FORGERIES,
    ids=[f"{name}-{path}" for name, _, path, _ in FORGERIES],
)
def test_a_contradiction_is_refused_by_the_class_that_it_concerns(name, make, path, value):
    with pytest.raises(FormatError, match=f"is no valid {name}:"):
        loaded(forged(dumped(make()), path, value))


def test_a_stream_of_another_kind_of_estimator_is_refused():
    header, arrays = unpacked(dumped(estimator_after("fading classifier", 66)))
    header["object"]["class"] = "ExpChi2Regressor"
    for name in ("class_shift", "class_weight"):
        del header["object"]["params"][name]
    with pytest.raises(FormatError, match="is no valid ExpChi2Regressor: targets must be Numeric"):
        loaded(b"".join(packed(header, arrays)))


def test_every_class_that_checks_its_state_is_among_them():
    noticed = {name for name, *_ in FORGERIES}
    # Bases of the others, whose checks these run.
    of_all = {"StreamEstimator", "NamedStreamEstimator", "NamedStreamModel", "BinCounts"}
    checking = {
        kind.__name__
        for kind in CLASSES
        if {"validate", "__post_init__"} & vars(kind).keys() and kind is not Saved
    }
    assert checking - of_all - {"RandomBasis"} <= noticed
