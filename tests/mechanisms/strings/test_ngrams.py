"""Strings reported with their n-grams: what is counted, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.mechanisms import NGrams, from_document
from murmurs.mechanisms.hashed.orr import ORR
from murmurs.mechanisms.longitudinal.rappor import Rappor

SMALL = ORR(epsilon=1.0, width=4, cohorts=8)
BITS = Rappor(width=8, hashes=2, cohorts=8, f=0.0, p=0.25, q=0.75)
PEOPLE = ["tea", "mate", "z\u00fcrichberg", "a"] * 30


def asked(**changes: Any) -> NGrams:
    given: dict[str, Any] = {"longest": 7, "size": 2, "whole": SMALL, "gram": SMALL, **changes}
    return NGrams(**given)


@pytest.mark.parametrize("gram", [SMALL, BITS], ids=["O-RR", "RAPPOR"])
@pytest.mark.parametrize("together", [2, 3])
def test_the_counts_of_parts_are_those_of_their_reports(gram: Any, together: int) -> None:
    both = asked(gram=gram, together=together)
    reports = both.encode_many(PEOPLE, np.random.default_rng(1))
    counts = both.count(reports)
    choices, whole, *grams = both.shape.split(reports)
    assert both.whole_counts(counts) == SMALL.count(whole)
    places = np.array(both.choices)[choices]
    for position in range(4):
        own = np.concatenate([g[places[:, i] == position] for i, g in enumerate(grams)])
        assert both.gram_counts(counts, position) == gram.count(own)
    for first, second in ((0, 1), (1, 3)):
        pair = both.pair_counts(counts, first, second)
        there = [(places == at).any(axis=1) for at in (first, second)]
        people = np.flatnonzero(there[0] & there[1])
        assert pair.n == len(people)
        columns = [
            np.array([grams[int(np.argmax(places[i] == at))][i] for i in people])
            for at in (first, second)
        ]
        assert pair.margin(0) == gram.count(columns[0].astype(gram.shape.dtype))
        assert pair.margin(1) == gram.count(columns[1].astype(gram.shape.dtype))
        mechanism: Any = pair.mechanism
        joined = mechanism.joined([c.astype(gram.shape.dtype) for c in columns])
        assert pair == mechanism.count(joined)


def test_a_string_is_cut_and_spaces_at_its_end_are_padding() -> None:
    both = asked()
    assert both.check("abcdefghij") == "abcdefg"
    assert both.check("tea   ") == "tea"
    assert both.check("Zu\u0308rich") == "Z\u00fcrich"
    one, other = (
        both.encode(text, mm.Seeded(np.random.default_rng(5))) for text in ("abcdefghij", "abcdefg")
    )
    assert one == other
    with pytest.raises(ValueError, match="spaces at its end, or in all of its first 7 characters"):
        both.encode("   ")
    with pytest.raises(ValueError, match="is the same as line 1"):
        both.over(["abcdefgh", "abcdefgi"])


def test_a_letter_with_a_mark_is_never_cut_in_two() -> None:
    both = asked(longest=3, size=1)
    assert both.check("e\u0301e\u0301e\u0301e\u0301") == "\u00e9\u00e9\u00e9"


def test_the_budget_is_split_and_not_exceeded() -> None:
    for epsilon in (0.3, 1.0, 4.39, 9.1):
        for together in (2, 3):
            even = NGrams.splitting(epsilon, longest=8, together=together)
            assert even.epsilon <= epsilon
            assert even.epsilon == pytest.approx(epsilon, rel=1e-12)
            assert even.whole.epsilon == pytest.approx(even.gram.epsilon)
            assert even.ratio == even.whole.ratio * even.gram.ratio**together
            assert even.epsilon_realised == pytest.approx(math.log(even.ratio))
    uneven = NGrams.splitting(3.0, longest=8, whole_part=0.6)
    assert uneven.whole.epsilon == pytest.approx(1.8)
    assert uneven.gram.epsilon == pytest.approx(0.6)
    with pytest.raises(ValueError, match="whole_part must be from"):
        NGrams.splitting(3.0, longest=8, whole_part=1.0)
    with pytest.raises(ValueError, match="make gives mechanisms with epsilon 3 in all, more than"):
        NGrams.splitting(2.0, longest=8, make=lambda epsilon: SMALL)


def test_the_published_parameters_spend_half_of_the_budget() -> None:
    """The paper's q = 0.32 for a third of epsilon 4.39; the q that spends it is 0.4095."""
    for q, wanted in ((0.32, 2.07), (0.40946, 4.39)):
        part = Rappor(width=128, hashes=2, cohorts=8, f=0.0, p=0.25, q=q)
        paper = NGrams(20, 2, part, part)
        assert paper.epsilon_realised == pytest.approx(wanted, abs=0.005)


def test_a_question_with_ngrams_survives_a_survey() -> None:
    question = mm.Question("host", mechanism=NGrams.splitting(4.0, longest=8))
    survey = mm.Survey("hosts", questions=(question,))
    again = mm.Survey.from_json(survey.to_json())
    assert again.questions[0].mechanism == question.mechanism
    reports = again.questions[0].encode_many(["tea", "mate"])
    assert again.questions[0].count(reports).n == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"longest": 1}, "longest must be from 2 to 200, not 1"),
        ({"size": 8}, "size must be from 1 to 7, not 8"),
        ({"together": 1}, "together must be from 2 to 4, not 1"),
        ({"size": 4, "together": 3}, "7 letters have 2 n-grams of 4 letters, fewer than the 3"),
        ({"gram": ORR(1.0, 4, 9)}, "whole has 8 cohorts and gram has 9"),
        ({"longest": 200, "size": 1, "together": 4}, r"more than 2\*\*16: take longer n-grams"),
        ({"gram": ORR(1.0, 2000, 8)}, r"cells, more than 2\*\*25: take fewer buckets"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(changes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        asked(**changes)


def test_a_part_that_is_no_open_mechanism_is_refused() -> None:
    with pytest.raises(TypeError, match="whole must be an open mechanism such as ORR, not KRR"):
        asked(whole=mm.KRR(k=4, epsilon=1.0))
    document = asked().to_document()
    document["gram"] = mm.KRR(k=4, epsilon=1.0).to_document()
    with pytest.raises(ValueError, match="gram must be an open mechanism such as ORR, not KRR"):
        from_document(document)


def test_counts_of_others_and_impossible_counts_are_refused() -> None:
    both = asked()
    with pytest.raises(ValueError, match="are not counts of"):
        both.whole_counts(SMALL.count([1]))
    counts = both.count(both.encode_many(PEOPLE))
    cells = counts.cells.copy()
    cells[int(np.flatnonzero(cells[32:])[0]) + 32] -= 1
    with pytest.raises(ValueError, match=r"cohort \d has \d+ pairs of n-grams, but \d+ reports"):
        mm.Counts(both, counts.n, cells)
