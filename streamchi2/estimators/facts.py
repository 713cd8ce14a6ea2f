"""What a fitted estimator can say of itself at once: rows, kernel, penalty; nothing is computed."""

from __future__ import annotations

from html import escape
from typing import Any

from streamchi2.statistics.targets import ClassTargets, NumericTargets
from streamchi2.stream import Stream

_TABLE = "border-collapse:collapse;margin:0.2em 0 0.4em 0.5em;font:90% monospace"
_CELL = "text-align:left;padding:0 1em 0 0"


class FittedFacts:
    """``summary`` for an estimator that holds a stream."""

    def summary(self) -> str:
        """Return what has been learnt from and what is in use, as text.

        Only what is known without any work is shown, so that it takes microseconds and changes
        nothing: a penalty that is chosen, once it has been needed for a prediction, for example.

        Examples
        --------
        >>> from streamchi2 import ExpChi2Sampler
        >>> print(ExpChi2Sampler(64, beta=2.0).summary())
        ExpChi2Sampler, not fitted
        >>> rows = [[0.1 * i, 1.0 - 0.1 * i] for i in range(1, 10)] * 8
        >>> print(ExpChi2Sampler(64, beta=2.0, n_terms=3).fit(rows).summary())
        ExpChi2Sampler, fitted
          rows seen  72
          columns    2
          features   64
          beta       2
          terms      3
        """
        facts = fitted_facts(self)
        state = "fitted" if facts else "not fitted"
        width = max(map(len, facts), default=0)
        lines = [f"  {name:{width}}  {value}" for name, value in facts.items()]
        return "\n".join([f"{type(self).__name__}, {state}", *lines])

    def _known_alpha(self, stream: Stream) -> float | None:
        """Return the penalty in use if it is known without solving anything."""
        return None


def fitted_facts(estimator: Any) -> dict[str, str]:
    """Return names and values, empty where nothing has been learnt; reading only."""
    stream: Stream | None = vars(estimator).get("_stream")
    if stream is None or (stream.n_rows == 0 and not stream.is_planned):
        return {}
    facts = {"rows seen": f"{stream.n_rows:,}"}
    if not stream.stepwise:  # columns with names have no number
        facts["columns"] = f"{stream.n_features:,}"
    if isinstance(stream.targets, ClassTargets):
        facts["classes"] = f"{stream.targets.labels.size:,}"
    elif isinstance(stream.targets, NumericTargets) and stream.targets.names is not None:
        facts["targets"] = f"{len(stream.targets.names):,}"
    facts.update(_facts_of_map(stream))
    try:
        alpha = estimator._known_alpha(stream)
    except (ValueError, TypeError):  # parameters that were changed to nonsense can be shown, too
        alpha = None
    if alpha is not None:
        facts["alpha"] = f"{alpha:.4g}"
    return facts


def _facts_of_map(stream: Stream) -> dict[str, str]:
    adaptive = stream.feature_map
    if adaptive is None:
        return {}
    if adaptive.feature_map is None:
        return {"map": f"planned at row {stream.next_stop:,}"}
    names, blocks = adaptive.params.names, adaptive.feature_map.blocks

    def each(values: list[str]) -> str:
        if names is None:
            return values[0]
        return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))

    facts = {
        "features": each([f"{block.n_components:,}" for block in blocks]),
        "beta": each([f"{block.basis.beta:.4g}" for block in blocks]),
        "terms": each([str(block.series.n_terms) for block in blocks]),
    }
    moved = adaptive.each(lambda part: (len(part.transports), part.moved))
    found = [moved] if names is None else [moved[name] for name in names]
    if any(number for number, _ in found):
        facts["k estimated again"] = each(
            [f"{number} times, moved by {residual:.2g}" for number, residual in found]
        )
    return facts


def facts_as_html(estimator: Any) -> str:
    """Return a table of the facts to stand below a diagram; empty where nothing was learnt."""
    facts = fitted_facts(estimator)
    if not facts:
        return ""
    rows = "".join(
        f'<tr><td style="{_CELL}">{escape(name)}</td><td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f'<table style="{_TABLE}"><tbody>{rows}</tbody></table>'
