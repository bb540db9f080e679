"""Many devices at once have the joint law of as many single devices, for every memory."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.devices.device import MEMORIES
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from tests.goodness import FALSE_ALARM, p_value
from tests.mechanisms.longitudinal.test_longitudinal import (
    SMALL,
    AnyLongitudinal,
    course_law,
    relative,
)

N = 6000
SHARED, APART = "one response", "two responses"

HISTORIES: list[tuple[str, list[tuple[int, int | None]], tuple[int, int], str]] = [
    ("value", [(1, None), (1, None)], (0, 1), SHARED),
    ("value", [(1, None), (0, None), (1, None)], (0, 2), SHARED),
    ("change", [(1, None), (1, None)], (0, 1), SHARED),
    ("change", [(1, None), (0, None), (1, None)], (0, 2), APART),
    ("period", [(1, 5), (0, 5)], (0, 1), SHARED),
    ("period", [(1, 5), (1, 6)], (0, 1), APART),
]
"""Memory, values with periods, which two reports are compared, and what they share."""


def joint(mechanism: AnyLongitudinal, kind: str) -> dict[Any, Fraction]:
    """The law of two reports of value 1, from one permanent response or from two."""
    if kind == SHARED:
        found: dict[Any, Fraction] = {}
        for reports, weight in course_law(mechanism, (1, 1)).items():
            key = tuple(relative(mechanism, report, 1) for report in reports)
            found[key] = found.get(key, Fraction(0)) + weight
        return found
    single: dict[Any, Fraction] = {}
    for (report,), weight in course_law(mechanism, (1,)).items():
        key = relative(mechanism, report, 1)
        single[key] = single.get(key, Fraction(0)) + weight
    return {(a, b): single[a] * single[b] for a in single for b in single}


@pytest.mark.parametrize(("memory", "history", "pair", "kind"), HISTORIES)
@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_two_reports_have_the_joint_law_of_the_memory(
    mechanism: AnyLongitudinal, memory: Any, history: Any, pair: tuple[int, int], kind: str
) -> None:
    """Chi-square tests at 1e-7; the law of the other kind of sharing is rejected."""
    devices = mm.Devices(mechanism, N, memory=memory, random=np.random.default_rng(1))
    reports = [
        mechanism.shape.unstack(devices.report(np.full(N, value), period=period))
        for value, period in history
    ]
    draws = [
        tuple(relative(mechanism, report, 1) for report in both)
        for both in zip(*(reports[i] for i in pair), strict=True)
    ]
    other = APART if kind == SHARED else SHARED
    assert p_value(draws, joint(mechanism, kind)) > FALSE_ALARM
    assert p_value(draws, joint(mechanism, other)) < FALSE_ALARM


def test_strings_have_the_mean_of_their_channel_and_keep_their_cohort() -> None:
    """A chi-square test of all cells at 1e-7; the shares of another string are rejected."""
    rappor = mm.Rappor(width=8, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75)
    devices = mm.Devices(rappor, N, memory="value", random=np.random.default_rng(1))
    people = ["tea"] * (N // 2) + ["mate"] * (N // 2)
    first, second = devices.report(people), devices.report(people)
    assert (first["cohort"] == second["cohort"]).all()
    assert not np.array_equal(first["bits"], second["bits"])
    counts = rappor.count(second)
    channel = rappor.over(["tea", "mate"], complete=True).channel
    covariance = channel.covariance(np.array([N // 2, N // 2]))
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    for shares, right in (([0.5, 0.5], True), ([0.9, 0.1], False)):
        away = counts.cells.ravel() - N * channel.mean(np.array(shares)).ravel()
        p = scipy.stats.chi2.sf(float(away @ inverse @ away), np.linalg.matrix_rank(covariance))
        assert (p > FALSE_ALARM) == right


def test_only_those_who_report_remember() -> None:
    lasting = mm.BasicRappor(k=3, f=0.5, p=0.0, q=1.0)  # a report is the permanent response
    devices = mm.Devices(lasting, 1000, memory="change", random=np.random.default_rng(1))
    first = devices.report(np.zeros(1000, int))
    half = devices.report(np.ones(500, int), who=np.arange(500))
    assert len(half) == 500
    again = devices.report(np.zeros(1000, int))
    assert np.array_equal(first[500:], again[500:])
    assert not np.array_equal(first[:500], again[:500])


def test_a_question_takes_labels_and_pooled_weeks_are_covered() -> None:
    """One interval of a share at 99.99 %: a false alarm in ten thousand runs; the seed is fixed."""
    drink = mm.Question("drink", ["tea", "mate"], mm.LOSUE(2, 1.0, epsilon_permanent=2.0))
    devices = mm.Devices(drink, 5000, memory="period", random=np.random.default_rng(1))
    answers = ["tea"] * 3500 + ["mate"] * 1500
    weeks = [drink.count(devices.report(answers, period=1)) for _ in range(4)]
    est = drink.estimate(mm.pool(weeks, people="same"))
    low, high = est.interval(0.9999, "respondents")[:, 0]
    assert low < 0.7 < high


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d: d.report([0, 1]), "there are 2 answers of 3 devices"),
        (lambda d: d.report([0, 1, 9]), r"answer number 2 is not one of 0\.\.1"),
        (lambda d: d.report([0, 1], who=[0, 0]), "each device at most once"),
        (lambda d: d.report([0, 1], who=[0, 3]), "from 0 to 2"),
        (lambda d: d.report([0, 1, 1], period=3), "have no periods"),
    ],
)
def test_bad_input_is_refused(act: Any, message: str) -> None:
    devices = mm.Devices(mm.LOSUE(2, 1.0, epsilon_permanent=2.0), 3, memory="value")
    with pytest.raises(ValueError, match=message):
        act(devices)


def test_periods_never_go_back_and_must_be_given() -> None:
    devices = mm.Devices(mm.LOSUE(2, 1.0, epsilon_permanent=2.0), 2, memory="period")
    with pytest.raises(ValueError, match="need one"):
        devices.report([0, 1])
    devices.report([0, 1], period=4)
    with pytest.raises(ValueError, match="period 3 is earlier than a reported period"):
        devices.report([0, 1], period=3)


@pytest.mark.parametrize(
    "mechanism",
    [mm.LOSUE(2, 1.0, epsilon_permanent=2.0), mm.Rappor(8, 2, 4, f=0.5, p=0.25, q=0.75)],
)
def test_missing_answers_are_refused_with_a_way_out_that_there_is(mechanism: Any) -> None:
    labels = ["tea", "mate"] if mechanism.__class__ is mm.LOSUE else ()
    drink = mm.Question("drink", labels, mechanism)
    devices = mm.Devices(drink, 3, memory="value")
    with pytest.raises(ValueError, match=r"^answer number 1 is missing: leave those devices out"):
        devices.report(["tea", None, "tea"])
    assert len(devices.report(["tea", "tea"], who=[0, 2])) == 2
    if labels:
        with pytest.raises(ValueError, match=r"\(from 0\): leave them out, or name a label"):
            drink.numbers(["tea", None])


def test_what_keeps_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match="has no permanent response to keep"):
        mm.Devices(mm.KRR(2, 1.0), 3, memory="value")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="memory must be one of 'value', 'change', 'period'"):
        mm.Devices(mm.LOSUE(2, 1.0, 2.0), 3, memory="none")  # type: ignore[arg-type]
    assert set(MEMORIES) == {memory for memory, *_ in HISTORIES}
    assert all(isinstance(mechanism, Longitudinal) for mechanism in SMALL)


def test_one_device_takes_a_question_and_its_labels() -> None:
    losue = mm.LOSUE(2, 1.0, epsilon_permanent=2.0)
    drink, secret = mm.Question("drink", ["tea", "mate"], losue), bytes(range(32))
    device: mm.Device[bytes] = mm.Device(drink, secret, memory="value")
    plain = mm.Device(losue, secret, "drink", memory="value")
    rng = np.random.default_rng
    assert [device.report(x, rng(1)) for x in ("tea", "mate")] == [
        plain.report(x, rng(1)) for x in (0, 1)
    ]
    assert device == plain
    with pytest.raises(ValueError, match="this is not an answer to 'drink'") as error:
        device.report("milk")
    assert "milk" not in str(error.value)
    named: mm.Device[bytes] = mm.Device(drink, secret, "survey 1/drink", memory="value")
    assert named.question == "survey 1/drink"
    words = mm.Question("word", mechanism=mm.Rappor(8, 2, 4, f=0.5, p=0.25, q=0.75))
    assert mm.Device(words, secret, memory="value").report("tea").cohort in range(4)
    with pytest.raises(TypeError, match="question must be a name"):
        mm.Device(losue, secret, memory="value")
    with pytest.raises(TypeError, match="a Question is the first argument"):
        mm.Device(losue, secret, drink, memory="value")  # type: ignore[arg-type]


def test_an_answer_that_is_no_label_gets_only_ways_out_that_devices_have() -> None:
    losue = mm.LOSUE(k=2, epsilon=1.0, epsilon_permanent=2.0)
    drink = mm.Question("drink", ["tea", "mate"], losue)
    devices = mm.Devices(drink, 2, memory="change", random=np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"first answer number 1 \(from 0\): correct them$"):
        devices.report(["tea", "milk"])


def test_a_device_answers_questions_that_are_reported_as_one_combination() -> None:
    drink = mm.Question("drink", ["tea", "mate"], epsilon=1.0)
    sugar = mm.Question("sugar", ["yes", "no"], epsilon=1.0)
    losue = mm.LOSUE(4, epsilon=1.0, epsilon_permanent=2.0)
    both = mm.Joint(drink, sugar, once=True, mechanism=losue)
    device: mm.Device[Any] = mm.Device(both, bytes(32), memory="value")
    alone = mm.Device(losue, bytes(32), "drink+sugar", memory="value")
    assert device.unit(("mate", "yes")) == alone.unit(2)
    with pytest.raises(ValueError, match="this is not an answer to 'sugar'"):
        device.report(("mate", "secret"))
