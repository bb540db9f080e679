"""Counts of the same people: what several reports of each person add up to, exactly.

Variances are held against enumeration: all permanent responses, and all sequences of reports made
from them. Statistical tests have a fixed seed and state their false-alarm rate.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner

import murmurs as mm
from murmurs.channels.bit_sketch import BitSketch
from murmurs.channels.repeats import ONCE, Repeats
from murmurs.channels.tables import Tables
from murmurs.cli import main
from murmurs.files.counts import read_counts, write_counts
from murmurs.files.reports import write_reports
from murmurs.mechanisms.hashed.cohorts import Over
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats, Integers
from murmurs.privacy import SCALE
from tests.goodness import FALSE_ALARM

UNARY: list[Any] = [
    mm.BasicRappor(k=3, f=0.4, p=0.3, q=0.8),
    mm.LOSUE(k=3, epsilon=1.0, epsilon_permanent=2.0),
]
HASHED = [mm.LOLOHA(k=3, epsilon=1.0, epsilon_permanent=2.0, g=3), mm.LOLOHA(3, 2.0, 3.0, g=2)]
CLOSED = [*UNARY, *HASHED]
RAPPOR = mm.Rappor(width=3, hashes=1, cohorts=2, f=0.4, p=0.3, q=0.8, salt=1)
TWICE_HASHED = mm.Rappor(width=3, hashes=2, cohorts=2, f=0.4, p=0.3, q=0.8, salt=1)
OVER: list[Over[Any]] = [
    RAPPOR.over(["tea", "mate"]),
    RAPPOR.over(["tea", "mate"], complete=True),
    TWICE_HASHED.over(["tea", "mate"]),
]
MECHANISMS: list[Mechanism[Any]] = [*CLOSED, *OVER]
every = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
closed = pytest.mark.parametrize("mechanism", CLOSED, ids=repr)
some_times = pytest.mark.parametrize("times", [1, 2, 3])


@dataclass(frozen=True)
class Kind:
    """One kind of device: its chance, the law of its permanent responses, and what reports add."""

    chance: float
    responses: Floats
    reports: Floats
    cells: Floats


def kinds(mechanism: Any, answer: int) -> Iterator[Kind]:
    """All kinds of devices of an answer, as the mechanisms' pages have them.

    A kind has a hash function, an ideal one, or a cohort and the places of a string in it.
    """
    if isinstance(mechanism, mm.LOLOHA):
        g, k = mechanism.g, mechanism.k
        told, said = (np.full((g, g), (1 - t) / g) + t * np.eye(g) for t in truths(mechanism))
        for way in itertools.product(range(g), repeat=k):
            cells = np.equal(np.array(way)[None, :], np.arange(g)[:, None])
            yield Kind(g**-k, told[way[answer]], said, cells.astype(float))
    elif isinstance(mechanism, Over):
        table = mechanism.randomiser
        rows, size = table.cohorts, 1 + table.width
        for cohort in range(rows):
            for weight, places in places_of(mechanism, answer, cohort):
                kept, said, bits = bit_rounds(table, table.width, places)
                cells = np.zeros((len(bits), rows, size))
                cells[:, cohort, 0], cells[:, cohort, 1:] = 1, bits
                yield Kind(weight / rows, kept, said, cells.reshape(len(bits), -1))
    else:
        yield Kind(1.0, *bit_rounds(mechanism, mechanism.k, [answer]))


def truths(mechanism: mm.LOLOHA) -> tuple[float, float]:
    return mechanism.permanent_truth / SCALE, mechanism.truth / SCALE


def bit_rounds(mechanism: Any, width: int, own: list[int]) -> tuple[Floats, Floats, Floats]:
    """Return the law of permanent rows of bits, that of reports given each, and the rows."""
    rows = np.array(list(itertools.product((0, 1), repeat=width)), float)
    if isinstance(mechanism, mm.LOSUE):
        true, false = 0.5, mechanism.permanent_flip / SCALE
        busy, idle = 1 - mechanism.flip / SCALE, mechanism.flip / SCALE
    else:
        true, false = 1 - mechanism.f / 2, mechanism.f / 2
        busy, idle = mechanism.q, mechanism.p
    kept = np.where(np.isin(np.arange(width), own), true, false)
    said = np.where(rows == 1, busy, idle)

    def law(chances: Floats) -> Floats:
        return np.asarray(np.prod(np.where(rows == 1, chances, 1 - chances), axis=-1))

    return law(kept), np.array([law(chances) for chances in said]), rows


def places_of(over: Over[Any], answer: int, cohort: int) -> Iterator[tuple[float, list[int]]]:
    """An unlisted string has any places."""
    table = over.randomiser
    if answer < len(over.candidates):
        yield 1.0, table.places(over.candidates[answer], cohort)
        return
    for drawn in itertools.product(range(table.width), repeat=table.hashes):
        yield table.width**-table.hashes, list(drawn)


def moments(mechanism: Any, answer: int, times: int) -> tuple[Floats, Floats]:
    """Mean and mean square of what the reports of one person add up to, over all sequences."""
    size = math.prod(mechanism.channel.cells)
    mean, square = np.zeros(size), np.zeros((size, size))
    for device in kinds(mechanism, answer):
        count = len(device.cells)
        sequences = np.array(list(itertools.product(range(count), repeat=times)))
        chances = device.responses @ np.prod(device.reports[:, sequences], axis=2)
        added = device.cells[sequences].sum(axis=1)
        mean += device.chance * chances @ added
        square += device.chance * (added.T * chances) @ added
    return mean, square


@every
@some_times
def test_reports_of_the_same_person_vary_together_as_enumerated(
    mechanism: Mechanism[Any], times: int
) -> None:
    channel, k = mechanism.repeated(times), mechanism.k
    shares = np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum()
    mean, square, conditional = 0.0, 0.0, 0.0
    for answer, share in enumerate(shares):
        one, two = moments(mechanism, answer, times)
        np.testing.assert_allclose(one, times * channel.matrix()[answer], atol=1e-12)
        own = times * np.eye(k)[answer]
        np.testing.assert_allclose(channel.covariance(own), two - np.outer(one, one), atol=1e-12)
        mean, square = mean + share * one, square + share * two
        conditional = conditional + share * (two - np.outer(one, one))
    np.testing.assert_allclose(channel.covariance(times * shares), conditional, atol=1e-12)
    sampled = square - np.outer(mean, mean)
    np.testing.assert_allclose(channel.covariance_sampled(shares, times), sampled, atol=1e-12)
    if times > 1:  # as many reports of other people have another law
        plain = mechanism.channel.covariance_sampled(shares, times)
        assert np.abs(plain - sampled).max() > 0.01


@closed
@some_times
def test_the_noise_of_shares_is_that_of_the_enumerated_cells(
    mechanism: Mechanism[Any], times: int
) -> None:
    channel, people = mechanism.repeated(times), np.array([50, 30, 20])
    n = int(times * people.sum())
    wanted = sum(
        many * (two - np.outer(one, one))
        for many, (one, two) in (
            (people[x], moments(mechanism, x, times)) for x in range(len(people))
        )
    )
    scale = (n * float(channel.hit - channel.miss)) ** 2  # type: ignore[attr-defined]
    np.testing.assert_allclose(channel.variance(times * people), np.diag(wanted) / scale)
    shares = people / people.sum()
    sampling = shares * (1 - shares) / people.sum()
    found = channel.variance_sampled(shares, n)
    np.testing.assert_allclose(found, channel.variance(times * people) + sampling)


@pytest.mark.parametrize(
    "over",
    [
        RAPPOR.over(["tea", "mate"]),
        mm.Rappor(3, 1, 4, f=0.4, p=0.3, q=0.8, salt=1).over(["tea", "mate", "x"], complete=True),
        mm.Rappor(3, 2, 3, f=0.4, p=0.3, q=0.8, salt=7).over(["tea", "coffee"]),
    ],
    ids=repr,
)
@some_times
def test_the_noise_of_least_squares_is_that_of_the_enumerated_cells(
    over: Over[Any], times: int
) -> None:
    channel = over.repeated(times)
    assert isinstance(channel, BitSketch)
    assert channel.is_solved
    shares, people = np.arange(1.0, over.k + 1) / np.arange(1.0, over.k + 1).sum(), 1000
    rows, width = channel.rows, channel.width
    solver, wanted = channel.solver(shares), np.zeros(over.k)
    for row in range(rows):
        mean, square = np.zeros(width), np.zeros((width, width))
        for answer, share in enumerate(shares):
            one, two = moments(over, answer, times)
            at = np.arange(width) + 1 + row * (1 + width)
            mean += share * one[at] * rows / times
            square += share * two[np.ix_(at, at)] * rows / times**2
        units = np.zeros((width, rows, width))
        units[np.arange(width), row, np.arange(width)] = 1 / channel.difference
        lever = np.array([solver.solve(unit) for unit in units])
        lever -= solver.solve(np.zeros((rows, width)))
        if channel.is_open:
            lever = np.append(lever, -lever.sum(axis=1, keepdims=True), axis=1)
        covariance = square - np.outer(mean, mean)
        wanted += np.diag(lever.T @ covariance @ lever) / (people / rows)
    found = channel.variance_sampled(shares, times * people)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    private = channel.variance(shares * times * people)
    np.testing.assert_allclose(private, wanted - shares * (1 - shares) / people, rtol=1e-9)


def copies() -> list[Mechanism[Any]]:
    """Mechanisms whose reports are the permanent response itself."""
    certain: dict[str, Any] = {"f": 0.5, "p": 0.0, "q": 1.0}
    many = [f"string {i}" for i in range(40)]
    return [
        mm.BasicRappor(k=5, **certain),
        mm.Rappor(8, 2, 6, **certain).over(["tea", "coffee"]),
        mm.Rappor(8, 1, 6, **certain).over(["tea", "coffee"], complete=True),
        mm.Rappor(4, 1, 2, **certain).over(many),  # not solved for: averages
        mm.Rappor(4, 2, 2, **certain).over(many),
    ]


@pytest.mark.parametrize("mechanism", copies(), ids=repr)
def test_copies_of_reports_count_as_the_people_they_are_of(mechanism: Mechanism[Any]) -> None:
    """Seven equal reports of each of a thousand people tell what one of each tells."""
    once, seven, n = mechanism.channel, mechanism.repeated(7), 1000
    shares = np.arange(1.0, mechanism.k + 1) ** 2
    shares /= shares.sum()
    for found, wanted in zip(seven.noise(shares, 7 * n), once.noise(shares, n), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    for law in ("variance_sampled", "covariance_sampled"):
        found, wanted = getattr(seven, law)(shares, 7 * n), getattr(once, law)(shares, n)
        factor = 49 if law == "covariance_sampled" else 1
        np.testing.assert_allclose(found, factor * wanted, rtol=1e-9, atol=1e-9)
    if isinstance(seven, Tables):
        assert isinstance(once, Tables)
        assert seven.collision_part(shares, 7 * n) == pytest.approx(once.collision_part(shares, n))
    assert seven.repeats.skewed_chance(seven.miss) == pytest.approx(float(seven.miss))  # type: ignore[attr-defined]


@pytest.mark.parametrize("mechanism", copies()[1:], ids=repr)
def test_every_estimator_takes_copies_of_reports_as_the_people_they_are_of(
    mechanism: Mechanism[Any],
) -> None:
    rng = np.random.default_rng(2)
    law = 1 / np.arange(1.0, mechanism.k + 1) ** 2
    one = mechanism.simulate(rng.multinomial(3000, law / law.sum()), rng)
    seven = mm.pool([one] * 7, people="same")
    compared = 0
    for estimator in (mm.estimate, *mm.estimators.BY_NAME.values()):
        try:
            wanted = estimator(one)
        except ValueError:
            with pytest.raises(ValueError, match="use"):
                estimator(seven)
            continue
        found = estimator(seven)
        compared += 1
        np.testing.assert_allclose(found.shares, wanted.shares, atol=1e-6)
        np.testing.assert_allclose(found.unbiased, wanted.unbiased, atol=1e-9)
        for target in ("respondents", "population"):
            one_way, other = (e.interval(0.9, target) for e in (found, wanted))
            np.testing.assert_allclose(one_way, other, atol=1e-6)
        if found.counts.channel.tells_absence:
            p_values = found.detected().p_values
            np.testing.assert_allclose(p_values, wanted.detected().p_values, rtol=1e-6)
    assert compared >= 8


def test_without_a_permanent_response_only_the_people_are_the_same() -> None:
    """RAPPOR with f = 0: given the people, reports are as independent as those of others."""
    mechanism, shares = mm.BasicRappor(k=3, f=0.0, p=0.25, q=0.75), np.array([0.5, 0.3, 0.2])
    once, five = mechanism.channel, mechanism.repeated(5)
    np.testing.assert_allclose(five.variance(shares * 1000), once.variance(shares * 1000))
    more = five.variance_sampled(shares, 1000) - once.variance_sampled(shares, 1000)
    np.testing.assert_allclose(more, 4 * shares * (1 - shares) / 1000)


@every
def test_one_report_of_each_person_is_the_plain_channel(mechanism: Mechanism[Any]) -> None:
    assert mechanism.repeated(1).times == 1
    assert mechanism.channel.repeats == ONCE
    assert mechanism.second_round is not None
    one = mechanism.channel.repeating(Repeats(1, *mechanism.second_round))
    shares = np.full(mechanism.k, 1 / mechanism.k)
    np.testing.assert_array_equal(
        one.covariance(shares * 60), mechanism.channel.covariance(shares * 60)
    )
    np.testing.assert_array_equal(one.noise(shares, 60), mechanism.channel.noise(shares, 60))


@every
def test_values_and_responses_that_change_make_the_law_wide_not_narrow(
    mechanism: Mechanism[Any],
) -> None:
    """Two reports of a person whose response was renewed, or whose value is another.

    Exactly: no cell varies more than the law of two reports from one response says.
    """
    channel, k = mechanism.repeated(2), mechanism.k
    for one, other in itertools.product(range(k), repeat=2):
        if isinstance(mechanism, Over) and one != other and max(one, other) == mechanism.layout.k:
            continue  # an unlisted string among others: its places are another draw
        law = np.diag(channel.covariance(np.eye(k)[one] + np.eye(k)[other]))
        mean, square = np.zeros(len(law)), np.zeros(len(law))
        # The device stays, with its function or its cohort; the response is another draw.
        for first, second in zip(kinds(mechanism, one), kinds(mechanism, other), strict=True):
            laws = [device.responses @ device.reports for device in (first, second)]
            both = first.cells[:, None, :] + second.cells[None, :, :]
            mean += first.chance * np.einsum("i,j,ijc->c", *laws, both)
            square += first.chance * np.einsum("i,j,ijc->c", *laws, both**2)
        found = square - mean**2
        assert (found <= law + 1e-12).all()
        assert (found < law - 1e-3).any()


# Coverage: the same people asked again and again

WEEKS, PEOPLE = 8, 500


def asked_unary(mechanism: Any, people: Integers, rng: np.random.Generator) -> Integers:
    """The cells of all weeks; bits are independent, so that sums can be drawn."""
    n = people.sum()
    busy, idle = (float(x) for x in mechanism.second_round)
    own, other = ((float(x) - idle) / (busy - idle) for x in (mechanism.one, mechanism.zero))
    kept = rng.binomial(people, own) + rng.binomial(n - people, other)
    return np.asarray(
        rng.binomial(WEEKS * kept, busy) + rng.binomial(WEEKS * (n - kept), idle), np.int64
    )


def asked_hashed(mechanism: Any, people: Integers, rng: np.random.Generator) -> Integers:
    n, k, g = int(people.sum()), mechanism.k, mechanism.g
    way = rng.integers(0, g, (n, k))
    kept = way[np.arange(n), np.repeat(np.arange(k), people)]
    for truth, shape in zip(truths(mechanism), ((n,), (WEEKS, n)), strict=True):
        kept = np.where(rng.random(shape) < truth, kept, rng.integers(0, g, shape))
    return np.asarray((way == kept[:, :, None]).sum(axis=(0, 1)), np.int64)


def asked_rappor(over: Any, people: Integers, rng: np.random.Generator) -> Integers:
    rappor, n = over.mechanism, int(people.sum())
    cohorts, answers = rng.integers(0, rappor.cohorts, n), np.repeat(np.arange(over.k), people)
    bits = np.zeros((n, rappor.width + 1), bool)
    listed = answers < over.layout.k
    places = np.empty((rappor.hashes, n), np.int64)
    places[:, listed] = over.layout.look_up(answers[listed], cohorts[listed])
    places[:, ~listed] = rng.integers(0, rappor.width, (rappor.hashes, int((~listed).sum())))
    for at in places:
        bits[np.arange(n), at] = True
    bits = bits[:, :-1]
    kept = np.where(rng.random(bits.shape) < rappor.f, rng.random(bits.shape) < 0.5, bits)
    cells = np.zeros((rappor.cohorts, 1 + rappor.width), np.int64)
    counts = rng.binomial(WEEKS, np.where(kept, rappor.q, rappor.p))
    for row in range(rappor.cohorts):
        here = cohorts == row
        cells[row] = WEEKS * here.sum(), *counts[here].sum(axis=0)
    return cells


SURVEYS: dict[str, tuple[Any, Any, int]] = {
    "LOSUE": (mm.LOSUE(k=10, epsilon=2.0, epsilon_permanent=3.0), asked_unary, 300),
    "BasicRappor": (mm.BasicRappor(k=10, f=0.5, p=0.25, q=0.75), asked_unary, 300),
    "LOLOHA": (mm.LOLOHA(k=10, epsilon=2.0, epsilon_permanent=3.0), asked_hashed, 120),
    "Rappor": (
        mm.Rappor(12, 2, 3, f=0.5, p=0.1, q=0.9).over(["a", "b", "c", "d"], complete=True),
        asked_rappor,
        150,
    ),
}


@pytest.mark.parametrize("name", SURVEYS)
def test_intervals_of_the_same_people_cover_as_often_as_they_say(name: str) -> None:
    """500 people, 8 weeks, for those who answered and for their population.

    Intervals of one survey are counted together. The surveys' mean numbers are normal; six standard
    errors are a false alarm in 10^9, and one point is left for what is not normal in 500 people.
    """
    mechanism, asked, surveys = SURVEYS[name]
    rng = np.random.default_rng(11)
    shares = np.arange(mechanism.k, 0.0, -1)
    shares /= shares.sum()
    covered: dict[tuple[str, int], list[float]] = {}
    for _ in range(surveys):
        people = rng.multinomial(PEOPLE, shares)
        cells = asked(mechanism, people, rng)
        for times in (WEEKS, 1):
            counts = mm.Counts(mechanism, WEEKS * PEOPLE, cells, times)
            found = mm.estimators.unbiased(counts)
            for target, truth in (("respondents", people / PEOPLE), ("population", shares)):
                low, high = found.interval(0.95, target)  # type: ignore[arg-type]
                inside = (low <= truth) & (truth <= high)
                covered.setdefault((target, times), []).append(float(inside.mean()))
    rates = {key: float(np.mean(inside)) for key, inside in covered.items()}
    for target in ("respondents", "population"):
        error = np.std(covered[target, WEEKS]) / math.sqrt(surveys)
        assert abs(rates[target, WEEKS] - 0.95) < 6 * error + 0.01, rates
        # Taken as reports of 4,000 people they are far off.
        assert rates[target, 1] < 0.95 - 2 * (6 * error + 0.01), rates
    if name == "LOSUE":
        assert 0.64 < rates["respondents", 1] < 0.74


def test_devices_that_report_every_week_have_the_law_of_the_drawn_sums() -> None:
    """What `asked_unary` and `asked_hashed` stand for: the variances of a cell over groups.

    Chi-square at the false-alarm rate; the law of as many reports of other people is rejected.
    """
    rng, groups = np.random.default_rng(3), 120
    for mechanism in (mm.LOSUE(3, 2.0, 3.0), mm.LOLOHA(3, 2.0, 3.0, g=3)):
        cells = []
        for _ in range(groups):
            people: list[mm.Device[Any]] = [
                mm.Device(mechanism, rng.bytes(32), "q", memory="value") for _ in range(3)
            ]
            reports = [d.report(x, rng) for x, d in enumerate(people) for _ in range(4)]
            cells.append(mechanism.count(reports).cells)
        seen = np.var(cells, axis=0, ddof=1)
        for channel, right in ((mechanism.repeated(4), True), (mechanism.channel, False)):
            law = np.diag(channel.covariance(np.full(3, 4)))
            statistic = float(((groups - 1) * seen / law).sum())
            tail = scipy.stats.chi2.sf(statistic, 3 * (groups - 1))
            assert bool(FALSE_ALARM < tail < 1 - FALSE_ALARM) is right


# Tests


def exact_tail(mechanism: Any, people: int, times: int, least: int) -> float:
    """The chance of so much false support: the law of one person, ``people`` times over."""
    busy, idle = (float(x) for x in mechanism.second_round)
    a = (float(mechanism.channel.miss) - idle) / (busy - idle)
    counts = np.arange(times + 1)
    one = a * scipy.stats.binom.pmf(counts, times, busy)
    one += (1 - a) * scipy.stats.binom.pmf(counts, times, idle)
    law = np.array([1.0])
    for _ in range(people):
        law = np.convolve(law, one)
    return float(law[least:].sum())


@pytest.mark.parametrize(
    "mechanism",
    [
        mm.LOSUE(4, 3.0, 6.0),
        mm.LOSUE(4, 1.0, 2.0),
        mm.BasicRappor(4, f=0.1, p=0.05, q=0.75),
        mm.LOLOHA(4, 2.0, 4.0),
    ],
    ids=repr,
)
def test_p_values_of_absent_answers_are_nearly_exact(mechanism: Any) -> None:
    """In tails where the normal law would be off by a factor."""
    people, times, off = 200, 6, []
    n = people * times
    each = mechanism.repeated(times).repeats.variance_per_report(mechanism.channel.miss)
    spread = math.sqrt(n * each)
    for z in (0.0, 1.0, 2.0, 3.0, 4.0):
        count = round(n * float(mechanism.channel.miss) + z * spread)
        cells = np.full(mechanism.k, count)
        found = mm.estimators.unbiased(mm.Counts(mechanism, n, cells, times)).detected().p_values[0]
        wanted = exact_tail(mechanism, people, times, count)
        assert 0.6 < found / wanted < 1.3, z
        score = (count - n * float(mechanism.channel.miss)) / spread
        off.append(scipy.stats.norm.sf(score) / wanted)
    assert min(off) < 0.85


def test_differences_of_pooled_counts_are_tested_at_their_level() -> None:
    """p-values of no change are uniform, of all answers together and one by one.

    Kolmogorov's test at the false-alarm rate; taken as other people's reports they are rejected.
    """
    for name, surveys in (("LOSUE", 40), ("Rappor", 25)):
        mechanism, asked, _ = SURVEYS[name]
        rng = np.random.default_rng(12)
        shares = np.full(mechanism.k, 1 / mechanism.k)
        found: dict[int, list[float]] = {WEEKS: [], 1: []}
        for _ in range(surveys):
            cells = [asked(mechanism, rng.multinomial(PEOPLE, shares), rng) for _ in "12"]
            for times, p_values in found.items():
                sides = [
                    mm.estimators.unbiased(mm.Counts(mechanism, WEEKS * PEOPLE, cell, times))
                    for cell in cells
                ]
                change = sides[0].difference(sides[1])
                p_values.append(change.p_value)
        assert scipy.stats.kstest(found[WEEKS], "uniform").pvalue > FALSE_ALARM
        assert scipy.stats.kstest(found[1], "uniform").pvalue < FALSE_ALARM


def test_a_change_of_strings_is_seen_by_the_test_of_all_together() -> None:
    """Cohorts have counts of their own: the inverse is linear only near what is expected."""
    over = mm.Rappor(8, 2, 4, f=0.25, p=0.25, q=0.75).over(["a", "b", "c"])
    rng, same, other = np.random.default_rng(1), [], []
    for _ in range(25):
        one, two, three = (
            mm.estimators.unbiased(over.simulate(rng.multinomial(20_000, shares), rng))
            for shares in ([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1], [0.5, 0.2, 0.2, 0.1])
        )
        same.append(one.difference(two).p_value)
        other.append(one.difference(three).p_value)
    assert scipy.stats.kstest(same, "uniform").pvalue > FALSE_ALARM
    assert max(other) < 1e-3


# Pooling


LOSUE = mm.LOSUE(k=3, epsilon=1.0, epsilon_permanent=2.0)


def week(*reports: int) -> mm.Counts:
    return LOSUE.count([bytes([report]) for report in reports])


def test_counts_of_different_people_and_of_the_same_pool_to_the_same_cells() -> None:
    weeks = [week(1, 2), week(1, 7), week(0, 4)]
    other, same = (mm.pool(weeks, people=people) for people in ("different", "same"))
    assert other.cells.tolist() == same.cells.tolist() == [3, 2, 2]
    assert (other.n, other.times, other.people) == (6, 1, 6)
    assert (same.n, same.times, same.people) == (6, 3, 2)
    assert other != same
    assert other == LOSUE.count([b"\x01", b"\x02", b"\x01", b"\x07", b"\x00", b"\x04"])
    assert mm.pool(iter(weeks), people="same") == same
    assert mm.pool([weeks[0]], people="same") == weeks[0]


def test_pooled_counts_pool_again() -> None:
    two, three = mm.pool([week(1, 2), week(1, 7)], people="same"), week(0, 4)
    assert mm.pool([two, three], people="same") == mm.pool(
        [week(1, 2), week(1, 7), week(0, 4)], people="same"
    )
    both = mm.pool([two, mm.pool([week(3), week(3)], people="same")], people="different")
    assert (both.n, both.times, both.people) == (6, 2, 3)
    with pytest.raises(ValueError, match="cannot pool counts of 2 and of 1 reports from each") as e:
        mm.pool([two, three], people="different")
    assert "need the same number of reports per person" in str(e.value)
    assert "the estimator `unbiased`, and average the shares" in str(e.value)


def test_counts_of_a_longitudinal_mechanism_are_not_added_without_a_word() -> None:
    for mechanism in (LOSUE, mm.LOLOHA(3, 1.0, 2.0), UNARY[0], RAPPOR, OVER[0]):
        empty = mechanism.count([])
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
            _ = empty + empty
        for way in ('people="different"', 'people="same"', "murmurs.pool"):
            assert way in str(error.value)
        with pytest.raises(ValueError, match="may come from the same people"):
            sum([empty, empty])
        assert sum([empty]) == empty
        assert mechanism.is_longitudinal
    assert not mm.KRR(3, 1.0).is_longitudinal
    assert not mm.ORR(1.0, 4, 2).over(["tea"]).is_longitudinal


def test_parts_of_one_collection_are_counted_together() -> None:
    parts = [LOSUE.encode_many([0, 1, 2], np.random.default_rng(i)) for i in range(3)]
    assert LOSUE.count(iter(parts)) == LOSUE.count(np.concatenate(parts))
    assert LOSUE.count([bytes([1]), bytes([2])]).n == 2


def test_mechanisms_without_a_permanent_response_pool_different_people_only() -> None:
    rr = mm.KRR(3, 1.0)
    one, two = rr.count([0, 1]), rr.count([2, 2])
    assert mm.pool([one, two], people="different") == one + two
    with pytest.raises(ValueError, match=r"keeps no permanent response: add the counts with \+"):
        mm.pool([one, two], people="same")
    with pytest.raises(ValueError, match="keeps no permanent response that 2 reports"):
        mm.Counts(rr, 4, np.array([1, 1, 2]), times=2)


@pytest.mark.parametrize("people", ["others", None, True])
def test_pooling_says_whose_counts_they_are(people: Any) -> None:
    with pytest.raises(ValueError, match="people must be 'different' or 'same', not"):
        mm.pool([week(1)], people=people)
    with pytest.raises(TypeError, match="people"):
        mm.pool([week(1)])  # type: ignore[call-arg]


@pytest.mark.parametrize("people", ["different", "same"])
def test_what_cannot_be_pooled_is_refused(people: Any) -> None:
    with pytest.raises(ValueError, match="there are no counts to pool"):
        mm.pool([], people=people)
    with pytest.raises(TypeError, match=r"pool takes Counts, not bytes: see mechanism\.count"):
        mm.pool([week(1), b"\x01"], people=people)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"cannot add counts of LOSUE\(k=3, epsilon=0.5"):
        mm.pool([week(1), mm.LOSUE(3, 0.5, 2.0).count([b"\x00"])], people=people)


def test_counts_of_different_numbers_of_people_are_not_of_the_same() -> None:
    message = "counts of 2 and of 3 people are not .* estimate the counts separately, or count only"
    with pytest.raises(ValueError, match=message):
        mm.pool([week(1, 2), week(1, 2, 3)], people="same")


def test_the_same_people_stay_in_their_cohorts() -> None:
    one = RAPPOR.count([(0, b"\x01"), (1, b"\x02")])
    two = RAPPOR.count([(0, b"\x01"), (0, b"\x02")])
    with pytest.raises(ValueError, match="cohort 0 has 1 people in one of the counts and 2 in"):
        mm.pool([one, two], people="same")
    pooled = mm.pool([one, one], people="same")
    assert (pooled.times, pooled.people) == (2, 2)
    with pytest.raises(ValueError, match="row 0 has 3 reports, but each person sends 2"):
        mm.Counts(RAPPOR, 4, np.array([[3, 0, 0, 0], [1, 0, 0, 0]]), times=2)
    assert pooled.over(["tea", "mate"]).times == 2


@pytest.mark.parametrize(
    ("n", "times", "message"),
    [
        (5, 2, "5 reports cannot be 2 from each person: times is how often"),
        (4, 0, "times must be from 1 to"),
        (4, "2", "times must be a whole number"),
        (4, 0.5, "times must be from 1 to"),
    ],
)
def test_times_that_cannot_be_are_refused(n: int, times: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        mm.Counts(LOSUE, n, np.array([1, 1, 1]), times=times)


def test_notes_say_whose_reports_were_assumed() -> None:
    counts = mm.Counts(LOSUE, 4000, np.array([2000, 1500, 1200]))
    again = mm.Counts(LOSUE, 4000, np.array([2000, 1500, 1200]), times=8)
    for name, estimator in mm.estimators.BY_NAME.items():
        if name in ("likelihood", "em", "ems", "selection", "composite", "joint", "independence"):
            continue
        assert estimator(counts).notes[-1] == "assumes 4,000 people with one report each"
        note = "assumes 500 people with 8 reports each"
        found = estimator(again).with_labels(("a", "b", "c"))
        assert found.notes.count(note) == 1
        assert f"Note: {note}." in str(found)
    assert mm.estimate(mm.KRR(3, 1.0).count([0] * 900 + [1] * 500)).notes == ()
    over = RAPPOR.count([(0, b"\x01"), (1, b"\x02")]).over(["tea"])
    assert "assumes 2 people with one report each" in mm.estimate(over).notes


def test_estimators_that_need_single_people_refuse_with_one_that_does_not() -> None:
    again = mm.Counts(LOSUE, 4000, np.array([2000, 1500, 1200]), times=8)
    assert again.channel.support(again.cells) is None
    with pytest.raises(ValueError, match=r"use regression\(counts\)"):
        mm.estimators.composite(again)
    assert mm.estimators.regression(again).shares.sum() == pytest.approx(1)
    assert mm.estimate(again).estimator == "shrinkage"


def test_pooled_counts_are_more_precise_than_a_week_and_less_than_other_people() -> None:
    cells = np.array([250, 190, 150])
    week_error = mm.estimators.unbiased(mm.Counts(LOSUE, 500, cells)).standard_errors()
    same, other = (
        mm.estimators.unbiased(mm.Counts(LOSUE, 4000, 8 * cells, times)).standard_errors()
        for times in (8, 1)
    )
    assert (other < same).all()
    assert (same < week_error).all()
    assert (week_error / other).round(3).tolist() == [round(math.sqrt(8), 3)] * 3


# Files and the command line


def test_documents_and_files_say_how_often_people_reported(tmp_path: Path) -> None:
    counts = mm.pool([week(1, 2), week(1, 7)], people="same")
    assert counts.to_document()["times"] == 2
    assert "times" not in week(1, 2).to_document()
    assert repr(counts).endswith("cells=array([3, 2, 1]), times=2)")
    question = mm.Question("drink", ("a", "b", "c"), LOSUE)
    survey = mm.Survey("coffee", (question,))
    for what in (counts, week(1, 2)):
        write_counts(tmp_path / "counts.json", survey, question, what)
        assert read_counts(tmp_path / "counts.json")[1] == what
    document = json.loads((tmp_path / "counts.json").read_text())
    document["times"] = 3
    (tmp_path / "counts.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="2 reports cannot be 3 from each"):
        read_counts(tmp_path / "counts.json")


def test_several_files_of_a_longitudinal_question_need_a_word(tmp_path: Path) -> None:
    question = mm.Question("drink", ("a", "b", "c"), LOSUE)
    survey = mm.Survey("coffee", (question,))
    (tmp_path / "s.json").write_text(survey.to_json())
    paths = []
    for i in range(2):
        paths.append(tmp_path / f"week{i}.bin")
        reports = LOSUE.encode_many([0, 1, 2, 0], np.random.default_rng(i))
        write_reports(paths[-1], survey, question, [reports])
    out = tmp_path / "c.json"
    base = ["count", str(tmp_path / "s.json"), *map(str, paths), "-o", str(out)]
    refused = CliRunner().invoke(main, base)
    assert refused.exit_code != 0
    assert "--people different" in refused.output
    assert "--people same" in refused.output
    for people, times in (("different", 1), ("same", 2)):
        done = CliRunner().invoke(main, [*base, "--people", people])
        assert done.exit_code == 0, done.output
        found = read_counts(out)[1]
        assert (found.n, found.times) == (8, times)
    shown = CliRunner().invoke(main, ["estimate", str(out)])
    assert "Note: assumes 4 people with 2 reports each." in shown.output
    single = CliRunner().invoke(main, [*base[:2], str(paths[0]), "-o", str(out)])
    assert single.exit_code == 0
