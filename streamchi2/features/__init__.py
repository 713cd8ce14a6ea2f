"""Feature maps: what the user chose, planning, the frozen map, and what follows a stream."""

from streamchi2.features.feature_map import FeatureMap, MapBlock
from streamchi2.features.spec import MapSpec
from streamchi2.features.tracker import KernelError, Tracker, Transport

__all__ = [
    "FeatureMap",
    "KernelError",
    "MapBlock",
    "MapSpec",
    "Tracker",
    "Transport",
]
