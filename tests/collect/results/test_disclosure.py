"""Results come only from enough reports, and so does every difference between two results."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs.collect.http.collector import Settings
from murmurs.collect.results.disclosure import Disclosure, Shown, runs_of
from murmurs.collect.stores.store import ERA, Entry, Part
from murmurs.submission import JSON_TYPE, SubmissionForm
from murmurs.survey.survey import Survey
from tests.collect.running import DAY, Reply, Running, running

MINIMUM = 100
SURVEY = Survey.from_toml(
    f"""
    name = "few"
    segments = ["north", "south"]
    minimum_reports = {MINIMUM}
    [[questions]]
    name = "hot"
    labels = ["yes", "no"]
    mechanism = {{name = "KRR", epsilon = 1.0}}
    """
)
LIVE = Settings(complete_days=False)


class Made:
    """A store with given numbers of reports by day and segment."""

    def __init__(self, days: Mapping[tuple[int, str | None], int]) -> None:
        self.numbers = dict(days)

    def days(self, survey: str, question: str) -> dict[tuple[int, str | None], int]:
        return dict(self.numbers)

    def changes(self, survey: str) -> int:
        return ERA

    def by_day(self, part: Part) -> Iterator[Entry]:
        for day, segment in self.meant(part):
            n = self.numbers[day, segment]
            yield Entry(day, segment, n, np.array([n, 0]))

    def meant(self, part: Part) -> list[tuple[int, str | None]]:
        first, last = part.first_day, part.last_day
        return [
            (day, segment)
            for day, segment in self.numbers
            if part.segment in (None, segment)
            and (first is None or first <= day)
            and (last is None or day <= last)
        ]


def shown_days(made: Made, part: Part, today: int) -> frozenset[tuple[int, str | None]]:
    """Return the days and segments that a result of complete days is computed from."""
    disclosure = Disclosure(made, lambda minimum: True)  # type: ignore[arg-type]
    of_reports = frozenset(
        key for piece in disclosure.parts(SURVEY, part, today) for key in made.meant(piece)
    )
    shown = disclosure.shown(SURVEY, {"all": part}, today).get("all", Shown())
    assert shown.n == sum(made.numbers[key] for key in of_reports)
    assert (disclosure.number(SURVEY, part, today) or 0) == shown.n
    return of_reports


@given(
    numbers=st.dictionaries(
        st.tuples(st.integers(0, 6), st.sampled_from(["north", "south"])),
        st.integers(1, 150),
        max_size=12,
    )
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_two_results_differ_by_fewer_reports_than_the_minimum(
    numbers: dict[tuple[int, str | None], int],
) -> None:
    """All pairs of periods and segments; a rule that only checks each result would fail.

    The difference of two results is of the reports in one and not in the other, on either side.
    """
    made = Made(numbers)
    parts = [
        Part(SURVEY.fingerprint, "hot", segment, first, last)
        for segment in (None, "north", "south")
        for first, last in itertools.combinations_with_replacement(range(8), 2)
    ]
    found = {shown_days(made, part, today=8) for part in parts}
    for one, two in itertools.product(found, repeat=2):
        apart = sum(numbers[key] for key in one - two)
        assert apart == 0 or apart >= MINIMUM


def test_a_rule_for_each_result_alone_would_tell_a_single_day() -> None:
    """The wrong rule that the test above rejects: each result has enough, their difference not."""
    made = Made({(1, "north"): 150, (2, "north"): 3})
    both = [sum(e.n for e in made.by_day(Part("", "hot", None, 1, last))) for last in (1, 2)]
    assert min(both) >= MINIMUM > both[1] - both[0] > 0
    shown = [shown_days(made, Part("", "hot", None, 1, last), today=9) for last in (1, 2)]
    assert shown[0] == shown[1] == {(1, "north")}


def test_runs_that_are_complete_never_change() -> None:
    rng = np.random.default_rng(1)
    days: dict[int, int] = {}
    before: list[Any] = []
    for today in range(60):
        days[today] = int(rng.integers(0, 90))
        runs, _ = runs_of(days, MINIMUM, today)
        assert runs[: len(before)] == before
        before = runs
    assert len(before) > 15


def sent(served: Running, people: int, segment: str = "north") -> None:
    form = SubmissionForm(SURVEY)
    reports = np.random.default_rng(people).integers(0, 2, people)
    reply = served.send(form.make({"hot": reports}, segment=segment), SURVEY, binary=True)
    assert reply.status == 200


def test_the_present_day_is_shown_in_steps_of_the_minimum(tmp_path: Path) -> None:
    with running(tmp_path, SURVEY, settings=LIVE) as served:
        served.collector.disclosure._below = lambda most: 0
        token = served.token("read")

        def reports(query: str = "") -> int | None:
            reply = served.get(f"/results/few/hot{query}", token)
            if reply.status == 404:
                assert reply.error == "few"
                return None
            return int(reply.document["reports"])

        sent(served, 99)
        assert reports() is None
        assert served.get("/results/few", token).document["questions"] == {"hot": None}
        sent(served, 1)
        assert reports() == 100
        sent(served, 99)
        assert reports() == 100
        sent(served, 1)
        assert reports() == 200
        sent(served, 5, "south")  # the other segment is too small to be in the total
        assert reports() == reports("?segment=north") == 200
        assert reports("?segment=south") is None
        served.clock.day = DAY + 1
        sent(served, 60)
        assert reports() == 200  # yesterday is complete, today waits
        assert reports("?from=2026-12-14") is None
        assert served.get("/results/few/hot/trend?by=day", token).status == 404
        served.clock.day = DAY + 2
        sent(served, 60)
        assert reports() == 320
        assert reports("?from=2026-12-14") == 120
        trend = served.get("/results/few/hot/trend?by=week", token)
        assert (trend.status, trend.document["reports"]) == (200, [200, 120])
        compared = served.get("/results/few/hot/compare?segment=north&other_segment=south", token)
        assert (compared.status, compared.error) == (404, "few")


def test_nothing_is_shown_of_a_survey_that_was_deleted_and_published_again(tmp_path: Path) -> None:
    """Neither a result that was kept, nor what was shown of the present day."""
    with running(tmp_path, SURVEY, settings=LIVE) as served:
        served.collector.disclosure._below = lambda most: 0
        admin = served.token("admin")
        sent(served, 150)
        assert served.get("/results/few/hot", admin).document["reports"] == 150
        assert served.ask("DELETE", "/admin/surveys/few/1", token=admin).status == 204
        body = SURVEY.to_json().encode()
        made = served.ask("POST", "/admin/surveys", body, token=admin, Content_Type=JSON_TYPE)
        assert made.status == 201
        sent(served, 20)
        assert served.get("/results/few/hot", admin).error == "few"
        sent(served, 180)
        assert served.get("/results/few/hot", admin).document["reports"] == 200


def test_a_day_is_over_when_what_arrived_on_it_has_been_written(tmp_path: Path) -> None:
    """A report that was on its way at midnight must not be the difference between two results."""
    with running(tmp_path, SURVEY, settings=Settings(complete_days=True)) as served:
        token = served.token("read")
        sent(served, 500)
        midnight = (DAY + 1) * 86_400.0
        with mock.patch.object(served.collector, "_clock", return_value=midnight + 100):
            assert served.get("/results/few/hot", token).error == "few"
            assert served.get("/results/few", token).document["questions"] == {"hot": None}
            sent(served, 1)
        with mock.patch.object(served.collector, "_clock", return_value=midnight + 400):
            assert served.get("/results/few/hot", token).document["reports"] == 501


JOINT = Survey.from_toml("""
name = "few"
[[questions]]
name = "age"
labels = ["young", "old"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "hot"
labels = ["yes", "no"]
mechanism = {name = "KRR", epsilon = 1.0}
[[joint]]
name = "both"
questions = ["age", "hot"]
""")


def of_both(served: Running, token: str) -> Reply:
    while (reply := served.get("/results/few/both", token)).status == 202:
        pass
    return reply


@pytest.mark.parametrize("how", ["the survey", "its reports"])
def test_a_result_that_took_long_is_not_shown_once_its_reports_are_deleted(
    tmp_path: Path, how: str
) -> None:
    """Such a result is kept for a minute and more, whatever else changes."""
    with running(tmp_path, JOINT) as served:
        admin = served.token("admin")
        made = SubmissionForm(JOINT).make({"both": [[0, 0], [1, 1], [0, 1]]})
        assert served.send(made, JOINT).status == 200
        assert of_both(served, admin).document["reports"] == 3
        if how == "the survey":
            assert served.ask("DELETE", "/admin/surveys/few/1", token=admin).status == 204
            body = JOINT.to_json().encode()
            served.ask("POST", "/admin/surveys", body, token=admin, Content_Type=JSON_TYPE)
        else:
            day = {"before": "2100-01-01"}
            forgotten = served.post("/admin/surveys/few/1/forget", day, admin)
            assert forgotten.document == {"forgotten": 3}
        assert of_both(served, admin).error == "few"


def test_complete_days_only(tmp_path: Path) -> None:
    with running(tmp_path, SURVEY, settings=Settings(complete_days=True)) as served:
        token = served.token("read")
        sent(served, 500)
        assert served.get("/results/few/hot", token).status == 404
        served.clock.day = DAY + 1
        assert served.get("/results/few/hot", token).document["reports"] == 500


class Attacker:
    """Reads results, and sends reports of its own to fill what is shown with what it knows."""

    def __init__(self, served: Running) -> None:
        self.served, self.token = served, served.token("read")
        self.form = SubmissionForm(SURVEY)

    def send(self, reports: list[int]) -> None:
        made = self.form.make({"hot": np.array(reports)}, segment="north")
        assert self.served.send(made, SURVEY, binary=True).status == 200

    def seen(self) -> tuple[int, int]:
        """Return the number of reports that results are of, and how many of them say yes."""
        reply = self.served.get("/results/few/hot?method=unbiased", self.token)
        if reply.status == 404:
            return 0, 0
        n, share = reply.document["reports"], reply.document["unbiased"][0]
        channel = SURVEY.question("hot").mechanism.channel
        law = [float(p) for p in (channel.law_of(0)[0], channel.law_of(1)[0])]
        return n, round(n * (law[1] + share * (law[0] - law[1])))

    def isolate(self, report: int, own: int, most: int) -> int | None:
        """Return a victim's report, if what is shown changes by it and known ones alone.

        The attacker sends so many of its own at first, and then one by one, up to ``most``.
        """
        n, yes = self.seen()
        self.send([report])  # that of the victim
        self.send([1] * own)
        while own <= most:
            now, then = self.seen()
            if now == n + own + 1:
                return 0 if then == yes + 1 else 1
            if now > n or own == most:
                return None
            self.send([1])
            own += 1
        return None


def test_a_reader_who_submits_does_not_isolate_a_report_of_today(tmp_path: Path) -> None:
    """Where anybody may submit, results are of days that are over: padding shows nothing today."""
    with running(tmp_path, SURVEY) as served:
        sent(served, 500)
        served.clock.day += 1
        attacker = Attacker(served)
        before = served.get("/results/few/hot", attacker.token).document
        assert before["reports"] == 500
        for victim in (0, 1) * 10:
            assert attacker.isolate(victim, MINIMUM - 1, MINIMUM + 1) is None
        assert served.get("/results/few/hot", attacker.token).document == before
        assert served.get("/results/few", attacker.token).document["questions"] == {"hot": 500}
        assert served.get("/metrics", attacker.token).status == 403


@pytest.mark.parametrize("random_steps", [True, False])
def test_padding_a_step_needs_its_size(tmp_path: Path, random_steps: bool) -> None:
    """With the minimum and one victim, steps of exactly the minimum told 20 of 20 reports.

    A step is as large as that with probability 1 / 100: of 20, at most 5 but for 4e-8.
    """
    with running(tmp_path, SURVEY, settings=LIVE) as served:
        drawn = random.Random(7).randrange
        served.collector.disclosure._below = drawn if random_steps else (lambda most: 0)
        attacker, told = Attacker(served), 0
        attacker.send([1] * 2 * MINIMUM)
        for victim in (0, 1) * 10:
            told += attacker.isolate(victim, MINIMUM - 1, MINIMUM - 1) == victim
        assert told <= 5 if random_steps else told == 20


def test_what_remains_is_a_victim_alone_among_an_attackers_reports(tmp_path: Path) -> None:
    """docs/threats.md says so: no rule about numbers tells an attacker's reports from others.

    Of the present day, where it is shown, if nobody else reports before the step is full; of a day
    that is over, if nobody else reported on it. One more person is enough against it.
    """
    with running(tmp_path / "live", SURVEY, settings=LIVE) as served:
        attacker = Attacker(served)
        attacker.send([1] * 2 * MINIMUM)
        attacker.seen()
        assert attacker.isolate(0, MINIMUM - 1, 3 * MINIMUM) == 0
    with running(tmp_path / "days", SURVEY) as served:
        attacker = Attacker(served)
        for others, found in ((0, 1), (1, None)):
            served.clock.day += 1
            n, yes = attacker.seen()
            attacker.send([0] + [1] * MINIMUM + [1] * others)
            served.clock.day += 1
            now, then = attacker.seen()
            isolated = then - yes if now == n + MINIMUM + 1 else None
            assert isolated == found
