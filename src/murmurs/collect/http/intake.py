"""Intake: from the body of a request to checked submissions, or to the reason for a refusal."""

from __future__ import annotations

from murmurs.boundary.checks import shown
from murmurs.collect.catalogue import LATE, Catalogue
from murmurs.collect.http.limits import Limits
from murmurs.collect.refusals import RefusedError
from murmurs.collect.stores.store import Token
from murmurs.collect.tokens import covers
from murmurs.submission import (
    JSON_TYPE,
    BadSubmissionError,
    Batch,
    SubmissionForm,
    batches_in_bytes,
    batches_in_json,
)


class Intake:
    """Reads submissions to the surveys of a catalogue, within limits."""

    def __init__(self, catalogue: Catalogue, limits: Limits) -> None:
        self._catalogue, self._limits = catalogue, limits

    def read(self, body: bytes, media: str, day: int, key: Token | None = None) -> list[Batch]:
        """Return the submissions in a body, that a client with this key may send on this day."""

        def form_of(fingerprint: str) -> SubmissionForm:
            return self._form(fingerprint, day, key)

        sizes = self._limits.of(has_token=key is not None)
        reads = batches_in_json if media == JSON_TYPE else batches_in_bytes
        try:
            return reads(body, form_of, most=sizes.submissions, people=sizes.people)
        except BadSubmissionError as error:
            if error.reason != "batch":
                raise RefusedError(400, error.reason, str(error), submission=error.number) from None
            more = "" if key is not None else "; a relay with a token may send more"
            raise RefusedError(413, "batch", f"{error}{more}") from None

    def _form(self, fingerprint: str, day: int, key: Token | None) -> SubmissionForm:
        """Return the form of the survey that a submission is for, if the survey takes any."""
        entry = self._catalogue.by_fingerprint.get(fingerprint)
        if entry is None or (key is not None and not covers(key, entry.survey.name)):
            raise RefusedError(
                404,
                "survey",
                f"there is no survey with the fingerprint {shown(fingerprint[:12])} here: fetch "
                "the survey again",
            )
        why_not = entry.why_not(day, LATE)
        if why_not is not None:
            raise RefusedError(409, "closed", why_not)
        return entry.form
