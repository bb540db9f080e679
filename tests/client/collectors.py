"""Collectors for tests: they count each submission once by its id, and can be told to fail."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from murmurs import Survey
from murmurs.client import Reply
from murmurs.submission import BadSubmissionError, Submission, SubmissionForm, read_bytes


@dataclass
class Collector:
    """A transport that is a collector in memory: it keeps what arrives, in the order of arrival."""

    survey: Survey
    bodies: list[bytes] = field(default_factory=list)
    counted: dict[bytes, Submission] = field(default_factory=dict)

    def __call__(self, body: bytes) -> Reply:
        self.bodies.append(body)
        form = SubmissionForm(self.survey)

        def form_of(fingerprint: str) -> SubmissionForm:
            if fingerprint != form.fingerprint:
                raise BadSubmissionError("survey", "there is no such survey here")
            return form

        try:
            found = read_bytes(body, form_of)
        except BadSubmissionError as error:
            return refusal(400, error.reason, str(error))
        new = [one for one in found if one.id not in self.counted]
        for one in found:
            assert self.counted.setdefault(one.id, one) == one, "one id, two submissions"
        return acknowledged(len(new), len(found) - len(new))


def acknowledged(accepted: int, duplicates: int = 0) -> Reply:
    return Reply(200, json.dumps({"accepted": accepted, "duplicates": duplicates}).encode())


def refusal(status: int, error: str = "form", reason: str = "it is bad") -> Reply:
    return Reply(status, json.dumps({"error": error, "reason": reason}).encode())


class Clock:
    """A clock that tests move."""

    def __init__(self, start: float = 1_800_000_000) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def next_day(self, days: float = 1) -> None:
        self.now += days * 86_400
