"""Reports as labels, there and back, for mechanisms whose reports consist of answers.

A report of `KRR` is one answer, and one of a `Design` has a name: each is one label. A report of
`Subset` or of a unary encoding is a set of answers: it is a list of labels, in the order of the
question. All other reports, such as hashes, say nothing in labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown
from murmurs.mechanisms import KRR, Design, Subset
from murmurs.mechanisms.closed.unary import Unary
from murmurs.questions.asked import Asked
from murmurs.wire import BadReportError, Bits, Members, Reports


def has_sets(asked: Asked) -> bool:
    """Whether a report is a set of answers."""
    return isinstance(asked.mechanism, Subset | Unary)


def report_names(asked: Asked) -> tuple[str, ...]:
    """Return the names of the reports of a question, where a report is one answer or has a name."""
    mechanism = asked.mechanism
    return (mechanism.reports if isinstance(mechanism, Design) else ()) or asked.labels


def check_labels(asked: Asked) -> None:
    """Refuse a question whose reports are not made of labels."""
    mechanism = asked.mechanism
    why = f"a report of {mechanism} is not made of labels"
    if asked.is_joint:
        why = f"a report to {shown(asked.name)} is one code for several questions"
    elif isinstance(mechanism, Design) and len(report_names(asked)) != len(mechanism.matrix):
        why = f"the reports of {shown(asked.name)} have no names"
    elif has_sets(asked) or isinstance(mechanism, KRR | Design):
        return
    raise ValueError(f"{why}: write codes for {shown(asked.name)}, without labels")


def labels_of(question: Asked, reports: Reports) -> list[Any]:
    """Return reports as labels: one for each report, or a list where a report is a set.

    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate", "gin", "rum"], Subset(4, 1.0, w=2))
    >>> labels_of(drink, drink.mechanism.shape.stack([(0, 2), (1, 3)]))
    [['tea', 'gin'], ['mate', 'rum']]
    """
    check_labels(question)
    if not has_sets(question):
        names = report_names(question)
        return [names[report] for report in reports.tolist()]
    labels, part = question.labels, max(1, 2**24 // len(question.labels))
    return [
        [labels[j] for j in np.flatnonzero(row)]
        for start in range(0, len(reports), part)
        for row in _flags(question, reports[start : start + part])
    ]


def _flags(question: Asked, reports: Reports) -> NDArray[np.uint8]:
    """Return which answers are in each report."""
    shape, k = question.mechanism.shape, len(question.labels)
    if isinstance(shape, Members) and not shape.as_bits:
        flags = np.zeros((len(reports), k), np.uint8)
        np.put_along_axis(flags, reports.astype(np.int64), 1, axis=1)
        return flags
    return np.unpackbits(reports, axis=1, bitorder="little")[:, :k]


def sets_from_labels(question: Asked, values: Sequence[Any]) -> Reports:
    """Return lists of labels as reports; an error gives the position, and quotes no label.

    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate", "gin", "rum"], Subset(4, 1.0, w=2))
    >>> drink.count(sets_from_labels(drink, [["gin", "tea"], ["mate", "rum"]])).cells
    array([1, 1, 1, 1])
    """
    shape, places = question.mechanism.shape, {label: j for j, label in enumerate(question.labels)}
    flags = np.zeros((len(values), len(places)), np.uint8)
    for position, value in enumerate(values):
        if not isinstance(value, list) or any(not isinstance(label, str) for label in value):
            raise BadReportError(position, "is not a list of labels")
        chosen = [places.get(label, -1) for label in value]
        if -1 in chosen or len(set(chosen)) < len(chosen):
            raise BadReportError(position, "has what is not a label, or a label twice")
        flags[position, chosen] = 1
    rows = np.packbits(flags, axis=1, bitorder="little")
    if isinstance(shape, Bits) or not len(values):
        return rows if len(values) else shape.empty(0)
    assert isinstance(shape, Members)
    wrong = flags.sum(axis=1) != shape.w
    if wrong.any():
        raise BadReportError(int(wrong.argmax()), f"does not have {shape.w} labels")
    return shape.from_packed_bits(rows)
