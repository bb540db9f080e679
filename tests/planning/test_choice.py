"""The mechanism that a question gets when none is named."""

from __future__ import annotations

import math
from typing import Any

import pytest

import murmurs as mm
from murmurs.mechanisms.closed import projective
from murmurs.planning.choice import choose

KINDS = (mm.KRR, mm.Subset, mm.ProjectiveGeometry, mm.Hadamard)
EPSILONS = (1e-6, 0.01, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.5, 8.0, 20.0, 33.0, 36.5, 38.0, 700.0)


def searched(k: int, epsilon: float) -> tuple[mm.Mechanism[Any], float]:
    """The mechanism of the least cost among all, and how much its error exceeds the smallest."""
    errors: dict[mm.Mechanism[Any], float] = {}
    for kind in KINDS:
        made = kind(k, epsilon)
        errors[made] = max(math.sqrt(made.channel.expected_l2(10**6)), 1e-9)
    smallest = min(errors.values())
    near = [m for m, e in errors.items() if e <= 1.05 * smallest and m.shape.size <= 1000]
    cost = {m: round((1 + m.shape.size / 100) * errors[m] / smallest, 9) for m in errors}
    found = min(near or errors, key=lambda made: cost[made])
    return found, errors[found] / smallest - 1


def test_the_choice_at_epsilon_one_is_what_the_readme_says() -> None:
    """Between 6 and 24 answers Subset, but for 13, which fill a projective plane exactly."""
    chosen = {k: type(choose(k, 1.0).mechanism).__name__ for k in (*range(2, 200), 1000, 20_000)}
    assert {name for k, name in chosen.items() if k <= 5} == {"KRR"}
    assert {name for k, name in chosen.items() if k >= 25} == {"ProjectiveGeometry"}
    assert [k for k in range(6, 25) if chosen[k] != "Subset"] == [13]


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6, 7, 8, 11, 14, 20, 31, 64, 128, 254, 256, 257, 1000])
def test_the_choice_is_that_of_a_search_among_all(k: int) -> None:
    for epsilon in EPSILONS:
        found, (best, excess) = choose(k, epsilon), searched(k, epsilon)
        assert found.mechanism == best, epsilon
        assert (found.why == "no other mechanism has a smaller error") == (excess < 1e-6), epsilon


def test_a_question_of_four_labels_searches_no_projective_spaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def search(k: int) -> None:
        raise AssertionError(f"{k} answers: spaces were searched")

    projective.best_space.cache_clear()
    monkeypatch.setattr(projective, "_spaces", search)
    assert mm.Question("drink", list("abcd"), epsilon=1.0).mechanism == mm.KRR(4, 1.0)
    with pytest.raises(AssertionError, match="40 answers"):
        choose(40, 1.0)
