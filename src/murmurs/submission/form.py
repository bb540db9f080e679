"""SubmissionForm: how submissions to one survey are made, written, read and checked."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from murmurs.boundary import base64s
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.submission.json_form import (
    JSONForm,
    column_in,
    identity_of,
    one_in,
    refuse_repeated_keys,
)
from murmurs.submission.submission import (
    ID_BYTES,
    NO_SUBMISSION,
    BadSubmissionError,
    Submission,
    too_many_people,
)
from murmurs.survey.survey import Survey
from murmurs.wire import BadReportError, Shape, forms

MAGIC = b"MRMS"
FORMAT = 1

_HEADER = struct.Struct("<4sB32s16sHHI")
"""Magic, format, fingerprint, id, segment (0 for none, else its number + 1), columns, people."""

_COLUMN = struct.Struct("<H")


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
        return self._checked(secrets.token_bytes(ID_BYTES) if id is None else id, packed, segment)

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
        (taken,) = self.taken([found])
        refuse_repeated_keys(data, [found])
        return taken

    def to_bytes(self, submission: Submission) -> bytes:
        """Return a submission as bytes; their number depends only on questions and people."""
        segment = 0
        if submission.segment is not None:
            segment = self._segments.index(submission.segment) + 1
        head = _HEADER.pack(
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
        return b"".join((head, *map(_COLUMN.pack, numbers), *columns))

    def from_bytes(self, data: bytes) -> Submission:
        """Return the submission that the bytes represent; refuse any other, with the reason."""
        self._check_fingerprint(fingerprint_at(data, 0))
        found, end = self.next_in(data, 0)
        if end != len(data):
            raise BadSubmissionError("form", "something follows the last report")
        self.check_reports([found])
        return found

    def check_reports(self, submissions: Sequence[Submission]) -> None:
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

    def next_in(self, data: bytes, place: int) -> tuple[Submission, int]:
        """Return the submission at a place of some bytes, and where it ends.

        Its reports are not checked yet: that is for `check_reports`.
        """
        _, _, _, identity, segment, count, people = _HEADER.unpack_from(data, place)
        if segment > len(self._segments):
            raise BadSubmissionError("segment", f"there is no segment with the number {segment}")
        at = place + _HEADER.size
        place = at + count * _COLUMN.size
        if place > len(data):
            raise BadSubmissionError("form", f"{NO_SUBMISSION}: it ends in its header")
        columns: dict[str, bytes] = {}
        before = -1
        for i in range(count):
            (number,) = _COLUMN.unpack_from(data, at + i * _COLUMN.size)
            if not before < number < len(self._names):
                raise BadSubmissionError(
                    "question",
                    f"question number {number} is not one of {len(self._names)}, in order",
                )
            name, before = self._names[number], number
            end = place + people * self._sizes[name]
            if end > len(data):
                raise BadSubmissionError("form", f"{NO_SUBMISSION}: it ends in its reports")
            columns[name], place = data[place:end], end
        named = self._segments[segment - 1] if segment else None
        return self._checked(identity, columns, named), place

    def taken(self, found: list[JSONForm], most: int | None = None) -> list[Submission]:
        """Return submissions that were read from JSON, with all their reports packed at once.

        Names are looked at before any report is, and the number of people, at most ``most``, before
        any report is read: whoever sends too much is refused after little work.
        """
        known = self._shapes.keys()
        for one in found:
            if not one.reports.keys() <= known:
                for name in one.reports:
                    self._shape(name)
        columns: dict[str, list[Any]] = {name: [] for one in found for name in one.reports}
        read: list[dict[str, int | bytes]] = []
        for one in found:
            own: dict[str, int | bytes] = {}
            for name, text in one.reports.items():
                column = column_in(text)
                if isinstance(column, list):
                    if most is not None and len(column) > most:
                        raise too_many_people(most)
                    own[name] = len(column)
                    columns[name] += column
                else:
                    own[name] = self._decoded(name, column)
            read.append(own)
        packed = {name: self._packed(name, column) for name, column in columns.items()}
        places = dict.fromkeys(packed, 0)
        taken = []
        for one, own in zip(found, read, strict=True):
            reports = {}
            for name, part in own.items():
                if isinstance(part, int):
                    start = places[name]
                    places[name] = end = start + part * self._sizes[name]
                    part = packed[name][start:end]
                reports[name] = part
            segment = None if one.segment is msgspec.UNSET else one.segment
            taken.append(self._checked(identity_of(one.id), reports, segment))
        return taken

    def _packed(self, name: str, column: list[Any]) -> bytes:
        shape = self._shape(name)
        try:
            return shape.many_from_json(column).tobytes()
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

    def _checked(
        self, identity: bytes, reports: dict[str, bytes], segment: str | None
    ) -> Submission:
        if len(identity) != ID_BYTES:
            raise BadSubmissionError("form", f"an id has {ID_BYTES} bytes, not {len(identity)}")
        if segment is not None or self._segments:
            self.check_segment(segment)
        people = -1
        for name, data in reports.items():
            number = len(data) // self._sizes[name]
            if number != people >= 0:
                raise self._not_each(reports)
            people = number
        if people <= 0:
            raise BadSubmissionError("form", "this submission has no reports")
        if len(reports) > 1:
            reports = {name: reports[name] for name in self._names if name in reports}
        return Submission(self.fingerprint, identity, people, reports, segment)

    def _not_each(self, reports: dict[str, bytes]) -> BadSubmissionError:
        """Return the refusal of a submission with more reports to one question than to another."""
        numbers = ", ".join(
            f"{len(data) // self._sizes[name]} to {shown(name)}" for name, data in reports.items()
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


def fingerprint_at(data: bytes, place: int) -> str:
    """Return the fingerprint that the header at a place names."""
    if len(data) - place < _HEADER.size:
        raise BadSubmissionError("form", f"{NO_SUBMISSION}: it ends in its header")
    magic, version, digest, *_ = _HEADER.unpack_from(data, place)
    if magic != MAGIC or version != FORMAT:
        raise BadSubmissionError(
            "form", f"{NO_SUBMISSION}: it does not begin with {MAGIC!r} and {FORMAT}"
        )
    return str(digest.hex())
