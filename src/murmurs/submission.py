"""Submission: reports that are sent together under one id, as JSON or as bytes.

A device sends the reports of one person to one or more questions of a survey; whoever passes on the
reports of many people sends them in one submission too. A collector takes a submission whole or not
at all, and counts it once, however often its id arrives.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from murmurs import forms
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.survey import Survey
from murmurs.wire import BadReportError, Shape

ID_BYTES = 16
"""The length of an id: random, so that no two submissions ever share one."""

MAGIC = b"MRMS"
FORMAT = 1

_HEADER = struct.Struct("<4sB32s16sHHI")
"""Magic, format, fingerprint, id, segment (0 for none, else its number + 1), columns, people."""

_COLUMN = struct.Struct("<H")


class BadSubmissionError(ValueError):
    """A submission that is refused; ``reason`` is one word for counting refusals."""

    def __init__(self, reason: str, rule: str) -> None:
        super().__init__(rule)
        self.reason = reason


@dataclass(frozen=True)
class Submission:
    """The reports of ``people`` people to some questions of a survey, packed one after another.

    ``survey`` is the fingerprint and ``id`` 16 random bytes. ``reports`` has the packed reports by
    the name of the question or joint, each the same number of them: the i-th reports of all
    questions are of one person. ``segment`` is one of those that the survey lists, if it lists any.
    """

    survey: str
    id: bytes
    people: int
    reports: Mapping[str, bytes]
    segment: str | None = None


class _JSONForm(msgspec.Struct, forbid_unknown_fields=True):
    survey: str
    id: str
    reports: dict[str, msgspec.Raw]
    segment: str | None = None


_decode_json = msgspec.json.Decoder(_JSONForm).decode
_decode_column = msgspec.json.Decoder(list[Any] | str).decode


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
        """Return a submission of reports by question; without an id it gets a new random one."""
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
        try:
            found = _decode_json(data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise BadSubmissionError("form", f"this is not a submission: {error}") from None
        self._check_fingerprint(found.survey)
        columns = {}
        for name, raw in found.reports.items():
            shape = self._shape(name)
            try:
                column = _decode_column(raw)
                parts = [part.tobytes() for part in forms.arrays(column, shape)]
            except (ValueError, TypeError, RecursionError) as error:
                raise BadSubmissionError("report", f"question {shown(name)}: {error}") from None
            columns[name] = b"".join(parts)
        try:
            identity = bytes.fromhex(found.id)
        except ValueError:
            identity = b""
        if identity.hex() != found.id:
            raise BadSubmissionError("form", f"an id is {2 * ID_BYTES} digits 0-9 and a-f")
        return self._checked(identity, columns, found.segment)

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
        if len(data) < _HEADER.size:
            raise BadSubmissionError("form", "this is not a submission: it ends in its header")
        magic, version, digest, identity, segment, count, people = _HEADER.unpack_from(data)
        if magic != MAGIC or version != FORMAT:
            raise BadSubmissionError(
                "form", f"this is not a submission: it does not begin with {MAGIC!r} and {FORMAT}"
            )
        self._check_fingerprint(digest.hex())
        if segment > len(self._segments):
            raise BadSubmissionError("segment", f"there is no segment with the number {segment}")
        place = _HEADER.size + count * _COLUMN.size
        if place > len(data):
            raise BadSubmissionError("form", "this is not a submission: it ends in its header")
        columns, before = {}, -1
        for i in range(count):
            (number,) = _COLUMN.unpack_from(data, _HEADER.size + i * _COLUMN.size)
            if not before < number < len(self._names):
                raise BadSubmissionError(
                    "question",
                    f"question number {number} is not one of {len(self._names)}, in order",
                )
            name, before = self._names[number], number
            shape = self._shapes[name]
            end = place + people * shape.size
            column = data[place:end]
            if end > len(data):
                raise BadSubmissionError("form", "this is not a submission: it ends in its reports")
            try:
                shape.from_bytes(column)
            except ValueError as error:
                raise BadSubmissionError("report", f"question {shown(name)}: {error}") from None
            columns[name], place = column, end
        if place != len(data):
            raise BadSubmissionError("form", "something follows the last report")
        return self._checked(identity, columns, self._segments[segment - 1] if segment else None)

    def _shape(self, name: str) -> Shape[Any]:
        try:
            return self._shapes[name]
        except KeyError:
            raise BadSubmissionError(
                "question",
                f"survey {shown(self.survey.name)} takes no reports to {shown(name)}; it takes "
                f"reports to {listed(self._names)}",
            ) from None

    def _check_fingerprint(self, found: str) -> None:
        if found != self.fingerprint:
            raise BadSubmissionError(
                "survey",
                f"this submission is for another survey, or another version of "
                f"{shown(self.survey.name)}: its fingerprint is {shown(found[:12])}, not "
                f"{self.survey.short_fingerprint}",
            )

    def _checked(
        self, identity: bytes, reports: Mapping[str, bytes], segment: str | None
    ) -> Submission:
        if len(identity) != ID_BYTES:
            raise BadSubmissionError("form", f"an id has {ID_BYTES} bytes, not {len(identity)}")
        self._check_segment(segment)
        counts = {name: len(data) // self._shapes[name].size for name, data in reports.items()}
        if not any(counts.values()):
            raise BadSubmissionError("form", "this submission has no reports")
        if len(set(counts.values())) > 1:
            numbers = ", ".join(f"{n} to {shown(name)}" for name, n in counts.items())
            raise BadSubmissionError(
                "form", f"each person reports to each question, but there are {numbers}"
            )
        ordered = {name: reports[name] for name in self._names if name in reports}
        people = next(iter(counts.values()))
        return Submission(self.fingerprint, identity, people, ordered, segment)

    def _check_segment(self, segment: str | None) -> None:
        if segment is None and self._segments:
            raise BadSubmissionError(
                "segment", f"this survey needs a segment: {listed(self._segments)}"
            )
        if segment is not None and segment not in self._segments:
            known = f": it is one of {listed(self._segments)}" if self._segments else ""
            raise BadSubmissionError(
                "segment", f"this survey has no segment {shown(segment)}{known}"
            )


def fingerprint_in(data: bytes) -> str | None:
    """Return the fingerprint that the bytes of a submission name, if they are one."""
    if len(data) < _HEADER.size or data[:4] != MAGIC:
        return None
    digest: bytes = _HEADER.unpack_from(data)[2]
    return digest.hex()


def fingerprint_in_json(data: bytes) -> str | None:
    """Return the fingerprint that the JSON of a submission names, if it is one."""
    try:
        return _decode_json(data).survey
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def merged(submissions: Iterable[Submission]) -> dict[tuple[str, str, str | None], list[bytes]]:
    """Return the packed reports of several submissions by survey, question and segment."""
    found: dict[tuple[str, str, str | None], list[bytes]] = {}
    for submission in submissions:
        for name, data in submission.reports.items():
            found.setdefault((submission.survey, name, submission.segment), []).append(data)
    return found
