"""SubmissionForm: how submissions to one survey are made, written, read and checked."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from murmurs.boundary import base64s
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.submission.binary_form import COLUMN, FORMAT, HEADER, ID, MAGIC, alike, fingerprint_at
from murmurs.submission.json_form import (
    JSONForm,
    column_in,
    ids_of,
    one_in,
    refuse_repeated_keys,
)
from murmurs.submission.submission import (
    ID_BYTES,
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
        found, end = self.next_in(data, 0, 1)
        if end != len(data):
            raise BadSubmissionError("form", "something follows the last report")
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

    def next_in(self, data: bytes, place: int, most: int | None = None) -> tuple[Batch, int]:
        """Return the submission at a place and those alike that follow, and where they end.

        There are at most ``most``. Their reports are not checked yet: that is for `check_reports`.
        """
        _, _, _, identity, segment, count, people = HEADER.unpack_from(data, place)
        if segment > len(self._segments):
            raise BadSubmissionError("segment", f"there is no segment with the number {segment}")
        at = place + HEADER.size
        start = end = at + count * COLUMN.size
        if end > len(data):
            raise BadSubmissionError("form", f"{NO_SUBMISSION}: it ends in its header")
        spans: dict[str, slice] = {}
        before = -1
        for i in range(count):
            (number,) = COLUMN.unpack_from(data, at + i * COLUMN.size)
            if not before < number < len(self._names):
                raise BadSubmissionError(
                    "question",
                    f"question number {number} is not one of {len(self._names)}, in order",
                )
            name, before = self._names[number], number
            spans[name] = slice(end - place, end - place + people * self._sizes[name])
            end = place + spans[name].stop
            if end > len(data):
                raise BadSubmissionError("form", f"{NO_SUBMISSION}: it ends in its reports")
        named = self._segments[segment - 1] if segment else None
        several = alike(data, place, start - place, end - place, most)
        if several == 1:
            columns = {n: data[place + s.start : place + s.stop] for n, s in spans.items()}
            return self._checked(identity, columns, named), end
        end = place + several * (end - place)
        rows = np.frombuffer(data, np.uint8, end - place, place).reshape(several, -1)
        columns = {name: rows[:, span].tobytes() for name, span in spans.items()}
        return self._checked(rows[:, ID].tobytes(), columns, named), end

    def taken(
        self, found: list[JSONForm], kinds: Sequence[list[int]], most: int | None = None
    ) -> list[tuple[list[int], Batch]]:
        """Return submissions that were read from JSON in batches, each with their numbers.

        Those of a kind have the same names and segment. Names are looked at before any report is,
        and the number of people, at most ``most``, before any report of a kind is read: whoever
        sends too much is refused after little work.
        """
        for numbers in kinds:
            for name in found[numbers[0]].reports:
                self._shape(name)
        return [batch for numbers in kinds for batch in self._batches(found, numbers, most)]

    def _batches(
        self, found: list[JSONForm], numbers: list[int], most: int | None
    ) -> Iterator[tuple[list[int], Batch]]:
        """Return submissions of a kind in one batch, or in several if their lengths differ."""
        some = [found[number] for number in numbers]
        columns = {
            name: self._columns(name, [one.reports[name] for one in some], most)
            for name in some[0].reports
        }
        if len(some) == 1 or all(
            len(set(map(type, column))) == len(set(map(len, column))) == 1
            for column in columns.values()
        ):
            packed = {name: self._packed(name, column) for name, column in columns.items()}
            segment = None if some[0].segment is msgspec.UNSET else some[0].segment
            yield numbers, self._checked(ids_of([one.id for one in some]), packed, segment)
            return
        apart: dict[tuple[object, ...], list[int]] = {}
        for number, *own in zip(numbers, *columns.values(), strict=True):
            apart.setdefault((*map(type, own), *map(len, own)), []).append(number)
        for same in apart.values():
            yield from self._batches(found, same, most)

    def _columns(
        self, name: str, texts: list[msgspec.Raw], most: int | None
    ) -> list[list[Any] | bytes]:
        """Return the reports to a question, by submission, as JSON values or packed."""
        columns = column_in(texts)
        if most is not None and any(len(c) > most for c in columns if isinstance(c, list)):
            raise too_many_people(most)
        return [self._decoded(name, c) if isinstance(c, str) else c for c in columns]

    def _packed(self, name: str, columns: list[Any]) -> bytes:
        """Return reports of several submissions, either all JSON values or all packed, as bytes."""
        if isinstance(columns[0], bytes):
            return b"".join(columns)
        try:
            return self._shapes[name].many_from_json(list(chain.from_iterable(columns))).tobytes()
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
        if segment is not None or self._segments:
            self.check_segment(segment)
        count = len(ids) // ID_BYTES
        people = -1
        for name, data in reports.items():
            number = len(data) // (count * self._sizes[name])
            if number != people >= 0:
                raise self._not_each(reports, count)
            people = number
        if people <= 0:
            raise BadSubmissionError("form", "this submission has no reports")
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
