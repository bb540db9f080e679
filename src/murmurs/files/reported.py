"""Counts of a column of a file: of reports, or of labels that were randomised already."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

from murmurs.boundary.checks import index
from murmurs.boundary.documents import document
from murmurs.boundary.labels import Labels
from murmurs.boundary.reading import is_digits, named
from murmurs.counts import Counts, People
from murmurs.files.answers import Answers, answers_in, by_question, check_asked, refuse_answer
from murmurs.files.columns import Chunk
from murmurs.files.headers import AnyPath, as_paths
from murmurs.files.labels import has_sets, report_names, sets_from_labels
from murmurs.files.pooled import pooled
from murmurs.files.segments import MOST_SEGMENTS, Segment, checked_texts
from murmurs.files.selection import Columns, Reading, columns_of
from murmurs.files.tables import numbers_are_labels
from murmurs.mechanisms import KRR, Design
from murmurs.questions.asked import Asked
from murmurs.questions.single import Single
from murmurs.wire import BadReportError, Category, Reports
from murmurs.wire.forms import COUNT_REPORTED, arrays

_OR_REPORTED = (
    "if the answers were randomised already, on paper or by telephone, add `reported=True`; if "
    "not, run murmurs encode first"
)


def count_column(
    paths: AnyPath | Sequence[AnyPath],
    question: Asked,
    column: str | None = None,
    *,
    reported: bool = False,
    drop_missing: bool = False,
    unknown: Any = None,
    people: People | None = None,
    **reading: Unpack[Reading],
) -> Counts:
    r"""Return the counts of the reports in a column of one or more files.

    A cell has a report as a number, as base64 text, as bytes (Parquet) or in its JSON form. With
    ``reported``, it has a label that was randomised already, on paper or by telephone;
    ``drop_missing`` and ``unknown`` are then as in ``question.count_reported``. Without ``column``,
    each line of a text is a report.

    >>> from tempfile import TemporaryDirectory
    >>> from murmurs import KRR, Question
    >>> drink = Question("drink", ["tea", "mate"], KRR(2, 1.0))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "collected.csv")
    ...     done = path.write_text("id,report\n7,1\n8,0\n9,1\n")
    ...     print(count_column(path, drink, "report").cells)
    [1 2]
    """
    given = options_reported(reported, drop_missing, unknown)
    columns = columns_of(column, (), reading)
    return count_files(as_paths(paths), question, columns, given, people)[()]


def count_segments(
    paths: AnyPath | Sequence[AnyPath],
    question: Asked,
    column: str,
    by: str | Sequence[str],
    *,
    reported: bool = False,
    drop_missing: bool = False,
    unknown: Any = None,
    people: People | None = None,
    **reading: Unpack[Reading],
) -> dict[Segment, Counts]:
    r"""Return the counts of each segment: of each value of another column, or of several.

    A segment is a tuple of texts, one for each column of ``by``. The rest is as in `count_column`.

    >>> from tempfile import TemporaryDirectory
    >>> from murmurs import KRR, Question
    >>> drink = Question("drink", ["tea", "mate"], KRR(2, 1.0))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "paper.csv")
    ...     done = path.write_text("said,region\ntea,north\nmate,south\ntea,north\n")
    ...     found = count_segments(path, drink, "said", "region", reported=True)
    >>> {segment: counts.cells.tolist() for segment, counts in found.items()}
    {('north',): [2, 0], ('south',): [0, 1]}
    """
    given = options_reported(reported, drop_missing, unknown)
    columns = columns_of(column, by, reading)
    return count_files(as_paths(paths), question, columns, given, people)


def options_reported(reported: bool, drop_missing: bool, unknown: Any) -> dict[str, Any] | None:
    """Return the options for labels that were randomised already, None for reports."""
    if reported:
        return {"drop_missing": drop_missing, "unknown": unknown}
    if drop_missing or unknown:
        option = "`drop_missing=True`" if drop_missing else "`unknown=`"
        raise ValueError(
            f"{option} is for labels that were randomised already: add `reported=True`, or leave "
            "it out"
        )
    return None


def count_files(
    files: Sequence[Path],
    question: Asked,
    columns: Columns,
    reported: dict[str, Any] | None,
    people: People | None = None,
) -> dict[Segment, Counts]:
    """Return the counts of columns of files by segment, or under () if there are no segments.

    ``reported`` are the options for labels that were randomised already, None for reports.
    """
    check_asked(question)
    found: dict[Segment, list[Counts]] = {}
    for path in files:
        for segment, counts in _counted(path, question, columns, reported).items():
            found.setdefault(segment, []).append(counts)
    if not found:
        raise ValueError(f"there are no rows in {', '.join(map(named, files))}")
    return {segment: pooled(parts, people) for segment, parts in found.items()}


def _counted(
    path: Path, question: Asked, columns: Columns, reported: dict[str, Any] | None
) -> dict[Segment, Counts]:
    """Return the counts of a column of one file by segment."""
    if reported is not None:
        columns = columns.of(question)
    if reported is not None and not has_sets(question):
        nothing: Any = question.pick({name: [] for name in question.names})
        question.count_reported(nothing, **reported)  # refuses what does not fit the question
    is_text = columns.kind(path) == "text"
    labels = frozenset(question.labels + report_names(question))

    def is_value(text: str) -> bool:
        return text in labels or (reported is None and is_digits(text))

    sums = Sums(question)
    if not columns.by:
        sums.add((), question.mechanism.count_checked([]))
    for chunk in columns.chunks(path, is_value=is_value):
        for segment, part in chunk.by_segment(path):
            if reported is not None:
                counts = _count_labels(path, part, question, reported, is_text=is_text)
            else:
                counts = _count_reports(path, part, question)
            sums.add(checked_texts(path, segment), counts)
    return sums.counts


class Sums:
    """Counts by segment, added up over the parts of a file."""

    def __init__(self, asked: Asked) -> None:
        self._mechanism = asked.mechanism
        self._n: dict[Segment, int] = {}
        self._cells: dict[Segment, Any] = {}

    def add(self, segment: Segment, counts: Counts) -> None:
        """Add the counts of some rows, whose people are in no other rows."""
        self._n[segment] = self._n.get(segment, 0) + counts.n
        self._cells[segment] = self._cells.get(segment, 0) + counts.cells
        if len(self._n) > MOST_SEGMENTS:
            raise ValueError(
                f"there are more than {MOST_SEGMENTS} segments: is this the column you meant?"
            )

    @property
    def counts(self) -> dict[Segment, Counts]:
        """The counts of each segment."""
        return {own: Counts(self._mechanism, n, self._cells[own]) for own, n in self._n.items()}


def _count_labels(
    path: Path, chunk: Chunk, asked: Asked, options: dict[str, Any], *, is_text: bool
) -> Counts:
    if not asked.is_joint and has_sets(asked):
        return _count_sets(path, chunk, asked.questions[0], options)
    try:
        return asked.count_reported(asked.pick(by_question(asked, chunk)), **options)
    except (TypeError, ValueError, OverflowError) as error:
        for answers, own in answers_in(path, chunk, asked, options, is_text=is_text):
            _refuse_label(answers, own)
        raise ValueError(f"{named(path)}: {error}") from None


def _count_sets(path: Path, chunk: Chunk, asked: Single, options: dict[str, Any]) -> Counts:
    """Count reports that are sets of answers, each a list of labels or, in a text, JSON."""
    if options["unknown"] is not None:
        raise ValueError(
            f"a report to {asked.name!r} is a list of labels: leave `unknown=` out, as no "
            "label stands for another there"
        )
    values, places = chunk.listed(), list(chunk.places)
    if options["drop_missing"]:
        there = [position for position, value in enumerate(values) if value is not None]
        values, places = [values[i] for i in there], [places[i] for i in there]
    try:
        found = sets_from_labels(asked, [_parsed(value) for value in values])
        return asked.mechanism.count(found)
    except BadReportError as error:
        what = f"this report {error.rule} of {asked.name!r}: a report is a set of answers, such as "
        what += f"{json.dumps(asked.labels[:2], ensure_ascii=False)}; encode answers first"
        chunk._replace(places=places).refuse(path, error.position, what)


def _parsed(value: Any) -> Any:
    """Return the list that a text of JSON has."""
    try:
        return document(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _refuse_label(answers: Answers, options: dict[str, Any]) -> None:
    """Refuse the first value that is not the label of a report, if there is one."""
    question = answers.question

    def wrong(value: Any) -> bool:
        try:
            question.count_reported([value], **options)
        except (TypeError, ValueError, OverflowError):
            return True
        return False

    names = report_names(question)
    known = question.known if names == question.labels else Labels(names, question.called)
    refuse_answer(answers, rule=known.rule, options=options, wrong=wrong)


def _count_reports(path: Path, chunk: Chunk, question: Asked) -> Counts:
    return question.mechanism.count_checked(report_arrays(path, chunk, question))


def report_arrays(path: Path, chunk: Chunk, question: Asked) -> list[Reports]:
    """Return the reports of a chunk as checked arrays; errors give the line or row."""
    values = chunk.values
    if isinstance(values, list) or _holds_text(values):
        values = list(_reports(path, chunk, question))
    numbers = "int" in str(getattr(values, "type", ""))
    if numbers or (isinstance(values, list) and any(isinstance(value, int) for value in values)):
        _refuse_numeric_labels(path, values, question)
    try:
        return list(arrays(values, question.mechanism.shape))
    except BadReportError as error:
        rule = error.rule.replace(COUNT_REPORTED, "`reported=True`")
        shape, value = question.mechanism.shape, values[error.position]
        if (
            isinstance(shape, Category)
            and index(getattr(value, "as_py", lambda: value)()) is not None
        ):
            # The number is not quoted: it may be an answer, such as an age.
            rule = f"is not a number from 0 to {shape.count - 1}: {_OR_REPORTED}"
        chunk.refuse(path, error.position, f"this report {rule}")
    except TypeError as error:
        raise ValueError(f"{named(path)}: {error}") from None


def _holds_text(values: Any) -> bool:
    return "string" in str(values.type)  # also of a dictionary


def _reports(path: Path, chunk: Chunk, question: Asked) -> Iterator[Any]:
    """Return the reports that cells of text stand for: numbers, JSON, or base64 text."""
    labels = frozenset(question.labels + report_names(question))
    numbers = isinstance(question.mechanism.shape, Category)
    for position, value in enumerate(chunk.listed()):
        if isinstance(value, dict):
            chunk.refuse(path, position, "this is an object: say which field with `column=`")
        elif not isinstance(value, str):
            yield value
        elif numbers and is_digits(value) and len(value) < 20:
            yield int(value)
        elif value.startswith("["):
            try:
                yield document(value)
            except ValueError:
                chunk.refuse(path, position, "this report is not JSON")
        elif value in labels:
            chunk.refuse(path, position, f"this is a label, not a report: {_OR_REPORTED}")
        else:
            yield value


def _refuse_numeric_labels(path: Path, values: Any, question: Asked) -> None:
    """Refuse numbers that may be labels: a report is the number of a label, from 0."""
    mechanism = question.mechanism
    if not isinstance(mechanism, KRR | Design) or len(values) == 0:
        return
    if numbers_are_labels(question):
        raise ValueError(
            f"{named(path)} has numbers, and labels of {question.name!r} are numbers too: "
            f"{_OR_REPORTED}; give reports as base64 text"
        )
