"""Published beside measured: a number or a claim of a paper, what was found, and the verdict.

What is said about our default, of which no paper says anything, has verdicts of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Standing = Literal["ahead", "close", "mixed", "behind"]
"""How our default stands beside the best of the others.

- ahead: its error is at most theirs, in every setting
- close: larger in some, by at most three combined standard errors
- mixed: smaller in geometric mean, but larger by more than that in some settings
- behind: larger by more than that, in the only setting or in geometric mean
"""

Verdict = Literal["agrees", "explained", "differs"] | Standing
AGREEMENTS: tuple[Verdict, ...] = ("agrees", "explained", "differs")
STANDINGS: tuple[Standing, ...] = ("ahead", "close", "mixed", "behind")

SIGMAS = 3.0
"""Combined standard errors up to which two numbers agree."""


@dataclass(frozen=True)
class Finding:
    """One number or claim of a paper, with what was measured.

    ``error`` is the standard error of the simulation. ``explained`` are deviations with a known
    reason, which is ``why``. ``beside`` has other numbers for comparison, by name. If the finding
    is about our default, ``published`` is what it is compared with.
    """

    what: str
    published: float | str
    measured: float | str
    verdict: Verdict
    error: float | None = None
    why: str = ""
    beside: Mapping[str, float] = field(default_factory=dict)

    @property
    def about_ours(self) -> bool:
        """Whether this is about our default, and not about what a paper says."""
        return self.verdict in STANDINGS

    def to_document(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {
            "what": self.what,
            "published": self.published,
            "measured": self.measured,
            "error": self.error,
            "verdict": self.verdict,
            "why": self.why,
            **({"beside": dict(self.beside)} if self.beside else {}),
        }


def number(
    what: str,
    published: float,
    measured: float,
    error: float,
    *,
    published_error: float = 0.0,
    decimals: int = 3,
    tolerance: float = 0.0,
    sigmas: float = SIGMAS,
    why: str = "",
    beside: Mapping[str, float] | None = None,
) -> Finding:
    """Compare a published number with a measured one.

    They agree if they differ by at most three combined standard errors: those of both simulations,
    and that of rounding to ``decimals``, which is uniform. A ``tolerance`` is added to that. Where
    very many numbers are compared, more ``sigmas`` keep false alarms rare.

    >>> number("Race", 0.012, 0.0134, 0.0002, published_error=0.0005).verdict
    'agrees'
    >>> number("Race", 0.055, 0.0044, 0.0002).verdict
    'differs'
    """
    rounding = 10.0**-decimals / math.sqrt(12)
    allowed = sigmas * math.hypot(error, published_error, rounding) + tolerance
    agrees = abs(published - measured) <= allowed
    verdict: Verdict = "agrees" if agrees else "explained" if why else "differs"
    return Finding(
        what, published, measured, verdict, error, "" if agrees else why, dict(beside or {})
    )


def claim(what: str, published: str, measured: str, holds: bool, *, why: str = "") -> Finding:
    """Compare a published sentence with what was found.

    >>> claim("figure 2", "k-RR wins where k < e^epsilon", "in 36 of 36 cells", True).verdict
    'agrees'
    """
    verdict: Verdict = "agrees" if holds else "explained" if why else "differs"
    return Finding(what, published, measured, verdict, None, "" if holds else why)


def tally(findings: Iterable[Finding]) -> dict[Verdict, int]:
    """Return how many findings have each verdict."""
    found: dict[Verdict, int] = dict.fromkeys((*AGREEMENTS, *STANDINGS), 0)
    for finding in findings:
        found[finding.verdict] += 1
    return found


def summary(findings: Sequence[Finding]) -> str:
    """Return the verdicts as a sentence: those about the paper, then those about our default.

    >>> summary([claim("a", "yes", "yes", True), claim("b", "yes", "no", False, why="misprint")])
    '1 of 2 agrees, 1 differs for a known reason'
    >>> summary([Finding("a", "k-RR, 0.5", "0.25", "ahead"), claim("b", "yes", "yes", True)])
    '1 of 1 agrees; our default: 1 ahead'
    """
    found = tally(findings)
    compared = sum(found[verdict] for verdict in AGREEMENTS)
    parts = [_agreements(found, compared)] if compared else []
    stands = [f"{found[verdict]} {verdict}" for verdict in STANDINGS if found[verdict]]
    if stands:
        parts.append(f"our default: {', '.join(stands)}")
    return "; ".join(parts)


def _agreements(found: Mapping[Verdict, int], compared: int) -> str:
    text = f"{found['agrees']} of {compared} {_verb('agree', found['agrees'])}"
    if found["explained"]:
        text += f", {found['explained']} {_verb('differ', found['explained'])} for a known reason"
    if found["differs"]:
        text += f", {found['differs']} {_verb('differ', found['differs'])} without a known reason"
    return text


def _verb(verb: str, many: int) -> str:
    return f"{verb}s" if many == 1 else verb
