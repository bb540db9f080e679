"""Submission: the reports of one person or of many under one id, and why one is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

ID_BYTES = 16
"""The length of an id: random, so that no two submissions ever share one."""

JSON_TYPE = "application/json"
"""The media type of submissions as JSON."""

BINARY_TYPE = "application/vnd.murmurs.submission"
"""The media type of submissions as bytes."""

NO_SUBMISSION = "this is not a submission"
"""How an error about the form begins."""

NO_REPORTS = "this submission has no reports"

_LONGEST_RULE = 600


class BadSubmissionError(ValueError):
    """A submission that is refused; ``reason`` is one word for counting refusals.

    Reasons are "form", "survey", "question", "segment", "report" and, for too many submissions at
    once, "batch". ``number`` says which submission of a request it was, from 0.
    """

    __module__ = "murmurs.submission"  # as users import it

    def __init__(self, reason: str, rule: str, number: int | None = None) -> None:
        which = "" if number is None else f"submission {number}: "
        told = f"{which}{rule}"
        super().__init__(told if len(told) <= _LONGEST_RULE else f"{told[:_LONGEST_RULE]}...")
        self.reason, self.rule, self.number = reason, rule, number


def too_many_people(most: int) -> BadSubmissionError:
    """Return the refusal of a request with more people than one may have."""
    return BadSubmissionError(
        "batch",
        f"this request has the reports of more than {most} people: send them in several requests",
    )


class Submission(msgspec.Struct, frozen=True):
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


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Submissions that are alike: to the same questions, in one segment, of as many people each.

    The fields are those of a `Submission`; ``ids`` and each column of ``reports`` are those of all
    submissions, one after another, so that a thousand of them cost hardly more than one.
    """

    survey: str
    ids: bytes
    people: int
    reports: Mapping[str, bytes]
    segment: str | None = None

    @property
    def count(self) -> int:
        """The number of submissions."""
        return len(self.ids) // ID_BYTES

    def each(self) -> Iterator[Submission]:
        """Return the submissions, one by one."""
        sizes = {name: len(data) // self.count for name, data in self.reports.items()}
        for i in range(self.count):
            own = {name: self.reports[name][i * n : (i + 1) * n] for name, n in sizes.items()}
            identity = self.ids[i * ID_BYTES : (i + 1) * ID_BYTES]
            yield Submission(self.survey, identity, self.people, own, self.segment)


def batches_of(submissions: Iterable[Submission | Batch]) -> list[Batch]:
    """Return submissions that may be in batches already, each of the others in one of its own."""
    return [
        one
        if isinstance(one, Batch)
        else Batch(one.survey, one.id, one.people, one.reports, one.segment)
        for one in submissions
    ]
