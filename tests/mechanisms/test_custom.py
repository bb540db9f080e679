"""A mechanism of one's own: three things to say, and all the rest follows with their law."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.channels.symmetric import Symmetric
from murmurs.mechanisms import custom
from murmurs.privacy import SCALE
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Bits
from tests.goodness import FALSE_ALARM, p_value
from tests.laws import bit_rows
from tests.walk import exact_law


@dataclass(frozen=True)
class Coins(mm.CustomMechanism[bytes]):
    """Each bit of the answer's row is kept with probability 3/4 and flipped otherwise."""

    k: int
    epsilon: float

    @property
    def shape(self) -> Bits:
        return Bits(self.k)

    @property
    def channel(self) -> Symmetric:
        return Symmetric.independent(self.k, Fraction(3, 4), Fraction(1, 4))

    @property
    def ratio(self) -> Fraction:
        return Fraction(9)

    def respond(self, answer: int, random: Randomness) -> bytes:
        return self.shape.of((j == answer) != random.chance(SCALE // 4) for j in range(self.k))

    def cells_of(self, report: bytes) -> Iterable[int]:
        return [j for j, flag in enumerate(self.shape.flags(report)) if flag]


COINS = Coins(k=3, epsilon=2.2)
LAW = bit_rows([Fraction(3 if j == 1 else 1, 4) for j in range(3)])


def test_one_report_has_the_law_of_its_code() -> None:
    assert exact_law(COINS.encode, 1) == LAW
    assert COINS.epsilon_realised == pytest.approx(np.log(9))


def test_many_reports_have_the_same_law() -> None:
    """Chi-square test at 1e-7; that of another answer is rejected."""
    reports = COINS.encode_many(np.ones(20_000, np.int64), np.random.default_rng(1))
    draws = COINS.shape.unstack(reports)
    assert p_value(draws, LAW) > FALSE_ALARM
    assert (
        p_value(draws, bit_rows([Fraction(3 if j == 0 else 1, 4) for j in range(3)])) < FALSE_ALARM
    )
    again = COINS.encode_many(np.ones(20_000, np.int64), np.random.default_rng(1))
    np.testing.assert_array_equal(reports, again)


def test_counts_estimates_and_questions_work_as_for_all_others() -> None:
    """Shares within five standard errors: a false alarm in 1e6 runs; the seed is fixed."""
    question = mm.Question("q", ["a", "b", "c"], COINS)
    counts = question.simulate({"a": 6000, "b": 3000, "c": 1000}, np.random.default_rng(1))
    est = question.estimate(counts, "unbiased")
    errors = est.standard_errors("respondents")
    assert (np.abs(est.shares - [0.6, 0.3, 0.1]) < 5 * errors).all()
    assert question.count(question.encode_many(["a", "b"])).n == 2


def test_very_many_people_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom, "MOST_SIMULATED", 10)
    with pytest.raises(ValueError, match="encodes each of 11 people, more than 10"):
        COINS.simulate([11, 0, 0])


def test_a_broken_promise_and_wrong_reports_are_refused() -> None:
    with pytest.raises(ValueError, match=r"give epsilon 2\.19"):
        Coins(k=3, epsilon=0.1).encode(1)

    class Wrong(Coins):
        def respond(self, answer: int, random: Randomness) -> bytes:
            return b"SECRET"

        def cells_of(self, report: bytes) -> Iterable[int]:
            return [-1]

    for encode in (lambda: Wrong(3, 2.2).encode(1), lambda: Wrong(3, 2.2).encode_many([1])):
        with pytest.raises(ValueError, match=r"returned what is no report of Bits") as error:
            encode()
        assert "SECRET" not in str(error.value)
        assert error.value.__context__ is None

    class Text(Coins):
        def respond(self, answer: int, random: Randomness) -> bytes:
            return "SECRET"  # type: ignore[return-value]

    with pytest.raises(ValueError, match=r"returned what is no report of Bits") as error:
        Text(3, 2.2).encode(1)
    assert "SECRET" not in str(error.value)
    with pytest.raises(ValueError, match="a cell of cells_of must be from 0 to 2, not -1"):
        Wrong(3, 2.2).count([b"\x01"])


def test_a_rounded_ratio_is_refused() -> None:
    class Rounded(Coins):
        @property
        def ratio(self) -> Any:
            return 9.0

    rounded = Rounded(k=3, epsilon=2.2)
    with pytest.raises(TypeError, match=r"must be a Fraction, not 9\.0, so that epsilon is exact"):
        rounded.encode(1)
    with pytest.raises(TypeError, match="divide probabilities that are fractions"):
        assert rounded.epsilon_realised
