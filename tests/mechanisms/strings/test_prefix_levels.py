"""How many people are asked for which length, and that surveys of earlier versions stay theirs."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from murmurs import Dictionary, Survey
from murmurs.mechanisms.strings.prefix_levels import PARTS, planned

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def survey(**fields: Any) -> Survey:
    """Return a published survey with one dictionary."""
    mechanism = {"name": "Dictionary", "epsilon": 4.0, "longest": 8, **fields}
    own = ", ".join(f"{key} = {json.dumps(value)}" for key, value in mechanism.items())
    return Survey.from_toml(f'name = "pets"\n[[questions]]\nname = "pet"\nmechanism = {{{own}}}\n')


@pytest.mark.parametrize("like", PARTS)
def test_the_first_and_the_last_level_have_their_part_of_the_people(like: Any) -> None:
    cohorts = np.array([own for _, own in planned(4.0, 20, 38, like=like).levels])
    first, last = PARTS[like].first, PARTS[like].last
    assert cohorts[0] / cohorts.sum() == pytest.approx(first, abs=1e-3)
    assert cohorts[-1] / cohorts.sum() == pytest.approx(last, abs=1e-3)
    between = cohorts[1:-1] / cohorts[-2]
    wanted = 1 + PARTS[like].slope / np.arange(2, len(cohorts))
    np.testing.assert_allclose(between, wanted / wanted[-1], atol=0.02)


@pytest.mark.parametrize("longest", [1, 2, 3, 4])
def test_few_levels_have_equal_parts_at_least(longest: int) -> None:
    """With a fifth of the people, the last of two levels would see too little."""
    cohorts = [own for _, own in planned(4.0, longest, 300).levels]
    assert min(cohorts[0], cohorts[-1]) >= sum(cohorts) // len(cohorts)


@pytest.mark.parametrize(("epsilon", "longest"), [(8.4, 20), (6.0, 200), (20.0, 200)])
def test_counts_of_many_buckets_and_lengths_are_not_too_large(epsilon: float, longest: int) -> None:
    """Dictionary(10.0) was refused for its cohorts * width, which nobody had chosen."""
    asked = planned(epsilon, longest, 38)
    assert 0.9 * 2**24 < asked.cohorts * asked.width <= 2**24
    assert min(own for _, own in asked.levels) > 10


def test_a_survey_may_say_what_its_strings_are_like() -> None:
    words, identifiers = survey(), survey(like="identifiers")
    assert words.questions == survey(like="words").questions
    assert identifiers["pet"].mechanism == planned(4.0, 8, like="identifiers")
    assert identifiers["pet"].mechanism != words["pet"].mechanism
    assert Survey.from_json(identifiers.to_json()) == identifiers
    asked = Dictionary(4.0, 8, "0123456789abcdef", like="identifiers")
    assert asked.mechanism == planned(4.0, 8, 16, like="identifiers")
    assert "like" not in identifiers.to_json()  # the levels say it, devices need no more


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"like": "passwords"}, "like must be 'words' or 'identifiers', not 'passwords'"),
        ({"like": 3}, "like must be 'words' or 'identifiers', not 3"),
        (
            {"like": "identifiers", "method": "ngrams"},
            "like is for the method 'prefix', not for n-grams: leave out 'identifiers'",
        ),
    ],
)
def test_what_strings_cannot_be_like_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        survey(**fields)


EARLIER = {
    "murmurs": 1,
    "name": "pets",
    "version": 1,
    "questions": [
        {
            "name": "pet",
            "text": "",
            "labels": [],
            "mechanism": {
                "name": "Prefixes",
                "epsilon": 4.0,
                "width": 56,
                "levels": [[3, 432], [4, 248], [5, 187], [6, 157]],
                "salt": 0,
                "truth": 4404902974074247,
            },
        }
    ],
}
"""A survey as it was published while the first level had three times the people of the last.

Its fingerprint, reports and counts below are those of that version, too.
"""


def test_surveys_of_an_earlier_version_stay_as_they_are() -> None:
    earlier = Survey.from_json(json.dumps(EARLIER))
    assert earlier.fingerprint == "72d57e6bb44b542ba572398030ccdc960f271efc41118fad1c6f1659aef4daa9"
    asked = earlier["pet"]
    assert isinstance(asked, Dictionary)
    reports = asked.encode_many(["luna", "leo", "oscar"] * 5, np.random.default_rng(6))
    assert np.asarray(reports).tobytes().hex() == (
        "f85faf5d4bb6c0c6e339cb659696d478357f60d97333e33d08aa83c8995c"
    )
    people = {"luna": 9000, "leo": 7000, "oscar": 4000}
    counts = asked.simulate(people, np.random.default_rng(5))
    cells = np.ascontiguousarray(counts.cells, np.int64).tobytes()
    assert hashlib.sha256(cells).hexdigest()[:16] == "b4d9e95155c38abf"
    assert asked.discover(counts, alphabet=LETTERS).labels == ("luna", "leo", "oscar")
