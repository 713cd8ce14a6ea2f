"""Constructor parameters that make no sense, by estimator and parameter."""

_NONSENSE = ["nonsense", -1, -1.5, float("nan"), float("inf"), [], {}, b"x", 1j, object()]
_MAP_PARAMETERS = {
    "n_components": [*_NONSENSE, 0, 2.5, None],
    "beta": [*_NONSENSE, 0.0, None, True],
    "dof": [*_NONSENSE, 0, 2.5, None],
    "series": [*_NONSENSE, None],
    "n_terms": [*_NONSENSE, 0, 2.5, None],
    "basis": [*_NONSENSE, None],
    "landmarks": [*_NONSENSE, [[1.0, -1.0]], [[0.2] * 5] * 9, [["a"] * 5] * 9],
    "adapt": [*_NONSENSE, None, 1],
    "half_life": [*_NONSENSE, 0, 1e-9, True],
    "norm": _NONSENSE,
    "n_jobs": ["nonsense", 0, 1.5, float("nan"), [], {}, b"x", 1j, object()],
    "random_state": ["nonsense", -1, -1.5, float("nan"), [], {}, b"x", 1j, object()],
}
_LINEAR_PARAMETERS = {
    "alpha": [*_NONSENSE, None, True],
    "penalty": [*_NONSENSE, None],
    "l1_ratio": [*_NONSENSE, 0, 1.5, None],
}
_N_PCA = {
    "n_pca": [*_NONSENSE, 0, 1.5, 0.0],
    "descriptors": [*_NONSENSE, {"a": []}, {"a": [7]}, {"a": None}, {0: [0]}, {"a": ["ink"]}],
}
_LATEST_ROWS = {"latest_rows": [*_NONSENSE, 0.5, True, None]}
_CLASS_WEIGHT = {"class_weight": ["nonsense", -1, [], b"x", 1j, object(), {0: -1.0}, {0: None}]}
_FIT_INTERCEPT = {"fit_intercept": [*_NONSENSE, None]}
BAD_PARAMETERS = {
    "sampler": _MAP_PARAMETERS
    | {"half_life": ["auto"]}
    | {"n_buckets": [*_NONSENSE, 0, 2**40], "dtype": [*_NONSENSE, None, "float16"]},
    "pca": _MAP_PARAMETERS | _N_PCA | {"half_life": ["auto"]},
    "classifier": _MAP_PARAMETERS
    | _N_PCA
    | _LINEAR_PARAMETERS
    | _LATEST_ROWS
    | _CLASS_WEIGHT
    | {"class_shift": _NONSENSE},
    "regressor": _MAP_PARAMETERS | _N_PCA | _LINEAR_PARAMETERS | _LATEST_ROWS,
    "streaming pca": {
        "n_components": [*_NONSENSE, 0, 6, 1.5],
        "half_life": [*_NONSENSE, 0, True],
        "whiten": [*_NONSENSE, None],
    },
    "ridge": _LINEAR_PARAMETERS | _FIT_INTERCEPT | {"half_life": [*_NONSENSE, 0, True]},
    "ridge classifier": _LINEAR_PARAMETERS
    | _FIT_INTERCEPT
    | _CLASS_WEIGHT
    | {"half_life": [*_NONSENSE, 0, True]},
}
