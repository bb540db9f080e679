"""SubmissionForm: how submissions to one survey are made, written, read and checked."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import chain, islice
from typing import Any

import msgspec

from murmurs.boundary import base64s
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.submission.binary_form import (
    COLUMN,
    ENDS_IN_REPORTS,
    FORMAT,
    HEADER,
    ID,
    MAGIC,
    Kind,
    fingerprint_at,
)
from murmurs.submission.json_form import (
    JSONForm,
    column_in,
    ids_of,
    one_in,
    refuse_repeated_keys,
)
from murmurs.submission.submission import (
    ID_BYTES,
    NO_REPORTS,
    NO_SUBMISSION,
    BadSubmissionError,
    Batch,
    Submission,
    too_many_people,
)
from murmurs.survey.survey import Survey
from murmurs.wire import BadReportError, Shape, forms


class SubmissionForm:
    """How submissions to one survey are made, written, read and checked.

    >>> survey = Survey.from_toml('''
    ... name = "coffee"
    ... [[questions]]
    ... name = "hot"
    ... labels = ["yes", "no"]
    ... epsilon = 1.0
    ... ''')
    >>> form = SubmissionForm(survey)
    >>> sent = form.make({"hot": [0, 1, 1]}, id=bytes(16))
    >>> form.to_json(sent)[75:]
    b'","id":"00000000000000000000000000000000","reports":{"hot":[0,1,1]}}'
    >>> form.from_json(form.to_json(sent)) == form.from_bytes(form.to_bytes(sent)) == sent
    True
    """

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.fingerprint = survey.fingerprint
        self._digest = bytes.fromhex(self.fingerprint)
        self._shapes: dict[str, Shape[Any]] = {
            asked.name: asked.mechanism.shape for asked in survey.reported
        }
        self._sizes = {name: shape.size for name, shape in self._shapes.items()}
        self._names = tuple(self._shapes)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._segments = survey.segments

    def make(
        self,
        reports: Mapping[str, object],
        *,
        segment: str | None = None,
        id: bytes | None = None,  # noqa: A002
    ) -> Submission:
        """Return a submission of reports by question; without an id it gets a new random one.

        Reports are in any form that `count` takes: an array, a list, bytes.
        """
        packed = {}
        for name, column in reports.items():
            shape = self._shape(name)
            try:
                parts = [part.tobytes() for part in forms.arrays(column, shape)]
            except BadReportError as error:
                raise BadSubmissionError("report", f"question {shown(name)}: {error}") from None
            packed[name] = b"".join(parts)
        identity = secrets.token_bytes(ID_BYTES) if id is None else id
        if len(identity) != ID_BYTES:
            raise BadSubmissionError("form", f"an id has {ID_BYTES} bytes, not {len(identity)}")
        return next(self._checked(identity, packed, segment).each())

    def to_json(self, submission: Submission) -> bytes:
        """Return a submission as JSON, with each report in its JSON form."""
        columns = {}
        for name, data in submission.reports.items():
            shape = self._shape(name)
            columns[name] = [shape.to_json(r) for r in shape.unstack(shape.from_bytes(data))]
        document: dict[str, Any] = {
            "survey": submission.survey,
            "id": submission.id.hex(),
            "reports": columns,
        }
        if submission.segment is not None:
            document["segment"] = submission.segment
        return msgspec.json.encode(document)

    def from_json(self, data: bytes) -> Submission:
        """Return the submission that JSON describes; refuse any other, with the reason."""
        found = one_in(data)
        self._check_fingerprint(found.survey)
        ((_, taken),) = self.taken([found], [[0]])
        refuse_repeated_keys(data, [(found, 1)])
        return next(taken.each())

    def to_bytes(self, submission: Submission) -> bytes:
        """Return a submission as bytes; their number depends only on questions and people."""
        segment = 0
        if submission.segment is not None:
            segment = self._segments.index(submission.segment) + 1
        head = HEADER.pack(
            MAGIC,
            FORMAT,
            self._digest,
            submission.id,
            segment,
            len(submission.reports),
            submission.people,
        )
        numbers = sorted(self._numbers[name] for name in submission.reports)
        columns = (submission.reports[self._names[number]] for number in numbers)
        return b"".join((head, *map(COLUMN.pack, numbers), *columns))

    def from_bytes(self, data: bytes) -> Submission:
        """Return the submission that the bytes represent; refuse any other, with the reason."""
        self._check_fingerprint(fingerprint_at(data, 0))
        kind = self.kind_at(data, 0)
        kind.places.append(0)
        if kind.length != len(data):
            raise BadSubmissionError("form", "something follows the last report")
        found = self.batch(data, kind)
        self.check_reports([found])
        return next(found.each())

    def check_reports(self, submissions: Sequence[Batch | Submission]) -> None:
        """Refuse packed reports that are none of their question's; all are checked at once."""
        columns: dict[str, list[bytes]] = {}
        for submission in submissions:
            for name, data in submission.reports.items():
                columns.setdefault(name, []).append(data)
        for name, parts in columns.items():
            try:
                self._shapes[name].from_bytes(parts[0] if len(parts) == 1 else b"".join(parts))
            except ValueError as error:
                raise BadSubmissionError("report", f"question {shown(name)}: {error}") from None

    def _check_fingerprint(self, fingerprint: str) -> None:
        if fingerprint != self.fingerprint:
            raise BadSubmissionError(
                "survey",
                f"this submission is for another survey, or another version of "
                f"{shown(self.survey.name)}: its fingerprint is {shown(fingerprint[:12])}, not "
                f"{self.survey.short_fingerprint}",
            )

    def kind_at(self, data: bytes, place: int) -> Kind:
        """Return what kind of submission is at a place of some bytes; refuse what is none.

        Its reports are not checked yet: that is for `check_reports`.
        """
        *_, segment, count, people = HEADER.unpack_from(data, place)
        if segment > len(self._segments):
            raise BadSubmissionError("segment", f"there is no segment with the number {segment}")
        head = end = HEADER.size + count * COLUMN.size
        if place + end > len(data):
            raise BadSubmissionError("form", f"{NO_SUBMISSION}: it ends in its header")
        spans: dict[str, slice] = {}
        before = -1
        for at in range(place + HEADER.size, place + head, COLUMN.size):
            (number,) = COLUMN.unpack_from(data, at)
            if not before < number < len(self._names):
                raise BadSubmissionError(
                    "question",
                    f"question number {number} is not one of {len(self._names)}, in order",
                )
            name, before = self._names[number], number
            spans[name] = slice(end, end + people * self._sizes[name])
            end = spans[name].stop
            if place + end > len(data):
                raise BadSubmissionError("form", ENDS_IN_REPORTS)
        named = self.check_segment(self._segments[segment - 1] if segment else None)
        if end == head:
            raise BadSubmissionError("form", NO_REPORTS)
        start = data[place : place + ID.start]
        return Kind(start, data[place + ID.stop : place + head], end, spans, named)

    def batch(self, data: bytes, kind: Kind) -> Batch:
        """Return the submissions of a kind; their reports are not checked yet."""
        cut = kind.cutter(data)
        columns = {name: cut(span) for name, span in kind.spans.items()}
        return self._checked(cut(ID), columns, kind.segment)

    def taken(
        self, found: list[JSONForm], kinds: Sequence[list[int]], most: int | None = None
    ) -> list[tuple[list[int], Batch]]:
        """Return submissions that were read from JSON in batches, each with their numbers.

        Those of a kind have the same names and segment. Names are looked at before any report is,
        and the number of people, at most ``most``, before any report is read: whoever sends too
        much is refused after little work. The reports to a question are packed at once.
        """
        texts: dict[str, list[msgspec.Raw]] = {}
        for numbers in kinds:
            for name in found[numbers[0]].reports:
                self._shape(name)
                texts.setdefault(name, []).extend([found[i].reports[name] for i in numbers])
        columns: dict[str, list[Any]] = {
            name: self._columns(name, some, most) for name, some in texts.items()
        }
        cut = [columns]
        if len(kinds) > 1:
            rest = {name: iter(column) for name, column in columns.items()}
            cut = [
                {name: list(islice(rest[name], len(numbers))) for name in found[numbers[0]].reports}
                for numbers in kinds
            ]
        even = [same for kind in zip(kinds, cut, strict=True) for same in _even(*kind)]
        if len(even) > len(kinds):
            return self.taken(found, even, most)
        packed = {name: BytesIO(self._packed(name, column)) for name, column in columns.items()}
        taken = []
        for numbers, own in zip(kinds, cut, strict=True):
            reports = {
                name: b"".join(part)
                if isinstance(part[0], bytes)
                else packed[name].read(len(part) * len(part[0]) * self._sizes[name])
                for name, part in own.items()
            }
            segment = found[numbers[0]].segment
            named = None if segment is msgspec.UNSET else segment
            ids = ids_of([found[i].id for i in numbers])
            taken.append((numbers, self._checked(ids, reports, named)))
        return taken

    def _columns(self, name: str, texts: list[msgspec.Raw], most: int | None) -> list[Any]:
        """Return the reports to a question, by submission, as JSON values or packed."""
        columns = column_in(texts)
        lists = _lists(columns)
        if most is not None and max(map(len, lists), default=0) > most:
            raise too_many_people(most)
        if len(lists) == len(columns):
            return lists
        return [self._decoded(name, c) if isinstance(c, str) else c for c in columns]

    def _packed(self, name: str, columns: list[Any]) -> bytes:
        """Return those reports to a question that are JSON values as bytes."""
        values = list(chain.from_iterable(_lists(columns)))
        try:
            return self._shapes[name].many_from_json(values).tobytes()
        except BadReportError as error:
            raise BadSubmissionError("report", f"question {shown(name)}: {error}") from None

    def _decoded(self, name: str, text: str) -> bytes:
        """Return packed reports that are given as base64 text of their bytes."""
        try:
            data = base64s.from_text(text)
            self._shapes[name].from_bytes(data)
        except ValueError as error:
            raise BadSubmissionError("report", f"question {shown(name)}: {error}") from None
        return data

    def _shape(self, name: str) -> Shape[Any]:
        try:
            return self._shapes[name]
        except KeyError:
            raise BadSubmissionError(
                "question",
                f"survey {shown(self.survey.name)} takes no reports to {shown(name)}; it takes "
                f"reports to {listed(self._names)}",
            ) from None

    def _checked(self, ids: bytes, reports: dict[str, bytes], segment: str | None) -> Batch:
        """Return the batch of submissions with these ids; all columns are of the same people."""
        self.check_segment(segment)
        count = len(ids) // ID_BYTES
        people = -1
        for name, data in reports.items():
            number = len(data) // (count * self._sizes[name])
            if number != people >= 0:
                raise self._not_each(reports, count)
            people = number
        if people <= 0:
            raise BadSubmissionError("form", NO_REPORTS)
        if len(reports) > 1:
            reports = {name: reports[name] for name in self._names if name in reports}
        return Batch(self.fingerprint, ids, people, reports, segment)

    def _not_each(self, reports: dict[str, bytes], count: int) -> BadSubmissionError:
        """Return the refusal of a submission with more reports to one question than to another."""
        numbers = ", ".join(
            f"{len(data) // (count * self._sizes[name])} to {shown(name)}"
            for name, data in reports.items()
        )
        return BadSubmissionError(
            "form", f"each person reports to each question, but there are {numbers}"
        )

    def check_segment(self, segment: str | None) -> str | None:
        """Return the segment if it is one of the survey's, or None if it has none."""
        if segment is None and self._segments:
            raise BadSubmissionError(
                "segment", f"this survey needs a segment: {listed(self._segments)}"
            )
        if segment is not None and segment not in self._segments:
            known = f": it is one of {listed(self._segments)}" if self._segments else ""
            raise BadSubmissionError(
                "segment", f"this survey has no segment {shown(segment)}{known}"
            )
        return segment


def _lists(columns: list[Any]) -> list[Any]:
    """Return the columns that are lists of JSON values; nearly always all of them are."""
    if set(map(type, columns)) == {list}:
        return columns
    return [column for column in columns if isinstance(column, list)]


def _even(numbers: list[int], columns: dict[str, list[Any]]) -> list[list[int]]:
    """Return the numbers of submissions of a kind; apart, where the lengths of columns differ."""
    if len(numbers) == 1 or all(
        len(set(map(type, column))) == len(set(map(len, column))) == 1
        for column in columns.values()
    ):
        return [numbers]
    apart: dict[tuple[object, ...], list[int]] = {}
    for number, *own in zip(numbers, *columns.values(), strict=True):
        apart.setdefault((*map(type, own), *map(len, own)), []).append(number)
    return list(apart.values())
