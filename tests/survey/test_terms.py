"""The terms of a survey are read back exactly, refused with the rule, and may be left out."""

from __future__ import annotations

import datetime
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from murmurs import KRR, LOSUE, BasicRappor, Question, Survey
from murmurs.cli import main
from murmurs.survey.budget import concerns, price, rounded_up
from murmurs.survey.terms import FIELDS, Terms, period_number
from tests.survey.test_survey import SURVEY

QUESTIONS = """
[[questions]]
name = "drink"
labels = ["tea", "mate"]
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}
[[questions]]
name = "pet"
mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}
[[questions]]
name = "size"
labels = ["s", "m", "l"]
epsilon = 1.0
[[joint]]
questions = ["pet", "size"]
"""
TERMS = """
title = "Drinks"
purpose = "To order enough\\nof everything."
owner = "drinks@example.org"
every = "week"
lifetime_epsilon = 20
memory = "period"
period = "month"
opens = 2026-12-01
closes = 2027-02-28
minimum_reports = 1000
epsilon_per = {week = 4, month = 10}
questions_each = 1
segments = ["north", "south"]
"""


def written(terms: str, questions: str = QUESTIONS) -> Survey:
    return Survey.from_toml(f'name = "both"\n{terms}\n{questions}')


def test_surveys_that_were_published_before_keep_their_fingerprints() -> None:
    known = "e25915b5676b08079fdceacff7a1d581dc0ab492e036012b4dd26cb73056050c"
    assert SURVEY.fingerprint == known
    with_segments = written('segments = ["a", "b"]')
    known = "d9e5b9f33c0221e0574c863f1cf96be74b32b60b085a55c77f78bbf762d43c26"
    assert with_segments.fingerprint == known


def test_all_terms_are_read_back_exactly() -> None:
    survey = written(TERMS)
    assert survey.terms == Terms(
        title="Drinks",
        purpose="To order enough\nof everything.",
        owner="drinks@example.org",
        every="week",
        lifetime_epsilon=20.0,
        memory="period",
        period="month",
        opens=datetime.date(2026, 12, 1),
        closes=datetime.date(2027, 2, 28),
        minimum_reports=1000,
        epsilon_per={"month": 10, "week": 4},
        questions_each=1,
    )
    assert survey.terms.budgets == (("week", 4.0), ("month", 10.0))
    assert hash(survey.terms) == hash(Survey.from_json(survey.to_json()).terms)
    assert set(survey.terms.to_document()) == set(FIELDS)
    again = Survey.from_json(survey.to_json())
    assert again == survey
    assert again.to_json() == survey.to_json()


@pytest.mark.parametrize("line", [line for line in TERMS.splitlines() if " = " in line])
def test_each_term_changes_the_fingerprint(line: str) -> None:
    terms = {"period": 'memory = "period"\n' + line, "memory": 'memory = "value"'}
    terms["questions_each"] = 'every = "week"\n' + line
    without = 'every = "week"' if line.startswith("questions_each") else ""
    assert written(terms.get(line.split()[0], line)).fingerprint != written(without).fingerprint


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ('every = "hour"', "every must be 'day', 'week', 'month', 'year', 'once' or a num"),
        ("every = 0", "every, a number of days, must be from 1 to 3660, not 0"),
        ("every = true", "Expected `int | str | null`, got `bool` - at `$.every`"),
        ("lifetime_epsilon = 0", "lifetime_epsilon must be from 1e-06 to 1e+06, not 0"),
        ("lifetime_epsilon = inf", "lifetime_epsilon must be from 1e-06 to 1e+06, not inf"),
        ("minimum_reports = 0", "minimum_reports must be from 1 to"),
        ('opens = "soon"', "Invalid RFC3339"),
        ("opens = 2026-12-01T10:00:00Z", "`$.opens`"),
        (
            "opens = 2026-12-02\ncloses = 2026-12-01",
            "the survey closes on 2026-12-01, before it opens on 2026-12-02",
        ),
        ('memory = "forever"', "memory must be one of these, not 'forever'. It decides what is pr"),
        ('memory = "period"', 'memory = "period" needs a period such as "month"'),
        ('memory = "value"\nperiod = "month"', "other memories have none"),
        ('title = "a\\u202eb"', "the title of a survey has the control character U+202E"),
        (f'owner = "{"a" * 2001}"', "the owner of a survey has 2001 characters, more than 2000"),
        ("purpose = 7", "Expected `str`, got `int` - at `$.purpose`"),
    ],
)
def test_bad_terms_are_refused_with_the_rule(terms: str, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        written(terms)
    assert message in str(error.value)


def test_a_memory_needs_a_question_with_a_permanent_response() -> None:
    hot = Question("hot", ("yes", "no"), KRR(2, 1.0))
    with pytest.raises(ValueError, match="no question that is reported by itself has a permanent"):
        Survey("s", (hot,), terms=Terms(memory="value"))
    bare = Question("hot", ("yes", "no"), BasicRappor(2, f=0.0, p=0.25, q=0.75))
    with pytest.raises(ValueError, match="leave memory out"):
        Survey("s", (bare,), terms=Terms(memory="value"))
    with pytest.raises(TypeError, match=r"for terms: Terms\(every='week'\)"):
        Survey("s", (hot,), terms={"every": "week"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="opens must be a date such as 2027-03-31"):
        Terms(opens="2027-03-31")  # type: ignore[arg-type]


@pytest.mark.parametrize("period", ["day", "week", "month", "year", "once", 1, 10, 365])
def test_periods_follow_each_other_without_gaps(period: Any) -> None:
    first = datetime.date(2026, 11, 2)  # a Monday
    days = [first + datetime.timedelta(n) for n in range(800)]
    numbers = [period_number(period, day) for day in days]
    starts = [day for day, n, m in zip(days[1:], numbers[1:], numbers, strict=False) if n != m]
    assert {m - n for n, m in itertools.pairwise(numbers)} <= {0, 1}
    if period == "week":
        assert {day.weekday() for day in starts} == {0}
        assert len(starts) == 799 // 7
    elif period == "month":
        assert {day.day for day in starts} == {1}
    elif period == "year":
        assert {(day.day, day.month) for day in starts} == {(1, 1)}
    elif period == "once":
        assert not starts
    else:
        each = 1 if period == "day" else period
        assert len({(day - starts[0]).days % each for day in starts}) == 1


def test_prices_are_never_below_the_truth() -> None:
    kept = Question("q", ("a", "b", "c"), LOSUE(3, epsilon=1.0, epsilon_permanent=2.0))
    fresh = Question("p", ("a", "b", "c"), KRR(3, 1.0))
    assert price(kept) == Fraction(kept.mechanism.epsilon_permanent_realised)  # type: ignore[union-attr]
    assert price(fresh) == Fraction(fresh.mechanism.epsilon_realised)
    third = Fraction(1, 3)
    assert Fraction(rounded_up(third)) > third
    assert rounded_up(Fraction(1, 4)) == 0.25


FRESH = """
[[questions]]
name = "hot"
labels = ["yes", "no"]
epsilon = 1.0
"""


@pytest.mark.parametrize(
    ("terms", "questions", "told"),
    [
        ("lifetime_epsilon = 0.5", FRESH, "does not cover one answer to each question, which cost"),
        ('every = "once"\nlifetime_epsilon = 1', FRESH, ""),
        ("lifetime_epsilon = 7.5", FRESH, ""),
        (
            'every = "day"\nlifetime_epsilon = 7.5',
            FRESH,
            "keep no permanent response and cost 1 each time, so lifetime_epsilon = 7.5 is "
            "spent after 7 answers, in about 7 days.",
        ),
        ('every = "week"', FRESH, "cost 1 each time, which is 52 in a year. Ask once, give"),
        (
            'every = 10\nlifetime_epsilon = 12\nmemory = "period"\nperiod = "month"',
            QUESTIONS,  # 3 for the joint each time, 2 for the response in each month
            "spent after 3 answers, in about 30 days.",
        ),
    ],
)
def test_publishing_says_how_fast_the_budget_goes(terms: str, questions: str, told: str) -> None:
    found = concerns(written(terms, questions))
    assert len(found) == bool(told)
    assert told in "".join(found)


def test_publish_prints_the_terms(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f'name = "both"\n{TERMS}\n{QUESTIONS}', encoding="utf-8")
    arguments = ["publish", str(tmp_path / "s.toml"), "-o", str(tmp_path / "s.json")]
    printed = CliRunner().invoke(main, arguments, catch_exceptions=False)
    for line in (
        "title     Drinks",
        "answers   once a week per device",
        "lifetime  epsilon 20 per device, over all questions and days",
        "memory    permanent responses by period, for one month each",
        "open      from 2026-12-01 to 2027-02-28, UTC",
        "results   shown from 1,000 reports on",
        "segments  north, south",
        "draw      1 of 2 questions each time, at random",
        "budget    epsilon 4 a week, epsilon 10 a month",
    ):
        assert line in printed.output
    note = "Note: if 1 of 2 are answered once a week: reports to 'pet+size' keep no permanent"
    assert note in " ".join(printed.output.split())
    told = CliRunner().invoke(main, [*arguments, "--json"], catch_exceptions=False)
    document = json.loads(told.stdout)
    assert document["every"] == "week"
    assert len(document["concerns"]) == 2


def test_a_period_that_is_given_twice_has_no_budget() -> None:
    with pytest.raises(ValueError, match="epsilon_per has a period twice: give each one budget"):
        Terms(epsilon_per=(("month", 1.0), ("month", 9.0)))
