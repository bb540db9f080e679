"""Surveys with every kind of mechanism, submissions to them, and what a store must say of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from murmurs.collect.stores.store import Part, keeps_reports
from murmurs.counts import Counts
from murmurs.questions.asked import Asked
from murmurs.submission import Submission, SubmissionForm
from murmurs.survey.survey import Survey

EVERY_KIND = Survey.from_toml("""
name = "every kind"
segments = ["north", "south"]

[[questions]]
name = "category"
labels = ["a", "b", "c", "d"]
mechanism = {name = "KRR", epsilon = 1.0}

[[questions]]
name = "unary"
labels = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
mechanism = {name = "OUE", epsilon = 1.0}

[[questions]]
name = "hashed"
labels = ["a", "b", "c"]
mechanism = {name = "LocalHashing", epsilon = 1.0}

[[questions]]
name = "repeated"
labels = ["a", "b", "c"]
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}

[[questions]]
name = "open"
mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}

[[questions]]
name = "dictionary"
mechanism = {name = "Dictionary", epsilon = 4.0, longest = 6}

[[questions]]
name = "age"
labels = ["young", "old"]
mechanism = {name = "KRR", epsilon = 1.0}

[[questions]]
name = "drink"
labels = ["tea", "milk", "water"]
mechanism = {name = "SUE", epsilon = 1.0}

[[questions]]
name = "city"
labels = ["small", "large"]
mechanism = {name = "KRR", epsilon = 1.0}

[[questions]]
name = "pet"
mechanism = {name = "ORappor", epsilon = 2.0, width = 16, cohorts = 4, hashes = 2}

[[joint]]
name = "closed product"
questions = ["age", "drink"]

[[joint]]
name = "open product"
questions = ["city", "pet"]
""")

PLAIN = Survey.from_toml("""
name = "plain"
[[questions]]
name = "hot"
labels = ["yes", "no"]
mechanism = {name = "KRR", epsilon = 1.0}
""")

FORMS = {survey.fingerprint: SubmissionForm(survey) for survey in (EVERY_KIND, PLAIN)}


def answers(asked: Asked, n: int, rng: np.random.Generator) -> Any:
    columns = {}
    for question in asked.questions:
        strings = question.labels or ("tea", "Luna", "oat milk")
        columns[question.name] = [strings[i] for i in rng.integers(len(strings), size=n)]
    return asked.pick(columns)


def submission(
    survey: Survey,
    seed: int,
    *,
    people: int = 3,
    segment: str | None = None,
    names: Sequence[str] | None = None,
) -> Submission:
    """Return a submission whose reports and id follow from a seed."""
    rng = np.random.default_rng(seed)
    reports = {
        asked.name: asked.encode_many(answers(asked, people, rng), rng)
        for asked in survey.reported
        if names is None or asked.name in names
    }
    if segment is None and survey.segments:
        segment = survey.segments[seed % len(survey.segments)]
    form = FORMS[survey.fingerprint]
    return form.make(reports, segment=segment, id=rng.bytes(16))


class Model:
    """What a store must hold, in the plainest way: a list of everything that was added."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.ids: dict[tuple[str, bytes], int] = {}
        self.added: list[tuple[Submission, int]] = []

    def add(self, submissions: Iterable[Submission], day: int) -> list[bool]:
        new = []
        for one in submissions:
            new.append((one.survey, one.id) not in self.ids)
            if new[-1]:
                self.ids[one.survey, one.id] = day
                self.added.append((one, day))
        return new

    def forget_ids(self, before: int) -> int:
        kept = {key: day for key, day in self.ids.items() if day >= before}
        gone, self.ids = len(self.ids) - len(kept), kept
        return gone

    def forget_reports(self, survey: str, before: int) -> int:
        old = [one for one, day in self.added if one.survey == survey and day < before]
        self.added = [(s, d) for s, d in self.added if s.survey != survey or d >= before]
        return sum(one.people * len(one.reports) for one in old)

    def delete(self, survey: str) -> None:
        del self.states[survey]
        self.added = [(s, d) for s, d in self.added if s.survey != survey]
        self.ids = {key: day for key, day in self.ids.items() if key[0] != survey}

    def reports(self, part: Part) -> bytes:
        first = part.first_day if part.first_day is not None else -(10**6)
        last = part.last_day if part.last_day is not None else 10**6
        return b"".join(
            one.reports.get(part.question, b"")
            for one, day in self.added
            if one.survey == part.survey
            and first <= day <= last
            and part.segment in (None, one.segment)
        )

    def counts(self, part: Part) -> Counts:
        survey = FORMS[part.survey].survey
        return survey.asked(part.question).count(self.reports(part))

    def days(self, survey: str, question: str) -> dict[tuple[int, str | None], int]:
        found: dict[tuple[int, str | None], int] = {}
        for one, day in self.added:
            if one.survey == survey and question in one.reports:
                found[day, one.segment] = found.get((day, one.segment), 0) + one.people
        return found


def sorted_rows(data: bytes, asked: Asked) -> list[bytes]:
    size = asked.mechanism.shape.size
    return sorted(data[i : i + size] for i in range(0, len(data), size))


def check_days(store: Any, model: Model, fingerprint: str, asked: Asked) -> None:
    """Check the counts of each day and segment, which a store reads in one go."""
    found: dict[tuple[int, str | None], Any] = {}
    for day, segment, n, cells in store.by_day(Part(fingerprint, asked.name)):
        before, sums = found.get((day, segment), (0, np.zeros_like(cells)))
        found[day, segment] = (before + n, sums + cells)
    days = model.days(fingerprint, asked.name)
    assert {key: n for key, (n, _) in found.items()} == days
    for day, segment in list(days)[:3]:
        wanted = model.counts(Part(fingerprint, asked.name, segment, day, day))
        assert np.array_equal(found[day, segment][1], wanted.cells)


def check_same(store: Any, model: Model, parts: Iterable[Part] | None = None) -> None:
    """Check that a store holds what the model holds, to the last unit."""
    found = {c.survey.fingerprint: c.state for c in store.collections()}
    assert found == model.states
    for fingerprint in model.states:
        survey = FORMS[fingerprint].survey
        for asked in survey.reported:
            assert store.days(fingerprint, asked.name) == model.days(fingerprint, asked.name)
            check_days(store, model, fingerprint, asked)
            for part in parts if parts is not None else (Part(fingerprint, asked.name),):
                if (part.survey, part.question) != (fingerprint, asked.name):
                    continue
                assert store.counts(part) == model.counts(part)
                if keeps_reports(asked):
                    kept = sorted_rows(b"".join(store.reports(part)), asked)
                    assert kept == sorted_rows(model.reports(part), asked)
