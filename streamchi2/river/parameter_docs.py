"""What parameters mean for river, in place of entries of the common table: this text.

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
"""

from __future__ import annotations

RIVER = __doc__ or ""  # none where docstrings are stripped (``python -OO``)
