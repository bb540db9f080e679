"""PrivSet: its errors, its sizes, and why there are as many dummies as ticks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurs import OneLabel, PrivSet
from murmurs.mechanisms.sets.sets import SetMechanism
from murmurs.mechanisms.sets.sizes import best_sizes, set_variances
from murmurs.planning.ticks import choose_for_sets, one_label_variance
from tests import laws

# n times the variance of a share of most / (2 k), from enumeration and formulas written elsewhere.
PUBLISHED = [
    (4, 1, 0.5, 9.84, 2, 1),
    (4, 2, 1.0, 3.69, 1, 1),
    (4, 2, 4.0, 0.134, 2, 2),
    (4, 3, 4.0, 0.311, 2, 2),
    (10, 3, 4.0, 0.387, 2, 2),
    (10, 5, 2.0, 2.63, 1, 1),
    (30, 1, 0.5, 14.6, 12, 1),
    (30, 3, 1.0, 10.1, 3, 1),
    (30, 10, 4.0, 1.44, 2, 2),
    (100, 2, 1.0, 7.62, 13, 1),
    (100, 5, 2.0, 3.23, 2, 1),
    (200, 1, 0.5, 15.5, 76, 1),
    (200, 10, 0.5, 175, 7, 1),
]


@pytest.mark.parametrize(("k", "most", "epsilon", "variance", "w", "overlap"), PUBLISHED)
def test_the_best_sizes_have_the_known_errors(
    k: int, most: int, epsilon: float, variance: float, w: int, overlap: int
) -> None:
    found = best_sizes(k, most, epsilon)
    assert found[:2] == (w, overlap)
    assert found.variance == pytest.approx(variance, rel=0.006)


@pytest.mark.parametrize(("k", "most", "epsilon"), [(4, 2, 4.0), (30, 3, 1.0), (10, 10, 4.0)])
def test_the_sizes_are_those_of_the_exact_probabilities(k: int, most: int, epsilon: float) -> None:
    """The search uses floats and e^epsilon; the mechanism has integers over 2**53."""
    share = most / (2 * k)
    for w in range(1, k + 1):
        for overlap in range(1, min(w, most) + 1):
            law = PrivSet(k=k, most=most, epsilon=epsilon, w=w, overlap=overlap).channel
            noise = share * law.hit * (1 - law.hit) + (1 - share) * law.miss * (1 - law.miss)
            exact = float(noise) / float(law.hit - law.miss) ** 2
            found = set_variances(k, most, epsilon, np.array([w]))[overlap - 1, 0]
            assert found == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("k", "most", "epsilon", "kind"),
    [
        (4, 2, 0.5, OneLabel),
        (4, 3, 2.0, OneLabel),
        (10, 10, 2.0, OneLabel),
        (10, 5, 1.0, PrivSet),
        (30, 10, 0.5, PrivSet),
        (1, 1, 1.0, PrivSet),
    ],
)
def test_the_choice_takes_the_smaller_error_and_says_why(
    k: int, most: int, epsilon: float, kind: type
) -> None:
    chosen = choose_for_sets(k, most, epsilon)
    assert isinstance(chosen.mechanism, kind)
    if k > 1:
        one = one_label_variance(k, epsilon, most / (2 * k))
        other = best_sizes(k, most, epsilon).variance
        times = math.sqrt(max(one, other) / min(one, other))
        assert f"{times:.2f} times" in chosen.why or f"{times:.1f} times" in chosen.why


def test_pairs_are_counted_only_where_reports_show_them() -> None:
    assert PrivSet(k=10, most=5, epsilon=1.0).w == 1
    assert PrivSet(k=10, most=5, epsilon=1.0, pairs=True).w == 4
    assert choose_for_sets(4, 3, 1.0, pairs=True).mechanism == PrivSet(4, 3, 1.0, pairs=True)
    with pytest.raises(ValueError, match="do not show which labels go together"):
        PrivSet(k=10, most=5, epsilon=1.0, w=1, pairs=True)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"most": 0}, "most"),
        ({"most": 6}, "most"),
        ({"w": 0}, "w"),
        ({"w": 6}, "w"),
        ({"w": 2, "overlap": 3}, "overlap"),
        ({"more": "drop"}, "more must be"),
        ({"pairs": 1}, "pairs must be"),
    ],
)
def test_parameters_that_cannot_be_are_refused(fields: dict[str, object], rule: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rule):
        PrivSet(**{"k": 5, "most": 2, "epsilon": 1.0} | fields)  # type: ignore[arg-type]


def test_with_one_dummy_in_common_drawing_one_item_is_not_private() -> None:
    """Why the set is padded with different dummies.

    A device that draws one of its items and reports it with k-ary randomised response may spend
    more on the item, as it is rarely the drawn one: e^epsilon = 1 + (e^inner - 1) / most. With
    one dummy for all missing ticks, somebody without ticks always draws that dummy.
    """
    k, most, wanted = 4, 2, Fraction(2718, 1000)
    inner = 1 + most * (wanted - 1)
    sets = [x for s in range(most + 1) for x in itertools.combinations(range(k), s)]

    def largest(shared: bool) -> Fraction:
        rows = []
        for x in sets:
            missing = most - len(x)
            held = [*x, *([k] * missing if shared else range(k, k + missing))]
            items = range(k + (1 if shared else most))
            total = inner + len(items) - 1
            rows.append(
                [sum(inner if i == y else Fraction(1) for i in held) / most / total for y in items]
            )
        return Fraction(max(max(column) / min(column) for column in zip(*rows, strict=True)))

    assert largest(shared=False) == wanted
    assert float(largest(shared=True)) == pytest.approx(4.44, abs=0.01)
    assert not any("dummies" in field for field in PrivSet.__dataclass_fields__)  # no such option


def test_numbers_too_large_for_arrays_are_drawn_one_by_one() -> None:
    mechanism = PrivSet(k=307, most=16, epsilon=1.0, w=31)
    assert mechanism._places[0] > 2**62
    rng = np.random.default_rng(1)
    counts = mechanism.count(mechanism.encode_many([(0, 1)] * 3000, rng))
    found = counts.channel.invert(counts.cells, counts.n)
    constant, slope = counts.channel.noise(np.zeros(307), 3000)
    errors = np.sqrt(constant + slope * np.eye(307)[:2].sum(axis=0))
    away = (found - np.eye(307)[:2].sum(axis=0)) / errors
    assert np.abs(away).max() < 7  # of 300 normal errors once in 1e9; a law without ticks is 5 away
    assert found[:2].mean() > 4 * errors[0]


def test_a_population_is_simulated_at_a_cost_that_does_not_grow_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = PrivSet(k=50, most=3, epsilon=1.0)
    people = {(0, 1): 10**15, (2,): 10**15, (): 2 * 10**15}
    counts = mechanism.simulate(people, np.random.default_rng(1))
    found = counts.channel.invert(counts.cells, counts.n)
    np.testing.assert_allclose(found[:4], [0.25, 0.25, 0.25, 0], atol=1e-5)  # 100 standard errors
    monkeypatch.setattr("murmurs.mechanisms.sets.sets.MOST_KINDS", 100)
    with pytest.raises(ValueError, match="different sets, more than"):
        mechanism.simulate((pair, 1) for pair in itertools.combinations(range(20), 2))


def test_the_population_of_people_with_too_many_ticks_is_sampled_down() -> None:
    mechanism = PrivSet(k=4, most=2, epsilon=8.0, more="sample")
    counts = mechanism.simulate({(0, 1, 2): 10**9}, np.random.default_rng(1))
    found = counts.channel.invert(counts.cells, counts.n)
    np.testing.assert_allclose(found, [2 / 3, 2 / 3, 2 / 3, 0], atol=1e-3)
    with pytest.raises(ValueError, match="too many to simulate"):
        PrivSet(k=60, most=10, epsilon=1.0, more="sample").simulate({tuple(range(60)): 5})


def law_of_all(mechanism: SetMechanism[Any], sets: list[tuple[int, ...]]) -> laws.Law:
    """The law of a report of one of these people, drawn at random."""
    rows = [laws.OF_SETS[type(mechanism)](mechanism, ticks) for ticks in sets]
    return {report: sum((row[report] for row in rows), Fraction(0)) for report in rows[0]}


@pytest.mark.parametrize(
    ("mechanism", "shows"),
    [
        (PrivSet(k=4, most=2, epsilon=2.0, w=1), False),
        (OneLabel(k=4, epsilon=2.0), False),
        (PrivSet(k=4, most=2, epsilon=2.0, w=2, overlap=1), True),
        (PrivSet(k=4, most=2, epsilon=2.0, w=2, overlap=2), True),
    ],
    ids=repr,
)
def test_reports_show_which_labels_go_together_only_as_said(
    mechanism: SetMechanism[Any], shows: bool
) -> None:
    """Two populations with the same shares and numbers of ticks."""
    one = law_of_all(mechanism, [(0, 1), (2, 3)])
    other = law_of_all(mechanism, [(0, 2), (1, 3)])
    assert (one != other) is shows
