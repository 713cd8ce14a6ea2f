"""HashBuckets: any number of columns folded into a fixed number of inputs.

A signed count sketch: each series coordinate, known by its column and term, is given a bucket and
a sign by hashing. Inner products of folded rows are unbiased, memory is fixed, a column that
arrives late costs nothing, and every worker folds alike.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks.params import as_positive_int
from streamchi2.checks.rows import Floats
from streamchi2.hashing import mixed_bits
from streamchi2.saving import Value, saved


@saved("hash_buckets")
@dataclass(frozen=True)
class HashBuckets(Value):
    r"""Signed hashing of (column, term) pairs into ``n_buckets`` inputs.

    .. math:: \mathrm{E}\,\langle Sc, Sc'\rangle = \langle c, c'\rangle, \qquad
              \mathrm{Var} \le \frac{2}{n_{buckets}} \lVert c\rVert^2 \lVert c'\rVert^2

    Law: the bucket of a coordinate depends on seed, column and term alone.

    Parameters
    ----------
    n_buckets : int
        Number of inputs that come out.
    seed : int
        Chooses the hash function.

    References
    ----------
    Weinberger et al. (2009), doi:10.1145/1553374.1553516.

    Examples
    --------
    >>> rows = sparse.csr_array(np.array([[0.0, 0.5, 0.5]]))
    >>> folded = HashBuckets(n_buckets=8, seed=0).fold(rows, np.array([[1.0, 2.0], [0.1, 0.2]]))
    >>> folded.shape, float(np.abs(folded).sum().round(6))
    ((1, 8), 3.3)
    """

    n_buckets: int
    seed: int

    def __post_init__(self) -> None:
        as_positive_int(self.seed, name="seed", minimum=0)
        if as_positive_int(self.n_buckets, name="n_buckets") >= 2**31:
            raise ValueError(f"n_buckets must be below 2^31, got {self.n_buckets}")

    def fold(self, rows: sparse.csr_array, coordinates: Floats) -> Floats:
        """Return folded rows, shape (n, n_buckets).

        Parameters
        ----------
        rows : csr_array, shape (n, any)
            Gives the columns; its values are not used.
        coordinates : ndarray, shape (N, nnz)
            N coordinates of each stored value.
        """
        n_terms = coordinates.shape[0]
        buckets, signs = self.assign(rows.indices, n_terms)
        signed = coordinates.T * signs.astype(coordinates.dtype)
        folded = sparse.csr_array(
            (signed.ravel(), buckets.ravel(), rows.indptr * n_terms),
            shape=(rows.shape[0], self.n_buckets),
        )
        dense: Floats = folded.toarray()  # adds what falls into one bucket
        return dense

    def assign(
        self, columns: NDArray[np.integer], n_terms: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return bucket and sign of every coordinate, both of shape (n_columns, n_terms)."""
        terms = np.arange(n_terms, dtype=np.uint64)
        keys: NDArray[np.uint64] = columns.astype(np.uint64)[:, None] * np.uint64(n_terms) + terms
        hashed = mixed_bits(keys, self.seed)
        # The upper half times n_buckets, shifted back, is uniform without a slow remainder.
        buckets = ((hashed >> np.uint64(32)) * np.uint64(self.n_buckets)) >> np.uint64(32)
        signs = 2 * (hashed & np.uint64(1)).astype(np.int8) - 1
        return buckets.astype(np.int32), signs


def column_of_name(name: str) -> int:
    """Return the column of a named feature: 62 bits of a digest of its name.

    The same in every process and every version of Python, unlike ``hash``. Rows of named features
    are sparse rows whose width is 2^62.

    >>> column_of_name("red")
    2941416306605685315
    """
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 2
