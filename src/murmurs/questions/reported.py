"""Answers that were randomised already, on paper or by telephone, and come by their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.answers import coded
from murmurs.boundary.frames import MISSING
from murmurs.boundary.labels import Labels, how_many
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.counts import Counts
from murmurs.mechanisms.closed.krr import KRR
from murmurs.mechanisms.designs.design import Design
from murmurs.wire import BadReportError, Reports

if TYPE_CHECKING:
    from murmurs.questions.single import Single


def count_reported(
    question: Single, reported: object, drop_missing: bool, unknown: str | None
) -> Counts:
    """Add them up: a column with one label per person, or totals by label."""
    names = _names_of_reports(question)
    totals = names.totals_in(reported)
    if totals is not None:
        cells = names.added(totals, drop_missing, unknown, MOST_PEOPLE)
        return Counts(question.mechanism, sum(cells), np.array(cells))
    found, there = as_reports(question, reported, drop_missing, unknown)
    return question.mechanism.count(found[there])


def as_reports(
    question: Single, reported: object, drop_missing: bool, unknown: str | None
) -> tuple[Reports, NDArray[np.bool_]]:
    """Return them as reports, and which of them are there; the others' reports mean nothing."""
    names = _names_of_reports(question)
    codes, values = coded(reported)
    gone = codes == MISSING
    if gone.any() and not drop_missing:
        raise ValueError(
            f"{how_many(gone, 'reported answers', 'missing')}, first number "
            f"{int(gone.argmax())}: leave them out with drop_missing=True"
        )
    table = names.table(values, None, unknown)
    table[-1] = 0  # those that are missing keep their places until the others are checked
    names.refuse_bad(codes, table)
    return table[codes].astype(question.mechanism.shape.dtype), ~gone


def _names_of_reports(question: Single) -> Labels:
    """Return the names of the reports, where reports have names."""
    mechanism = question.mechanism
    if isinstance(mechanism, KRR):
        return question.known
    if not isinstance(mechanism, Design):
        raise ValueError(
            f"a report of {mechanism} is not a label: count its reports with count(reports)"
        )
    names = mechanism.reports or mechanism.labels or question.labels
    if len(names) != len(mechanism.matrix):
        raise ValueError(f"{question.called} needs names for its reports: Design(reports=...)")
    return Labels(names, question.called)


def refuse_labels(question: Single, reports: Any) -> None:
    """Refuse labels in place of reports, if there are any."""
    mechanism = question.mechanism
    names = {*question.labels, *(mechanism.reports if isinstance(mechanism, Design) else ())}
    try:
        codes, values = coded(reports)
    except (TypeError, ValueError):
        return
    labels = [n for n, value in enumerate(values) if isinstance(value, str) and value in names]
    if labels:
        way = "randomise answers with encode_many(answers) first"
        if isinstance(mechanism, Design | KRR):
            way += "; if they were randomised already, use count_reported(answers)"
        at = int(np.isin(codes, labels).argmax())
        raise BadReportError(at, f"is a label, not a report: {way}") from None
