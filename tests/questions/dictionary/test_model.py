"""How likely letters are: learnt from strings, chosen by leaving each of them out in turn."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from murmurs.questions.dictionary.letters import Letters
from murmurs.questions.dictionary.model import (
    CHOICES,
    LARGEST,
    LetterModel,
    Seen,
    farthest,
    learnt,
    seen_in,
)
from murmurs.questions.dictionary.prior import LEAVES, corpus_of, prior_of

ABC = Letters("abcd")
LONGEST = 8


def random_texts(seed: int, many: int = 40) -> list[str]:
    rng = np.random.default_rng(seed)
    return sorted({"".join(rng.choice(list("abcd"), rng.integers(1, 9))) for _ in range(many)})


def whole(texts: list[str]) -> Seen:
    return seen_in(ABC, texts, [len(text) < LONGEST for text in texts])


def spelled(text: str) -> list[int]:
    return [*ABC.codes(text), *([ABC.end] if len(text) < LONGEST else [])]


def by_hand(texts: list[str], text: str, order: int, c: float | None) -> float:
    """The log-probability of a string, from counts in the texts, letter by letter."""
    total, codes = 0.0, spelled(text)
    for place, letter in enumerate(codes):
        chance = 1 / ABC.size
        for back in range(order + 1):
            past = tuple(([-1] * order + codes[:place])[order + place - back :])
            seen: Counter[int] = Counter()
            for other in texts:
                own = spelled(other)
                for at, follows in enumerate(own):
                    if tuple(([-1] * order + own[:at])[order + at - back :]) == past:
                        seen[follows] += 1
            if not seen:
                break
            weight = len(seen) if c is None else c
            chance = (seen[letter] + weight * chance) / (sum(seen.values()) + weight)
        total += math.log(chance)
    return total


@pytest.mark.parametrize(("order", "c"), CHOICES)
def test_letters_are_predicted_as_by_hand_with_and_without_the_string_itself(
    order: int, c: float | None
) -> None:
    texts = random_texts(1, 14)
    seen = whole(texts)
    model, left_out = LetterModel(seen, order, c), seen.left_out(order, c, np.unique(seen.strings))
    for number, text in enumerate(texts):
        own = seen.strings == number
        chosen = model.after(seen.contexts[own])[np.arange(own.sum()), seen.found[own]]
        assert chosen.sum() == pytest.approx(by_hand(texts, text, order, c))
        others = [other for other in texts if other != text]
        assert left_out[own].sum() == pytest.approx(by_hand(others, text, order, c))


def test_probabilities_of_the_next_letter_sum_to_one() -> None:
    seen = whole(random_texts(2))
    contexts = np.unique(np.append(seen.contexts, [0, 5**4 - 1]))
    for order, c in ((-1, 10.0), *CHOICES):
        laws = np.exp(LetterModel(seen, order, c).after(contexts))
        np.testing.assert_allclose(laws.sum(axis=1), 1)
        assert (laws > 0).all()


def test_letters_that_say_nothing_about_each_other_are_taken_as_equally_likely() -> None:
    """A model that is sure of what it learnt from random strings would price true ones too high."""
    rng, letters = np.random.default_rng(3), Letters("0123456789abcdef")
    texts = ["".join(rng.choice(list(letters.alphabet), 8)) for _ in range(60)]
    assert learnt(seen_in(letters, texts, [False] * 60)).order <= 0
    words = ["".join(rng.choice(["ab", "cd", "0f"], 4)) for _ in range(60)]
    assert learnt(seen_in(letters, words, [False] * 60)).order >= 1
    assert learnt(seen_in(letters, words[:3], [False] * 3)).order == -1  # too few to tell


def test_a_string_does_not_confirm_itself() -> None:
    texts = ["abab", "abcb", "abac", "abad", "acab", "ddcdd"]
    prior = prior_of(ABC, LONGEST, texts)
    odd, price = texts.index("ddcdd"), prior.without_itself("ddcdd").sum()
    seen = prior.model.seen
    own = seen.strings == odd
    rows = prior.model.after(seen.contexts[own])
    assert price < rows[np.arange(own.sum()), seen.found[own]].sum() - 0.5


def test_large_alphabets_take_little_memory_and_look_back_less_far() -> None:
    """A table of all contexts of 5,000 letters would have 10^11 cells."""
    letters = Letters("".join(map(chr, range(0x4E00, 0x4E00 + 5000))))
    assert (letters.size + 1) ** (farthest(letters) + 1) <= LARGEST
    texts = [letters.alphabet[i : i + 3] for i in range(0, 60, 3)] * 3
    model = LetterModel(seen_in(letters, texts, [True] * len(texts)), 2, 3.0)
    first, second, third = letters.codes(texts[0])
    base = letters.size + 1
    contexts = np.array([(first + 1) * base + second + 1, 4000 * base + second + 1, 4000 * base])
    chances = np.exp(model.after(contexts))
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert chances[0, third] > chances[1, third] > chances[2, third]


def priced(prior_letters: Letters, text: str, known: list[str], found: list[str]) -> float:
    """The log-probability of a string, letter by letter as the search goes."""
    prior = prior_of(prior_letters, LONGEST, found, corpus_of(prior_letters, known, LONGEST))
    state, total = prior.start(), 0.0
    for length, letter in enumerate(spelled(text)):
        prices, logs = prior.after(state, length)
        total += float(prices[0, letter])
        at = np.array([letter])
        if letter != prior_letters.end:
            state = prior.follow(state, length, at, logs[:, letter])
    return total


def test_a_string_of_the_corpus_costs_what_a_list_would() -> None:
    known = random_texts(4)
    inside, outside = known[3], "dcbadcba"
    assert outside not in known
    weight = 1 / 2  # before anything is found
    stays = LONGEST * math.log1p(-LEAVES)
    assert priced(ABC, inside, known, []) >= math.log(weight / len(known)) + stays
    found = [text for text in known if text != inside]
    surer = (len(found) + 1) / (len(found) + 2)
    assert priced(ABC, inside, known, found) >= math.log(surer / len(known)) + stays
    assert priced(ABC, outside, known, []) > -30  # any other string can still be found


def test_all_strings_share_one_probability_with_a_corpus_too() -> None:
    letters, longest = Letters("ab"), 3
    known = ["a", "ab", "bbb", "bba"]
    prior = prior_of(letters, longest, ["a", "bab"], corpus_of(letters, known, longest))
    total, open_ends = 0.0, [(prior.start(), 0, 0.0)]
    while open_ends:
        state, length, log = open_ends.pop()
        if length == longest:
            total += math.exp(log)
            continue
        prices, logs = prior.after(state, length)
        for letter in range(letters.size):
            price = log + float(prices[0, letter])
            if letter == letters.end:
                total += math.exp(price)
            else:
                after = prior.follow(state, length, np.array([letter]), logs[:, letter])
                open_ends.append((after, length + 1, price))
    assert total == pytest.approx(1)


def test_the_beginnings_of_a_corpus_are_counted() -> None:
    known = ["ab", "abc", "b", "abcdabcd"]
    corpus = corpus_of(ABC, known, LONGEST)
    nodes = np.zeros(1, np.int64)
    for length, (letter, part) in enumerate([(0, 0.75), (1, 0.75), (2, 0.5), (ABC.end, 0.25)]):
        nodes = corpus.child(length, nodes, np.array([letter]))
        assert corpus.part(length + 1, nodes)[0] == part
    assert corpus.child(2, np.array([-1]), np.array([0]))[0] == -1
    rows, letters, parts = corpus.children(0, np.array([-1, 0]))
    assert (rows.tolist(), letters.tolist(), parts.tolist()) == ([1, 1], [0, 1], [0.75, 0.25])


def test_a_corpus_that_misleads_is_left_aside() -> None:
    """The strings found are unlike the corpus, so their own letters predict others better."""
    rng = np.random.default_rng(5)
    known = sorted({"".join(rng.choice(list("ab"), 7)) for _ in range(60)})
    found = sorted({"".join(rng.choice(["cd", "dd"], 3)) for _ in range(30)})
    prior = prior_of(ABC, LONGEST, found, corpus_of(ABC, known, LONGEST))
    assert len(np.unique(prior.model.seen.strings)) == len(found)
    assert prior.weight < 0.2
    alike = sorted({"".join(rng.choice(list("ab"), 6)) for _ in range(30)})
    assert len(
        np.unique(prior_of(ABC, LONGEST, alike, corpus_of(ABC, known, LONGEST)).model.seen.strings)
    ) > len(alike)
