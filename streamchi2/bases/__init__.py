"""Bases: from the coordinates of a row to its features."""

from streamchi2.bases.frequencies import RandomBasis, check_sampled_dof
from streamchi2.bases.gaussian import CosineBasis, GaussianBasis
from streamchi2.bases.hash_buckets import HashBuckets, column_of_name
from streamchi2.bases.landmark_rows import LandmarkRows
from streamchi2.bases.landmarks import LandmarkBasis, drawn_landmarks, landmark_basis
from streamchi2.bases.orthogonal import OrthogonalBasis
from streamchi2.bases.subspace import SubspaceBasis, informative_directions

__all__ = [
    "CosineBasis",
    "GaussianBasis",
    "HashBuckets",
    "LandmarkBasis",
    "LandmarkRows",
    "OrthogonalBasis",
    "RandomBasis",
    "SubspaceBasis",
    "check_sampled_dof",
    "column_of_name",
    "drawn_landmarks",
    "informative_directions",
    "landmark_basis",
]
