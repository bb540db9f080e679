"""Requests: the submissions, one or several, that arrive together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from murmurs.submission.binary_form import ENDS_IN_REPORTS, ID, Kind, fingerprint_at, key_at
from murmurs.submission.form import SubmissionForm
from murmurs.submission.json_form import JSONForm, refuse_repeated_keys, some_in
from murmurs.submission.submission import (
    BadSubmissionError,
    Batch,
    Submission,
    too_many_people,
)

FormOf = Callable[[str], SubmissionForm]
"""The form of the survey with a fingerprint; it refuses other fingerprints."""

Numbered = tuple[list[int], Batch]
"""A batch, and which submissions of a request are in it."""


def read_json(
    data: bytes, form_of: FormOf, *, most: int | None = None, people: int | None = None
) -> list[Submission]:
    """Return the submissions of a request in JSON: one object, or a list of at most ``most``.

    If one of them is refused, all are; the error gives its number. A submission of more than
    ``people`` people is refused before its reports are looked at, and so are several together.
    """
    return _in_order(_from_json(data, form_of, most, people))


def read_bytes(
    data: bytes, form_of: FormOf, *, most: int | None = None, people: int | None = None
) -> list[Submission]:
    """Return the submissions of a request in bytes: at most ``most``, one after another.

    If one of them is refused, all are; the error gives its number. More than ``people`` people are
    refused before their reports are looked at.
    """
    return _in_order(_from_bytes(data, form_of, most, people))


def batches_in_json(
    data: bytes, form_of: FormOf, *, most: int | None = None, people: int | None = None
) -> list[Batch]:
    """Return what `read_json` returns, in batches."""
    return [batch for _, batch in _from_json(data, form_of, most, people)]


def batches_in_bytes(
    data: bytes, form_of: FormOf, *, most: int | None = None, people: int | None = None
) -> list[Batch]:
    """Return what `read_bytes` returns, in batches."""
    return [batch for _, batch in _from_bytes(data, form_of, most, people)]


def _in_order(found: list[Numbered]) -> list[Submission]:
    """Return the submissions of several batches in the order of their numbers."""
    placed: dict[int, Submission] = {}
    for numbers, batch in found:
        placed.update(zip(numbers, batch.each(), strict=True))
    return [placed[number] for number in range(len(placed))]


def _from_bytes(
    data: bytes, form_of: FormOf, most: int | None, people: int | None
) -> list[Numbered]:
    forms: dict[str, SubmissionForm] = {}
    kinds: dict[bytes, tuple[SubmissionForm, Kind]] = {}
    kind: Kind | None = None
    place = count = 0
    while place < len(data) or not count:
        if count == most:
            raise _too_many(count)
        if (
            kind is None
            or not data.startswith(kind.before, place)
            or not data.startswith(kind.after, place + ID.stop)
        ):
            key = key_at(data, place) if kinds else b""
            try:
                if key not in kinds:
                    fingerprint = fingerprint_at(data, place)
                    if fingerprint not in forms:
                        forms[fingerprint] = form_of(fingerprint)
                    form = forms[fingerprint]
                    kind = form.kind_at(data, place)
                    key = kind.before + kind.after
                    kinds[key] = form, kind
            except BadSubmissionError as error:
                raise BadSubmissionError(error.reason, error.rule, count or None) from None
            _, kind = kinds[key]
        kind.numbers.append(count)
        kind.places.append(place)
        place, count = place + kind.length, count + 1
        if place > len(data):
            raise BadSubmissionError("form", ENDS_IN_REPORTS, count - 1)
    found = [(kind.numbers, form.batch(data, kind)) for form, kind in kinds.values()]
    _check_people(found, people)
    _check_reports(found, forms)
    return found


def _from_json(
    data: bytes, form_of: FormOf, most: int | None, people: int | None
) -> list[Numbered]:
    several = some_in(data)
    if most is not None and len(several) > most:
        raise _too_many(most)
    found: list[Numbered] = []
    for fingerprint, alike in _kinds(several).items():
        form = form_of(fingerprint)
        try:
            found += form.taken(several, alike, people)
        except BadSubmissionError:
            if len(several) > 1:
                _refuse_first(several, sorted(chain.from_iterable(alike)), form, people)
            raise
    counted = ((several[numbers[0]], batch.count) for numbers, batch in found)
    refuse_repeated_keys(data, counted)
    _check_people(found, people)
    return found


def _kinds(several: list[JSONForm]) -> dict[str, list[list[int]]]:
    """Return the numbers of submissions by survey, those with the same names and segment together.

    Most follow one that is alike.
    """
    kinds: dict[tuple[object, ...], list[int]] = {}
    by_survey: dict[str, list[list[int]]] = {}
    before: tuple[object, ...] = ()
    alike: list[int] = []
    for number, one in enumerate(several):
        kind = (one.survey, one.segment, *one.reports)
        if kind != before:
            before = kind
            if kind not in kinds:
                kinds[kind] = []
                by_survey.setdefault(one.survey, []).append(kinds[kind])
            alike = kinds[kind]
        alike.append(number)
    return by_survey


def _check_people(found: list[Numbered], most: int | None) -> None:
    if most is not None and sum(batch.people * batch.count for _, batch in found) > most:
        raise too_many_people(most)


def _check_reports(found: list[Numbered], forms: Mapping[str, SubmissionForm]) -> None:
    """Check the reports of several submissions at once; if some are bad, find the first."""
    try:
        for fingerprint, form in forms.items():
            form.check_reports([batch for _, batch in found if batch.survey == fingerprint])
    except BadSubmissionError:
        several = _in_order(found)
        for number, one in enumerate(several):
            try:
                forms[one.survey].check_reports([one])
            except BadSubmissionError as error:
                which = number if len(several) > 1 else None
                raise BadSubmissionError(error.reason, error.rule, which) from None
        raise


def _refuse_first(
    several: list[JSONForm], numbers: Iterable[int], form: SubmissionForm, people: int | None
) -> None:
    """Raise the error of the first submission that is refused, with its number."""
    for number in numbers:
        try:
            form.taken(several, [[number]], people)
        except BadSubmissionError as error:
            raise BadSubmissionError(error.reason, error.rule, number) from None


def _too_many(most: int) -> BadSubmissionError:
    return BadSubmissionError(
        "batch", f"this request has more than {most} submissions: send them in several requests"
    )
