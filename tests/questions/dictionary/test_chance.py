"""What can be found is known before anybody is asked."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from murmurs import Dictionary
from murmurs.mechanisms.strings.prefix_levels import planned
from murmurs.questions.dictionary.chance import NEARLY_ALWAYS, chance_of, floor_of, people_needed
from murmurs.questions.dictionary.finding import discover
from murmurs.questions.dictionary.search import Found


def test_the_chance_rises_with_share_and_people_and_falls_with_length() -> None:
    asked = planned(3.0, longest=12, letters=26)
    by_share = [chance_of(asked, 10**5, share, 8) for share in (0.005, 0.01, 0.02, 0.04)]
    by_people = [chance_of(asked, people, 0.02, 8) for people in (10**4, 10**5, 10**6)]
    by_length = [chance_of(asked, 10**5, 0.02, length) for length in (2, 6, 9, 11)]
    assert by_share == sorted(by_share)
    assert by_people == sorted(by_people)
    assert by_length == sorted(by_length, reverse=True)
    assert by_share[0] < 0.01
    assert by_share[-1] > 0.99


@pytest.mark.parametrize("length", [None, 4, 8])
def test_floor_and_people_needed_are_each_others_inverse(length: int | None) -> None:
    asked = planned(2.0, longest=8, letters=26)
    floor = floor_of(asked, 50_000, length)
    assert chance_of(asked, 50_000, floor, length or 6) == pytest.approx(NEARLY_ALWAYS, abs=1e-3)
    assert people_needed(asked, floor, length) in (50_000, 50_100)


def test_what_cannot_be_found_is_said() -> None:
    asked = planned(1.0, longest=8, letters=26)
    assert floor_of(asked, 10) == 1.0
    with pytest.raises(ValueError, match=r"a share of 1e-08 cannot be found, however many people"):
        people_needed(asked, 1e-8)
    with pytest.raises(ValueError, match="say how many people will answer"):
        _ = Dictionary(epsilon=2.0).floor


def test_longer_strings_have_a_higher_floor() -> None:
    asked = Dictionary(epsilon=4.0, longest=12, people=10**6)
    floors = [asked.floor_at(length) for length in (3, 6, 9, 11, 12)]
    assert floors == sorted(floors)
    assert asked.floor == floors[2]
    assert asked.people_needed(0.01, 12) > asked.people_needed(0.01)


def test_strings_above_the_floor_for_their_length_are_found() -> None:
    """In 6 surveys with 5 strings each at the floor, more than 10 missed are too many.

    If 5 % are missed, that has probability 1e-7. Strings of random letters are the hardest. At
    half of the floor, which the floor says cannot be relied on, most strings are missed, also by
    the widest search: a tenth of its beam finds the same.
    """
    letters, people, missed, missed_below = "abcdefghij", 50_000, 0, 0
    asked = Dictionary(epsilon=3.0, longest=7, alphabet=letters, people=people)
    for seed in range(6):
        rng = np.random.default_rng(300 + seed)
        texts = {
            "".join(rng.choice(list(letters), size)) for size in (2, 3, 4, 5, 6, 3, 4, 5, 4, 5)
        }
        law = {}
        for number, text in enumerate(sorted(texts)):
            law[text] = (1.0 if number % 2 else 0.5) * asked.floor_at(len(text))
        rest = 1 - sum(law.values())
        for text in {"".join(rng.choice(list(letters), 7)) for _ in range(500)}:
            law[text] = rest / 500
        shares = np.array(list(law.values()))
        held = rng.multinomial(people, shares / shares.sum())
        counts = asked.simulate(dict(zip(law, held.tolist(), strict=True)), rng)
        found = discover(counts, alphabet=letters, beam=1000)
        for number, text in enumerate(sorted(texts)):
            if number % 2:
                missed += text not in found.labels
            else:
                missed_below += text not in found.labels
    assert missed <= 10
    assert scipy.stats.binom.sf(10, 30, 0.05) < 1e-6
    assert missed_below > 10


def test_strings_are_found_among_hardly_more_people_than_there_are_cohorts() -> None:
    """In 8 surveys of as many people as are needed, more than 5 missed are too many.

    If 5 % are missed, that has probability 4e-7. With a floor that takes the scores of single
    reports for normal ones, 5 of 32 strings at the floor were missed (epsilon 10, 60 people).
    """
    asked, found = Dictionary(epsilon=8.0, longest=6, alphabet="abcdefgh"), 0
    people = asked.people_needed(0.3, length=5)
    for seed in range(8):
        if found == 3:  # no more than 5 can be missed
            break
        rng = np.random.default_rng(700 + seed)
        texts = {"".join(rng.choice(list("abcdefgh"), 5)) for _ in range(500)}
        common, *others = sorted(texts)
        held = rng.multinomial(people, [0.3, *[0.7 / len(others)] * len(others)])
        counts = asked.simulate(dict(zip([common, *others], held.tolist(), strict=True)), rng)
        found += common in discover(counts, alphabet="abcdefgh", beam=300).labels
    assert found >= 3
    assert scipy.stats.binom.sf(5, 8, 0.05) < 1e-6


def test_margins_are_what_a_string_could_have_lost_and_still_be_found() -> None:
    """With whole levels lowered by the margin, the p-value is exactly the limit."""
    people = np.array([400.0, 300.0, 200.0, 100.0])
    asked = np.cumsum(people[::-1])[::-1]
    scores = np.array([[5.0, 4.0, 6.0, 3.0], [3.0, 2.0, 4.0, 5.0]])
    logs = np.array([[12.0, 9.0, 7.0, -np.inf], [20.0, 11.0, 9.0, 5.0]])
    whole, limit = np.array([2, 3]), math.log(0.05)

    def found(own: np.ndarray) -> Found:
        later = np.cumsum((own * np.sqrt(people))[:, ::-1], axis=1)[:, ::-1] / np.sqrt(asked)
        log_p = (scipy.stats.norm.logsf(later) + logs).max(axis=1)
        return Found(["a", "b"], log_p, 0, later, logs, asked, whole, np.zeros_like(logs))

    margins = found(scores).margins(limit)
    lowered = scores.copy()
    for row, first in enumerate(whole.tolist()):
        own = people[first:]
        lowered[row, first:] -= margins[row] * np.sqrt(own / own.sum())
    np.testing.assert_allclose(found(lowered).log_p, limit)
    np.testing.assert_array_equal(margins > 0, found(scores).log_p < limit)
