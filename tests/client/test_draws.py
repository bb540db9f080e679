"""Devices that answer some of the questions in each period: who draws what, and what follows."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest

from murmurs import Survey
from murmurs.client import AnswerRefusedError, Client, limits
from murmurs.client.limits import draw
from murmurs.survey.budget import price
from murmurs.survey.promise import promise
from tests.client.collectors import Clock, Collector
from tests.client.test_lifetime import Replayed, loss
from tests.walk import exact_law

TOML = """
name = "s"
every = "week"
questions_each = {each}
{terms}
[[questions]]
name = "a"
labels = ["yes", "no"]
epsilon = 1.0
[[questions]]
name = "b"
labels = ["yes", "no"]
epsilon = 0.5
[[questions]]
name = "c"
labels = ["yes", "no"]
epsilon = 0.7
[[questions]]
name = "d"
labels = ["yes", "no"]
epsilon = 0.2
[[joint]]
questions = ["c", "d"]
"""


def survey(each: int = 1, terms: str = "") -> Survey:
    return Survey.from_toml(TOML.format(each=each, terms=terms))


def answers(names: tuple[str, ...], label: str = "yes") -> dict[str, str]:
    """An answer to each question of what was drawn."""
    return {part: label for name in names for part in name.split("+")}


def client(surveyed: Survey, state: Any = None, **more: Any) -> Client:
    return Client(
        surveyed, {} if state is None else state, **{"delay": 0, "clock": Clock(), **more}
    )


# The draw


@pytest.mark.parametrize(("n", "each"), [(2, 1), (4, 1), (4, 2), (5, 3)])
def test_every_set_of_questions_is_drawn_with_the_same_probability(n: int, each: int) -> None:
    names = tuple("abcdefg"[:n])
    law = exact_law(lambda _, random: draw(names, each, random), 0)
    sets = list(itertools.combinations(names, each))
    assert law == dict.fromkeys(sets, Fraction(1, len(sets)))


def test_a_device_draws_the_same_again_and_anew_in_each_period() -> None:
    surveyed, clock, state = survey(2), Clock(), dict[str, Any]()
    drawn = []
    for _ in range(40):
        first = client(surveyed, state, clock=clock).askable()
        client(surveyed, state, clock=clock)  # another look changes nothing
        assert client(surveyed, state, clock=clock).askable() == first
        assert len(first) == 2
        drawn.append(first)
        if len(drawn) == 1:
            client(surveyed, state, clock=clock).answer(answers(first))  # the secret is kept
        clock.next_day(7)
    assert len(set(drawn)) == 3  # fewer by chance in about 3 * (2/3)^39, 4e-7


def test_devices_draw_independently_of_each_other() -> None:
    """Chi-squared with 2 degrees of freedom beyond 33: 7e-8; all devices alike fail."""
    drawn: Counter[tuple[str, ...]] = Counter()
    for number in range(900):
        secret = number.to_bytes(32, "big")
        random = limits.chance_of_draw(secret, "s", "week", 2977, ("a", "b", "c+d"))
        drawn[draw(("a", "b", "c+d"), 1, random)] += 1
    assert sum((found - 300) ** 2 / 300 for found in drawn.values()) < 33
    assert len(drawn) == 3


def test_the_draw_depends_on_no_answer() -> None:
    """It is read before any answer, from the secret and from what is public."""
    state = dict[str, Any]()
    clock = Clock()
    device = client(survey(2), state, clock=clock)
    device.answer(answers(device.askable()))
    secret = state["client"]["secret"]
    seen = set()
    for label in ("yes", "no"):
        other = {"client": {"survey": "s", "secret": secret}}
        course = []
        for week in range(5):
            device = client(survey(2), other, clock=Clock(1_800_000_000 + week * 7 * 86_400))
            course.append(device.askable())
            device.answer(answers(course[-1], label))
        seen.add(tuple(course))
    assert len(seen) == 1


# What is asked, and what is refused


def test_only_what_was_drawn_is_asked_and_taken() -> None:
    state = dict[str, Any]()
    device = client(survey(), state)
    [drawn] = device.askable()
    assert client(survey(), state).askable() == (drawn,)  # the secret is kept from the first look
    others = [name for name in ("a", "b", "c+d") if name != drawn]
    before = json.dumps(state)
    for name in others:
        with pytest.raises(AnswerRefusedError) as error:
            device.answer(answers((name,)))
        assert str(error.value) == (
            f"'{name}' is not asked in this period: once a week a device answers 1 of 3 "
            f"questions, and this one drew '{drawn}'"
        )
        assert error.value.reason == "draw"
    with pytest.raises(AnswerRefusedError, match="is not asked in this period"):
        device.answer(answers(("a", "b", "c+d")))
    assert json.dumps(state) == before
    device.answer(answers((drawn,)))
    assert device.askable() == ()


def test_no_device_draws_again_because_an_answer_was_refused() -> None:
    """Otherwise it could be asked until it draws the question that somebody wants."""
    refused = set()
    state = dict[str, Any]()
    for _ in range(4):
        for name in ("a", "b", "c+d"):
            try:
                client(survey(), state).answer(answers((name,)))
            except AnswerRefusedError as error:
                refused.add((name, error.reason))
    assert {reason for _, reason in refused} == {"draw", "period"}
    assert len([name for name, reason in refused if reason == "draw"]) == 2
    assert client(survey(), state).queued == 1


def test_what_was_drawn_may_be_answered_one_after_another() -> None:
    device = client(survey(2), clock=(clock := Clock()))
    first, second = device.askable()
    device.answer(answers((first,)))
    assert device.askable() == (second,)
    device.answer(answers((second,)))
    assert device.askable() == ()
    clock.next_day(7)
    assert len(device.askable()) == 2


def test_once_means_that_a_device_answers_so_many_for_ever() -> None:
    once = Survey.from_toml(TOML.format(each=1, terms="").replace('"week"', '"once"'))
    clock = Clock()
    device = client(once, clock=clock)
    device.answer(answers(device.askable()))
    clock.next_day(1000)
    assert device.askable() == ()


def test_versions_and_clocks_get_no_more_than_the_number_out_of_a_period() -> None:
    """Another list of questions is drawn from anew, but the number in a period holds for all."""
    state, clock = dict[str, Any](), Clock()
    first = client(survey(), state, clock=clock)
    first.answer(answers(first.askable()))
    longer = TOML.format(each=1, terms="version = 2") + (
        '[[questions]]\nname = "e"\nlabels = ["yes", "no"]\nepsilon = 1.0\n'
    )
    for number in range(12):  # other names, other draws
        second = client(Survey.from_toml(longer.replace('"e"', f'"e{number}"')), state, clock=clock)
        assert second.askable() == ()
        for name in ("a", "b", "c+d", f"e{number}"):
            with pytest.raises(AnswerRefusedError):
                second.answer(answers((name,)))
    clock.next_day(-70)
    for _ in range(9):
        assert first.askable() == ()
        for name in ("a", "b", "c+d"):
            with pytest.raises(AnswerRefusedError) as error:
                first.answer(answers((name,)))
            assert error.value.reason == "period"
        clock.next_day(7)
    clock.next_day(7)
    assert len(first.askable()) == 0  # the week of the first answer
    clock.next_day(7)
    assert len(first.askable()) == 1


def test_random_clocks_and_versions_get_no_more_out_of_a_week_than_one_question_and_budget() -> (
    None
):
    """Thirty devices, whose clocks jump about and whose surveys come in versions of other lists."""
    surveys = [
        Survey.from_toml(TOML.format(each=1, terms="version = 1\nepsilon_per = {week = 1}")),
        Survey.from_toml(
            TOML.format(each=1, terms="version = 2\nepsilon_per = {week = 1}")
            + '[[questions]]\nname = "e"\nlabels = ["yes", "no"]\nepsilon = 0.3\n'
        ),
        Survey.from_toml(TOML.format(each=2, terms="version = 3\nepsilon_per = {week = 1}")),
    ]
    answered = 0
    for seed in range(30):
        rng, state, clock = random.Random(seed), dict[str, Any](), Clock()
        asked: Counter[int] = Counter()
        spent: dict[int, Fraction] = {}
        for _ in range(25):
            if rng.random() < 0.5:
                clock.next_day(rng.choice([-400, -30, -7, -1, 1, 2, 7, 30, 400]))
            surveyed = rng.choice(surveys[:2] if seed % 2 else surveys)
            device = client(surveyed, state, clock=clock, most_queued=1000)
            before = Fraction(device._loaded().exact)
            name = rng.choice([asked.name for asked in surveyed.reported])
            try:
                device.answer(answers((name,)))
            except AnswerRefusedError:
                continue
            week = int(clock.now) // 86_400 + 3
            asked[week // 7] += 1
            cost = Fraction(device._loaded().exact) - before
            spent[week // 7] = spent.get(week // 7, Fraction(0)) + cost
        assert max(asked.values(), default=0) <= (1 if seed % 2 else 2)
        assert all(week <= 1 for week in spent.values())
        answered += sum(asked.values())
    assert answered > 60


# What it costs, and what it shows


Given = dict[str, str]


def everything(surveyed: Survey, course: tuple[Given, ...], random: Any) -> Any:
    """All that leaves a device in some weeks, and what its odometer says then."""
    clock, state, left = Clock(), dict[str, Any](), []
    draws: dict[int, Replayed] = {}

    def chance(_secret: bytes, _survey: str, _every: Any, number: int, _names: Any) -> Any:
        return draws.setdefault(number, Replayed(random)).again()

    with mock.patch.object(limits, "chance_of_draw", chance):
        device = client(surveyed, state, clock=clock, random=random)
        for given in course:
            parts = [part for name in device.askable() for part in name.split("+")]
            sealed = device.answer({part: given[part] for part in parts})
            left.append(tuple(sorted(sealed.reports.items())))
            clock.next_day(7)
    return tuple(left), state["client"]["spent"]


def all_answers(names: str) -> list[Given]:
    labels = itertools.product(("yes", "no"), repeat=len(names))
    return [dict(zip(names, each, strict=True)) for each in labels]


TWO = Survey.from_toml(TOML.format(each=1, terms="").partition('[[questions]]\nname = "c"')[0])
COURSES: list[tuple[Survey, list[tuple[Given, ...]]]] = [
    (survey(1), [(given,) for given in all_answers("abcd")]),
    (survey(2), [(given,) for given in all_answers("abcd")[::3]]),
    (TWO, [(given, given) for given in all_answers("ab")]),
]


@pytest.mark.parametrize(("surveyed", "courses"), COURSES, ids=["1 of 3", "2 of 3", "two weeks"])
def test_whoever_sees_everything_learns_the_draws_and_what_the_odometer_says(
    surveyed: Survey, courses: list[tuple[Given, ...]]
) -> None:
    """The exact law of all that leaves a device, draws included, for every course of answers.

    Draws have the same law whatever the answers are. Given the draws, two courses differ by no more
    than the price of what was drawn, which is what the odometer says, and no less: sampling saves
    the price of the other questions and nothing else.
    """
    laws = [exact_law(lambda _, r, c=c: everything(surveyed, c, r), 0) for c in courses]  # type: ignore[misc]
    drawn: list[dict[Any, Fraction]] = []
    worst: dict[Any, tuple[Fraction, Fraction]] = {}
    for law in laws:
        assert sum(law.values()) == 1
        margin: dict[Any, Fraction] = {}
        for seen, weight in law.items():
            sets = tuple(tuple(name for name, _ in week) for week in seen[0])
            margin[sets] = margin.get(sets, Fraction(0)) + weight
            ratio = max(weight / other[seen] for other in laws)
            before = worst.get(sets, (Fraction(1), Fraction(0)))[0]
            worst[sets] = max(before, ratio), Fraction(seen[1])
        drawn.append(margin)
    assert all(margin == drawn[0] for margin in drawn)
    assert len(set(drawn[0].values())) == 1  # every set of questions has the same probability
    for sets, (ratio, spent) in worst.items():
        assert spent == sum(price(surveyed[name]) for week in sets for name in week)
        assert loss(ratio) <= spent
        if len(courses) == 16:
            assert loss(ratio) > spent - Fraction(1, 10**9)


def test_permanent_responses_are_paid_once_however_often_they_are_drawn() -> None:
    kept = Survey.from_toml("""
name = "s"
every = "week"
questions_each = 1
memory = "value"
[[questions]]
name = "a"
labels = ["yes", "no"]
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}
[[questions]]
name = "b"
labels = ["yes", "no"]
epsilon = 1.0
""")
    clock, state = Clock(), dict[str, Any]()
    drawn: Counter[str] = Counter()
    for _ in range(30):
        device = client(kept, state, clock=clock)
        [name] = device.askable()
        device.answer({name: "yes"})
        drawn[name] += 1
        clock.next_day(7)
    assert min(drawn.values()) > 1  # otherwise by chance about 6e-8
    assert device.spent == pytest.approx(2.0 + drawn["b"])


def test_counts_are_of_the_devices_that_drew_a_question_and_unbiased() -> None:
    """Six standard errors, about 2e-9 a share; devices that skip what is "no" would fail."""
    surveyed, rng = survey(1), np.random.default_rng(3)
    collector, clock = Collector(surveyed), Clock()
    for number in range(900):
        device = client(surveyed, clock=clock, random=rng)
        [name] = device.askable()
        device.answer(answers((name,), "yes" if number % 3 else "no"))
        device.send(collector)
    for name in ("a", "b"):
        sent = [one.reports[name] for one in collector.counted.values() if name in one.reports]
        assert abs(len(sent) - 300) < 6 * (900 * 2 / 9) ** 0.5
        found = surveyed.question(name).estimate(
            surveyed.question(name).count(b"".join(sent)), "unbiased"
        )
        assert abs(found.shares[0] - 2 / 3) < 6 * found.standard_errors()[0]


@pytest.mark.parametrize(
    ("epsilon", "d", "noise", "all_of_it"),
    [(1.0, 2, 2.13, 1.78), (1.0, 5, 5.41, 4.30), (4.0, 2, 4.76, 0.80), (4.0, 5, 15.6, 1.29)],
)
def test_one_question_at_the_whole_budget_beats_a_part_of_it_for_each_where_noise_dominates(
    epsilon: float, d: int, noise: float, all_of_it: float
) -> None:
    """The variance of a share: of n devices at epsilon / d, over that of n / d at epsilon.

    With few devices left, chance also decides which of them are asked: at epsilon 4, two questions
    with two answers are better asked of everybody.
    """
    found = []
    for each, n in ((epsilon, 10**6 // d), (epsilon / d, 10**6)):
        toml = f'name="s"\n[[questions]]\nname="q"\nlabels=["yes","no"]\nepsilon={each}'
        question = Survey.from_toml(toml).question("q")
        made = question.estimate(question.simulate([n // 2] * 2), "unbiased")
        found.append(
            [made.standard_errors(whose)[0] ** 2 for whose in ("respondents", "population")]
        )
    ratios = [split / drawn for drawn, split in zip(*found, strict=True)]
    assert ratios == pytest.approx([noise, all_of_it], rel=0.02)


def test_the_promise_says_whose_reports_these_are() -> None:
    told = promise(survey(2, "epsilon_per = {month = 2}"), survey(2)["a"])
    assert (
        "For answers within one month, to all questions, a device spends at most epsilon 2." in told
    )
    assert told.endswith(
        "Once a week, each device draws 2 of 3 questions at random and answers only\n"
        "these, whatever its answers are: these reports are of the devices that drew this one."
    )


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("questions_each = 3", "has questions_each = 3, and devices report to 3: draw fewer, or"),
        ("questions_each = 0", "questions_each must be from 1 to 65535, not 0"),
        ("questions_each = 1.5", "Expected `int | null`, got `float` - at `$.questions_each`"),
        ("epsilon_per = {hour = 2}", "epsilon_per is for 'day', 'week', 'month', 'year', as {mon"),
        ("epsilon_per = {month = 0}", "epsilon_per of a month must be from 1e-06 to 1e+06, not 0"),
        ("epsilon_per = {}", "epsilon_per names no period: write {month = 2}, or leave it out"),
        ("epsilon_per = 2", "Expected `object | null`, got `int` - at `$.epsilon_per`"),
    ],
)
def test_bad_terms_are_refused_with_the_rule(terms: str, message: str) -> None:
    toml = TOML.format(each=1, terms="").replace("questions_each = 1", terms)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        Survey.from_toml(toml)
    assert message in str(error.value)


def test_a_draw_needs_to_know_how_often() -> None:
    with pytest.raises(ValueError, match="for each period in which a device answers: give every"):
        Survey.from_toml(TOML.format(each=1, terms="").replace('every = "week"', ""))
