"""Budgets of periods, and costs that no budget holds: what a device may spend, and when."""

from __future__ import annotations

import datetime
import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from murmurs import Survey
from murmurs.cli import main
from murmurs.client import AnswerRefusedError, Client
from murmurs.survey.budget import check_budgets, concerns
from murmurs.survey.promise import promise
from murmurs.survey.terms import CALENDAR, period_number
from tests.client.collectors import Clock

FEBRUARY_28 = 1_803_772_800  # 2027-02-28, a Sunday
QUESTIONS = """
[[questions]]
name = "kept"
labels = ["a", "b", "c"]
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}
[[questions]]
name = "hot"
labels = ["yes", "no"]
epsilon = 1.0
"""


def survey(terms: str, questions: str = QUESTIONS) -> Survey:
    return Survey.from_toml(f'name = "s"\n{terms}\n{questions}')


def client(surveyed: Survey, state: Any, clock: Clock, **more: Any) -> Client:
    settled = surveyed.terms.memory or "kept" not in surveyed.names
    memory: Any = None if settled else "value"
    return Client(surveyed, state, delay=0, clock=clock, memory=memory, **more)


# A budget for each period


@pytest.mark.parametrize(("word", "days"), [("day", 1), ("week", 1), ("month", 1), ("year", 307)])
def test_a_budget_of_a_period_is_there_again_in_the_next(word: str, days: int) -> None:
    clock, state = Clock(FEBRUARY_28), dict[str, Any]()
    device = client(survey(f"epsilon_per = {{{word} = 2}}"), state, clock)
    for _ in range(2):
        device.answer({"hot": "yes"})
    before = json.dumps(state)
    with pytest.raises(AnswerRefusedError) as error:
        device.answer({"hot": "yes"})
    assert str(error.value) == (
        f"survey 's' allows a device epsilon 2 in a {word}: 2 is spent, and this would cost 1 more"
    )
    assert error.value.reason == "budget"
    assert json.dumps(state) == before
    clock.next_day(days - 1 / 86_400)  # the last second of the period
    with pytest.raises(AnswerRefusedError):
        device.answer({"hot": "no"})
    clock.now += 1
    device.answer({"hot": "no"})
    assert device.spent == pytest.approx(3.0)


def test_sums_within_a_period_are_exact() -> None:
    question = '[[questions]]\nname = "q"\nlabels = ["a", "b"]\nepsilon = 0.33'
    device = client(survey("epsilon_per = {week = 3.3}", question), {}, Clock(FEBRUARY_28 - 86_400))
    for _ in range(10):
        device.answer({"q": "a"})
    with pytest.raises(AnswerRefusedError, match=r"3\.3 is spent"):
        device.answer({"q": "a"})


def test_a_permanent_response_is_paid_in_the_period_in_which_it_is_drawn() -> None:
    clock, state = Clock(FEBRUARY_28), dict[str, Any]()
    device = client(survey("epsilon_per = {month = 2}"), state, clock)
    device.answer({"kept": "a"})
    device.answer({"kept": "a"})
    with pytest.raises(AnswerRefusedError, match="in a month: 2 is spent, and this would cost 2 m"):
        device.answer({"kept": "b"})
    clock.next_day()
    device.answer({"kept": "a"})  # reports from a response that is paid
    device.answer({"hot": "yes"})
    with pytest.raises(AnswerRefusedError, match="in a month: 1 is spent, and this would cost 2 m"):
        device.answer({"kept": "b"})


def _repeats(history: str) -> tuple[int, ...]:
    return tuple(history.index(value) for value in history)


def _changes(history: str) -> tuple[bool, ...]:
    return tuple(a != b for a, b in itertools.pairwise(history))


@pytest.mark.parametrize(
    ("memory", "visible"),
    [
        ('memory = "value"', _repeats),
        ('memory = "change"', _changes),
        ('memory = "period"\nperiod = "day"', lambda _: None),
    ],
)
def test_silence_shows_what_the_memory_shows_and_nothing_else(memory: str, visible: Any) -> None:
    """All histories of four days: a spent budget refuses the same days wherever they look alike."""
    asked = survey(f"{memory}\nlifetime_epsilon = 5\nepsilon_per = {{week = 4}}")
    found: dict[Any, set[tuple[bool, ...]]] = {}
    for days in itertools.product("abc", repeat=4):
        clock, answered = Clock(FEBRUARY_28), []
        device = client(asked, {}, clock)
        for value in days:
            try:
                device.answer({"kept": value})
                answered.append(True)
            except AnswerRefusedError:
                answered.append(False)
            clock.next_day()
        found.setdefault(visible("".join(days)), set()).add(tuple(answered))
    assert all(len(silences) == 1 for silences in found.values())
    some = set().union(*found.values())
    assert any(not all(answered) for answered in some)  # budgets were spent
    assert (len(some) == 1) == ("period" in memory)


def test_all_budgets_hold_together_and_the_smaller_of_the_surveys_and_the_apps() -> None:
    clock, state = Clock(FEBRUARY_28 + 86_400), dict[str, Any]()
    both = survey("lifetime_epsilon = 4\nepsilon_per = {day = 3, month = 3}")
    device = client(both, state, clock, limit_per={"day": 1, "year": 3})
    device.answer({"hot": "yes"})
    with pytest.raises(AnswerRefusedError, match=r"^this app allows a device epsilon 1 in a day"):
        device.answer({"hot": "yes"})
    clock.next_day()
    device.answer({"hot": "yes"})
    clock.next_day()
    device.answer({"hot": "yes"})
    clock.next_day()
    with pytest.raises(AnswerRefusedError, match=r"^survey 's' allows a device epsilon 3 in a mon"):
        device.answer({"hot": "yes"})
    clock.next_day(31)
    with pytest.raises(AnswerRefusedError, match=r"^this app allows a device epsilon 3 in a year"):
        device.answer({"hot": "yes"})
    unlimited = client(both, state, clock)
    unlimited.answer({"hot": "yes"})
    clock.next_day(400)
    with pytest.raises(AnswerRefusedError, match="epsilon 4 over its lifetime: 4 is spent"):
        unlimited.answer({"hot": "yes"})
    with pytest.raises(ValueError, match="limit_per is for 'day', 'week', 'month', 'year', as"):
        client(both, state, clock, limit_per={"hour": 1})


def test_a_clock_that_moves_about_never_gets_more_than_one_budget_out_of_a_period() -> None:
    """What is spent after the clock was set back counts in the later period, until that is over."""
    clock, state = Clock(FEBRUARY_28), dict[str, Any]()
    device = client(survey("epsilon_per = {month = 1}"), state, clock)
    device.answer({"hot": "yes"})
    clock.next_day(40)
    device.answer({"hot": "yes"})
    clock.next_day(-40)
    for _ in range(39):
        clock.next_day()
        with pytest.raises(AnswerRefusedError):
            device.answer({"hot": "yes"})
    clock.next_day(30)
    device.answer({"hot": "yes"})


def test_a_new_version_finds_what_was_spent_in_its_periods_before() -> None:
    clock, state = Clock(FEBRUARY_28), dict[str, Any]()
    client(survey("version = 1"), state, clock).answer({"hot": "yes"})
    second = client(survey("version = 2\nepsilon_per = {week = 1}"), state, clock)
    with pytest.raises(AnswerRefusedError, match="in a week: 1 is spent"):
        second.answer({"hot": "yes"})


def test_a_state_that_did_not_note_when_it_spent_has_spent_all_on_its_last_day() -> None:
    clock, state = Clock(FEBRUARY_28), dict[str, Any]()
    for _ in range(2):
        client(survey(""), state, clock).answer({"hot": "yes"})
        clock.next_day(-27)
    old = state["client"]
    del old["within"], old["heard"]
    old["format"] = 1
    clock.now = FEBRUARY_28
    yearly = client(survey("epsilon_per = {month = 2}"), {"client": dict(old)}, clock)
    with pytest.raises(AnswerRefusedError, match="in a month: 2 is spent"):
        yearly.answer({"hot": "yes"})
    clock.next_day()
    client(survey("epsilon_per = {month = 2}"), {"client": dict(old)}, clock).answer({"hot": "no"})


@pytest.mark.parametrize("word", CALENDAR)
def test_calendar_periods_are_those_of_the_calendar(word: Any) -> None:
    first = datetime.date(2026, 12, 28)  # a Monday
    numbers = [period_number(word, first + datetime.timedelta(n)) for n in range(7)]
    starts = {"day": [0, 1, 2, 3, 4, 5, 6], "week": [0] * 7}
    wanted = starts.get(word, [0, 0, 0, 0, 1, 1, 1])
    assert [number - numbers[0] for number in numbers] == wanted


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ("epsilon_per = {month = 2}", "{month = 2} does not cover one answer to each question"),
        (
            'every = "week"\nquestions_each = 1\nepsilon_per = {week = 1.5}',
            "{week = 1.5} does not cover one answer to the question that costs most, which costs 2",
        ),
        (
            'every = "week"\nepsilon_per = {month = 3}\nmemory = "value"',
            "cost 1 each time, which is 36 in a year.",
        ),
        (
            'every = "week"\nepsilon_per = {year = 12}\nmemory = "value"',
            "epsilon_per = {year = 12} holds about 10 of the 52 times that a device may answer "
            "in a year.",
        ),
        (
            'every = "week"\nepsilon_per = {year = 12}\nlifetime_epsilon = 22\nmemory = "value"',
            "lifetime_epsilon = 22 is spent after 20 answers, in about 730 days.",
        ),
        (
            'every = "week"\nquestions_each = 1\nlifetime_epsilon = 10\nmemory = "value"',
            "if 1 of 2 are answered once a week: reports to 'hot' keep no permanent response and "
            "cost at most 1 each time, so lifetime_epsilon = 10 is spent after 8 answers",
        ),
    ],
)
def test_publishing_says_what_the_budgets_hold(terms: str, told: str) -> None:
    assert told in " ".join(concerns(survey(terms)))


# No epsilon bounds it


TRIANGULAR = """
[[questions]]
name = "cheated"
mechanism = {name = "Triangular", p = "1/4"}
"""
UNBOUNDED = survey("", QUESTIONS + TRIANGULAR)


def test_an_answer_that_no_epsilon_bounds_is_counted_as_that() -> None:
    state = dict[str, Any]()
    device = client(UNBOUNDED, state, Clock())
    device.answer({"hot": "yes"})
    assert device.spent == pytest.approx(1.0)
    device.answer({"cheated": "no"})
    assert device.spent == math.inf
    device.answer({"hot": "yes"})
    assert client(UNBOUNDED, json.loads(json.dumps(state)), Clock()).spent == math.inf
    assert device.queued == 3


@pytest.mark.parametrize(
    "terms", ["lifetime_epsilon = 1000000", "epsilon_per = {year = 1000000}"], ids=str
)
def test_no_budget_holds_it_and_publish_refuses_before_anything_is_written(
    terms: str, tmp_path: Path
) -> None:
    both = survey(terms, QUESTIONS + TRIANGULAR)
    device = client(both, {}, Clock())
    with pytest.raises(AnswerRefusedError, match="0 is spent, and no epsilon bounds what thi"):
        device.answer({"cheated": "yes"})
    device.answer({"hot": "yes"})
    with pytest.raises(ValueError, match="no epsilon bounds what a report to 'cheated' reveals"):
        check_budgets(both)
    (tmp_path / "s.toml").write_text(f'name = "s"\n{terms}\n{QUESTIONS}{TRIANGULAR}')
    done = CliRunner().invoke(
        main, ["publish", str(tmp_path / "s.toml"), "-o", str(tmp_path / "s.json")]
    )
    assert done.exit_code == 2
    assert "take another mechanism, or leave" in " ".join(done.output.split())
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]


def test_publish_states_it_and_the_promise_promises_nothing(tmp_path: Path) -> None:
    terms = 'every = "week"\n'
    (tmp_path / "s.toml").write_text(f'name = "s"\n{terms}{QUESTIONS}{TRIANGULAR}')
    done = CliRunner().invoke(
        main, ["publish", str(tmp_path / "s.toml"), "-o", str(tmp_path / "s.json")]
    )
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert "Note: no epsilon bounds what reports to 'cheated' reveal" in told
    told = promise(survey("lifetime_epsilon = 3", QUESTIONS + TRIANGULAR), UNBOUNDED["cheated"])
    assert "no epsilon bounds" in told
    assert "at most" not in told


def test_the_shell_says_that_no_epsilon_bounds_what_was_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(UNBOUNDED.to_json(), encoding="utf-8")
    said = ["answer", "s.json", "cheated=no", "--state", "me.json", "--memory", "value"]
    assert "Spent so far: more than any epsilon." in CliRunner().invoke(main, said).output
    document = json.loads(CliRunner().invoke(main, [*said, "--json"]).stdout)
    assert document["spent"] is None


# Where the state is


def test_a_state_stays_where_it_was_when_the_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    device = client(survey("lifetime_epsilon = 2"), "me.json", Clock())
    device.answer({"hot": "yes"})
    monkeypatch.chdir(tmp_path / "elsewhere")
    device.answer({"hot": "yes"})
    assert device.spent == pytest.approx(2.0)
    with pytest.raises(AnswerRefusedError):
        device.answer({"hot": "yes"})
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("path", ["-", Path("-"), "/dev/stdout", "/dev/null"])
def test_what_keeps_nothing_is_no_state(path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"a state holds a secret and must be kept, and .* is "):
        client(survey(""), path, Clock()).answer({"hot": "yes"})
    assert capfd.readouterr().out == ""
