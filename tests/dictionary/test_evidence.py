"""What the levels say about pieces of strings, and which pieces are looked at."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import murmurs as mm
from murmurs.dictionary.letters import Letters
from murmurs.dictionary.search import Beam, _grown


def test_all_combinations_of_letters_are_tried_first() -> None:
    letters = Letters("abcdefgh")
    start = Beam([""], np.zeros(1, bool), np.zeros(1), np.zeros((1, 0)), np.zeros((1, 0)))
    texts, ended, _, _ = _grown(start, letters, 5, 2000)
    every = ["".join(t) for k in range(1, 6) for t in itertools.product("abcdefgh", repeat=k)]
    assert sorted(texts) == sorted(every)
    assert {text for text, is_whole in zip(texts, ended, strict=True) if not is_whole} == {
        text for text in every if len(text) == 5
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("people", [1, 3])
def test_one_person_is_no_discovery(people: int) -> None:
    asked = mm.Dictionary(epsilon=1.0, longest=11, alphabet="aet")
    for seed in range(5):
        counts = asked.simulate({"tea": people}, np.random.default_rng(seed))
        assert asked.discover(counts).labels == ()
