"""Chi2 series: maps of one value to N coordinates, and the choice of their parameters."""

from streamchi2.series.chebyshev import ChebyshevSeries
from streamchi2.series.direct import DirectSeries
from streamchi2.series.parameters import (
    greedy_parameters,
    refined_parameters,
    zolotarev_parameters,
)
from streamchi2.series.predicted_error import PredictedError, predicted_error
from streamchi2.series.series import Series
from streamchi2.series.vedaldi_zisserman import VZSeries

__all__ = [
    "SERIES",
    "ChebyshevSeries",
    "DirectSeries",
    "PredictedError",
    "Series",
    "VZSeries",
    "greedy_parameters",
    "predicted_error",
    "refined_parameters",
    "zolotarev_parameters",
]

# The parameter ``series`` by name; a new one is one file and one line here.
SERIES: dict[str, type[Series]] = {
    "direct": DirectSeries,
    "chebyshev": ChebyshevSeries,
    "vz": VZSeries,
}
