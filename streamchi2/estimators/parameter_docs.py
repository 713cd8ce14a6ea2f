r"""What each constructor parameter and each fitted attribute means: the text of all docstrings.

:func:`~streamchi2.estimators.documented.documented` puts these entries into the docstrings of the
classes, with the defaults of their constructors. River's front end has a table of its own, for what
differs there, in ``river/parameter_docs.py``.
"""

from __future__ import annotations

from streamchi2.estimators.documented import entries

# Parameters of the feature map, for both front ends.
MAP = entries(
    r"""
    beta : float or "auto"
        Inverse scale of the kernel ``exp(-beta * chi2(x, y))``: the larger, the narrower the
        kernel. "auto" is one over the mean chi2 distance between the first rows.
    dof : float
        Degrees of freedom of the kernel, above 0 and at most 2. With 2 it is the exp-chi2 kernel,
        with 1 it is ``erfc(sqrt(beta * chi2(x, y)))``.
    series : {"direct", "chebyshev", "vz"}
        How a value becomes a few coordinates whose inner products are close to ``2xy / (x + y)``.
        "direct" converges geometrically, and its nodes k are fitted to the values seen;
        "chebyshev" and "vz" (Vedaldi and Zisserman) are there for comparison.
    n_terms : int or "auto"
        Number of coordinates for each value. "auto" takes the fewest that keep the error of the
        direct series below a third of that of the random features, on the first rows; it is 5 for
        the other series. Where the stream later needs more, a
        :class:`~streamchi2.errors.PrecisionWarning` says so.
    basis : {"orthogonal", "gaussian", "cosine", "subspace", "landmarks", "additive"}
        How coordinates become features.

        - "orthogonal": random frequencies, orthogonal to each other in blocks, by fast transforms;
          no matrix is stored.
        - "gaussian": independent random frequencies, a cosine and a sine of each.
        - "cosine": independent random frequencies, one cosine with a random shift of each, as in
          the paper.
        - "subspace": orthogonal frequencies, most of which point where the first D rows vary (at
          most 1024 rows are kept for that). They are the best to learn from, but their kernel is
          smoother than the exact one; ``kernel_error()`` shows by how much.
        - "landmarks": Nyström features, from D rows that are drawn from the first 2D. They are
          nearest to the exact kernel and cost most per row.
        - "additive": the coordinates themselves, without the exponential. Their kernel is
          :math:`\sum_i 2 x_i y_i / (x_i + y_i)`. They suit wide, sparse counts such as text.
    normalize : {"l1"} or None
        "l1" divides every row by its sum before anything else, landmarks included; a row of zeros
        stays as it is. None leaves all rows as they are.
    adapt : bool
        Whether the nodes k of the series are estimated again as the stream goes on: at rows 256,
        1024, 4096, ... and only where that makes the error clearly smaller. What was learnt from
        earlier features stays valid, because new coordinates are rotated onto the old ones.
    """
)

_SCIKIT_LEARN = entries(
    """
    landmarks : array-like, sparse matrix or DataFrame of shape (m, d), or None
        Rows to use as landmarks, with ``basis="landmarks"``, in place of drawn ones: at least D of
        them. Of more, the D leading directions are used. The map is then planned on the first 64
        rows.
    n_buckets : int, "auto" or None
        Number of inputs into which the coordinates of wide rows are folded by signed hashing.
        "auto" folds where there would be more than 16384 coordinates, None never.
    dtype : {"float32", "float64"}
        Precision of the features. Sums over rows are float64 in either case.
    n_jobs : int or None
        Number of threads that compute features: None means 1, -1 all cores. It does not change the
        result.
    random_state : int, RandomState or None
        Chooses the random frequencies and the landmarks that are drawn. Shards that are to be
        merged need the same int.
    """
)

# ExpChi2Sampler.
SAMPLER = {
    **MAP,
    **_SCIKIT_LEARN,
    **entries(
        """
        n_components : int or None
            Number of features D. It is best even, since features come in pairs of a cosine and a
            sine. None is for ``basis="additive"`` only, and keeps every coordinate.
        half_life : float or None
            Number of rows after which a row counts half in the histogram of inputs, to which the
            series is fitted. None: all rows count the same.
        """
    ),
}

# Parameters of learners, for both front ends.
LEARNING = entries(
    r"""
    n_pca : int, float in (0, 1) or None
        Learn inside the leading principal components of the features: this many of them, or as
        many as hold this share of the variance; a number above D is D. None learns from all
        features.
    alpha : float or "auto"
        Strength of the penalty, with the meaning it has in scikit-learn's ``Ridge``, ``Lasso`` and
        ``ElasticNet``. "auto" chooses it in the same pass, one for all outputs: by leave-one-out
        until rows exceed features by an eighth, then from moments.
    penalty : {"ridge", "lasso", "elastic_net", "group_lasso"}
        What is added to the squared error: the squares of the coefficients ("ridge"), their
        absolute values ("lasso"), or a mixture of both ("elastic_net"). "group_lasso" needs
        ``descriptors`` and chooses among them: each is used as a whole, or not at all. With a
        number ``alpha`` it minimises

        .. math:: \frac{1}{2n} \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2
                  + \alpha \sum_g \sqrt{v_g} \, \lVert W_g \rVert

        where :math:`W_g` are the coefficients of descriptor g and :math:`v_g` is the total
        variance of its features. With "auto" the group lasso only decides which
        descriptors are used, and with what relative weights; how much to shrink is then chosen as
        for ridge regression.
    l1_ratio : float
        Share of the absolute values in the elastic net, above 0 and at most 1. The other penalties
        ignore it.
    calibrate : {"quantile"} or None
        "quantile" subtracts a threshold from the scores of each class: the score that half as
        many rows exceed as the class has members. Without it the scores of classes of very
        different sizes are not comparable. None leaves the scores of the regression as they are.
    class_weight : dict, "balanced" or None
        How many times as much the rows of each class count in the regression; 1 for a class that a
        dict does not name. "balanced" is ``n / (c * n_k)`` for class k of c classes, as in
        scikit-learn, with the sums of weights n_k and n of the whole stream: it is applied when
        solving. The map and the principal components do not depend on it. The answer is exact, at
        the price of one more scatter matrix for every class; where classes are many, weights of
        rows cost nothing.
    half_life : float or None
        Number of rows after which a row counts half, in the histogram of inputs and in everything
        that was learnt. None: all rows count the same. The penalty does not fade.
    """
)

# ExpChi2Classifier and ExpChi2Regressor.
LEARNER = {
    **SAMPLER,
    **LEARNING,
    **entries(
        """
        n_components : int
            Number of features D. Statistics take 8 D^2 bytes of memory, and learning a row costs
            about D^2 operations.
        descriptors : mapping of str to columns, or None
            Several kinds of histograms side by side in X, such as ``{"hog": slice(0, 720), "bow":
            slice(720, None)}``: slices, lists of positions, names of DataFrame columns, masks, or
            callables such as scikit-learn's ``make_column_selector``, which are given the first
            batch. A column may belong to several; one that belongs to none is not read. Each
            descriptor has an input histogram, k, beta and map of its own, and is normalized by
            itself. Their features stand side by side, so that their kernels add up.
            ``n_components`` and an integer ``n_pca`` are totals, divided evenly; they, ``beta``,
            ``dof``, ``series``, ``n_terms``, ``basis`` and ``n_buckets`` may also be dicts with
            one value for each descriptor, and attributes of the map are such dicts then.
        """
    ),
}

# ExpChi2PCA.
PCA = {
    **LEARNER,
    **entries(
        """
        n_pca : int, float in (0, 1) or None
            Number of principal components that come out, or the share of the variance that the
            fewest sufficient ones must hold; a number above D is D. None keeps all D.
        half_life : float or None
            Number of rows after which a row counts half, in the histogram of inputs and in the
            covariance. None: all rows count the same.
        """
    ),
}

# StreamingRidge, StreamingRidgeClassifier and StreamingPCA: rows are features already.
LINEAR = {
    "alpha": LEARNING["alpha"],
    **entries(
        """
        penalty : {"ridge", "lasso", "elastic_net"}
            What is added to the squared error: the squares of the coefficients, their absolute
            values, or a mixture of both.
        half_life : float or None
            Number of rows after which a row counts half. None: all rows count the same. The
            penalty does not fade.
        """
    ),
    **entries(
        """
        fit_intercept : bool
            Whether the model has an intercept. Without one, rows and targets are not centred, and
            classes are coded as -1 and 1, as in scikit-learn.
        """
    ),
    "l1_ratio": LEARNING["l1_ratio"],
    "class_weight": LEARNING["class_weight"],
}
STREAMING_PCA = entries(
    """
    n_components : int, float in (0, 1) or None
        Number of components, or the share of the variance that the fewest sufficient ones must
        hold. None keeps every direction in which rows vary.
    half_life : float or None
        Number of rows after which a row counts half. None: all rows count the same.
    whiten : bool
        Whether components are divided by their standard deviations, so that each has variance one.
    """
)

# Arguments of methods: of estimators with a map, then of those on features, each with what y is.
_WEIGHTS = entries(
    """
    sample_weight : array-like of shape (n,)
        Weight of each row: 2 counts like a repeated row, 0 like no row. By default all are 1.
    """
)
_NO_TARGETS = entries(
    """
    y : ignored
        There for pipelines.
    """
)
_LABELS = entries(
    """
    y : array-like of shape (n,)
        Labels, words or numbers; new ones may appear at any time.
    """
)
_TARGETS = entries(
    """
    y : array-like of shape (n,) or (n, t)
        Targets, finite numbers.
    """
)
_ROWS = entries(
    """
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Non-negative rows.
    """
)
_FEATURES = entries(
    """
    X : array-like of shape (n, d)
        Features.
    """
)
OF_ROWS = {**_ROWS, **_NO_TARGETS, **_WEIGHTS}
OF_LABELLED_ROWS = {**_ROWS, **_LABELS, **_WEIGHTS}
OF_ROWS_WITH_TARGETS = {**_ROWS, **_TARGETS, **_WEIGHTS}
OF_FEATURES = {**_FEATURES, **_NO_TARGETS, **_WEIGHTS}
OF_LABELLED_FEATURES = {**_FEATURES, **_LABELS, **_WEIGHTS}
OF_FEATURES_WITH_TARGETS = {**_FEATURES, **_TARGETS, **_WEIGHTS}

# Types of all attributes, in the order of the docstrings, and after a colon the parameter that an
# attribute belongs to. What they are is said by the docstring of the property.
ATTRIBUTES = {
    "classes_": "ndarray",
    "target_names_": "list of str or int",
    "coef_": "ndarray",
    "intercept_": "float or ndarray",
    "alpha_": "float",
    "components_": "ndarray",
    "mean_": "ndarray",
    "explained_variance_": "ndarray",
    "explained_variance_ratio_": "ndarray",
    "singular_values_": "ndarray",
    "noise_variance_": "float",
    "n_components_": "int",
    "descriptor_columns_": "dict of str to list of int: descriptors",
    "descriptor_path_": "dict of str to float: descriptors",
    "descriptor_weights_": "dict of str to float: descriptors",
    "beta_": "float",
    "k_": "ndarray",
    "n_terms_": "int",
    "input_histogram_": "LogHistogram",
    "predicted_kernel_error_": "float",
    "transports_": "tuple of Transport",
    "transport_residual_": "float",
    "landmarks_": "csr_array: landmarks",
    "n_samples_seen_": "int",
    "n_features_in_": "int",
    "feature_names_in_": "ndarray of str",
    "provenance_": "dict of str to int",
}
