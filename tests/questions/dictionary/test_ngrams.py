"""Strings found from n-grams: all of them without noise, and few false ones with it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from murmurs import discover
from murmurs.estimators import estimate
from murmurs.inference.fitting import fitted
from murmurs.mechanisms import NGrams, ORappor
from murmurs.mechanisms.hashed.orr import ORR
from murmurs.questions.dictionary.ngrams.cliques import Edges, cliques
from murmurs.questions.dictionary.ngrams.pairs import GramSide, delta, joint_shares
from murmurs.questions.dictionary.ngrams.strings import search_ngrams

NO_NOISE = 120.0
"""An epsilon at which lies do not occur."""


def found(texts: list[str], alphabet: str, longest: int, **options: Any) -> set[str]:
    """What is found among people who hold these strings equally often, without noise."""
    asked = NGrams.splitting(NO_NOISE, longest=longest, **options)
    counts = asked.count(asked.encode_many(texts * 150, np.random.default_rng(3)))
    return set(discover(counts, alphabet=alphabet).labels)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_without_noise_all_strings_are_found_and_no_others(size: int) -> None:
    texts = ["tea", "mate", "te", "meet", "tamate", "a"]
    assert found(texts, "aemt", 6, size=size) == set(texts)


def test_three_ngrams_at_once_find_the_same() -> None:
    texts = ["tea", "mate", "tamate", "a"]
    assert found(texts, "aemt", 6, together=3) == set(texts)


def test_a_string_that_is_too_long_is_found_as_its_beginning() -> None:
    assert found(["matemate", "tea"], "aemt", 5) == {"matem", "tea"}


def test_strings_beyond_ascii_are_found() -> None:
    texts = ["z\u00fcrich", "\u4eac\u90fd", "\U0001f375"]
    assert found(texts, "".join(sorted(set("".join(texts)))), 6) == set(texts)


def test_strings_that_share_long_prefixes_are_told_apart() -> None:
    texts = [f"aaaaaaaa{last}" for last in ("a", "b", "ab", "")] + ["aaaa"]
    assert found(texts, "ab", 10) == set(texts)


def test_strings_with_spaces_inside_are_found_if_the_alphabet_has_them() -> None:
    texts = ["a b", "ab", "b"]
    assert found(texts, "ab ", 4) == set(texts)


def test_a_string_with_a_letter_that_is_not_in_the_alphabet_is_not_found() -> None:
    assert found(["tea", "maze"], "aemt", 4) == {"tea"}


def test_shares_are_those_of_whole_strings() -> None:
    asked = NGrams.splitting(18.0, longest=6)
    people = ["tea"] * 3000 + ["mate"] * 2000 + ["coffee"] * 1000
    counts = asked.count(asked.encode_many(people, np.random.default_rng(1)))
    steps: list[tuple[int, int]] = []
    seen = discover(counts, alphabet="acefmot", progress=lambda done, of: steps.append((done, of)))
    assert seen.labels == ("tea", "mate", "coffee")
    assert seen.estimate is not None
    limits = seen.estimate.interval(0.999999).T
    for share, (low, high) in zip((1 / 2, 1 / 3, 1 / 6), limits, strict=False):
        assert low < share < high
    assert steps == [(i, 7) for i in range(1, 8)]


PARITY = ["".join(t) for t in itertools.product("abcd", repeat=3)]
HELD = [text for text in PARITY if sum(map(ord, text)) % 4 == 0]
"""All pairs of letters are equally common, so that 48 of 64 cliques are strings nobody holds."""


def runs_of(control: Any, error_rate: float, runs: int) -> Iterator[tuple[Any, set[str]]]:
    """The counts of whole strings in each run, and the strings that are found."""
    asked = NGrams.splitting(
        6.0, longest=3, size=1, make=lambda epsilon: ORR(epsilon, width=8, cohorts=64)
    )
    over, people = asked.over(HELD, complete=True), np.full(len(HELD), 400)
    for run in range(runs):
        counts = over.simulate(people, np.random.default_rng([17, run]))
        seen = discover(counts, alphabet="abcd", error_rate=error_rate, control=control)
        yield asked.whole_counts(counts), set(seen.labels)


def test_false_strings_are_as_rare_as_the_error_rate_says() -> None:
    """If runs have a false string with probability 0.05, 10 of 20 do with probability 2e-8.

    Tests of each of the 48 absent candidates at 0.05, without a correction, are rejected: then 92 %
    of the runs would have a false string.
    """
    wrong = uncorrected = right = 0
    for whole, texts in runs_of("bonferroni", 0.05, 20):
        wrong += not texts <= set(HELD)
        right += len(texts & set(HELD))
        p_values = estimate(whole.over(PARITY)).detected().p_values
        passed = {text for text, p in zip(PARITY, p_values, strict=False) if p < 0.05}
        uncorrected += not passed <= set(HELD)
    assert wrong < 10 < uncorrected
    assert right > 20 * len(HELD) // 2


def test_the_rate_of_false_discoveries_finds_at_least_as_many() -> None:
    strict = [len(texts) for _, texts in runs_of("bonferroni", 0.05, 2)]
    loose = [len(texts) for _, texts in runs_of("fdr", 0.4, 2)]
    assert all(a <= b for a, b in zip(strict, loose, strict=True))


def test_nothing_is_found_where_nobody_holds_the_same_string() -> None:
    """A false string has probability 1e-7; that n-grams of random letters are common is no harm."""
    rng = np.random.default_rng(2)
    letters = rng.choice(list("abcdefgh"), (4000, 8))
    asked = NGrams.splitting(6.0, longest=8)
    counts = asked.count(asked.encode_many(["".join(row) for row in letters], rng))
    assert discover(counts, alphabet="abcdefgh", error_rate=1e-7).labels == ()


@pytest.mark.parametrize("kind", [ORR, ORappor])
def test_joint_shares_are_those_of_the_product_of_mechanisms(kind: Any) -> None:
    asked = NGrams.splitting(6.0, longest=6, make=lambda epsilon: kind(epsilon, 8, 32))
    people = ["tea", "mate", "coffee", "tea"] * 500
    counts = asked.count(asked.encode_many(people, np.random.default_rng(4)))
    table = asked.pair_counts(counts, 0, 2)
    first, second = ["te", "ma", "xx"], ["  ", "ee"]
    lists: Any = [first, second]
    wanted = fitted(table.over(lists)).unbiased.reshape(4, 3)
    sides = [GramSide.of(asked.gram, own) for own in (first, second)]
    np.testing.assert_allclose(joint_shares(table, *sides), wanted, atol=1e-5)


def test_the_threshold_is_the_one_that_the_paper_used_not_the_one_it_printed() -> None:
    """Its 0.0062 needs the square that eq. 2 lacks; with it, delta falls as 1 / (q - p)."""
    asked = NGrams.splitting(3.0, longest=4)
    channel = asked.gram.channel
    p, gain = float(channel.miss), channel.difference
    assert delta(asked, 100) == pytest.approx((p * (1 - p) / 100) ** 0.5 / gain)
    assert delta(asked, 100, as_printed=True) == pytest.approx((p * (1 - p) / gain / 100) ** 0.5)


def test_the_printed_threshold_decides_about_edges() -> None:
    asked = NGrams.splitting(3.0, longest=6)
    over = asked.over(["mate", "tea", "tamate"], complete=True)
    counts = over.simulate([9000, 9000, 9000], np.random.default_rng(8))
    printed, corrected = (
        search_ngrams(counts, asked, "aemt", as_printed=flag) for flag in (True, False)
    )
    assert printed.grams == corrected.grams
    assert printed.edges != corrected.edges


def brute(sizes: list[int], edges: Edges) -> list[list[int]]:
    """All cliques, by trying every choice."""
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    return [
        list(choice)
        for choice in itertools.product(*map(range, sizes))
        if all(edges.joined[i, j][choice[i], choice[j]] for i, j in pairs)
    ]


def test_cliques_are_all_choices_that_are_joined() -> None:
    rng = np.random.default_rng(6)
    for sizes in ([3, 2, 4], [2, 5, 1, 3], [4, 4, 4, 4, 2]):
        pairs = list(itertools.combinations(range(len(sizes)), 2))
        joined = {(i, j): rng.random((sizes[i], sizes[j])) < 0.7 for i, j in pairs}
        edges = Edges(joined, {pair: np.zeros(own.shape) for pair, own in joined.items()})
        chosen, is_complete = cliques(sizes, edges)
        assert is_complete
        assert chosen.tolist() == brute(sizes, edges)


def test_where_cliques_are_too_many_the_best_are_kept() -> None:
    sizes = [30] * 12
    pairs = list(itertools.combinations(range(12), 2))
    joined = {pair: np.ones((30, 30), bool) for pair in pairs}
    edges = Edges(joined, {pair: np.eye(30) for pair in pairs})
    chosen, is_complete = cliques(sizes, edges, most=500)
    assert (len(chosen), is_complete) == (500, False)
    for same in range(30):  # edges between equal numbers have the largest weights
        assert [same] * 12 in chosen.tolist()


def test_too_many_ngrams_are_refused() -> None:
    asked = NGrams.splitting(6.0, longest=12, size=6)
    counts = asked.count(asked.encode_many(["tea"]))
    with pytest.raises(ValueError, match="26 letters have more than 4194304 n-grams of 6 letters"):
        discover(counts, alphabet="abcdefghijklmnopqrstuvwxyz")
