"""Validation of everything a user passes in: rows, targets, weights and parameters.

Every refusal names the argument, the rule, the value found and where it is, and happens before any
state has changed.
"""

from streamchi2.checks.params import (
    as_choice,
    as_half_life,
    as_number_or_choice,
    as_positive_float,
    as_positive_int,
    as_seed,
)
from streamchi2.checks.rows import (
    Array,
    Floats,
    Indices,
    Rows,
    Table,
    as_estimator_features,
    as_estimator_rows,
    as_features,
    as_rows,
    as_values,
    as_weights,
    check_named_alike,
    columns_of,
    place_of,
)
from streamchi2.checks.targets import (
    as_declared_classes,
    as_indicators,
    as_label,
    as_labels,
    as_number,
    as_numbers,
    is_indicator,
    refuse_huge,
)

__all__ = [
    "Array",
    "Floats",
    "Indices",
    "Rows",
    "Table",
    "as_choice",
    "as_declared_classes",
    "as_estimator_features",
    "as_estimator_rows",
    "as_features",
    "as_half_life",
    "as_indicators",
    "as_label",
    "as_labels",
    "as_number",
    "as_number_or_choice",
    "as_numbers",
    "as_positive_float",
    "as_positive_int",
    "as_rows",
    "as_seed",
    "as_values",
    "as_weights",
    "check_named_alike",
    "columns_of",
    "is_indicator",
    "place_of",
    "refuse_huge",
]
