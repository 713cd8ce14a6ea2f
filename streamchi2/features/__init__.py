"""Feature maps: what the user chose, planning, the frozen map, and what follows a stream."""

from streamchi2.features.feature_map import FeatureMap, MapBlock
from streamchi2.features.kernel_error import KernelError
from streamchi2.features.planning import plan
from streamchi2.features.spec import BlockSpec, MapSpec
from streamchi2.features.tracker import BlockTracker, Tracker, Transport

__all__ = [
    "BlockSpec",
    "BlockTracker",
    "FeatureMap",
    "KernelError",
    "MapBlock",
    "MapSpec",
    "Tracker",
    "Transport",
    "plan",
]
