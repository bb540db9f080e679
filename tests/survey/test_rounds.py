"""The reports of several rounds are of as few people as they can be, and their noise says so."""

from __future__ import annotations

import datetime
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs import Survey
from murmurs.survey.rounds import Rounds, drawn_part, people_of, pooled, repeatable, rounds_of
from murmurs.survey.terms import Terms

MONDAY = datetime.date(2027, 1, 4)
LOSUE = mm.LOSUE(5, 2.0, 4.0)
LONGITUDINAL = [
    LOSUE,
    mm.LOLOHA(5, 1.0, 2.0),
    mm.BasicRappor(5, f=0.5, p=0.25, q=0.75),
    mm.Rappor(width=16, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75).over(["a", "b", "c", "d"]),
]
FRESH = [
    mm.KRR(5, 1.0),
    mm.OUE(5, 1.0),
    mm.Hadamard(5, 1.0),
    mm.ProjectiveGeometry(30, 2.0),
    mm.ORR(2.0, 8, 16).over(["a", "b", "c", "d"]),
]


def weeks(*numbers: int) -> dict[datetime.date, int]:
    return {MONDAY + datetime.timedelta(7 * i): n for i, n in enumerate(numbers)}


def expected(mechanism: Any, n: int) -> mm.Counts:
    """Return counts of many people whose answers are alike often."""
    k = mechanism.channel.k
    simulated = mechanism.simulate(np.full(k, n // k), np.random.default_rng(1))
    return mm.Counts(simulated.mechanism, simulated.n, simulated.cells)


def variances(counts: mm.Counts, target: Any = "population") -> Any:
    """Return the variances of the unbiased shares, at equal shares."""
    estimate = mm.estimators.unbiased(counts)
    k = len(estimate.shares)
    return estimate.standard_errors(target, np.full(k, 1 / k)) ** 2


def test_the_survey_says_whether_the_same_people_report() -> None:
    krr = mm.KRR(2, 1.0)
    assert people_of(Terms(), krr) == "different"
    assert people_of(Terms(every="once"), LOSUE) == "different"
    assert people_of(Terms(every=30), krr) == "same"
    assert people_of(Terms(memory="value"), LOSUE) == "same"
    assert people_of(Terms(), LOSUE) == "same"


@pytest.mark.parametrize("numbers", [(5,), (4, 4), (6, 2), (3, 1, 2), (2, 5, 5, 1)])
def test_as_many_reports_share_a_person_as_possible(numbers: tuple[int, ...]) -> None:
    """Against everybody's number of reports: the first people of a list come to every round."""
    found = rounds_of(weeks(*numbers), Terms(every="week"), "same")
    sent = [sum(person < n for n in numbers) for person in range(max(numbers))]
    assert found.sampled == pytest.approx(sum(t * t for t in sent) / sum(sent), rel=1e-12)
    assert (found.persons, found.reports, found.number) == (len(sent), sum(sent), len(numbers))
    most = sum(sum(person < n for n in numbers[:3]) ** 2 for person in range(9))
    for others in itertools.product(*[_subsets(max(numbers) + 1, n) for n in numbers[:3]]):
        times = [sum(person in came for came in others) for person in range(max(numbers) + 1)]
        assert sum(t * t for t in times) <= most  # whoever else comes


def _subsets(people: int, n: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(people), n))[:6]


@pytest.mark.parametrize("mechanism", LONGITUDINAL, ids=repr)
def test_noise_of_an_average_number_of_reports_lies_on_the_line_between_whole_ones(
    mechanism: Any,
) -> None:
    """The variance is fresh + T kept, so that it is linear in the average T."""
    n = 4000
    counts = expected(mechanism, n)
    one, two, between = [
        variances(mm.Counts(counts.mechanism, counts.n, counts.cells, times))
        for times in (1.0, 2.0, 1.5)
    ]
    assert np.allclose(between, (one + two) / 2, rtol=2e-3)
    assert np.all(two > 1.02 * one)


@pytest.mark.parametrize("mechanism", FRESH, ids=repr)
def test_fresh_noise_averages_out_and_the_sampling_does_not(mechanism: Any) -> None:
    counts = expected(mechanism, 6000)
    again = Rounds("same", counts.n, counts.n // 4, 4, "week", 4.0, 4.0).apply(counts)
    assert (again.times, again.again) == (1, 4.0)
    k = len(mm.estimators.unbiased(counts).shares)
    more = 3 * (1 / k) * (1 - 1 / k) / counts.n
    assert np.allclose(variances(again) - variances(counts), more, rtol=1e-6)
    assert np.allclose(variances(again, "respondents"), variances(counts, "respondents"))
    pair = [mm.estimators.unbiased(c) for c in (again, counts)]
    assert pair[0].difference(pair[1]).p_value > 0.999  # the same shares
    covariances = [p.fit.covariance_of(np.full(k, 1 / k), "population") for p in pair]
    assert np.allclose(np.diag(covariances[0] - covariances[1]), more, rtol=1e-6)


def test_the_interval_of_a_year_is_that_of_its_people() -> None:
    """1,000 people in 52 weeks are no 52,000 people: that interval would be 1.9 points wide."""
    rng = np.random.default_rng(3)
    devices = mm.Devices(LOSUE, 1000, memory="value", random=rng)
    answers = rng.choice(5, 1000, p=[0.3, 0.25, 0.2, 0.2, 0.05])
    found = [LOSUE.count(devices.report(answers)) for _ in range(52)]
    cells = np.sum([counts.cells for counts in found], axis=0)
    counts = mm.Counts(LOSUE, 52_000, cells)
    rounds = rounds_of(weeks(*[1000] * 52), Terms(every="week"), "same")
    widths = {}
    for name, own in (("same", rounds.apply(counts)), ("different", counts)):
        low, high = mm.estimate(own).interval()
        widths[name] = float((high - low).mean())
    exact = mm.estimate(mm.pool(found, people="same")).interval()
    assert widths["same"] == pytest.approx(float((exact[1] - exact[0]).mean()), rel=1e-3)
    assert widths["same"] > 3.5 * widths["different"]


def test_renewed_responses_share_noise_within_their_period_only() -> None:
    months = Terms(every="week", memory="period", period="month")
    found = rounds_of(weeks(*[100] * 52), months, "same")
    assert found.sampled == 52
    assert 4 < found.kept < 5
    counts = found.apply(mm.Counts(LOSUE, 5200, np.full(5, 1500)))
    assert counts.times == found.kept
    assert counts.times * counts.again == pytest.approx(52)


def test_one_round_and_different_people_are_what_they_were() -> None:
    counts = LOSUE.count([b"\x01", b"\x02"])
    for people, numbers in (("same", (2,)), ("different", (1, 1))):
        found = rounds_of(weeks(*numbers), Terms(every="week"), people)  # type: ignore[arg-type]
        assert found.apply(counts) == counts


def test_sentences_say_who_is_assumed() -> None:
    same = rounds_of(weeks(50, 20), Terms(every=14), "same")
    assert same.number == 1 or "in every round of 14 days" in same.assumption
    one = rounds_of(weeks(50), Terms(every="week"), "same")
    assert one.assumption == "assumes 50 people with one report each"
    alone = rounds_of(weeks(1), Terms(every="week"), "same")
    assert alone.assumption == "assumes 1 person with one report each"
    other = rounds_of(weeks(50, 20), Terms(every="week"), "different")
    assert other.assumption == "assumes 70 people with one report each"


def test_questions_that_are_asked_together_take_one_round() -> None:
    assert repeatable(LOSUE)
    assert repeatable(mm.KRR(3, 1.0))
    assert not repeatable(mm.Product([LOSUE, mm.KRR(2, 1.0)]))
    both = mm.Product([mm.KRR(2, 1.0), mm.KRR(2, 1.0)])
    assert not repeatable(both)
    rounds = rounds_of(weeks(2, 2), Terms(every="week"), "same")
    with pytest.raises(ValueError, match="2 rounds of the same people cannot be estimated"):
        rounds.apply(both.count([(0, 1), (1, 1), (0, 0), (1, 0)]))


def test_counts_of_unequal_rounds_are_not_added_or_written_without_a_word(tmp_path: Any) -> None:
    counts = mm.Counts(LOSUE, 13, np.full(5, 4), 1.5)
    with pytest.raises(ValueError, match="add the counts of single rounds"):
        mm.pool([counts, counts], people="different")
    question = mm.Question("vehicle", list("abcde"), LOSUE)
    survey = mm.Survey("commute", (question,))
    from murmurs.files import write_counts

    with pytest.raises(ValueError, match="write the counts of single rounds"):
        write_counts(tmp_path / "c.json", survey, question, counts)
    from murmurs.mechanisms import counts_from_document

    assert counts_from_document(counts.to_document()) == counts
    assert "1.5 reports from each person" in str(counts.assumption)


@pytest.mark.parametrize("mechanism", [LOSUE, mm.KRR(5, 3.0)], ids=repr)
def test_shares_of_unequal_rounds_vary_as_their_errors_say(mechanism: Any) -> None:
    """300 surveys of 300 people, of whom half miss four of six rounds.

    The variance of 300 shares differs from its mean by a factor outside 0.6 to 1.5 with
    probability 1e-6. Six rounds of different people would have a variance below half of it.
    """
    rng, law, numbers = np.random.default_rng(11), np.array([0.3, 0.25, 0.2, 0.2, 0.05]), []
    attendance, again = (300, 300, 150, 150, 150, 150), mechanism.is_longitudinal
    for _ in range(300):
        people = rng.choice(5, 300, p=law)
        devices = mm.Devices(LOSUE, 300, memory="value", random=rng) if again else None
        cells = np.zeros(5, np.int64)
        for n in attendance:
            who = np.arange(n)
            reports = (
                devices.report(people[who], who=who)
                if devices is not None
                else mechanism.encode_many(people[who], rng)
            )
            cells += mechanism.count(reports).cells
        numbers.append(cells)
    rounds = rounds_of(weeks(*attendance), Terms(every="week"), "same")
    shares = [mechanism.channel.invert(cells, 1200)[0] for cells in numbers]
    counts = mm.Counts(mechanism, 1200, numbers[0])
    errors = [
        mm.estimators.unbiased(own).standard_errors("population", law)[0]
        for own in (rounds.apply(counts), counts)
    ]
    ratio = float(np.var(shares, ddof=1)) / errors[0] ** 2
    assert 0.6 < ratio < 1.5
    assert errors[1] ** 2 < 0.5 * errors[0] ** 2


def test_intervals_of_many_rounds_are_those_of_few_people() -> None:
    """Ten people in 52 weeks, almost without noise: a share of a half is known to a quarter."""
    counts = mm.Counts(mm.KRR(4, 12.0), 520, np.array([260, 260, 0, 0]))
    numbers = weeks(*[10] * 52)
    apply = rounds_of(numbers, Terms(every="week"), "same").apply
    low, high = mm.estimate(apply(counts)).interval()
    assert np.all((high - low)[:2] > 0.4)
    assert np.all(high[2:] > 0.2)  # who is not among ten people may be many elsewhere
    rare = mm.Counts(mm.KRR(4, 12.0), 520, np.array([260, 255, 5, 0]), 1, 52.0)
    assert mm.estimate(rare).interval()[0][2] < 1e-9  # perhaps one of the ten, now and then
    few, many = (mm.Counts(mm.KRR(4, 1.0), 5200, np.full(4, 1300), 1, a) for a in (1.0, 1.5))
    widths = [np.subtract(*mm.estimate(c).interval()[::-1]).mean() for c in (few, many)]
    errors = [mm.estimators.unbiased(c).standard_errors().mean() for c in (few, many)]
    assert widths[1] / widths[0] == pytest.approx(errors[1] / errors[0], rel=0.02)
    days = {day: mm.Counts(mm.KRR(4, 12.0), 10, np.array([5, 5, 0, 0])) for day in numbers}
    found, rounds = pooled(days, Terms(every="week"))
    assert found == apply(counts)
    assert rounds.persons == 10
    assert pooled(days, Terms(every="week"), "different")[0] == counts
    with pytest.raises(ValueError, match="no counts"):
        pooled({}, Terms())


def test_devices_that_draw_questions_are_expected_back_only_as_often_as_they_draw_them() -> None:
    """The pairs of reports of one person, on average over 300 histories of 400 devices.

    Six standard errors of that mean, about 2e-9; taking everybody to come back fails by far.
    """
    rng, pairs, n = np.random.default_rng(5), [], 0
    for _ in range(300):
        asked = rng.random((8, 400)) < 1 / 3
        pairs.append(float((asked.sum(axis=0) ** 2).sum()))
        n += int(asked.sum())
    sizes = [round(n / 300 / 8)] * 8
    found = rounds_of(weeks(*sizes), Terms(every="week"), "same", Fraction(1, 3))
    error = float(np.std(pairs)) / 300**0.5 / sum(sizes)
    assert abs(found.sampled - np.mean(pairs) / sum(sizes)) < 6 * error + 0.02
    everybody = rounds_of(weeks(*sizes), Terms(every="week"), "same")
    assert everybody.sampled == 8.0
    assert found.sampled == pytest.approx(1 + 7 / 3)
    assert found.assumption == (
        f"assumes the same people every week: {sum(sizes):,} reports in 8 weeks from about "
        f"{3 * sizes[0]:,} people, each asked with probability 1/3"
    )


def test_the_survey_says_how_often_a_question_is_drawn() -> None:
    toml = 'name="s"\nevery="week"\n{}' + "".join(
        f'\n[[questions]]\nname="{name}"\nlabels=["a","b"]\nepsilon=1.0' for name in "pqr"
    )
    assert drawn_part(Survey.from_toml(toml.format("questions_each=2"))) == Fraction(2, 3)
    assert drawn_part(Survey.from_toml(toml.format(""))) == 1


def test_intervals_cover_where_devices_draw_the_question_in_a_third_of_the_rounds() -> None:
    """Of 200 surveys of 300 devices, ten rounds each, at least 171 cover the share.

    Fewer have probability below 1e-6 if 94.5 % cover, as 1,500 surveys measured. Taking every
    report for another person covers in about 71 % and fails.
    """
    rng, rr = np.random.default_rng(1), mm.KRR(2, 4.0)
    question = mm.Question("q", ("a", "b"), rr)
    hits = {"same": 0, "different": 0}
    for _ in range(200):
        people = (rng.random(300) < 0.7).astype(int)
        asked = [np.flatnonzero(rng.random(300) < 1 / 3) for _ in range(10)]
        counts = rr.count(rr.encode_many(np.concatenate([people[who] for who in asked]), rng))
        numbers = weeks(*map(len, asked))
        for said in hits:
            rounds = rounds_of(numbers, Terms(every="week"), said, Fraction(1, 3))  # type: ignore[arg-type]
            low, high = question.estimate(rounds.apply(counts), "unbiased").interval(0.95)
            hits[said] += bool(low[0] <= 0.3 <= high[0])
    assert hits["same"] >= 171
    assert hits["different"] < 171
