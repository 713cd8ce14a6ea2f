r"""Docstrings of estimators from one table, which is this text: entries as in a numpydoc section.

An entry under ``Class.name`` is for that class and its subclasses, in place of ``name``. Attributes
have their types here; what they are is said by the docstrings of their properties.

What a user sets
n_components : int
    Number of features D. Statistics take 8 D^2 bytes of memory, and learning a row costs about D^2
    operations.
ExpChi2Sampler.n_components : int or None
    Number of features D. It is best even, since features come in pairs of a cosine and a sine.
    None is for ``basis="additive"`` only, and keeps every coordinate.
StreamingPCA.n_components : int, float in (0, 1) or None
    Number of components, or the share of the variance that the fewest sufficient ones must hold.
    None keeps every direction in which rows vary.
norm : {"l1"} or None
    "l1" divides every row by its sum before anything else, landmarks included; a row of zeros
    stays as it is. None leaves all rows as they are.
basis : {"orthogonal", "gaussian", "cosine", "subspace", "landmarks", "additive"}
    How coordinates become features.

    - "orthogonal": random frequencies, orthogonal to each other in blocks, by fast transforms; no
      matrix is stored.
    - "gaussian": independent random frequencies, a cosine and a sine of each.
    - "cosine": independent random frequencies, one cosine with a random shift of each, as in the
      paper.
    - "subspace": orthogonal frequencies, most of which point where the first D rows vary (at most
      1024 rows are kept for that). They are the best to learn from, but their kernel is smoother
      than the exact one; ``kernel_error()`` shows by how much.
    - "landmarks": Nyström features, from D rows that are drawn from the first 2D. They are nearest
      to the exact kernel and cost most per row.
    - "additive": the coordinates themselves, without the exponential. Their kernel is
      :math:`\sum_i 2 x_i y_i / (x_i + y_i)`. They suit wide, sparse counts such as text.
beta : float or "auto"
    Inverse scale of the kernel ``exp(-beta * chi2(x, y))``: the larger, the narrower the kernel.
    "auto" is one over the mean chi2 distance between the first rows.
alpha : float or "auto"
    Strength of the penalty, with the meaning it has in scikit-learn's ``Ridge``, ``Lasso`` and
    ``ElasticNet``. "auto" chooses it in the same pass, one for all outputs: the one with the least
    squared error on sampled rows that are left out, with all their copies.
class_weight : dict, "balanced" or None
    How many times as much the rows of each class count. A dict multiplies the weights of rows as
    they come; 1 for a class that it does not name, and rows of a class of weight 0 are learnt from
    as rows without labels. "balanced" is ``n / (c * n_k)`` for class k of c classes, as in
    scikit-learn, with the sums of weights n_k and n of the whole stream: it is applied when
    solving, exactly, at the price of one more scatter matrix for every class.
half_life : float or None
    Number of rows after which a row counts half in everything that is learnt. None: all rows count
    the same. The penalty does not fade.
ComponentReadings.half_life : float, "auto" or None
    Number of rows after which a row counts half in everything that is learnt. None: all rows count
    the same. "auto": all count the same until the latest are predicted much worse than sampled
    rows of their classes that were left out. From 1.3 times the error on, all that was learnt
    counts half; from 2.5 times on, the model begins anew from the latest rows. The penalty does not
    fade.
ExpChi2PCA.half_life : float or None
    Number of rows after which a row counts half in everything that is learnt. None: all rows count
    the same.
latest_rows : int
    This many to twice as many of the latest rows correct the model of all rows: ridge regression on
    their features towards that model, in place of zero, where that has predicted the latest rows
    better. It is for the stream that goes on, whose next rows resemble the latest ones; rows from
    elsewhere are for ``latest_rows=0``, which leaves the model of all rows as it is.
descriptors : mapping of str to columns, or None
    Several kinds of histograms side by side in X, such as ``{"hog": slice(0, 720), "bow":
    slice(720, None)}``: slices, lists of positions, names of DataFrame columns, masks, or
    callables such as scikit-learn's ``make_column_selector``, which are given the first batch. A
    column may belong to several; one that belongs to none is not read. Each descriptor has an
    input histogram, k, beta and map of its own, and is normalized by itself. Their features stand
    side by side, so that their kernels add up. ``n_components`` and an integer ``n_pca`` are
    totals, divided evenly; they, ``beta``, ``dof``, ``series``, ``n_terms`` and ``basis`` may also
    be dicts with one value for each descriptor, and attributes of the map are such dicts then.
whiten : bool
    Whether components are divided by their standard deviations, so that each has variance one.
n_jobs : int or None
    Number of threads that compute features: None means 1, -1 all cores. It does not change the
    result.
random_state : int, RandomState or None
    Chooses the random frequencies and the landmarks that are drawn. Shards that are to be merged
    need the same int.

For experts
n_pca : int, float in (0, 1) or None
    Learn inside the leading principal components of the features: this many of them, or as many as
    hold this share of the variance; a number above D is D. None learns from all features.
ExpChi2PCA.n_pca : int, float in (0, 1) or None
    Number of principal components that come out, or the share of the variance that the fewest
    sufficient ones must hold; a number above D is D. None keeps all D.
penalty : {"ridge", "lasso", "elastic_net"}
    What is added to the squared error: the squares of the coefficients, their absolute values, or
    a mixture of both.
DescriptorReadings.penalty : {"ridge", "lasso", "elastic_net", "group_lasso"}
    What is added to the squared error: the squares of the coefficients ("ridge"), their absolute
    values ("lasso"), or a mixture of both ("elastic_net"). "group_lasso" needs ``descriptors`` and
    chooses among them: each is used as a whole, or not at all. With a number ``alpha`` it
    minimises

    .. math:: \frac{1}{2n} \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2
              + \alpha \sum_g \sqrt{v_g} \, \lVert W_g \rVert

    where :math:`W_g` are the coefficients of descriptor g and :math:`v_g` is the total variance of
    its features. With "auto" the group lasso only decides which descriptors are used, and with
    what relative weights; how much to shrink is then chosen as for ridge regression.
l1_ratio : float
    Share of the absolute values in the elastic net, above 0 and at most 1. The other penalties
    ignore it.
class_shift : {"quantile"} or None
    "quantile" subtracts a threshold from the scores of each class: the score that half as many
    rows exceed as the class has members. Without it the scores of classes of very different sizes
    are not comparable. None leaves the scores of the regression as they are.
fit_intercept : bool
    Whether the model has an intercept. Without one, rows and targets are not centred, and classes
    are coded as -1 and 1, as in scikit-learn.
dof : float
    Degrees of freedom of the kernel, above 0 and at most 2. With 2 it is the exp-chi2 kernel, with
    1 it is ``erfc(sqrt(beta * chi2(x, y)))``.
series : {"direct", "chebyshev", "vz"}
    How a value becomes a few coordinates whose inner products are close to ``2xy / (x + y)``.
    "direct" converges geometrically, and its nodes k are fitted to the values seen; "chebyshev"
    and "vz" (Vedaldi and Zisserman) are there for comparison.
n_terms : int or "auto"
    Number of coordinates for each value. "auto" takes the fewest that keep the error of the direct
    series below a third of that of the random features, on the first rows; it is 5 for the other
    series. Where the stream later needs more, a :class:`~streamchi2.errors.PrecisionWarning` says
    so.
landmarks : array-like, sparse matrix or DataFrame of shape (m, d), or None
    Rows to use as landmarks, with ``basis="landmarks"``, in place of drawn ones: at least D of
    them. Of more, the D leading directions are used. The map is then planned on the first 64 rows.
n_buckets : int, "auto" or None
    Number of inputs into which the coordinates of wide rows are folded by signed hashing. "auto"
    folds where there would be more than 16384 coordinates, None never.
dtype : {"float32", "float64"}
    Precision of the features. Sums over rows are float64 in either case.
adapt : bool
    Whether the nodes k of the series are estimated again as the stream goes on: at rows 256, 1024,
    4096, ... and only where that makes the error clearly smaller. What was learnt from earlier
    features stays valid, because new coordinates are rotated onto the old ones.

What differs in river
n_components : int
    Number of features D. Memory is about 8 D^2 bytes; twice that for the first 9D/8 rows, and with
    landmarks up to eight times that for the first 2D.
ExpChi2Sampler.n_components : int
    Number of features D. It is best even, since features come in pairs of a cosine and a sine.
descriptors : mapping of str to keys, or None
    Several kinds of features, each with a map of its own, so that their kernels add up. A value is
    a list of keys, a prefix of keys, or a callable that says of a key whether it belongs; callables
    cannot be saved. A key may belong to several descriptors; one that belongs to none is not read.
    Each descriptor is normalized by itself. ``n_components`` and an integer ``n_pca`` are totals,
    divided evenly; they, ``beta``, ``dof``, ``series``, ``n_terms`` and ``basis`` may also be dicts
    with one value for each descriptor, and attributes of the map are such dicts then.
prefix : str
    What the names of the features begin with. In a union of several samplers each needs its own, or
    features of the same name replace each other.
seed : int or None
    Chooses the random frequencies and the landmarks that are drawn. None draws a seed for each
    object. Shards that are to be merged need the same int.
landmarks : list of dict, or None
    Rows to use as landmarks, with ``basis="landmarks"``, in place of drawn ones: at least D of
    them. Of more, the D leading directions are used. The map is then planned on the first 64 rows.
n_buckets : int or "auto"
    Number of inputs into which the coordinates of all keys are folded by signed hashing, so that
    memory does not grow with the number of keys. "auto" is twice ``n_components`` and at least
    1024; with ``basis="additive"`` it is ``n_components``.

Types of attributes
classes_ : ndarray
target_names_ : list of str or int
coef_ : ndarray
intercept_ : float or ndarray
alpha_ : float
components_ : ndarray
mean_ : ndarray
explained_variance_ : ndarray
explained_variance_ratio_ : ndarray
singular_values_ : ndarray
noise_variance_ : float
n_components_ : int
descriptor_columns_ : dict of str to list of int
descriptor_path_ : dict of str to float
descriptor_weights_ : dict of str to float
beta_ : float
k_ : ndarray
n_terms_ : int
input_histogram_ : LogHistogram
predicted_kernel_error_ : float
transports_ : tuple of Transport
transport_residual_ : float
landmarks_ : csr_array
n_samples_seen_ : int
n_features_in_ : int
feature_names_in_ : ndarray of str
latest_ : dict of float or None to float
forgotten_ : tuple of Forgotten
provenance_ : dict of str to int
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)


def entries(text: str) -> dict[str, str]:
    r"""Return the entries of a numpydoc section by their names.

    >>> sorted(entries("beta : float\n    Inverse scale.\ndof : float\n    Degrees of freedom."))
    ['beta', 'dof']
    """
    parts = re.findall(r"^(([\w.]+) : .+(?:\n(?: .*)?)*)", text, re.MULTILINE)
    return {name: entry.rstrip() for entry, name in parts}


# Without the table where docstrings are stripped (``python -OO``).
_GROUPS = re.split(r"\n\n[A-Z][\w ]+\n(?=[\w.]+ : )", __doc__ or "")[1:] or [""] * 4
_USER, _EXPERT, RIVER, _ATTRIBUTES = map(entries, _GROUPS)


def documented(extra: Mapping[str, str] | None = None) -> Callable[[_Class], _Class]:
    r"""Fill ``%(parameters)s`` and ``%(attributes)s`` in the docstring of a class.

    The first becomes the section "Parameters", of what a user sets, and "Other Parameters", of what
    experts do: every parameter of the constructor, in its order, with its default. The second
    becomes the section "Attributes": every public property whose name ends in an underscore, with
    the first paragraph of its docstring.

    Parameters
    ----------
    extra : mapping of str to str, optional
        Entries in place of those of the table, such as ``RIVER``.

    Examples
    --------
    >>> @documented({"alpha": "alpha : float\n    Strength of the penalty."})
    ... class Ridge:
    ...     '''Ridge regression.
    ...
    ...     %(parameters)s
    ...
    ...     %(attributes)s
    ...     '''
    ...     def __init__(self, alpha=1.0):
    ...         self.alpha = alpha
    ...
    ...     @property
    ...     def alpha_(self):
    ...         "Penalty in use."
    ...         return self.alpha
    >>> Ridge.__doc__.splitlines()[2:6]
    ['Parameters', '----------', 'alpha : float, default=1.0', '    Strength of the penalty.']
    """
    table = {**_USER, **_EXPERT, **(extra or {})}

    def fill(cls: _Class) -> _Class:
        if cls.__doc__ is None:
            return cls
        parameters = inspect.signature(cls).parameters
        user, expert = list[str](), list[str]()
        for name, parameter in parameters.items():
            keys = (f"{base.__name__}.{name}" for base in cls.__mro__)
            entry = table[next(filter(table.__contains__, keys), name)]
            group = expert if name in _EXPERT else user
            group.append(_with_default(entry, parameter.default))
        sections = [_section("Parameters", user), _section("Other Parameters", expert)]
        text = inspect.cleandoc(cls.__doc__)
        text = text.replace("%(parameters)s", "\n\n".join(filter(None, sections)))
        cls.__doc__ = text.replace("%(attributes)s", _section("Attributes", _attributes(cls)))
        return cls

    return fill


def _with_default(entry: str, default: object) -> str:
    header, body = entry.split("\n", maxsplit=1)
    header = re.sub(r"^\w+\.", "", header)
    if default is not inspect.Parameter.empty:
        written = f'"{default}"' if isinstance(default, str) else repr(default)
        # Sphinx takes a word with an underscore at its end for a link, and no literal after "=".
        link = written.endswith('_"')
        header += f", default ``{written}``" if link else f", default={written}"
    return f"{header}\n{body}"


def _attributes(cls: type) -> list[str]:
    has = {
        name: inspect.cleandoc(member.__doc__ or "").split("\n\n")[0].replace("\n", "\n    ")
        for name, member in inspect.getmembers_static(cls)
        if isinstance(member, property) and name.endswith("_") and not name.startswith("_")
    }
    return [f"{_ATTRIBUTES[name]}\n    {has[name]}" for name in _ATTRIBUTES if name in has]


def _section(title: str, written: list[str]) -> str:
    return "\n".join([title, "-" * len(title), *written]) if written else ""
