"""What was found, as text for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from murmurs.present.text import table
from murmurs_papers.findings import Finding, summary
from murmurs_papers.reproducing import Reproduction

_WIDTH = 80


def report(found: Reproduction, limit: int = 40) -> str:
    """Return the title, published beside measured, the verdict and what explains deviations."""
    experiment = found.experiment
    parts = [_wrapped(f"{experiment.name}: {experiment.title}")]
    numbers = [f for f in found.findings if isinstance(f.measured, float)]
    if numbers:
        shown = sorted(numbers, key=lambda f: f.verdict == "agrees")[:limit]
        kept = [f for f in numbers if f in shown]
        more = len(numbers) - len(kept)
        parts.append(numbers_table(kept) + (f"\n… and {more} more that agree" if more > 0 else ""))
    claims = [f for f in found.findings if isinstance(f.measured, str)]
    for several in (
        [f for f in claims if not f.about_ours],
        [f for f in claims if f.about_ours],
    ):
        parts += ["\n".join(_claim(f) for f in several[:limit])] if several else []
    parts.append(f"{summary(found.findings)}.")
    parts.append(_wrapped(experiment.about))
    parts += [_wrapped(f"{question}: {reason}") for question, reason in reasons(found.findings)]
    return "\n\n".join(parts)


def reasons(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Return each reason once, after the question that it answers.

    >>> from murmurs_papers.findings import claim
    >>> reasons([claim(name, "yes", "no", False, why="A misprint.") for name in ("a", "b")])
    [('Why it differs', 'A misprint.')]
    """
    return [
        (question, reason)
        for about_ours, question in (
            (False, "Why it differs"),
            (True, "Why our default is not ahead"),
        )
        for reason in dict.fromkeys(f.why for f in findings if f.why and f.about_ours == about_ours)
    ]


def numbers_table(findings: Sequence[Finding]) -> str:
    """Return the numbers of the paper, the measured ones with their errors, and the verdicts."""
    beside = list(dict.fromkeys(name for f in findings for name in f.beside))
    rows = [
        [
            f.what,
            shown_number(f.published),
            shown_number(f.measured),
            "" if not f.error else f"{f.error:.1g}",
            *(shown_number(f.beside[name]) if name in f.beside else "" for name in beside),
            f.verdict,
        ]
        for f in findings
    ]
    return table(["", "published", "measured", "±", *beside, "verdict"], rows)


def shown_number(value: float | str) -> str:
    """Return a number with four digits after the point, or as many as it needs.

    >>> shown_number(0.01234567), shown_number(12345.6), shown_number(0.0)
    ('0.0123', '1.23e+04', '0')
    """
    if isinstance(value, str):
        return value
    if value == round(value):
        return f"{value:g}"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 100 else f"{value:.3g}"


def _claim(finding: Finding) -> str:
    whose = "beside" if finding.about_ours else "the paper says"
    said = f"{whose}: {finding.published}; found: {finding.measured}"
    text = f"{finding.verdict:<9}  {finding.what}; {said}"
    return textwrap.fill(text, _WIDTH, subsequent_indent=" " * 11)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH)
