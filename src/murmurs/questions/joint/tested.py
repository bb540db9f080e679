"""The table of several questions with the tests of association, as plain values for JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from murmurs.inference.association import Association
from murmurs.inference.dependence import Strength
from murmurs.inference.fit import Target
from murmurs.inference.screening import Screening
from murmurs.questions.joint.estimate import JointEstimate


def tested_document(found: JointEstimate, level: float, target: Target) -> dict[str, Any]:
    """Return the table with its tests; null are those that cannot be made, as of huge tables."""
    document = found.to_document(level, target)
    if len(found.names) > 2:
        return {**document, "screening": _made(found.screening)}
    return {
        **document,
        "association": _made(found.association),
        "cramers_v": _made(lambda: found.cramers_v(level=level, target=target)),
    }


def _made(measure: Callable[[], Screening | Association | Strength]) -> dict[str, Any] | None:
    try:
        return measure().to_document()
    except (ImportError, ValueError):
        return None
