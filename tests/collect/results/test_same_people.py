"""Results of a survey that asks the same people again say so, and their intervals hold."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import murmurs as mm
from murmurs.collect.http.collector import Settings
from murmurs.submission import SubmissionForm
from murmurs.survey.survey import Survey
from tests.collect.results.test_results import waited
from tests.collect.running import Reply, Running, running
from tests.pages import DOCS, blocks

MONDAY = 20_801  # 2026-12-14
TOGETHER_TEXT = """
name = "together"
every = "week"
[[questions]]
name = "vehicle"
labels = ["bus", "car"]
mechanism = {name = "LOSUE", epsilon = 2.0, epsilon_permanent = 4.0}
[[questions]]
name = "late"
labels = ["yes", "no"]
epsilon = 2.0
[[questions]]
name = "word"
mechanism = {name = "Dictionary", epsilon = 6.0, longest = 4}
[[joint]]
name = "both"
questions = ["vehicle", "late"]
"""
LIVE = Settings(complete_days=False)


def commute(**more: str) -> Survey:
    """Return the survey of docs/collecting.md, perhaps with other terms."""
    text = blocks((DOCS / "collecting.md").read_text(), "toml")[0]
    lines = [line for line in text.splitlines() if line.split(" ")[0] not in more]
    terms = [f"{name} = {value}" for name, value in more.items() if value]
    return Survey.from_toml("\n".join([*terms, *lines]))


class People:
    """The devices of some people who answer again and again, or part of them."""

    def __init__(self, survey: Survey, people: int, seed: int = 1) -> None:
        self.survey, self.rng = survey, np.random.default_rng(seed)
        self.form, self.people = SubmissionForm(survey), people
        vehicle = survey.question("vehicle")
        self.devices = mm.Devices(vehicle, people, memory="value", random=self.rng)
        self.vehicles = self.rng.choice(vehicle.labels, people, p=[0.3, 0.25, 0.2, 0.2, 0.05])
        self.late = self.rng.random(people) < 0.4

    def report(self, served: Running, day: int, who: range, segment: str | None = None) -> None:
        """Send one report of each of these people, on a day."""
        served.clock.day = day
        own = np.arange(self.people)[who.start : who.stop]
        late = self.survey.question("late")
        answers = np.where(self.late[own], "yes", "no")
        sent = self.form.make(
            {
                "vehicle": self.devices.report(self.vehicles[own], who=own),
                "late": late.encode_many(answers, self.rng),
            },
            segment=segment,
        )
        assert served.send(sent, self.survey, binary=True).status == 200


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The survey of the first page, in its second week: not all have reported yet."""
    survey = commute()
    with running(tmp_path_factory.mktemp("commute"), survey, settings=LIVE) as found:
        found.collector.disclosure._below = lambda most: 0
        people = People(survey, 1000)
        people.report(found, MONDAY, range(600))
        people.report(found, MONDAY + 3, range(600, 1000))
        people.report(found, MONDAY + 7, range(300))
        yield found


@pytest.fixture(scope="module")
def token(served: Running) -> str:
    return served.token("read")


def width(reply: Reply) -> float:
    assert reply.status == 200, reply.body
    return float(np.mean(np.subtract(reply.document["high"], reply.document["low"])))


def test_the_survey_of_the_first_page_has_results_in_its_second_week(
    served: Running, token: str
) -> None:
    """The summary was a 500, and the result a refusal that named a function of the library."""
    summary = served.get("/results/commute", token)
    assert summary.status == 200, summary.body
    assert summary.document["questions"] == {"vehicle": 1300, "late": 1300}
    assert summary.document["people"] == {"vehicle": "same", "late": "same"}
    found = served.get("/results/commute/vehicle", token).document
    assert (found["reports"], found["people"], found["assumed_people"]) == (1300, "same", 1000)
    said = "assumes the same people every week: 1,300 reports in 2 weeks from 1,000 people"
    assert found["assumption"] == said
    assert served.get("/results/commute/late", token).document["assumption"] == said


def test_every_form_says_who_was_assumed(served: Running, token: str) -> None:
    for query, word, said in (
        ("", "same", "Note: assumes the same people every week: 1,300 reports in 2 weeks from"),
        ("&people=different", "different", "Note: assumes 1,300 people with one report each."),
    ):
        path = "/results/commute/vehicle"
        text = served.get(f"{path}?format=text{query}", token).body.decode()
        assert text.count("assumes ") == 1
        assert said in text
        rows = served.get(f"{path}?format=csv{query}", token).body.decode().splitlines()
        assert rows[0].endswith(",people")
        assert all(row.endswith(f",{word}") for row in rows[1:])
        arrow = served.get(f"{path}?format=arrow{query}", token).body
        table = pa.ipc.open_stream(io.BytesIO(arrow)).read_all()
        assert set(table["people"].to_pylist()) == {word}
        for more in ("/trend?", "/compare?to=2026-12-20&other_from=2026-12-21&"):
            document = served.get(f"{path}{more}level=0.9{query}", token).document
            assert document["people"] == word
            assert document["assumption"].startswith("assumes ")
            csv = served.get(f"{path}{more}format=csv{query}", token).body.decode()
            assert csv.splitlines()[0].endswith(",people")
            assert (
                "Note: assumes"
                in served.get(f"{path}{more}format=text{query}", token).body.decode()
            )


def test_people_can_be_overridden(served: Running, token: str) -> None:
    path = "/results/commute/vehicle"
    same, other = (served.get(f"{path}?people={word}", token) for word in ("same", "different"))
    assert width(same) == width(served.get(path, token)) > 1.05 * width(other)
    assert served.get(f"{path}?people=some", token).status == 400
    assert served.get(f"{path}?people=null", token).status == 400


def test_a_trend_of_the_same_people_says_that_it_takes_them_for_a_new_sample(
    served: Running, token: str
) -> None:
    found = served.get("/results/commute/vehicle/trend?by=week", token).document
    assert found["reports"] == [1000, 300]
    assert any("treated as a new sample" in note for note in found["notes"])
    assert found["assumption"].endswith("one report per person in each period or segment")
    refused = served.get("/results/commute/vehicle/trend?target=respondents", token)
    assert (refused.status, refused.error) == (400, "query")
    assert "1000 people" in refused.document["reason"]
    months = served.get("/results/commute/vehicle/trend?by=day", token).document
    assert months["reports"] == [600, 400, 300]


def test_a_year_of_reports_tells_no_more_about_the_people_than_they_do(tmp_path: Path) -> None:
    """With 52 weeks taken for 52,000 people, an interval was 1.9 points wide instead of 9.6.

    The interval of `vehicle` must be that of pooled counts of the same people. That of `late`,
    with fresh noise, must not be below what 1,000 people can tell without any noise.
    """
    survey = commute(lifetime_epsilon="")
    with running(tmp_path, survey) as served:
        people, token = People(survey, 1000), served.token("read")
        for week in range(12):
            people.report(served, MONDAY + 7 * week, range(1000))
        served.clock.day += 7
        vehicle = served.get("/results/commute/vehicle", token)
        assert vehicle.document["assumed_people"] == 1000
        once = served.get("/results/commute/vehicle?to=2026-12-20", token)
        other = served.get("/results/commute/vehicle?people=different", token)
        assert 0.4 * width(once) < width(vehicle) < width(once)
        assert width(other) < 0.5 * width(vehicle)
        sampling = 2 * 1.96 * np.sqrt(0.4 * 0.6 / 1000)
        assert width(served.get("/results/commute/late", token)) > 0.98 * sampling
        assert width(served.get("/results/commute/late?people=different", token)) < 0.7 * sampling
        among = width(served.get("/results/commute/late?target=respondents", token))
        assert among < 0.7 * sampling  # among those who reported, the noise averages out


def test_segments_and_a_minimum_pool_what_they_show(tmp_path: Path) -> None:
    """Runs of days of several segments were added, which counts of the same people refuse."""
    survey = commute(segments='["beta", "stable"]')
    with running(tmp_path, survey) as served:
        people, token = People(survey, 900), served.token("read")
        for week in range(3):
            people.report(served, MONDAY + 7 * week, range(500), "stable")
            people.report(served, MONDAY + 7 * week + 1, range(500, 900 - 250 * (week > 1)), "beta")
        served.clock.day += 7
        assert served.get("/results/commute", token).document["questions"]["vehicle"] == 2300
        found = served.get("/results/commute/vehicle", token).document
        assert (found["reports"], found["assumed_people"]) == (2300, 900)
        part = served.get("/results/commute/vehicle?segment=beta", token).document
        assert (part["reports"], part["assumed_people"]) == (800, 400)  # 150 wait for more
        path = "/results/commute/vehicle/compare?segment=beta&other_segment=stable"
        compared = served.get(path, token).document
        assert compared["assumed_people"] == [400, 500]
        assert "as few as there can be in each period or segment" in compared["assumption"]
        weeks = served.get("/results/commute/vehicle/trend", token).document
        assert weeks["reports"] == [900, 900, 500]


def test_segments_of_a_joint_are_compared_in_the_same_round(tmp_path: Path) -> None:
    """The largest round of one segment is another week than that of the other."""
    survey = Survey.from_toml('segments = ["beta", "stable"]\n' + TOGETHER_TEXT)
    rng, form = np.random.default_rng(6), SubmissionForm(survey)
    joint = survey.asked("both")
    with running(tmp_path, survey) as served:
        token = served.token("read")
        for week, numbers in enumerate(
            ({"beta": 100, "stable": 400}, {"beta": 200, "stable": 300})
        ):
            served.clock.day = MONDAY + 7 * week
            for segment, n in numbers.items():
                answers = {"vehicle": ["bus", "car"] * (n // 2), "late": ["yes", "no"] * (n // 2)}
                made = form.make({"both": joint.encode_many(answers, rng)}, segment=segment)
                assert served.send(made, survey, binary=True).status == 200
        path = "/results/together/both/compare?segment=beta&other_segment=stable"
        assert waited(served, path, token).document["reports"] == [200, 300]
        weeks = waited(served, "/results/together/both/trend?segment=stable", token).document
        assert weeks["reports"] == [400, 300]


TOGETHER = Survey.from_toml(TOGETHER_TEXT)


def test_questions_asked_together_and_dictionaries_take_the_people_into_account(
    tmp_path: Path,
) -> None:
    """The table of a joint is of one round, the largest; a dictionary has fresh noise."""
    rng, form = np.random.default_rng(5), SubmissionForm(TOGETHER)
    with running(tmp_path, TOGETHER) as served:
        token = served.token("read")
        for week, n in enumerate((800, 1000, 300)):
            served.clock.day = MONDAY + 7 * week
            answers: dict[str, Any] = {
                "both": {"vehicle": ["bus", "car"] * (n // 2), "late": ["yes", "no"] * (n // 2)},
                "word": ["moka"] * n,
            }
            reports = {
                unit.name: unit.encode_many(answers[unit.name], rng) for unit in TOGETHER.reported
            }
            assert served.send(form.make(reports), TOGETHER, binary=True).status == 200
        joint = waited(served, "/results/together/both", token).document
        assert (joint["reports"], joint["people"]) == (1000, "same")
        assert joint["assumption"].endswith("in the round that began on 2026-12-21 alone")
        everything = waited(served, "/results/together/both?people=different", token).document
        assert everything["reports"] == 2100
        margin = served.get("/results/together/vehicle", token).document
        assert (margin["reports"], margin["assumed_people"]) == (2100, 1000)
        found = waited(served, "/results/together/word", token).document
        assert (found["found"], found["assumed_people"]) == (["moka"], 1000)
        words = (
            waited(served, f"/results/together/word?candidates=moka&people={people}", token)
            for people in ("same", "different")
        )
        same, different = (word.document["unbiased_errors"] for word in words)
        assert min(np.subtract(same, different)) > 0
        text = waited(served, "/results/together/both?format=text", token).body.decode()
        assert "Note: assumes 1,000 people with one report each, in the round" in text
