"""The series by name; a new one is one file and one line here."""

from __future__ import annotations

from streamchi2.series.chebyshev import ChebyshevSeries
from streamchi2.series.direct import DirectSeries
from streamchi2.series.series import Series
from streamchi2.series.vedaldi_zisserman import VZSeries

SERIES: dict[str, type[Series]] = {
    "direct": DirectSeries,
    "chebyshev": ChebyshevSeries,
    "vz": VZSeries,
}
