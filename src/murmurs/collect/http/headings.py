"""Headings: a result that says what it is about, for programs and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from murmurs.collect.results.compute import Result
from murmurs.present.layout import fold
from murmurs.present.text import printable
from murmurs.survey.promise import promise

if TYPE_CHECKING:
    from murmurs.collect.http.asking import Asking


def with_heading(asking: Asking, result: Result) -> Result:
    """Return a result that says what it is about."""
    query = asking.query
    about = {
        "survey": asking.survey.name,
        "version": asking.survey.version,
        "fingerprint": asking.entry.fingerprint,
        "question": asking.name,
        "from": query.from_,
        "to": query.to,
        "segment": query.segment,
    }
    wanted = result.text if query.format == "text" else None
    text = None if wanted is None else _text(asking, result, wanted)
    return Result({**about, **result.document}, result.columns, text)


def _text(asking: Asking, result: Result, table: str) -> str:
    """Return the result for people: the question, the table, and what protects the answers."""
    asked = asking.survey.asked(asking.name)
    numbers = result.document["reports"]
    several = numbers if isinstance(numbers, list) else [numbers]
    reports = " and ".join(f"{n:,}" for n in several) + f" report{'s' * (several != [1])}"
    if len(several) > 2:
        reports = f"{sum(several):,} reports in {len(several)} periods"
    title = printable(asked.text or asking.name)
    segment = (
        ""
        if asking.query.segment is None or asking.kind == "compare"
        else (f", segment {printable(asking.query.segment)}")
    )
    promised = promise(asking.survey, asking.unit)
    told = fold(f"Privacy: {promised}".replace("\n", " "))
    return f"{title}\n{reports}{segment}\n\n{fold(table)}\n\n{told}"
