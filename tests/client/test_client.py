"""A client answers within the survey's terms, keeps everything it needs, and tells no answer."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import stat
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from murmurs import Device, Survey
from murmurs.client import AnswerRefusedError, Client, NotSentError, Refusal, Reply
from murmurs.client.client import AT_ONCE
from murmurs.client.sending import FOR_GOOD, LONGEST_WAIT
from murmurs.randomness.sources import Given
from murmurs.submission import SubmissionForm
from tests.client.collectors import Clock, Collector, acknowledged, refusal
from tests.surveys import CAFE_AND_HOT, KEPT_DRINK, coffee
from tests.test_secrecy import told

TERMS = """
every = "day"
lifetime_epsilon = 20
memory = "period"
period = "month"
"""
TOML = coffee(KEPT_DRINK + CAFE_AND_HOT, TERMS)
SURVEY = Survey.from_toml(TOML)
ANSWERS = {"drink": "tea", "cafe": "Luna", "hot": "yes"}


def changed(terms: str, **more: Any) -> Survey:
    """The survey with other terms."""
    _, _, questions = TOML.partition("\n[[questions]]")
    return Survey.from_toml(f'name = "coffee"\n{terms}\n[[questions]]{questions}')


def client(survey: Survey = SURVEY, state: Any = None, **more: Any) -> Client:
    more = {"delay": 0, "clock": Clock(), **more}
    return Client(survey, {} if state is None else state, **more)


# From answers to what is sent


def test_an_answer_becomes_one_submission_with_its_reports_and_nothing_else() -> None:
    device, collector = client(), Collector(SURVEY)
    sealed = device.answer(ANSWERS)
    assert set(sealed.reports) == {"drink", "cafe+hot"}
    assert (sealed.survey, sealed.people, sealed.segment) == (SURVEY.fingerprint, 1, None)
    sent = device.send(collector)
    assert (sent.taken, sent.refused, sent.waiting, sent.problem) == (1, (), 0, None)
    assert collector.bodies == [SubmissionForm(SURVEY).to_bytes(sealed)]
    assert sent.next_send_after is device.next_send_after is None


def test_estimates_of_many_devices_find_the_truth() -> None:
    """False alarm about 1e-9 per share: six standard errors; devices that lie uniformly fail."""
    toml = 'name="s"\n[[questions]]\nname="hot"\nlabels=["yes","no"]\nepsilon=2.0\n'
    survey = Survey.from_toml(toml)
    hot, collector, rng = survey.question("hot"), Collector(survey), np.random.default_rng(1)
    for number in range(2000):
        device = client(survey, random=rng)
        device.answer({"hot": "yes" if number < 1500 else "no"})
        assert device.send(collector).taken == 1
    counts = hot.count(b"".join(one.reports["hot"] for one in collector.counted.values()))
    found = hot.estimate(counts, "unbiased")
    assert abs(found.shares[0] - 0.75) < 6 * found.standard_errors("respondents")[0]
    assert 6 * found.standard_errors("respondents")[0] < 0.25


def test_a_combination_that_is_reported_once_may_have_a_permanent_response() -> None:
    survey = Survey.from_toml("""
name = "cups"
memory = "value"
[[questions]]
name = "hot"
labels = ["yes", "no"]
epsilon = 1.0
[[questions]]
name = "size"
labels = ["small", "large"]
epsilon = 1.0
[[joint]]
name = "cup"
questions = ["hot", "size"]
once = true
mechanism = {name = "BasicRappor", f = 0.5, p = 0.0, q = 1.0}
""")
    device, other = client(survey), client(survey)
    cup = {"hot": "no", "size": "large"}
    seen = {device.answer(cup).reports["cup"] for _ in range(20)}
    assert len(seen) == 1  # with p = 0 and q = 1 a report is the response itself
    assert device.spent == pytest.approx(survey["cup"].mechanism.epsilon_permanent_realised)  # type: ignore[union-attr]
    device.answer({**cup, "hot": "yes"})
    assert device.spent == 2 * survey["cup"].mechanism.epsilon_permanent_realised  # type: ignore[union-attr]
    drawn = {client(survey).answer(cup).reports["cup"] for _ in range(60)}
    assert len(drawn) > 1  # each device has a secret of its own
    assert other.spent == 0.0


def test_a_device_stays_in_its_cohort_and_pays_once_for_a_string() -> None:
    survey = Survey.from_toml("""
name = "homes"
memory = "value"
[[questions]]
name = "page"
mechanism = {name = "Rappor", width = 16, hashes = 2, cohorts = 64, f = 0.5, p = 0.25, q = 0.75}
""")
    page = survey.question("page").mechanism
    cohorts = set()
    for _ in range(12):
        device = client(survey)
        own = {
            page.shape.unpack(device.answer({"page": text}).reports["page"]).cohort
            for text in ("a.example", "b.example", "a.example", "Zu\u0308rich", "Z\u00fcrich")
        }
        assert len(own) == 1
        cohorts |= own
        assert device.spent == pytest.approx(3 * page.epsilon_permanent_realised)  # type: ignore[union-attr]
    assert len(cohorts) > 3  # by chance about 1e-12, if cohorts are drawn uniformly


def test_a_segment_is_that_of_the_device() -> None:
    survey = changed('segments = ["beta", "release"]')
    assert client(survey, segment="beta", memory="value").answer(ANSWERS).segment == "beta"
    with pytest.raises(ValueError, match="this survey needs a segment: 'beta', 'release'"):
        client(survey, memory="value")
    with pytest.raises(ValueError, match="this survey has no segment 'beta'"):
        client(segment="beta")


# Size and number of requests


def test_size_and_number_of_requests_do_not_depend_on_the_answers() -> None:
    """For every combination of labels, and strings from one letter to a thousand."""
    shapes = set()
    strings = ["a", "Luna", "名" * 40, "x" * 1000]
    for drink, cafe, hot in itertools.product(
        SURVEY.question("drink").labels, strings, SURVEY.question("hot").labels
    ):
        clock, collector = Clock(), Collector(SURVEY)
        device = client(clock=clock)
        for _ in range(2):
            device.answer({"drink": drink, "cafe": cafe, "hot": hot})
            clock.next_day()
        device.send(collector)
        shapes.add(tuple(map(len, collector.bodies)))
    assert shapes == {(2 * (61 + 4 + 1 + 2),)}


def test_changing_answers_show_neither_in_sizes_nor_in_the_number_of_requests() -> None:
    shapes = set()
    labels = SURVEY.question("drink").labels
    for course in itertools.product(labels, repeat=3):
        clock, collector = Clock(), Collector(SURVEY)
        device = client(clock=clock)
        for drink in course:
            device.answer({"drink": drink})
            device.send(collector)
            clock.next_day()
        shapes.add(tuple(map(len, collector.bodies)))
    assert len(shapes) == 1


# The odometer


def test_fresh_reports_cost_each_time_and_permanent_responses_once_per_period() -> None:
    clock = Clock(1_798_761_600)  # 2027-01-01
    device = client(clock=clock)
    joint = Fraction(SURVEY["cafe+hot"].mechanism.epsilon_realised)
    kept = Fraction(SURVEY.question("drink").mechanism.epsilon_permanent_realised)  # type: ignore[union-attr]
    for day, drink in enumerate(["tea", "tea", "filter"]):
        device.answer({"drink": drink})
        assert Fraction(device.spent) == kept
        assert device.spent == 2.0
        clock.next_day()
        assert day < 3
    clock.next_day(31)
    device.answer({"drink": "tea"})
    assert Fraction(device.spent) == 2 * kept
    device.answer({"cafe": "Luna", "hot": "no"})
    assert Fraction(device.spent) >= 2 * kept + joint
    assert Fraction(device.spent) - (2 * kept + joint) < Fraction(1, 2**45)


@pytest.mark.parametrize(
    ("memory", "units"), [("value", [1, 1, 2, 2, 3]), ("change", [1, 1, 2, 3, 4])]
)
def test_the_odometer_counts_the_units_of_the_memory(memory: Any, units: list[int]) -> None:
    survey, clock = changed('every = "day"'), Clock()
    state: dict[str, Any] = {}
    spent = []
    for drink in ("tea", "tea", "filter", "tea", "nothing"):
        device = client(survey, state, clock=clock, memory={"drink": memory})
        device.answer({"drink": drink})
        spent.append(device.spent)
        clock.next_day()
    assert spent == [2.0 * unit for unit in units]


def test_a_spent_budget_refuses_with_the_reason_and_changes_nothing() -> None:
    survey, clock, state = changed("lifetime_epsilon = 7"), Clock(), dict[str, Any]()
    device = client(survey, state, clock=clock, memory="value")
    for _ in range(2):
        device.answer({"cafe": "Luna", "hot": "yes"})
    before = json.dumps(state)
    with pytest.raises(AnswerRefusedError) as error:
        device.answer(ANSWERS)
    assert str(error.value) == (
        "survey 'coffee' allows a device epsilon 7 over its lifetime: 6 is spent, and this would "
        "cost 5 more"
    )
    assert error.value.reason == "budget"
    assert json.dumps(state) == before
    with pytest.raises(AnswerRefusedError, match="would cost 2 more"):
        device.answer({"drink": "tea"})
    assert device.queued == 2


def test_the_apps_own_limit_holds_whatever_the_survey_allows() -> None:
    state, clock = dict[str, Any](), Clock()
    for version, budget in enumerate((20, 10**6), 1):
        survey = changed(f"version = {version}\nlifetime_epsilon = {budget}")
        device = client(survey, state, clock=clock, memory="value", limit=6)
        device.answer({"cafe": "Luna", "hot": "yes"})
    with pytest.raises(AnswerRefusedError, match=r"^this app allows a device epsilon 6 over its l"):
        device.answer({"cafe": "Luna", "hot": "yes"})
    stricter = client(changed("version = 3\nlifetime_epsilon = 5"), state, memory="value", limit=6)
    with pytest.raises(
        AnswerRefusedError, match=r"^survey 'coffee' allows a device epsilon 5 over"
    ):
        stricter.answer({"cafe": "Luna", "hot": "yes"})
    with pytest.raises(ValueError, match="limit must be from 0 to"):
        client(limit=-1)


def test_ten_answers_fit_exactly_into_ten_times_their_epsilon() -> None:
    toml = 'name="s"\nlifetime_epsilon=3.3\n[[questions]]\nname="q"\nlabels=["a","b"]\nepsilon=0.33'
    device = client(Survey.from_toml(toml))
    for _ in range(10):
        device.answer({"q": "a"})
    with pytest.raises(AnswerRefusedError, match=r"3\.3 is spent"):
        device.answer({"q": "a"})
    assert device.spent <= 3.3


def test_the_odometer_goes_on_in_a_new_version_of_the_survey() -> None:
    """A version with the same first round finds the response that was paid; another pays again."""
    state: dict[str, Any] = {}
    clock = Clock()
    client(state=state, clock=clock).answer({"drink": "tea"})
    clock.next_day()
    second = Survey.from_toml(
        "version = 2\n" + TOML.replace("epsilon = 1.0, eps", "epsilon = 0.5, eps")
    )
    device = client(second, state, clock=clock)
    device.answer({"drink": "tea"})
    assert device.spent == 2.0
    clock.next_day()
    third = Survey.from_toml("version = 3\n" + TOML.replace("_permanent = 2.0", "_permanent = 2.5"))
    device = client(third, state, clock=clock)
    device.answer({"drink": "tea"})
    assert device.spent == 4.5
    assert device.queued == 3


LONGITUDINAL = """
name = "s"
version = {version}
memory = "{memory}"
{period}
[[questions]]
name = "q"
labels = {labels}
mechanism = {{name = "LOLOHA", epsilon = 1.0, epsilon_permanent = 2.0}}
"""


@pytest.mark.parametrize(
    ("memory", "terms", "labels"),
    [
        ("value", ("", ""), (["a", "b", "c"], ["b", "a", "c"])),
        ("change", ("", ""), (["a", "b", "c"], ["b", "c", "d"])),
        ("value", ("", ""), (["a", "b", "c"], ["a", "b", "d"])),
        ("period", ("period = 30", 'period = "month"'), (["a", "b", "c"], ["a", "b", "c"])),
    ],
    ids=["other order", "other numbers", "another label", "periods of the same number"],
)
def test_a_new_version_shares_no_response_between_different_things(
    memory: str, terms: tuple[str, str], labels: tuple[list[str], list[str]]
) -> None:
    """The same number may stand for another answer, or for another period, in a new version.

    If it shared a response with the old one, reports would show whether the two answers have the
    same number, which no memory's promise allows, and nothing would be paid for it.
    """
    state: dict[str, Any] = {}
    clock = Clock(86_400 * 696 * 30)  # 30 days with the number 696, and ten months later that month
    drawn: list[set[Any]] = []
    derived = Device._chance
    for version in (0, 1):
        survey = Survey.from_toml(
            LONGITUDINAL.format(
                version=version + 1,
                memory=memory,
                period=terms[version],
                labels=json.dumps(labels[version]),
            )
        )
        used: set[Any] = set()

        def chance(device: Device[Any], purpose: str, *key: Any, used: set[Any] = used) -> Any:
            used.add((device.question, purpose, *key))
            return derived(device, purpose, *key)

        with mock.patch.object(Device, "_chance", chance):
            device = client(survey, state, clock=clock)
            device.answer({"q": labels[version][0]})
        drawn.append(used)
        assert device.spent == pytest.approx(2.0 * (version + 1))
        clock.now = 1_831_000_000  # in January 2028
    assert not drawn[0] & drawn[1]


# How often, and when


@pytest.mark.parametrize(
    ("every", "days"), [("day", 1), ("week", 7), ("month", 31), (10, 10), ("once", None)]
)
def test_a_question_is_answered_once_in_each_period(every: Any, days: int | None) -> None:
    survey, clock = changed(f"every = {json.dumps(every)}"), Clock()
    device = client(survey, clock=clock, memory="value")
    device.answer({"drink": "tea"})
    assert device.askable() == ("cafe+hot",)
    with pytest.raises(AnswerRefusedError, match="'drink' was answered already: it is asked once"):
        device.answer(ANSWERS)
    device.answer({"cafe": "Luna", "hot": "no"})  # another question is still open
    assert device.askable() == ()
    clock.next_day(days or 10_000)
    if days is None:
        assert device.askable() == ()
        return
    assert device.askable() == ("drink", "cafe+hot")
    device.answer(ANSWERS)
    clock.next_day(-40)
    assert device.askable() == ()
    with pytest.raises(AnswerRefusedError) as error:
        device.answer(ANSWERS)
    assert error.value.reason == "period"


def test_another_rhythm_in_a_new_version_does_not_lock_a_device_out() -> None:
    state, clock = dict[str, Any](), Clock()
    client(changed('every = "day"'), state, clock=clock, memory="value").answer({"drink": "tea"})
    clock.next_day(40)
    monthly = client(changed('every = "month"'), state, clock=clock, memory="value")
    monthly.answer({"drink": "tea"})
    with pytest.raises(AnswerRefusedError, match="once a month"):
        monthly.answer({"drink": "tea"})


def test_a_clock_that_was_set_back_gives_no_second_response_in_a_period() -> None:
    survey = changed('memory = "period"\nperiod = "month"')
    clock = Clock()
    device = client(survey, clock=clock)
    device.answer({"drink": "tea"})
    clock.next_day(-62)
    with pytest.raises(AnswerRefusedError, match="the clock was set back"):
        device.answer({"drink": "filter"})


def test_a_survey_is_answered_from_its_first_to_its_last_day() -> None:
    survey = changed("opens = 2027-01-15\ncloses = 2027-01-16")
    clock = Clock(1_799_971_199)  # the last second of 2027-01-14, in UTC
    device = client(survey, clock=clock, memory="value")
    with pytest.raises(AnswerRefusedError, match="survey 'coffee' opens on 2027-01-15"):
        device.answer(ANSWERS)
    assert device.askable() == ()
    clock.now += 1
    device.answer(ANSWERS)
    clock.now += 2 * 86_400 - 1
    device.answer(ANSWERS)
    clock.now += 1
    with pytest.raises(AnswerRefusedError, match="closed after 2027-01-16") as error:
        device.answer(ANSWERS)
    assert error.value.reason == "closed"


# When it is sent


def test_the_time_of_sending_depends_only_on_the_interval_of_answering() -> None:
    """Exactly: with the same chance, any moment of an interval leads to the same due time."""
    start = 1_800_000_000 // 3600 * 3600
    for chance in (bytes([0, 0]), bytes([255, 5]), bytes([15, 14])):
        drawn = Given(chance).below(3600)
        for second in (0, 1, 1799, 3599):
            plenty = bytes(800) + chance  # the reports take their chance first
            device = client(delay=3600, clock=Clock(start + second), random=Tail(plenty, chance))
            device.answer({"hot": "yes", "cafe": "Luna"})
            assert device.next_send_after == start + 3600 + drawn


class Tail(Given):
    """Zeros for every report, and given bytes for the two-byte draw of the delay."""

    def __init__(self, data: bytes, tail: bytes) -> None:
        super().__init__(data)
        self._tail = tail

    def below(self, n: int) -> int:
        return Given(self._tail).below(n) if n == 3600 else super().below(n)


def test_a_clock_that_was_wrong_for_a_while_holds_up_nothing_for_years() -> None:
    clock, collector = Clock(1_900_000_000), Collector(SURVEY)
    device = client(delay=3600, clock=clock)
    device.answer({"drink": "tea"})
    due = device.next_send_after
    assert due is not None
    clock.now = due
    assert device.send(unreachable).problem is not None
    clock.now = 1_800_000_000
    assert device.next_send_after == clock.now
    assert device.send(collector).taken == 1


def test_nothing_is_sent_before_it_is_due() -> None:
    clock, collector = Clock(), Collector(SURVEY)
    device = client(delay=3600, clock=clock)
    device.answer(ANSWERS)
    assert device.send(collector).waiting == 1
    assert collector.bodies == []
    due = device.next_send_after
    assert due is not None
    clock.now = due - 1
    assert device.send(collector).taken == 0
    clock.now = due
    assert device.send(collector).taken == 1


def test_moments_within_the_interval_are_uniform() -> None:
    """Chi-squared with 9 degrees of freedom beyond 60: about 1e-9; a fixed moment fails."""
    rng, seconds = np.random.default_rng(1), []
    toml = 'name="s"\n[[questions]]\nname="q"\nlabels=["a","b"]\nepsilon=1.0'
    survey = Survey.from_toml(toml)
    for _ in range(1000):
        device = client(survey, delay=1000, clock=Clock(5000), random=rng)
        device.answer({"q": "a"})
        assert device.next_send_after is not None
        seconds.append(device.next_send_after - 6000)
    observed = np.bincount(np.array(seconds) // 100, minlength=10)
    assert len(observed) == 10
    assert ((observed - 100) ** 2 / 100).sum() < 60


# Failures


def test_several_submissions_travel_in_one_request_and_never_more_than_allowed() -> None:
    clock, collector = Clock(), Collector(SURVEY)
    device = client(changed("every = 1"), clock=clock, memory="value")
    collector = Collector(device.survey)
    for _ in range(AT_ONCE + 7):
        device.answer({"drink": "tea"})
        clock.next_day()
    assert device.send(collector).taken == AT_ONCE + 7
    each = len(collector.bodies[1]) // 7
    assert list(map(len, collector.bodies)) == [AT_ONCE * each, 7 * each]
    assert len(collector.counted) == AT_ONCE + 7


@pytest.mark.parametrize(
    "reply",
    [
        OSError("no route"),
        Reply(503),
        refusal(503, "full", "the disk is full"),
        refusal(429, "rate", "too many requests"),
        refusal(401, "key", "a key is needed"),
        refusal(403, "key", "another key is needed"),
        Reply(404, b"<html>not found</html>"),
        Reply(200, b"<html>Welcome to the hotel</html>"),
        Reply(200, b'{"accepted": 2, "duplicates": 0}'),
        Reply(200, b'{"accepted": true, "duplicates": 0}'),
        Reply(200, b'{"accepted": -1, "duplicates": 2}'),
        Reply(301, b""),
    ],
    ids=str,
)
def test_whatever_is_no_answer_of_a_collector_keeps_the_submission(reply: Any) -> None:
    clock = Clock()
    device, collector = client(clock=clock), Collector(SURVEY)
    device.answer(ANSWERS)
    bodies = []

    def transport(body: bytes) -> Reply:
        bodies.append(body)
        if isinstance(reply, OSError):
            raise reply
        return reply  # type: ignore[no-any-return]

    sent = device.send(transport)
    assert (sent.taken, sent.refused, sent.waiting) == (0, (), 1)
    assert sent.problem is not None
    assert device.send(transport).waiting == 1
    assert len(bodies) == 1  # not yet again
    assert sent.next_send_after is not None
    clock.now = sent.next_send_after
    assert device.send(collector).taken == 1
    assert collector.bodies == bodies  # the same id and the same reports


@pytest.mark.parametrize("status", sorted(FOR_GOOD))
def test_a_refusal_for_good_is_reported_and_leaves_the_queue(status: int) -> None:
    device = client()
    sealed = device.answer(ANSWERS)
    sent = device.send(lambda _: refusal(status, "form", "it is bad"))
    assert sent.refused == (Refusal(sealed.id.hex(), status, "'it is bad'"),)
    assert (sent.taken, sent.waiting, sent.problem) == (0, 0, None)
    assert device.spent == 5.0  # it may have been seen


def test_one_bad_submission_does_not_hold_up_the_others() -> None:
    clock, state = Clock(), dict[str, Any]()
    old = Survey.from_toml("version = 9\n" + TOML)
    for survey in (SURVEY, old, SURVEY):
        client(survey, state, clock=clock).answer(ANSWERS)
        clock.next_day()
    collector = Collector(SURVEY)
    sent = client(state=state, clock=clock).send(collector)
    assert (sent.taken, len(sent.refused), sent.waiting) == (2, 1, 0)
    assert "there is no such survey here" in sent.refused[0].reason
    assert len(collector.bodies) == 4  # together, and then one by one


def test_waits_double_up_to_a_day_and_honour_the_collector() -> None:
    clock = Clock()
    device = client(clock=clock)
    device.answer(ANSWERS)
    waits = []
    for _ in range(15):
        sent = device.send(lambda _: Reply(503))
        assert sent.next_send_after is not None
        waits.append(sent.next_send_after - clock.now)
        clock.now = sent.next_send_after
    longest = [min(LONGEST_WAIT, 60 * 2**n) for n in range(15)]
    assert all(most / 2 < wait <= most for wait, most in zip(waits, longest, strict=True))
    for field, seconds in (
        ("200000", LONGEST_WAIT),
        ("Fri, 31 Dec 2027 23:59:59 GMT", LONGEST_WAIT),
        ("nonsense", 0),
    ):
        sent = device.send(lambda _, f=field: Reply(429, b"", f))  # type: ignore[misc]
        assert sent.next_send_after is not None
        assert sent.next_send_after - clock.now >= max(seconds, LONGEST_WAIT / 2)
        clock.now = sent.next_send_after
    assert device.send(lambda _: acknowledged(1)).taken == 1
    clock.next_day()
    device.answer(ANSWERS)
    sent = device.send(lambda _: Reply(429, b"", "7200"))
    assert sent.next_send_after == clock.now + 7200  # longer than the first wait


def test_the_queue_is_bounded() -> None:
    device = client(changed(""), memory="value", most_queued=3)
    for _ in range(3):
        device.answer({"drink": "tea"})
    with pytest.raises(AnswerRefusedError, match="3 submissions wait to be sent") as error:
        device.answer({"drink": "tea"})
    assert error.value.reason == "queue"
    assert device.spent == 2.0


# The state


def test_the_state_file_is_private_and_holds_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    path.touch(0o644)
    path.unlink()
    answers = {"drink": "espresso", "cafe": "Zanzibar", "hot": "no"}
    client(state=path).answer(answers)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text(encoding="utf-8")
    assert not any(answer in text for answer in answers.values() if len(answer) > 2)
    path.chmod(0o644)
    client(state=path, clock=Clock(1_900_000_000)).answer(answers)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["me.json", "me.json.lock"]


def test_clients_with_one_mapping_take_turns() -> None:
    """Otherwise each of two threads could overwrite what the other has spent."""
    state: dict[str, Any] = {}
    survey = changed("")
    other = threading.Thread(
        target=lambda: client(survey, state, memory="value").answer({"cafe": "a", "hot": "no"})
    )

    def clock() -> float:  # it is asked while the first client has read the state
        if not other.is_alive():
            other.start()
            other.join(0.3)
        return 1_800_000_000.0

    client(survey, state, memory="value", clock=clock).answer({"cafe": "a", "hot": "no"})
    other.join()
    assert client(survey, state, memory="value").queued == 2


def test_a_clock_may_ask_another_client() -> None:
    """The lock of all mappings keeps other threads away, not this one."""
    other = client(state={})
    asking = client(state={}, clock=lambda: 1_800_000_000 + other.queued)
    asking.answer(ANSWERS)
    assert asking.queued == 1


def test_links_to_one_state_take_turns(tmp_path: Path) -> None:
    """Otherwise each of two processes could overwrite what the other has spent."""
    there, link = tmp_path / "there", tmp_path / "link.json"
    there.mkdir()
    link.symlink_to(there / "me.json")
    client(state=link).answer(ANSWERS)
    assert sorted(p.name for p in there.iterdir()) == ["me.json", "me.json.lock"]
    assert [p.name for p in tmp_path.iterdir() if p.is_file() and not p.is_symlink()] == []
    assert link.is_symlink()
    assert client(state=there / "me.json").spent == client(state=link).spent > 0


def test_file_and_mapping_hold_the_same(tmp_path: Path) -> None:
    mapping: dict[str, Any] = {}
    client(state=mapping).answer(ANSWERS)
    (tmp_path / "me.json").write_text(json.dumps(mapping["client"]), encoding="utf-8")
    clock = Clock()
    device = client(state=tmp_path / "me.json", clock=clock)
    assert (device.spent, device.queued) == (5.0, 1)
    clock.next_day()
    device.answer(ANSWERS)
    stored = json.loads((tmp_path / "me.json").read_text(encoding="utf-8"))
    again = client(state={"client": stored})
    assert (again.spent, again.queued) == (8.0, 2)
    assert json.loads(json.dumps(mapping)) == mapping


def _answer_often(path: str, times: int) -> None:
    survey = changed("")
    for _ in range(times):
        client(survey, path, memory="value", most_queued=1000).answer({"cafe": "a", "hot": "no"})


def test_processes_with_one_state_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = str(tmp_path / "me.json")
    workers = [context.Process(target=_answer_often, args=(path, 15)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    device = client(changed(""), path, memory="value", most_queued=1000)
    assert (device.queued, device.spent) == (45, 45 * 3.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update(secret="00"), "its secret or what was spent is unreadable"),
        (lambda s: s.update(spent="-1/2"), "its secret or what was spent is unreadable"),
        (lambda s: s.update(more=1), "unknown field `more`"),
        (lambda s: s.pop("survey"), "missing required field `survey`"),
        (lambda s: s.update(murmurs="reports"), "it is no state of a client"),
        (lambda s: s.update(format=3), "has format 3, this release reads up to 2: upgrade murm"),
        (lambda s: s["within"]["month"].update(spent="2"), "what was spent is unreadable"),
        (lambda s: s.update(spent=f"{10**310}/1"), "its secret or what was spent is unreadable"),
        (lambda s: s.update(answered=dict.fromkeys(s["answered"], 10**9)), "is damaged: "),
        (lambda s: s.update(survey="tea"), "belongs to survey 'tea', not to 'coffee'"),
    ],
)
def test_a_state_that_is_damaged_or_of_another_survey_is_refused(change: Any, message: str) -> None:
    mapping: dict[str, Any] = {}
    client(state=mapping).answer(ANSWERS)
    change(mapping["client"])
    with pytest.raises(ValueError, match=message):
        client(state=mapping).answer(ANSWERS)


def test_a_file_that_is_cut_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    client(state=path).answer(ANSWERS)
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    with pytest.raises(ValueError, match=r"is damaged: .* a new one starts over and spends"):
        client(state=path).answer(ANSWERS)
    assert path.read_bytes() == data[:-20]


# What is refused beforehand


SECRETS = ["Zanzibar", "zanzibar", "ZANZIBAR"]


@pytest.mark.parametrize(
    "answers",
    [
        {"drink": "Zanzibar"},
        {"cafe": "Zanzibar"},
        {"cafe": "Zanzibar", "hot": "Zanzibar"},
        {"cafe": 7, "hot": "Zanzibar"},
        {"cafe": "Zanzibar\ud800", "hot": "no"},
        {"drink": ["Zanzibar"]},
        {"Zanzibar": "drink"},
        {"hot": "no", "Zanzibar": "cafe"},
        {("Zanzibar",): "cafe"},
        ["Zanzibar"],
        "Zanzibar",
    ],
    ids=str,
)
def test_errors_never_quote_an_answer(answers: Any) -> None:
    device = client()
    with pytest.raises((ValueError, TypeError)) as error:
        device.answer(answers)
    assert not any(secret in told(error.value) for secret in SECRETS)
    assert device.queued == 0
    assert device.spent == 0.0


def test_names_are_checked_before_anything_is_spent() -> None:
    device = client()
    with pytest.raises(
        ValueError,
        match=r"^name number 1 \(from 0\) in answers is no question of survey 'coffee', which has",
    ):
        device.answer({"drink": "tea", "milk": "yes"})
    with pytest.raises(ValueError, match="'cafe', 'hot' are answered together, and 'hot' is miss"):
        device.answer({"drink": "tea", "cafe": "Luna"})
    with pytest.raises(ValueError, match="there are no answers"):
        device.answer({})
    assert device.spent == 0.0


def test_a_memory_is_the_surveys_or_must_be_given() -> None:
    with pytest.raises(ValueError, match="its survey leaves open which reports share one: give"):
        client(changed(""))
    with pytest.raises(ValueError, match='memory="period" needs a period such as "month"'):
        client(changed(""), memory="period")
    with pytest.raises(ValueError, match="has memory 'period' for its questions: leave memory out"):
        client(memory="value")
    with pytest.raises(ValueError, match="memory names 'hot', which is none of the questions wi"):
        client(changed(""), memory={"hot": "value"})
    fresh = Survey.from_toml('name="s"\n[[questions]]\nname="q"\nlabels=["a","b"]\nepsilon=1.0')
    with pytest.raises(ValueError, match="no question of survey 's' has a permanent response: le"):
        client(fresh, memory="value")
    client(changed(""), memory="period", period="week").answer(ANSWERS)
    client(memory="period").answer(ANSWERS)


# A collector forgets ids


class Forgetful(Collector):
    """A collector that has forgotten every id when the next request comes."""

    total = 0

    def __call__(self, body: bytes) -> Reply:
        self.counted.clear()
        reply = super().__call__(body)
        self.total += len(self.counted)
        return reply


@pytest.mark.parametrize("answer", ["lost", "of a gateway", "of a store in trouble"])
def test_what_may_have_arrived_is_not_sent_again_once_its_id_may_be_forgotten(answer: str) -> None:
    clock, collector = Clock(), Forgetful(SURVEY)
    device = client(clock=clock)
    device.answer(ANSWERS)

    def transport(body: bytes) -> Reply:
        collector(body)
        if answer == "lost":
            raise TimeoutError("timed out")
        return Reply(502, b"bad gateway") if answer == "of a gateway" else refusal(503, "store")

    assert device.send(transport).waiting == 1
    clock.next_day(26)
    sent = device.send(collector)
    assert (sent.taken, sent.waiting, sent.problem) == (0, 0, None)
    assert [one.status for one in sent.refused] == [0]
    assert "may have been counted" in sent.refused[0].reason
    assert collector.total == 1


@pytest.mark.parametrize("days", [1, 24])
def test_what_may_have_arrived_is_sent_again_while_its_id_is_known(days: int) -> None:
    clock, collector = Clock(), Collector(SURVEY)
    device = client(clock=clock)
    device.answer(ANSWERS)
    device.send(lambda body: (collector(body), refusal(502))[1])
    clock.next_day(days)
    assert device.send(collector).taken == 1
    assert len(collector.counted) == 1


@pytest.mark.parametrize("status", [None, 429])
def test_what_never_arrived_is_sent_however_long_it_waited(status: int | None) -> None:
    clock, collector = Clock(), Forgetful(SURVEY)
    device = client(clock=clock)
    device.answer(ANSWERS)

    def transport(_: bytes) -> Reply:
        if status is None:
            raise NotSentError("no network")
        return Reply(status)

    for _ in range(4):
        assert device.send(transport).waiting == 1
        clock.next_day(30)
    assert device.send(collector).taken == 1
    assert collector.total == 1


def test_a_request_that_was_under_way_when_the_device_stopped_may_have_arrived() -> None:
    clock, collector, state = Clock(), Forgetful(SURVEY), dict[str, Any]()
    client(state=state, clock=clock).answer(ANSWERS)

    def transport(body: bytes) -> Reply:
        collector(body)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client(state=state, clock=clock).send(transport)
    clock.next_day(30)
    assert len(client(state=state, clock=clock).send(collector).refused) == 1
    assert collector.total == 1


def test_of_two_requests_at_once_the_one_that_may_have_arrived_is_remembered() -> None:
    clock, collector, state = Clock(), Forgetful(SURVEY), dict[str, Any]()
    first, second = (client(state=state, clock=clock) for _ in range(2))
    first.answer(ANSWERS)

    def lost(body: bytes) -> Reply:
        collector(body)
        raise OSError("no answer")

    def unreachable(_: bytes) -> Reply:
        assert second.send(lost).waiting == 1
        raise NotSentError("no network")

    assert first.send(unreachable).waiting == 1
    clock.next_day(31)
    assert len(client(state=state, clock=clock).send(collector).refused) == 1
    assert collector.total == 1


def unreachable(_: bytes) -> Reply:
    raise NotSentError("no network")


@pytest.mark.parametrize("status", [None, 429])
def test_of_two_requests_at_once_that_did_not_arrive_nothing_is_remembered(
    status: int | None,
) -> None:
    clock, collector, state = Clock(), Forgetful(SURVEY), dict[str, Any]()
    first, second = (client(state=state, clock=clock) for _ in range(2))
    first.answer(ANSWERS)

    def busy(body: bytes) -> Reply:
        return unreachable(body) if status is None else Reply(status)

    def meanwhile(body: bytes) -> Reply:
        assert second.send(busy).waiting == 1
        return unreachable(body)

    assert first.send(meanwhile).waiting == 1
    clock.next_day(31)
    assert first.send(collector).taken == 1
    assert collector.total == 1


def test_what_was_refused_together_with_a_bad_one_has_not_been_taken() -> None:
    clock, collector, state = Clock(), Forgetful(SURVEY), dict[str, Any]()
    device = client(state=state, clock=clock)
    for _ in range(2):
        device.answer(ANSWERS)
        clock.next_day(31)
    replies = iter([refusal(400)])

    def transport(body: bytes) -> Reply:
        reply = next(replies, None)
        return unreachable(body) if reply is None else reply

    assert device.send(transport).waiting == 2
    clock.next_day(31)
    assert device.send(collector).taken == 2
    assert collector.total == 2


def test_a_state_of_a_release_that_did_not_count_requests_is_in_doubt_all_the_same() -> None:
    clock, collector, state = Clock(), Forgetful(SURVEY), dict[str, Any]()
    device = client(state=state, clock=clock)
    device.answer(ANSWERS)
    clock.next_day()

    def lost(body: bytes) -> Reply:
        collector(body)
        raise OSError("no answer")

    device.send(lost)
    del state["client"]["queue"][0]["requests"]
    clock.next_day()
    assert device.send(unreachable).waiting == 1
    clock.next_day(30)
    assert len(device.send(collector).refused) == 1
    assert collector.total == 1


def test_what_becomes_too_old_while_others_are_sent_is_not_sent_again() -> None:
    """The device sleeps for a week during a request."""
    clock, collector = Clock(), Forgetful(SURVEY)
    device = client(clock=clock)
    for _ in range(2):
        device.answer(ANSWERS)
        clock.next_day(31)

    def lost(body: bytes) -> Reply:
        collector(body)
        raise OSError("no answer")

    assert device.send(lost).waiting == 2
    clock.next_day(24)
    replies = iter([(0, 400), (7, 400)])

    def transport(body: bytes) -> Reply:
        days, status = next(replies)
        clock.next_day(days)
        return refusal(status)

    assert device.send(transport).waiting == 1
    assert [one.status for one in device.send(collector).refused] == [0]
    assert collector.total == 2
