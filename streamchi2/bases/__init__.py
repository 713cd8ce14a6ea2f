"""Bases: from the coordinates of a row to its features, by name."""

from streamchi2.bases.additive import AdditiveBasis
from streamchi2.bases.base import OPEN_ENDED, Basis, BasisPlan, LandmarkRows
from streamchi2.bases.hash_buckets import HashBuckets
from streamchi2.bases.landmarks import LandmarkBasis
from streamchi2.bases.orthogonal import OrthogonalBasis
from streamchi2.bases.random import CosineBasis, GaussianBasis, PhaseBasis
from streamchi2.bases.subspace import SubspaceBasis

__all__ = [
    "BASES",
    "OPEN_ENDED",
    "AdditiveBasis",
    "Basis",
    "BasisPlan",
    "CosineBasis",
    "GaussianBasis",
    "HashBuckets",
    "LandmarkBasis",
    "LandmarkRows",
    "OrthogonalBasis",
    "PhaseBasis",
    "SubspaceBasis",
]

# The parameter ``basis`` by name; all that can be in a map is listed here.
BASES: dict[str, type[Basis]] = {
    "orthogonal": OrthogonalBasis,
    "gaussian": GaussianBasis,
    "cosine": CosineBasis,
    "subspace": SubspaceBasis,
    "landmarks": LandmarkBasis,
    "additive": AdditiveBasis,
}
