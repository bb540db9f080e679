"""The mechanism that a question gets when none is named."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
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


# What is wanted of a scale


def test_a_question_about_numbers_gets_a_square_wave_where_it_shows_the_scale_better() -> None:
    """Not for a few buckets, at a large epsilon, on a circle, or if single buckets are wanted."""

    def chosen(epsilon: float = 1.0, **written: Any) -> mm.Question:
        return mm.Question("age", epsilon=epsilon, **written)

    age = chosen(range=(0, 99), width=5)
    assert age.mechanism == mm.SquareWave(k=20, epsilon=1.0)
    assert age.why.startswith("it shows the mean and the distribution best (if the share of each")
    born = chosen(range=("1990-01-01", "2019-12-31"), width="year")
    assert isinstance(born.mechanism, mm.SquareWave)
    rating = [str(score) for score in range(30)]
    wave = chosen(labels=rating, ordered=True, goal="scale")
    assert isinstance(wave.mechanism, mm.SquareWave)
    for other in (
        chosen(range=(0, 99), width=10),
        chosen(4.0, range=(0, 99), width=5),
        chosen(range=(0, 99), width=5, goal="buckets"),
        chosen(range=(0, 24), width=1, circular=True),
        chosen(labels=rating, ordered=True),
        chosen(labels=rating),
    ):
        assert other.mechanism == choose(len(other.labels), other.mechanism.epsilon).mechanism


def test_the_crossover_is_where_sums_get_better() -> None:
    """The exact noise of means and of distribution functions, of three laws, next to k-subset."""

    def ratios(k: int, epsilon: float) -> tuple[float, float]:
        place = (np.arange(k) + 0.5) / k
        rows = np.vstack([place, np.tri(k - 1, k)])
        found = []
        for law in (np.ones(k), np.exp(-6 * place), np.exp(-(((place - 0.4) / 0.15) ** 2) / 2)):
            noise = []
            for mechanism in (mm.SquareWave(k=k, epsilon=epsilon), mm.Subset(k=k, epsilon=epsilon)):
                own = mechanism.channel.functional(rows, 1)
                each = mechanism.channel.functional_covariance(own, law / law.sum(), 1)
                noise.append(np.sqrt(np.diag(each)))
            wave, subset = noise
            found.append((wave[0] / subset[0], wave[1:].mean() / subset[1:].mean()))
        mean, below = np.mean(found, axis=0)
        return float(mean), float(below)

    for k, epsilon in ((20, 0.5), (20, 1.0), (20, 2.0), (60, 1.0), (150, 2.0), (60, 3.0)):
        mean, below = ratios(k, epsilon)
        assert mean < 0.45
        assert below < 1.6
    assert ratios(20, 4.0)[1] > 1.9  # beyond it, the distribution function is much less exact


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"goal": "scales"}, "goal must be 'scale' or 'buckets', not 'scales'"),
        ({"goal": "scale", "circular": True}, "has a circular scale: goal='scale' is for the mean"),
        ({"goal": "scale", "mechanism": mm.KRR(k=10, epsilon=1.0), "epsilon": None}, "leave epsil"),
    ],
)
def test_a_goal_that_does_not_fit_is_refused(written: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"range": (0, 100), "width": 10, "epsilon": 1.0} | written
    with pytest.raises(ValueError, match=said):
        mm.Question("age", **given)
    with pytest.raises(ValueError, match="has no scale: goal='scale'"):
        mm.Question("tea", ["yes", "no"], epsilon=1.0, goal="scale")


def test_a_survey_file_may_say_the_goal_and_the_published_survey_does_not() -> None:
    text = """
        name = "survey"
        [[questions]]
        name = "age"
        range = [0, 99]
        width = 5
        epsilon = 1.0
        goal = "buckets"
    """
    survey = mm.Survey.from_toml(text)
    assert survey["age"].mechanism == choose(20, 1.0).mechanism
    assert "goal" not in survey.to_json()
