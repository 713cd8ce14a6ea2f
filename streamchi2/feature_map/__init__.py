"""Feature maps: parameters, planning, the frozen map, and the map that follows a stream."""

from streamchi2.feature_map.adaptive import AdaptiveFeatureMap, KernelError, Transport
from streamchi2.feature_map.feature_map import FeatureMap, MapBlock
from streamchi2.feature_map.params import BlockParams, MapParams

__all__ = [
    "AdaptiveFeatureMap",
    "BlockParams",
    "FeatureMap",
    "KernelError",
    "MapBlock",
    "MapParams",
    "Transport",
]
