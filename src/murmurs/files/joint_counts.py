"""Counts of questions that the same people answered: from counts, aligned files, or columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Unpack, cast

import numpy as np

from murmurs.boundary.documents import document
from murmurs.boundary.reading import contents, named
from murmurs.boundary.texts import listed
from murmurs.boundary.writing import STANDARD
from murmurs.counts import Counts
from murmurs.files.answers import by_question
from murmurs.files.columns import Chunk, format_of
from murmurs.files.counts import read_counts
from murmurs.files.exported import is_exported, read_exported
from murmurs.files.headers import AnyPath, as_paths, is_header_of_reports
from murmurs.files.inputs import names_of_files, with_numbers
from murmurs.files.pooled import pooled
from murmurs.files.reported import Sums, count_files, report_arrays
from murmurs.files.reports import read_reports
from murmurs.files.segments import Segment, checked_texts
from murmurs.files.selection import Columns, Reading, columns_of
from murmurs.files.several import read_together
from murmurs.files.surveys import read_survey
from murmurs.questions.asked import Asked
from murmurs.questions.joint import Joint
from murmurs.questions.single import Single
from murmurs.survey.survey import Survey
from murmurs.wire import BadReportError, Reports


class JointCounts(NamedTuple):
    """A joint and its counts by segment; the survey if they were counted here.

    Without segments there is one, the empty tuple. ``each`` are the joints of the segments, which
    may have been asked with other mechanisms.
    """

    asked: Joint
    counts: dict[Segment, Counts]
    survey: Survey | None = None
    each: tuple[Joint, ...] = ()

    def joint_of(self, number: int) -> Joint:
        """Return the joint that a segment was asked."""
        return self.each[number] if self.each else self.asked

    @property
    def names(self) -> list[str]:
        """The names of the segments as they are shown: their parts with - between them."""
        segments = list(self.counts)
        names = ["-".join(segment) for segment in segments]
        for number, name in enumerate(names):
            if name in names[:number]:
                both = [segments[names.index(name)], segments[number]]
                raise ValueError(
                    f"the segments {both[0]} and {both[1]} would have the same name: rename one of "
                    "them"
                )
        return names


def read_joint(
    paths: AnyPath | Sequence[AnyPath],
    *,
    questions: Sequence[str] = (),
    column: str | None = None,
    by: str | Sequence[str] = (),
    note: Callable[[str], object] | None = None,
    **reading: Unpack[Reading],
) -> JointCounts:
    r"""Return what files hold: counts of questions asked together, or a survey and their reports.

    The reports to single questions are a file for each, of which row 7 is the same submission, or
    columns with the names of the questions. With ``by``, a table is counted for each value of
    another column. ``note`` is called with what may surprise.

    >>> from tempfile import TemporaryDirectory
    >>> from murmurs import KRR, Question
    >>> pair = [Question(name, ["no", "yes"], KRR(2, 1.0)) for name in ("tea", "milk")]
    >>> with TemporaryDirectory() as folder:
    ...     survey, table = Path(folder, "survey.json"), Path(folder, "reports.csv")
    ...     done = survey.write_text(Survey("s", tuple(pair)).to_json())
    ...     done = table.write_text("tea,milk\n1,0\n0,0\n1,1\n")
    ...     found = read_joint([survey, table])
    >>> found.asked.names, found.counts[()].n
    (('tea', 'milk'), 3)
    """
    files, names = tuple(as_paths(paths)), tuple(questions)
    columns = columns_of(column, by, reading)
    start, *rest = files
    if not rest or _is_counts(start):
        if columns.asked:
            raise ValueError(
                f"{named(start)} is read as counts, which have no columns: give a survey first, or "
                "several files of counts, one for each segment"
            )
        return _of_counts(files, note)
    survey = read_survey(start)
    tables = [path for path in rest if _is_table(path, columns)]
    reports = [path for path in rest if path not in tables]
    if not reports:
        asked = _asked_of(survey, names, columns)
        return JointCounts(asked, _in_order(_of_columns(tables, asked, columns)), survey)
    asked, parts = _of_reports(reports, survey)
    if not columns.by:
        if tables:
            raise ValueError(
                f"{named(tables[0])} has columns, and {named(reports[0])} reports: to use one of "
                "the columns for segments, add `by=` with its name"
            )
        return JointCounts(asked, {(): asked.mechanism.count_checked(parts)}, survey)
    if columns.column is not None:
        raise ValueError("`column=` is for reports in columns: leave it out with files of reports")
    if len(tables) != 1:
        raise ValueError(
            f'`by="{columns.by[0]}"` needs one file with that column, such as CSV or Parquet, '
            f"whose rows are those of {named(reports[0])}; there are {len(tables)} such files"
        )
    found = _of_rows(parts, asked, tables[0], columns, reports[0])
    return JointCounts(asked, _in_order(found), survey)


def _in_order(counts: dict[Segment, Counts]) -> dict[Segment, Counts]:
    """Return counts in the order of the segments' names, with week 9 before week 10."""
    order = sorted(counts, key=lambda segment: with_numbers("-".join(segment)))
    return {segment: counts[segment] for segment in order}


def _is_counts(path: Path) -> bool:
    """Return whether a file is one of counts; standard input is not looked at."""
    if path == STANDARD or path.suffix == ".toml":
        return False
    try:
        found = document(contents(path))
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("murmurs") == "counts"


def _is_table(path: Path, columns: Columns) -> bool:
    """Return whether a file has columns: by its name, or because ``format`` says so."""
    if format_of(path) != "text":
        return True
    if columns.format in (None, "text"):
        return False
    if path == STANDARD:
        return True
    with path.open("rb") as file:
        return not is_header_of_reports(file.read(2**16))


def _of_counts(files: tuple[Path, ...], note: Callable[[str], object] | None) -> JointCounts:
    if len(files) == 1:
        start = files[0]
        name = read_exported(start, joint=True).asked.name if is_exported(start) else None
        asked, counts = read_counts(start, asked=name)
        return JointCounts(_joint(start, asked), {(): counts})
    first, read = read_together(files, note=note)
    joint = _joint(files[0], first)
    names = names_of_files(files)
    if len(set(names)) < len(names):
        raise ValueError("a file of counts is given twice: give each segment once")
    found: dict[Segment, Counts] = {
        (name,): counts for name, (_, counts) in zip(names, read, strict=True)
    }
    return JointCounts(joint, found, each=tuple(cast(Joint, asked) for asked, _ in read))


def _joint(path: Path, asked: Asked) -> Joint:
    if asked.is_joint:
        return cast(Joint, asked)
    raise ValueError(
        f"{named(path)} has counts of one question, {asked.name!r}: murmurs "
        "estimate shows its shares"
    )


def _of_reports(files: list[Path], survey: Survey) -> tuple[Joint, Iterator[Reports]]:
    """Return the joint that files of reports answer, and its reports, joined row by row."""
    read = [read_reports(path, survey) for path in files]
    joint, own = read[0]
    if joint.is_joint and len(files) == 1:
        return cast(Joint, joint), own
    if len(files) == 1:
        raise ValueError(
            f"{named(files[0])} alone is not enough: give a file of reports for each question, "
            "or a file of reports to questions asked together"
        )
    questions: list[Single] = []
    for path, (question, _) in zip(files, read, strict=True):
        if question.is_joint:
            raise ValueError(
                f"{named(path)} answers {listed(question.names)} together: give it alone, or run "
                "murmurs count on several such files, and murmurs joint on the counts"
            )
        questions += question.questions
    both = Joint(*questions)
    return both, both.aligned([parts for _, parts in read])


def _asked_of(survey: Survey, names: tuple[str, ...], columns: Columns) -> Joint:
    """Return the joint whose reports are in columns."""
    if names:
        asked = survey.joint(*names)
    elif len(survey.joints) == 1:
        asked = survey.joints[0]
    elif survey.joints:
        raise ValueError(
            f"survey {survey.name!r} has several joints: name the questions of one with `question=`"
        )
    else:
        asked = Joint(*survey.questions)
    if columns.column is None and asked.once:
        raise ValueError(
            f"{asked.name!r} is reported once, as a combination: name the column with its reports, "
            "`column=`"
        )
    return asked


def _of_columns(files: list[Path], asked: Joint, columns: Columns) -> dict[Segment, Counts]:
    """Return the counts of reports in columns, by segment.

    A column has the reports to one question, with its name; ``column`` those to all together.
    """
    if columns.column is not None:
        return count_files(files, asked, columns, None)
    found: dict[Segment, list[Counts]] = {}
    for path in files:
        sums = Sums(asked)
        for chunk in columns.of(asked).chunks(path):
            for segment, part in chunk.by_segment(path):
                sums.add(checked_texts(path, segment), _count_rows(path, part, asked))
        for segment, counts in sums.counts.items():
            found.setdefault(segment, []).append(counts)
    if not found:
        raise ValueError(f"there are no rows in {', '.join(map(named, files))}")
    return {segment: pooled(parts, None) for segment, parts in found.items()}


def _count_rows(path: Path, chunk: Chunk, asked: Joint) -> Counts:
    """Count rows with a report to each question."""
    columns = by_question(asked, chunk)
    parts = [
        report_arrays(path, chunk._replace(values=columns[question.name]), question)
        for question in asked.questions
    ]
    try:
        return asked.count_aligned(parts)
    except BadReportError as error:
        chunk.refuse(path, error.position, f"this report {error.rule}")


def _of_rows(
    parts: Iterator[Reports], asked: Joint, table: Path, columns: Columns, beside: Path
) -> dict[Segment, Counts]:
    """Return the counts of reports by the segment in the same row of a file with columns."""
    sums = Sums(asked)
    left = asked.mechanism.shape.empty(0)
    done = 0
    for chunk in columns._replace(column=()).chunks(table):
        codes, values = chunk.checked_segments(table)
        texts = [checked_texts(table, value) for value in values]
        while len(codes):
            if not len(left):
                more = next(parts, None)
                if more is None:
                    _refuse_lengths(beside, done, table, "more")
                left = more
                continue
            n = min(len(codes), len(left))
            for code in np.unique(codes[:n]).tolist():
                own = np.asarray(left[:n][codes[:n] == code])
                sums.add(texts[code], asked.mechanism.count_checked([own]))
            codes, left, done = codes[n:], np.asarray(left[n:]), done + n
    if len(left) or next(parts, None) is not None:
        _refuse_lengths(beside, f"more than {done}", table, str(done))
    if not done:
        raise ValueError(f"there are no rows in {named(table)}")
    return sums.counts


def _refuse_lengths(reports: Path, have: Any, table: Path, rows: str) -> NoReturn:
    raise ValueError(
        f"{named(reports)} has {have} reports and {named(table)} {rows} rows: row 7 of each must "
        "be the same submission"
    )
