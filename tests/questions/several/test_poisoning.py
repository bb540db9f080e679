"""What false reports do to a question that draws one of several answers, and what finds them."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

import murmurs as mm

K, N = 10, 100_000
ONE = mm.OneLabel(k=K, epsilon=1.0)
HONEST = {(): N}
NOTE = "devices did not draw labels evenly"


def attacked(false: int, labels: list[int], seed: int = 1) -> mm.TicksEstimate:
    """The estimate if nobody ticked anything, and false reports say yes about these labels."""
    counts = ONE.simulate(HONEST, np.random.default_rng(seed))
    reports = np.array([2 * labels[i % len(labels)] + 1 for i in range(false)], np.uint8)
    found = mm.estimate(counts + ONE.count(reports), "unbiased")
    assert isinstance(found, mm.TicksEstimate)
    return found


def moved(estimate: mm.TicksEstimate) -> np.ndarray:
    honest = mm.estimate(ONE.simulate(HONEST, np.random.default_rng(1)), "unbiased")
    return np.asarray(estimate.shares - honest.shares)


@pytest.mark.parametrize("false", [100, 1000, 10_000])
def test_false_reports_about_one_answer_move_its_share_as_the_page_says(false: int) -> None:
    found = attacked(false, [3])
    asked = N / K
    truth = float(ONE.truth_probability)
    part = false / (asked + false)
    most = part * (1 + truth) / (2 * truth)  # at most one report less its noise, over t
    assert 0.9 * most < moved(found)[3] < 1.1 * most
    assert np.abs(np.delete(moved(found), 3)).max() < 1e-12
    # Divided by n / k instead, the share would grow without end.
    assert moved(found)[3] < (1 + truth) / (2 * truth)


def test_reports_about_one_answer_are_found_from_the_number_that_the_page_says() -> None:
    least = 6 * math.sqrt(N / K)
    chances = [
        sum(NOTE in " ".join(attacked(int(times * least), [3], s).notes) for s in range(40))
        for times in (0.0, 0.3, 2.0)
    ]
    assert chances[0] == 0  # each is a false alarm with 1e-6
    assert chances[1] == 0
    assert chances[2] == 40


def test_what_is_not_found_moves_the_share_by_no_more_than_the_page_says() -> None:
    false = int(6 * math.sqrt(N / K))
    truth = float(ONE.truth_probability)
    bound = 6 * math.sqrt(K / N) / truth
    assert 0 < moved(attacked(false, [3]))[3] < bound


def test_evenly_spread_false_reports_are_not_found() -> None:
    """They move each share as false reports of other mechanisms do, and the page says so."""
    found = attacked(5000, list(range(K)))
    assert NOTE not in " ".join(found.notes)
    assert moved(found).min() > 0.04


def test_a_label_derived_from_an_id_is_chosen_by_trying_ids() -> None:
    """Why it is not derived: about k ids have to be tried, which takes microseconds."""
    tries = []
    for victim in range(200):
        wanted, number = 3, 0
        while True:
            number += 1
            made = hashlib.sha256(f"{victim} {number}".encode()).digest()[:16]
            if int.from_bytes(hashlib.sha256(made).digest()[:8], "little") % K == wanted:
                break
        tries.append(number)
    assert 7 < np.mean(tries) < 13.5  # geometric with mean 10: standard error 0.67
