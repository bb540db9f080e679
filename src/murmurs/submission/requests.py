"""Requests: the submissions, one or several, that arrive together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from murmurs.submission.form import SubmissionForm, fingerprint_at
from murmurs.submission.json_form import JSONForm, refuse_repeated_keys, some_in
from murmurs.submission.submission import BadSubmissionError, Submission, too_many_people

FormOf = Callable[[str], SubmissionForm]
"""The form of the survey with a fingerprint; it refuses other fingerprints."""


def read_json(
    data: bytes, form_of: FormOf, *, most: int | None = None, people: int | None = None
) -> list[Submission]:
    """Return the submissions of a request in JSON: one object, or a list of at most ``most``.

    If one of them is refused, all are; the error gives its number. A submission of more than
    ``people`` people is refused before its reports are looked at, and so are several together.
    """
    several = some_in(data)
    if most is not None and len(several) > most:
        raise _too_many(most)
    by_survey: dict[str, list[int]] = {}
    for number, one in enumerate(several):
        by_survey.setdefault(one.survey, []).append(number)
    taken: dict[int, Submission] = {}
    for fingerprint, numbers in by_survey.items():
        form = form_of(fingerprint)
        try:
            made = form.taken([several[number] for number in numbers], people)
        except BadSubmissionError:
            if len(several) > 1:
                _refuse_first(several, numbers, form, people)
            raise
        taken.update(zip(numbers, made, strict=True))
    refuse_repeated_keys(data, several)
    _check_people(taken.values(), people)
    return [taken[number] for number in range(len(several))]


def read_bytes(
    data: bytes, form_of: FormOf, *, most: int | None = None, people: int | None = None
) -> list[Submission]:
    """Return the submissions of a request in bytes: at most ``most``, one after another.

    If one of them is refused, all are; the error gives its number. More than ``people`` people are
    refused before their reports are looked at.
    """
    found: list[Submission] = []
    forms: dict[str, SubmissionForm] = {}
    place = 0
    while place < len(data) or not found:
        if most is not None and len(found) == most:
            raise _too_many(most)
        try:
            fingerprint = fingerprint_at(data, place)
            if fingerprint not in forms:
                forms[fingerprint] = form_of(fingerprint)
            submission, place = forms[fingerprint].next_in(data, place)
        except BadSubmissionError as error:
            raise BadSubmissionError(error.reason, error.rule, len(found) or None) from None
        found.append(submission)
    _check_people(found, people)
    _check_reports(found, forms)
    return found


def _check_people(found: Iterable[Submission], most: int | None) -> None:
    if most is not None and sum(one.people for one in found) > most:
        raise too_many_people(most)


def _check_reports(found: list[Submission], forms: Mapping[str, SubmissionForm]) -> None:
    """Check the reports of several submissions at once; if some are bad, find the first."""
    try:
        for fingerprint, form in forms.items():
            form.check_reports([one for one in found if one.survey == fingerprint])
    except BadSubmissionError:
        for number, one in enumerate(found):
            try:
                forms[one.survey].check_reports([one])
            except BadSubmissionError as error:
                which = number if len(found) > 1 else None
                raise BadSubmissionError(error.reason, error.rule, which) from None
        raise


def _refuse_first(
    several: list[JSONForm], numbers: list[int], form: SubmissionForm, people: int | None
) -> None:
    """Raise the error of the first submission that is refused, with its number."""
    for number in numbers:
        try:
            form.taken([several[number]], people)
        except BadSubmissionError as error:
            raise BadSubmissionError(error.reason, error.rule, number) from None


def _too_many(most: int) -> BadSubmissionError:
    return BadSubmissionError(
        "batch", f"this request has more than {most} submissions: send them in several requests"
    )
