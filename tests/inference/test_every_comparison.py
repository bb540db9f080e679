"""The size of every test that compares estimates, over all pairs of mechanisms.

Each kind of mechanism that is listed in `laws.SMALL` takes part: those that can have any number of
answers are brought to four, and to the number of those that cannot. In each pair both sides have
the same true shares, so a test at the level 0.05 may reject in about 0.05 of the repetitions. All
repetitions are drawn anew, so that their number has a binomial distribution; `SIZE` allows for what
the normal distribution of the noise leaves out. The chance of a false alarm is `ALARM` for each
number that is looked at, and below 1e-6 over all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.estimators.estimation import Estimate
from murmurs.inference.collisions import MeanFit
from murmurs.inference.contrasts import readings
from murmurs.mechanisms import from_document
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats
from murmurs.scales import figures
from murmurs.scales.scale import Scale
from tests import laws

AnyMechanism = Mechanism[Any]
LEVEL, SIZE, ALARM = 0.05, 0.065, 1e-10
REPETITIONS, PEOPLE = 16, 6000
SKETCHES: list[AnyMechanism] = [
    mm.CountMeanSketch(k=4, epsilon=4.0, rows=16, width=16, salt=1),
    mm.CountMeanSketch(k=4, epsilon=4.0, rows=16, width=16, salt=2),
    mm.CountMeanSketch(k=4, epsilon=4.0, rows=64, width=32, salt=3),
    mm.HadamardSketch(k=4, epsilon=4.0, rows=16, width=16, salt=4),
]
"""Sketches in which collisions exceed the noise, and can be solved for."""


def resized(mechanism: AnyMechanism, k: int) -> AnyMechanism | None:
    """The same mechanism with k answers, if it can have any number of them."""
    document = mechanism.to_document()
    if mechanism.k == k or "k" not in document:
        return mechanism if mechanism.k == k else None
    derived = ("truth", "flip", "numerator")
    kept = {name: value for name, value in document.items() if not name.endswith(derived)}
    try:
        return from_document({**kept, "k": k})  # type: ignore[return-value]
    except ValueError:  # as two answers of which two are reported
        return None


@cache
def of_size(k: int) -> dict[str, AnyMechanism]:
    """One mechanism of each kind, and all sketches."""
    found = [m for m in (resized(m, k) for m in laws.SMALL) if m is not None]
    first = {type(mechanism): mechanism for mechanism in reversed(found)}
    more = SKETCHES if k == 4 else []
    return {repr(mechanism): mechanism for mechanism in [*reversed(first.values()), *more]}


def has_any_size(mechanism: AnyMechanism) -> bool:
    return "k" in mechanism.to_document()


def all_pairs() -> list[tuple[int, str, str]]:
    """Pairs with four answers, and those with the other sizes of mechanisms with a fixed one."""
    out = []
    for k in (4, 2, 3, 6):
        for one, two in itertools.combinations_with_replacement(of_size(k).items(), 2):
            if k == 4 or not (has_any_size(one[1]) and has_any_size(two[1])):
                out.append((k, one[0], two[0]))
    return out


SCALE = {k: Scale(tuple(np.arange(k, dtype=float)), kind="scores") for k in (2, 3, 4, 6)}
MEAN: dict[int, Any] = {k: (figures.mean(scale), 0.95, "population") for k, scale in SCALE.items()}
PAIRS = all_pairs()
NAMES = list(dict.fromkeys(name for _, *names in PAIRS for name in names))


def estimates(mechanisms: Iterable[AnyMechanism], rng: np.random.Generator) -> list[Estimate]:
    """Unbiased estimates of different people with the same shares, and the same labels."""
    out = []
    for mechanism in mechanisms:
        shares = np.arange(mechanism.k, 0, -1.0) ** 1.5
        counts = mechanism.simulate(rng.multinomial(PEOPLE, shares / shares.sum()), rng)
        labels = tuple("abcdefgh"[: mechanism.k])
        out.append(mm.estimate(counts, "unbiased").with_labels(labels))
    return out


@cache
def p_values(k: int, one: str, two: str) -> Floats:
    """Of each repetition: all of a difference, one of its answers; the same of a trend of three.

    Of the trend also a slope, that of all shares and that of the mean; then the change of the mean.
    """
    rng = np.random.default_rng(len(repr((k, one, two))) + NAMES.index(one) * 1000)
    left, right, out = of_size(k)[one], of_size(k)[two], []
    for number in range(REPETITIONS):
        this, other = estimates((left, right), rng)
        change = this.difference(other)
        row = [change.p_value, change.p_values[number % k]]
        if number % 4 == 0:
            found = mm.trend([this, other, *estimates((left,), rng)])
            row += [found.p_value, found.p_values[number % k]]
            row += of_slopes(found, number % k) if number == 0 else [np.nan] * 4
        else:
            row += [np.nan] * 6
        out.append(row)
    return np.array(out)


def of_slopes(found: mm.Trend, answer: int) -> list[float]:
    """The p-values of slopes, and that of the change of the mean; none with collisions."""
    if found.slopes is None:
        return [np.nan] * 4
    mean = readings(found.sides, SCALE[found.shares.shape[0]], *MEAN[found.shares.shape[0]])
    assert found.places is not None
    slopes = [found.slopes.p_values[answer], found.slopes.p_value]
    return [*slopes, mean.slope(found.places).p_value, mean.p_value]


def most(trials: int) -> int:
    """The largest number of rejections that is no alarm."""
    return int(scipy.stats.binom.isf(ALARM, trials, SIZE))


@pytest.mark.parametrize("name", NAMES)
def test_every_test_of_a_change_has_its_size_with_every_other_mechanism(name: str) -> None:
    """Over all partners together; see below for a law that it rejects."""
    found = [p_values(*pair) for pair in PAIRS if name in pair]
    together = np.concatenate(found)
    for what in together.T:
        own = what[~np.isnan(what)]
        assert (own < LEVEL).sum() <= most(len(own))
    for own in found:
        for what in own.T:
            drawn = what[~np.isnan(what)]
            assert (drawn < LEVEL).sum() <= most(len(drawn))


def test_a_covariance_without_collisions_is_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law that was used once: nothing but the noise of the reports, given the hashes."""
    monkeypatch.setattr(MeanFit, "has_covariance", True)
    monkeypatch.setattr(MeanFit, "without_collisions", lambda self: self)
    monkeypatch.setattr(MeanFit, "covariance", MeanFit.given_hashes)
    rng = np.random.default_rng(1)
    found = []
    for sketch in SKETCHES * REPETITIONS:
        this, other = estimates((mm.KRR(4, 4.0), sketch), rng)
        found.append(this.difference(other).p_value)
    assert (np.array(found) < LEVEL).sum() > most(len(found))
