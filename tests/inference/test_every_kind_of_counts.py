"""The size of tests that compare estimates, for the counts and estimates that are not the plain.

`test_every_comparison` has all pairs of mechanisms, with one report from each of many people, about
the population, and with unbiased estimates. Here are the other kinds: shares of the respondents,
people who were asked again, pooled reports of the same people, tables of two questions, the default
estimator, and more answers than can be solved for. Each mechanism meets the next one in the list.
What is compared is the same on both sides, and all repetitions are drawn anew: as there, a false
alarm has a chance of 1e-10 for each number that is looked at, and below 1e-6 over all of them. Each
test is shown to find a law that is wrong.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.estimators.estimation import Estimate
from murmurs.inference.fit import Target
from murmurs.inference.least_squares import Selected, SharedOut
from murmurs.numerics.arrays import Floats, Integers
from tests.inference.test_every_comparison import LEVEL, AnyMechanism, most, of_size

Draw = Callable[[AnyMechanism], Estimate]
FOUR = tuple("abcd")


def true_shares(k: int) -> Floats:
    shares = np.arange(k, 0, -1.0) ** 1.5
    return np.asarray(shares / shares.sum())


def sampled(n: int, k: int, rng: np.random.Generator) -> Integers:
    return np.asarray(rng.multinomial(n, true_shares(k)))


def labelled(counts: mm.Counts, method: str | None = "unbiased") -> Estimate:
    found = mm.estimate(counts) if method is None else mm.estimate(counts, method)
    return found.with_labels(tuple("abcdefgh"[: len(found.shares)]))


def neighbours() -> Iterator[tuple[AnyMechanism, AnyMechanism]]:
    """Each mechanism with the next one that has as many answers."""
    for k in (4, 2, 3, 6):
        kinds = list(of_size(k).values())
        yield from zip(kinds, [*kinds[1:], kinds[0]], strict=True)


def p_values_of(pair: Any, draw: Draw, number: int, target: Target = "population") -> list[float]:
    """Return p-values: all of a difference, one of its answers; the same of a trend of three."""
    one, two = pair
    estimates = [draw(mechanism) for mechanism in (one, two, one)]
    change = estimates[0].difference(estimates[1], target)
    found = mm.trend(estimates, target=target)
    each = number % len(change.shares)
    return [change.p_value, change.p_values[each], found.p_value, found.p_values[each]]


def is_alarm(p_values: Floats | list[float]) -> bool:
    return bool((np.array(p_values) < LEVEL).sum() > most(len(p_values)))


def check(pairs: Any, draw: Draw, repetitions: int, target: Target = "population") -> None:
    """Look at the p-values of all pairs together, and of those that a mechanism is in."""
    rows: list[tuple[str, str, list[float]]] = [
        (repr(pair[0]), repr(pair[1]), p_values_of(pair, draw, number, target))
        for pair in pairs
        for number in range(repetitions)
    ]
    for name in ["", *dict.fromkeys(row[0] for row in rows)]:
        own = np.array([p_values for *names, p_values in rows if name in ("", *names)])
        for kind in own.T:
            assert not is_alarm(kind), name


def test_tests_about_the_respondents_have_their_size() -> None:
    """Both sides have the same people, and only their noise is drawn anew."""
    rng = np.random.default_rng(1)

    def draw(mechanism: AnyMechanism) -> Estimate:
        people = np.rint(3000 * true_shares(mechanism.k)).astype(np.int64)
        return labelled(mechanism.simulate(people, rng))

    check(neighbours(), draw, 4, "respondents")

    def drawn_anew(mechanism: AnyMechanism) -> Estimate:
        return labelled(mechanism.simulate(sampled(3000, mechanism.k, rng), rng))

    pair = (mm.KRR(4, 4.0), mm.KRR(4, 5.0))
    wrong = [p_values_of(pair, drawn_anew, number, "respondents")[0] for number in range(30)]
    assert is_alarm(wrong)


def test_people_who_were_asked_again_are_no_new_sample() -> None:
    """Six reports from each of 500 people, each with noise of its own."""
    rng = np.random.default_rng(2)

    def reports(mechanism: AnyMechanism) -> mm.Counts:
        people = sampled(500, mechanism.k, rng)
        return mm.pool([mechanism.simulate(people, rng) for _ in range(6)], people="different")

    def draw(mechanism: AnyMechanism) -> Estimate:
        return labelled(dataclasses.replace(reports(mechanism), again=6.0))

    check(neighbours(), draw, 3)
    pair = (mm.KRR(4, 4.0), mm.KRR(4, 5.0))
    as_new_people = [p_values_of(pair, lambda m: labelled(reports(m)), n)[0] for n in range(30)]
    assert is_alarm(as_new_people)


LONGITUDINAL: list[Any] = [
    mm.BasicRappor(k=4, f=0.4, p=0.3, q=0.8),
    mm.LOSUE(k=4, epsilon=1.0, epsilon_permanent=2.5),
    mm.LOLOHA(k=4, epsilon=1.0, epsilon_permanent=2.0, g=3),
    mm.Rappor(width=4, hashes=1, cohorts=4, f=0.25, p=0.125, q=0.875, salt=7),
]


def rounds(mechanism: Any, people: Integers, rng: np.random.Generator) -> list[mm.Counts]:
    """Three reports from each of the people, who keep a permanent response."""
    answers: Any = rng.permutation(np.repeat(np.arange(4), people))
    if isinstance(mechanism, mm.Rappor):
        answers = np.array(FOUR)[answers]
    devices = mm.Devices(mechanism, len(answers), memory="value", random=rng)
    counts = [mechanism.count(devices.report(answers)) for _ in range(3)]
    is_open = isinstance(mechanism, mm.Rappor)
    return [own.over(FOUR[:3]) for own in counts] if is_open else counts


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_tests_of_pooled_reports_have_their_size(target: Target) -> None:
    """Of two mechanisms with permanent responses, or of one and one without."""
    rng = np.random.default_rng(3)
    fixed = np.rint(800 * true_shares(4)).astype(np.int64)

    def draw(mechanism: AnyMechanism, pooled: Any = "same") -> Estimate:
        people = sampled(800, 4, rng) if target == "population" else fixed
        if not mechanism.is_longitudinal:
            return labelled(mechanism.simulate(people, rng))
        return labelled(mm.pool(rounds(mechanism, people, rng), people=pooled))

    kinds = [*LONGITUDINAL, mm.KRR(4, 2.0)]
    check(itertools.combinations_with_replacement(kinds, 2), draw, 6, target)
    pair = (mm.LOSUE(4, 1.0, 1.05), mm.KRR(4, 4.0))
    as_different = [
        p_values_of(pair, lambda m: draw(m, "different"), n, target)[0] for n in range(40)
    ]
    assert is_alarm(as_different)


def test_tests_with_the_default_estimator_have_their_size() -> None:
    """The noise is taken at its shares, which are nearer to each other than unbiased ones."""
    rng = np.random.default_rng(4)

    def draw(mechanism: AnyMechanism) -> Estimate:
        return labelled(mechanism.simulate(sampled(3000, mechanism.k, rng), rng), None)

    check(neighbours(), draw, 3)


def orr(salt: int, epsilon: float = 3.0) -> mm.ORR:
    return mm.ORR(epsilon=epsilon, width=4, cohorts=8, salt=salt)


def rappor(salt: int) -> mm.Rappor:
    return mm.Rappor(width=8, hashes=2, cohorts=4, f=0.25, p=0.125, q=0.875, salt=salt)


CROWDED: list[tuple[Any, Any]] = [
    (orr(1), orr(1)),
    (orr(1), orr(2)),
    (orr(1), orr(1, 2.0)),
    (rappor(1), rappor(1)),
    (rappor(1), rappor(2)),
    (rappor(1), orr(1)),
]
PERMUTED = mm.PermutedRappor(k=6, epsilon=1.0, width=3, cohorts=2, salt=2)  # two answers are alike
CLOSED: list[tuple[Any, Any]] = [
    (PERMUTED, PERMUTED),
    (PERMUTED, mm.KRR(6, 2.0)),
    (mm.PermutedRR(k=6, epsilon=1.0, width=3, cohorts=3, salt=6), mm.KRR(6, 2.0)),
]


def selected(rng: np.random.Generator, *, complete: bool = True) -> Draw:
    """Return what draws estimates of 40 strings; without ``complete``, others hold a tenth."""
    listed = [f"w{number}" for number in range(40)]
    shares = np.arange(40, 0, -1.0) ** 3
    shares /= shares.sum()
    if not complete:
        shares = np.append(0.9 * shares, 0.1)

    def draw(mechanism: Any) -> Estimate:
        if hasattr(mechanism, "k"):
            return labelled(mechanism.simulate(sampled(4000, mechanism.k, rng), rng), None)
        over = mechanism.over(listed, complete=complete)
        found = mm.estimate(over.simulate(rng.multinomial(4000, shares), rng))
        assert isinstance(found.fit, Selected | SharedOut)
        return found

    return draw


def test_more_answers_than_can_be_solved_for_do_not_seem_to_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each side chose its answers, and the others collide with them in another way on each side.

    Where each side kept its own choice, two salts of RAPPOR differed in 20 of 20 comparisons, and
    two answers that are alike made equal counts differ in half of the trends.
    """
    rng = np.random.default_rng(5)
    check([*CROWDED, *CLOSED], selected(rng), 5)
    check(CROWDED, selected(rng, complete=False), 5)
    for kind in (Selected, SharedOut):
        monkeypatch.setattr(kind, "alongside", lambda self, _: self)
    wrong = [p_values_of(CROWDED[4], selected(rng), number)[0] for number in range(15)]
    assert is_alarm(wrong)


def test_a_change_among_more_answers_than_can_be_solved_for_is_found() -> None:
    rng, over = np.random.default_rng(6), orr(1).over([f"w{number}" for number in range(40)])
    before = np.append(np.r_[3000, 2000, np.full(38, 100)], 200)
    after = np.append(np.r_[1000, 4000, np.full(38, 100)], 200)
    one, other = (mm.estimate(over.simulate(10 * people, rng)) for people in (before, after))
    assert isinstance(one.fit, Selected)
    change = one.difference(other)
    assert change.p_value < 1e-6
    assert set(np.argsort(change.p_values)[:2].tolist()) == {0, 1}


JOINED = [mechanism for mechanism in of_size(2).values() if not mechanism.labels]


def tables(
    parts: Any, laws: list[Floats], rng: np.random.Generator, target: Target
) -> mm.TableComparison:
    """Return the comparison of tables of 4,000 people each, with these shares."""
    joint = mm.Joint(mm.Question("x", ["a", "b"], parts[0]), mm.Question("y", ["c", "d"], parts[1]))
    found = {}
    for name, law in zip("st", laws, strict=True):
        people = np.rint(4000 * law).astype(np.int64)
        if target == "population":
            people = rng.multinomial(4000, law.ravel()).reshape(2, 2)
        found[name] = joint.estimate(joint.simulate(people, rng), "unbiased")
    return mm.compare_tables(found, target=target)


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_tables_of_segments_differ_as_rarely_as_the_level_says(target: Target) -> None:
    """Tables that are the same, and tables that have nothing but the odds ratio in common.

    The second show a wrong law: one that takes equal tables for equal association.
    """
    rng, found, wrong = np.random.default_rng(7), [], []
    law = np.array([[0.35, 0.15], [0.2, 0.3]])
    turned = law * np.outer([2, 1], [1, 0.6])
    turned /= turned.sum()
    asked = [
        parts
        for parts in zip(JOINED, [*JOINED[1:], JOINED[0]], strict=True)
        if not any(isinstance(part, mm.CountMeanSketch) for part in parts)  # cannot be solved for
    ]
    for parts in asked * 3:
        same = tables(parts, [law, law], rng, target)
        other = tables(parts, [law, turned], rng, target)
        assert same.p_value is not None
        assert same.homogeneity is not None
        assert other.homogeneity is not None
        found.append([same.p_value, same.homogeneity.p_value, other.homogeneity.p_value])
        wrong.append(other.p_value)
    for kind in np.array(found).T:
        assert not is_alarm(kind)
    assert is_alarm(np.array(wrong))
