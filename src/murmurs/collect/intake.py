"""Intake: from the body of a request to checked submissions, or to the reason for a refusal."""

from __future__ import annotations

import msgspec

from murmurs.boundary.checks import shown
from murmurs.collect.catalogue import Catalogue
from murmurs.collect.limits import Limits
from murmurs.collect.refusals import RefusedError
from murmurs.collect.store import Token
from murmurs.collect.tokens import covers
from murmurs.submission import (
    BadSubmissionError,
    Submission,
    SubmissionForm,
    fingerprint_in,
    fingerprint_in_json,
)

BINARY = "application/vnd.murmurs.submission"
JSON = "application/json"

_decode_several = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Intake:
    """Reads submissions to the surveys of a catalogue, within limits."""

    def __init__(self, catalogue: Catalogue, limits: Limits) -> None:
        self._catalogue, self._limits = catalogue, limits

    def binary(self, body: bytes, day: int, key: Token | None = None) -> list[Submission]:
        """Return the submission in a body of bytes."""
        form = self._form(fingerprint_in(body), day, key)
        try:
            found = form.from_bytes(body)
        except BadSubmissionError as error:
            raise RefusedError(400, error.reason, str(error)) from None
        self._check_people(found.people)
        return [found]

    def json(self, body: bytes, day: int, key: Token | None = None) -> list[Submission]:
        """Return the submissions in a JSON body: one, or a list of them."""
        if not body.lstrip().startswith(b"["):
            found = [self._one(body, day, key)]
        else:
            found = self._several(body, day, key)
        self._check_people(sum(submission.people for submission in found))
        return found

    def _several(self, body: bytes, day: int, key: Token | None) -> list[Submission]:
        try:
            items = _decode_several(body)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise RefusedError(400, "form", f"this is not a list of submissions: {error}") from None
        if not items:
            raise RefusedError(400, "form", "this list has no submissions")
        if len(items) > self._limits.submissions:
            raise RefusedError(
                413,
                "batch",
                f"this request has {len(items)} submissions; at most {self._limits.submissions} "
                "are taken at once",
            )
        found = []
        for number, item in enumerate(items):
            try:
                found.append(self._one(bytes(item), day, key))
            except RefusedError as refusal:
                refusal.submission = number
                raise
        return found

    def _one(self, body: bytes, day: int, key: Token | None) -> Submission:
        try:
            return self._form(fingerprint_in_json(body), day, key).from_json(body)
        except BadSubmissionError as error:
            raise RefusedError(400, error.reason, str(error)) from None

    def _form(self, fingerprint: str | None, day: int, key: Token | None) -> SubmissionForm:
        """Return the form of the survey that a submission is for, if the survey takes any."""
        if fingerprint is None:
            raise RefusedError(400, "form", "this is not a submission")
        entry = self._catalogue.by_fingerprint.get(fingerprint)
        if entry is None or (key is not None and not covers(key, entry.survey.name)):
            raise RefusedError(
                404,
                "survey",
                f"there is no survey with the fingerprint {shown(fingerprint[:12])} here: fetch "
                "the survey again",
            )
        why_not = entry.why_not(day)
        if why_not is not None:
            raise RefusedError(409, "closed", why_not)
        return entry.form

    def _check_people(self, people: int) -> None:
        if people > self._limits.people:
            raise RefusedError(
                413,
                "batch",
                f"this request has the reports of {people} people; at most {self._limits.people} "
                "are taken at once",
            )
