"""Job: which columns are counted, by which segments, and what is done with bad rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed, meant
from murmurs.engines.sources import AnyPart, Found, SourceError
from murmurs.files.labels import has_sets
from murmurs.files.schema import FINGERPRINT, QUESTION, REPORT
from murmurs.files.tables import numbers_are_labels
from murmurs.mechanisms import KRR, Design
from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey

_TEXTS = frozenset({"string", "large_string", "string_view"})
_BYTES = frozenset({"binary", "large_binary", "binary_view", "fixed_size_binary"})
_NUMBERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_NO_REPORTS = ("struct", "map", "timestamp", "date", "time", "duration", "decimal", "extension")

Bad = Literal["stop", "skip"]
"""What is done with a bad row: stop with an error, or count it as refused and go on."""


@dataclass(frozen=True)
class Job:
    """What is counted of each row.

    ``columns`` are pairs of question and column; None if folders are named after questions. ``by``
    are the columns of segments, and ``identity`` that of ids, of which each counts once.
    """

    survey: Survey
    columns: tuple[tuple[str, str], ...] | None
    by: tuple[str, ...] = ()
    identity: str | None = None
    reported: bool = False
    bad: Bad = "stop"

    def asked(self, part: AnyPart) -> list[tuple[Asked, str]]:
        """Return what the columns of a part have reports to."""
        columns = self.columns
        if columns is None:
            columns = ((str(dict(part.partition)[QUESTION]), REPORT),)
        return [(self.survey.asked(name), column) for name, column in columns]

    def reads(self, part: AnyPart) -> list[str]:
        """Return the columns that are read, each once; those of folders are known."""
        folders = dict(part.partition)
        wanted = [column for _, column in self.asked(part)]
        wanted += [name for name in self.by if name not in folders]
        wanted += [self.identity] if self.identity is not None else []
        return list(dict.fromkeys(wanted))


def plan(
    survey: Survey,
    found: Found,
    columns: Mapping[str, str | None] | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    *,
    id: str | None = None,  # noqa: A002
    reported: bool = False,
    bad: Bad = "stop",
) -> Job:
    """Return the job of counting what was found; what does not fit is refused before any work.

    ``columns`` maps questions to columns, None for one of the same name; a list names questions
    with columns of their names. Without it, everything that the survey asks is counted.
    """
    if bad not in get_args(Bad):
        raise ValueError(f"bad must be 'stop' or 'skip', not {shown(bad)}")
    segments = (by,) if isinstance(by, str) else tuple(by)
    for place, name in enumerate(segments):
        if name in segments[:place]:
            raise ValueError(f"by has the column {shown(name)} twice: name each column once")
    if columns is None and all(QUESTION in dict(part.partition) for part in found.parts):
        job = Job(survey, None, segments, id, reported, bad)
    else:
        job = Job(survey, _columns(survey, columns), segments, id, reported, bad)
    taken = {column for part in found.parts for _, column in job.asked(part)}
    for name in (*segments, *([id] if id is not None else [])):
        if name in taken:
            raise ValueError(f"the column {shown(name)} has reports: name another one")
    done: set[tuple[str, tuple[Any, ...]]] = set()
    for part in found.parts:
        if (part.name, part.partition) not in done:
            done.add((part.name, part.partition))
            _check(job, part, found.schemas[part.name])
    if id is not None:
        check_ids(id, found)
    return job


def _columns(
    survey: Survey, given: Mapping[str, str | None] | Sequence[str] | None
) -> tuple[tuple[str, str], ...]:
    if given is None:
        given = [asked.name for asked in survey.reported]
    if isinstance(given, str):
        raise TypeError("columns are a mapping or a list of questions, not one text")
    named = given.items() if isinstance(given, Mapping) else ((name, None) for name in given)
    pairs = tuple((survey.asked(name).name, column or name) for name, column in named)
    if not pairs:
        raise ValueError("there is nothing to count: name at least one question")
    return pairs


def _check(job: Job, part: AnyPart, schema: Any) -> None:
    """Refuse a file of another survey, without the columns, or with columns of other types."""
    about = schema.metadata or {}
    fingerprint = about.get(FINGERPRINT, b"").decode("ascii", "replace")
    survey = job.survey
    if fingerprint and fingerprint != survey.fingerprint:
        raise SourceError(
            f"{part.name} has reports for the survey with fingerprint {shown(fingerprint[:12])}, "
            f"but {shown(survey.name)} version {survey.version} has fingerprint "
            f"{shown(survey.short_fingerprint)}: use the survey these were encoded with"
        )
    folders = dict(part.partition)
    for column in job.reads(part):
        names = [*schema.names, *(folders if column in job.by else ())]
        if column not in names:
            raise SourceError(
                f"{part.name} has no column called {shown(column)}; it has {listed(tuple(names))}"
                f"{meant(column, names)}"
            )
        if schema.names.count(column) > 1:
            raise SourceError(f"{part.name} has several columns called {shown(column)}")
    _check_types(job, part, schema)
    for asked, column in job.asked(part):
        if job.reported:
            if asked.is_joint or has_sets(asked):
                raise ValueError(
                    f"reported labels of {asked.name!r} are several in a report: count them with "
                    "murmurs count --reported"
                )
        elif not fingerprint:
            _check_codes(part, asked, schema.field(column))


def _check_types(job: Job, part: AnyPart, schema: Any) -> None:
    """Refuse columns that cannot have segments, ids or reports."""
    rules = [
        (name, "segments", _TEXTS | _NUMBERS | {"bool", "date32", "date64"})
        for name in job.by
        if name not in dict(part.partition)
    ]
    if job.identity is not None:
        rules.append((job.identity, "ids", _TEXTS | _NUMBERS | _BYTES | {"extension<arrow.uuid>"}))
    for name, what, allowed in rules:
        kind = _kind(schema.field(name).type)
        if kind not in allowed | {"null"}:
            texts = {"segments": "text, whole numbers or dates", "ids": "bytes, text or numbers"}
            raise SourceError(
                f"{part.name}: the {what} in {shown(name)} must be {texts[what]}, not of type "
                f"{kind}"
            )
    for _, name in job.asked(part):
        kind = _kind(schema.field(name).type)
        if kind.startswith(_NO_REPORTS):
            raise SourceError(
                f"{part.name}: the column {shown(name)} is of type {kind}, and reports are whole "
                "numbers, bytes or base64 text"
            )


def check_ids(name: str, found: Found) -> None:
    """Refuse ids that are numbers in one file and texts in another: they cannot be compared."""
    first: tuple[str, bool] | None = None
    for file, schema in found.schemas.items():
        kind = _kind(schema.field(name).type) if name in schema.names else "null"
        if kind == "null":
            continue
        is_number = kind in _NUMBERS
        first = first or (file, is_number)
        if is_number != first[1]:
            raise SourceError(
                f"the ids in {shown(name)} are whole numbers in one of {first[0]} and {file}, but "
                "not in the other: write them in one way"
            )


def _kind(of: Any) -> str:
    """Return the name of a type, of which the values of a dictionary are."""
    found = str(getattr(of, "value_type", of) if str(of).startswith("dictionary") else of)
    return found if found.startswith("extension") else found.partition("<")[0].partition("[")[0]


def _check_codes(part: AnyPart, asked: Asked, column: Any) -> None:
    """Refuse numbers that may be labels: a report is the number of a label, from 0."""
    from pyarrow import types

    numbers = types.is_integer(column.type)
    if numbers and isinstance(asked.mechanism, KRR | Design) and numbers_are_labels(asked):
        raise SourceError(
            f"{part.name} has numbers in {shown(column.name)}, and labels of {asked.name!r} are "
            "numbers too: if the answers were randomised already, on paper or by telephone, add "
            "`reported=True`; give reports as bytes or base64 text"
        )
