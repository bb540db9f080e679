"""Strings that nobody listed: found from prefixes, with false ones under control."""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs import Counts, Dictionary, Discovery, discover
from murmurs.hashing.pieces import GOES_ON, WHOLE, piece
from murmurs.mechanisms import Prefixes
from murmurs.mechanisms.strings.prefix_levels import planned
from murmurs.questions.dictionary.power import floor_with_corpus

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SOME = "aceilnorsu"
"""The letters of the names below: fewer letters make a quicker search."""
NAMES = {"luna": 40_000, "leo": 25_000, "leonie": 15_000, "oscar": 12_000, "le": 8_000}


def noiseless(longest: int, alphabet: str = SOME) -> Dictionary:
    """Epsilon so large that noise hides nothing: a false string would need many equal reports."""
    return Dictionary(epsilon=6.0, longest=longest, alphabet=alphabet)


def searched(asked: Dictionary, counts: Counts, beam: int = 500, **options: Any) -> Discovery:
    """What a narrow search finds: a few strings far above the noise need no wide one."""
    return discover(counts, alphabet=asked.alphabet, beam=beam, **options)


@cache
def names_found() -> Discovery:
    """What the search of a dictionary finds, as wide as it is for users; made once."""
    asked = noiseless(8)
    return asked.discover(asked.simulate(NAMES, np.random.default_rng(3)))


# What a device reports


def test_pieces_of_different_strings_differ_unless_they_begin_alike() -> None:
    texts = ["", "a", "ab", "abc", "abcd", ".a", "+a", "."]
    for length in (1, 2, 3, 4):
        for a in texts:
            for b in texts:
                alike = a == b or (min(len(a), len(b)) >= length and a[:length] == b[:length])
                assert (piece(a, length) == piece(b, length)) == alike


def test_marks_never_combine_with_the_letter_after_them() -> None:
    """Some signs, such as <, have another form with a stroke; then pieces would change."""
    for mark in (WHOLE, GOES_ON):
        for code in range(sys.maxunicode + 1):
            if 0xD800 <= code < 0xE000:
                continue
            letter = unicodedata.normalize("NFC", chr(code))
            assert unicodedata.normalize("NFC", mark + letter)[0] == mark
    assert unicodedata.normalize("NFC", "<\u0338")[0] != "<"  # what would be rejected


def test_a_string_is_never_cut_inside_a_letter() -> None:
    asked = Prefixes(epsilon=8.0, width=64, levels=((1, 4), (3, 4)))
    for cohort in range(8):
        assert asked.places("Zu\u0308rich", cohort) != []
        composed, typed = asked.check("Z\u00fcrich"), asked.check("Zu\u0308rich")
        assert asked.places(composed, cohort) == asked.places(typed, cohort)


def test_levels_are_open_questions_about_pieces() -> None:
    asked = Prefixes(epsilon=1.0, width=4, levels=((2, 8), (3, 8)), salt=7)
    texts = ["tea", "te", "team"]
    layout = asked.layout_of(texts)
    for number, length in enumerate(asked.lengths):
        level = asked.level(number)
        pieces = level.layout_of([piece(text, length) for text in texts])
        for row in range(8):
            at = asked.starts[number] + row
            np.testing.assert_array_equal(layout.places_in(at), pieces.places_in(row))
    counts = asked.count(asked.encode_many(texts * 100, np.random.default_rng(1)))
    halves = [asked.at_level(counts, i) for i in (0, 1)]
    assert sum(half.n for half in halves) == 300
    np.testing.assert_array_equal(np.concatenate([h.cells for h in halves]), counts.cells)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ((), "levels are pairs of a length and a number of cohorts"),
        (5, "levels are pairs of a length and a number of cohorts"),
        ((3,), "a level is a length and a number of cohorts, not 3"),
        (((3, 4), (3, 4)), "lengths of levels must rise, but 3 comes after 3"),
        (((0, 4),), "the length of a level must be from 1 to 200, not 0"),
        (((1, 0),), "the cohorts of a level must be from 1 to 65536, not 0"),
    ],
)
def test_bad_levels_are_refused(levels: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Prefixes(epsilon=1.0, width=4, levels=levels)


def test_counts_of_another_mechanism_have_no_levels() -> None:
    one, other = planned(2.0, 6, 26), planned(2.0, 7, 26)
    with pytest.raises(ValueError, match="are not counts of"):
        one.at_level(other.count([]), 0)


# Exact recovery without noise


@pytest.mark.parametrize("encoded", [True, False])
def test_strings_are_recovered_without_noise(encoded: bool) -> None:
    found = names_found()
    if encoded:
        asked = noiseless(8)
        people = [name for name, number in NAMES.items() for _ in range(number // 4)]
        counts = asked.count(asked.encode_many(people, np.random.default_rng(3)))
        found = searched(asked, counts)
    assert found.labels == tuple(NAMES)  # one is a prefix of two others, and of itself
    assert found.estimate is not None
    shares = np.array(list(NAMES.values())) / 100_000
    np.testing.assert_allclose(found.estimate.shares[:-1], shares, atol=0.02)


def test_a_string_of_one_letter_and_one_of_the_longest_length_are_found() -> None:
    asked = noiseless(5, "abc")
    found = asked.discover(asked.simulate({"a": 500, "bbbbb": 500}, np.random.default_rng(1)))
    assert set(found.labels) == {"a", "bbbbb"}
    assert found.estimate is not None
    assert "1 string has 5 letters, the most that were asked for" in found.estimate.explanation


def test_longer_strings_are_found_as_far_as_they_were_asked_for() -> None:
    asked = noiseless(4, LETTERS)
    counts = asked.simulate({"teapot": 500, "teacup": 300, "mate": 200}, np.random.default_rng(1))
    found = searched(asked, counts)
    assert found.labels == ("teap", "teac", "mate")
    assert found.estimate is not None
    assert "may go on" in found.estimate.explanation


def test_letters_of_any_script_are_found() -> None:
    asked = noiseless(6, "ёжикабßüλ😀")
    people = {"ёжик": 400, "λλ": 300, "ßü😀": 300}
    found = searched(asked, asked.simulate(people, np.random.default_rng(2)))
    assert set(found.labels) == set(people)


def test_strings_that_share_long_beginnings_are_told_apart() -> None:
    asked = noiseless(9, "abcdef")
    people = {f"aaaaaa{x}{y}": 1000 for x in "abcd" for y in "abcd"}
    found = searched(asked, asked.simulate(people, np.random.default_rng(4)))
    assert set(found.labels) == set(people)


def test_strings_with_other_letters_are_not_found_and_do_no_harm() -> None:
    asked = noiseless(6, "aet")
    found = asked.discover(asked.simulate({"tea": 500, "TEA": 500}, np.random.default_rng(1)))
    assert found.labels == ("tea",)
    assert found.estimate is not None
    assert found.estimate.shares[-1] == pytest.approx(0.5, abs=0.05)


def test_a_note_says_what_may_be_in_a_large_rest() -> None:
    asked, rng = Dictionary(epsilon=4.0, longest=5, alphabet=SOME), np.random.default_rng(1)
    found = asked.discover(asked.simulate({"luna": 4000, "Leo": 4000}, rng))
    assert found.estimate is not None
    assert found.estimate.notes == (
        "the strings in (other) are too rare to be found, or have letters outside the alphabet "
        "'aceilnorsu'",
    )
    nothing = asked.discover(asked.simulate({"Leo": 4000}, rng))
    assert nothing.summary.endswith(
        "Note: strings with letters outside the alphabet 'aceilnorsu' are never found."
    )


def test_all_beginnings_are_tried_also_with_more_letters_than_were_planned() -> None:
    """The search once kept an arbitrary part of them, and lost whole strings without a word."""
    asked = Prefixes(epsilon=12.0, width=4096, levels=((3, 8), (4, 8)))
    people = {"Luna": 400, "leo": 300, "Jörg": 200, "zß": 100}
    counts = mm.Question("pet", mechanism=asked).simulate(people, np.random.default_rng(1))
    alphabet = LETTERS + LETTERS.upper() + "äöüß "
    assert set(discover(counts, alphabet=alphabet).labels) == set(people)
    many = "".join(map(chr, range(0x4E00, 0x4E00 + 100)))
    with pytest.raises(
        ValueError, match=r"100 letters has 1,000,000 beginnings of 3 .*letters = 100"
    ):
        discover(counts, alphabet=many)


# Noise


def test_frequent_strings_are_found_and_intervals_cover() -> None:
    """Of 5 strings in 10 surveys, all far above the floor; intervals miss at most 12 of 50.

    The number of misses is binomial with probability 0.05: more than 12 have probability 7e-7.
    Intervals of half the width would miss with probability 0.33, and exceed 12 in 87 of 100 cases.
    """
    asked, missed = Dictionary(epsilon=3.0, longest=7, alphabet=SOME, people=200_000), 0
    law = np.array([0.4, 0.25, 0.15, 0.12, 0.08])
    assert asked.floor < 0.08
    for seed in range(10):
        rng = np.random.default_rng(seed)
        held = rng.multinomial(200_000, law)
        counts = asked.simulate(dict(zip(NAMES, held.tolist(), strict=True)), rng)
        found = searched(asked, counts)
        assert set(found.labels) == set(NAMES)
        assert found.estimate is not None
        share = dict(zip(NAMES, law, strict=True))
        limits = found.estimate.interval(0.95).T[:-1]
        missed += sum(
            not low <= share[name] <= high
            for name, (low, high) in zip(found.labels, limits, strict=True)
        )
    assert missed <= 12
    assert scipy.stats.binom.sf(12, 50, 0.05) < 1e-6


def test_random_strings_give_no_false_ones() -> None:
    """In 20 surveys of people who all hold random strings, 9 with a false one are too many.

    At the promised rate of 5 % that has probability 2e-7. With the price of the search left out,
    all 20 surveys had one, also in a beam of 1000.
    """
    asked, wrong = Dictionary(epsilon=4.0, longest=5, alphabet="abcdefgh"), 0
    for seed in range(20):
        rng = np.random.default_rng(100 + seed)
        texts = ["".join(row) for row in rng.choice(list("abcdefgh"), (3000, 5))]
        counts = asked.count(asked.encode_many(texts, rng))
        wrong += bool(searched(asked, counts, 1000).labels)
    assert wrong < 9
    assert scipy.stats.binom.sf(8, 20, 0.05) < 1e-6


def test_the_false_discovery_rate_accepts_no_fewer() -> None:
    asked, rng = Dictionary(epsilon=3.0, longest=7, alphabet=SOME), np.random.default_rng(5)
    people = {name: number // 20 for name, number in NAMES.items()}
    counts = asked.simulate(people, rng)
    strict, loose = searched(asked, counts), searched(asked, counts, control="fdr")
    assert set(strict.labels) <= set(loose.labels) <= set(NAMES)
    assert set(searched(asked, counts, error_rate=1e-12).labels) <= set(strict.labels)


def test_no_more_strings_are_false_than_the_rate_says() -> None:
    """Three surveys of random identifiers, in which up to 40 % of those found may be false.

    About a quarter of some 130 are; if so, 40 % or more has probability 1e-4. Held to the whole
    rate instead of a part of it, p-values would let 55 % through.
    """
    digits, found, false = "0123456789abcdef", 0, 0
    asked = Dictionary(4.0, 6, digits)
    for seed in range(40, 43):
        rng = np.random.default_rng(seed)
        texts = sorted({"".join(row) for row in rng.choice(list(digits), (400, 6))})
        weights = np.exp(1.5 * rng.normal(size=len(texts)))
        held = rng.multinomial(60_000, weights / weights.sum())
        counts = asked.simulate(dict(zip(texts, held.tolist(), strict=True)), rng)
        labels = searched(asked, counts, 1000, control="fdr", error_rate=0.4).labels
        found, false = found + len(labels), false + len(set(labels) - set(texts))
    assert found > 100
    assert false < 0.4 * found
    assert scipy.stats.binom.sf(51, 130, 0.25) < 2e-4


def test_strings_that_share_a_beginning_and_nothing_else_give_few_false_ones() -> None:
    """Some 200 of all 256 strings of four letters after one beginning, each below the floor.

    Their shorter prefixes are common, their longer ones are in doubt. When the search forgot how
    many there must be of these, it found 260 strings in a survey, and 65 % of them were false.
    """
    asked, false = Dictionary(4.0, 11, "abcd"), 0
    for seed in range(1000, 1004):
        rng = np.random.default_rng(seed)
        texts = sorted({"dcabdc" + "".join(row) for row in rng.choice(list("abcd"), (400, 4))})
        held = rng.multinomial(15_000, np.full(len(texts), 1 / len(texts)))
        counts = asked.simulate(dict(zip(texts, held.tolist(), strict=True)), rng)
        labels = searched(asked, counts, control="fdr", error_rate=0.2).labels
        false += len(set(labels) - set(texts))
    assert false < 40


def test_the_floor_of_strings_in_a_corpus_is_lower_and_said() -> None:
    asked = Dictionary(epsilon=4.0, longest=7, alphabet=SOME)
    counts = asked.simulate(dict.fromkeys(NAMES, 5000), np.random.default_rng(8))
    without, given = searched(asked, counts), searched(asked, counts, corpus=list(NAMES))
    assert (without.listed, given.listed) == (0, len(NAMES))
    floor = floor_with_corpus(asked.mechanism, counts.n, len(NAMES))
    assert floor is not None
    assert floor < 0.9 * without.floor
    assert f"Those of the corpus are nearly always found above {100 * floor:.2g} %" in given.missed
    assert "With a corpus, a list of similar strings, those in it are nearly" in without.missed


def test_strings_of_a_corpus_above_its_floor_are_found() -> None:
    """Two surveys with 12 strings of a corpus just above its floor: 6 missed are too many.

    If 5 % are missed, that has probability 1e-3. A floor of half that share would be wrong: at half
    of it, most are missed.
    """
    people, missed, missed_below = 50_000, 0, 0
    asked = Dictionary(3.0, 8, SOME)
    for seed in range(2):
        rng = np.random.default_rng(700 + seed)
        corpus = sorted({"".join(row) for row in rng.choice(list(SOME), (2000, 6))})
        floor = floor_with_corpus(asked.mechanism, people, len(corpus))
        assert floor is not None
        chosen = rng.choice(corpus, 24, replace=False).tolist()
        law = {text: floor * (1.02 if i < 12 else 0.5) for i, text in enumerate(chosen)}
        rare = {"".join(row) for row in rng.choice(list(SOME), (500, 5))}
        law |= dict.fromkeys(sorted(rare), (1 - sum(law.values())) / len(rare))
        held = rng.multinomial(people, list(law.values()))
        counts = asked.simulate(dict(zip(law, held.tolist(), strict=True)), rng)
        found = searched(asked, counts, 1000, corpus=corpus).labels
        missed += len(set(chosen[:12]) - set(found))
        missed_below += len(set(chosen[12:]) - set(found))
    assert missed < 6
    assert missed_below > 12
    assert scipy.stats.binom.sf(5, 24, 0.05) < 2e-3


def test_a_corpus_is_used() -> None:
    asked = Dictionary(epsilon=4.0, longest=8, alphabet=SOME)
    few = {name: number // 20 for name, number in NAMES.items()}
    counts = asked.simulate(few, np.random.default_rng(6))
    with_corpus = searched(asked, counts, corpus=["lea", "leon", "osca", "lunar", "Ö"])
    without = searched(asked, counts)
    assert set(with_corpus.labels) == set(NAMES) == set(without.labels)
    left_out = (
        "1 of the 5 strings of the corpus has letters outside the alphabet, and cannot be found"
    )
    assert (with_corpus.notes, without.notes) == ((left_out,), ())
    by_name = dict(zip(without.labels, without.p_values, strict=True))
    learnt = zip(with_corpus.labels, with_corpus.p_values, strict=True)
    assert any(p != by_name[name] for name, p in learnt)
    with pytest.raises(ValueError, match="none of the strings of the corpus has only letters"):
        asked.discover(counts, corpus=["ÄÖÜ"])


def test_a_corpus_of_strings_that_begin_like_true_ones_does_not_replace_them() -> None:
    """After fourteen letters that one string of the corpus has, its others cost nothing at all.

    The search once took this for the end of the string and looked at no later level: all five
    strings of the corpus were found that share these letters with those that people hold. And none
    of these was found, though a fifth of the people hold each: fourteen letters of the corpus that
    a string has by chance are as unlikely as they are many.
    """
    asked, rng = Dictionary(epsilon=4.0, longest=20, alphabet=LETTERS), np.random.default_rng(1)
    spelled = ["".join(row) for row in rng.choice(list(LETTERS), (110, 19))]
    held = [text[:14] + other[14:] for text, other in zip(spelled[:5], spelled[5:], strict=False)]
    counts = asked.simulate(dict.fromkeys(held, 4000), rng)
    assert set(searched(asked, counts, corpus=spelled).labels) == set(held)


# What can be said beforehand and afterwards


def test_a_discovery_tells_its_strings_and_what_it_missed() -> None:
    asked, found = noiseless(8), names_found()
    assert repr(found) == "Discovery(5 strings: 'luna', 'leo', 'leonie', ...)"
    assert "5 strings found; at most a 5 % chance that any of them is false." in str(found)
    assert "are nearly always found; rarer ones may be missing" in found.missed
    assert found.to_document()["found"] == list(NAMES)
    assert found.question("name", 1.0).labels == (*NAMES, "(other)")
    nothing = searched(asked, asked.simulate({"a1": 3}, np.random.default_rng(1)))
    assert str(nothing).startswith("No string was found.")
    with pytest.raises(ValueError, match="nothing was found"):
        nothing.question("name", 1.0)


def test_lengths_are_told_apart_only_where_their_floors_are() -> None:
    said = [
        searched(asked, asked.simulate({"aa": 4000}, np.random.default_rng(1))).missed
        for asked in (Dictionary(2.0, 2, "abc"), Dictionary(2.0, 8, "abc"))
    ]
    assert said[0].startswith("Strings of up to 2 letters with a share above 9.7 % are nearly")
    assert said[1].startswith("Strings of up to 6 letters with a share above 9.3 % (9.7 % with 8")


def test_a_discovery_says_so_where_more_people_find_nothing_rarer() -> None:
    """A summary of a million airports was an error: no number of people found half the share."""
    asked = Dictionary(epsilon=2.0, longest=4, alphabet="dfhjklrx")
    airports = {"lhr": 500_000, "jfk": 300_000, "dxl": 200_000}
    found = searched(asked, asked.simulate(airports, np.random.default_rng(1)))
    assert set(found.labels) == set(airports)
    assert (
        "With this epsilon, no number of people is enough to find strings of half that share."
        in found.summary
    )


def test_differences_of_discovered_shares_have_intervals() -> None:
    asked, rng = noiseless(8), np.random.default_rng(9)
    first = names_found().estimate
    second = searched(asked, asked.simulate(NAMES, rng)).estimate
    assert first is not None
    assert second is not None
    difference = second.difference(first)
    assert (np.abs(difference.shares) < 0.05).all()
    assert difference.p_value > 1e-6


# What is refused


def test_bad_input_is_refused() -> None:
    asked = Dictionary(epsilon=2.0, longest=6)
    with pytest.raises(ValueError, match="there are no reports to find strings in"):
        asked.discover(asked.count([]))
    with pytest.raises(TypeError, match="discover takes Counts, not list: add reports up first"):
        discover([1, 2])  # type: ignore[arg-type]
    orr = mm.ORR(epsilon=1.0, width=4, cohorts=4)
    with pytest.raises(ValueError, match="do not hold prefixes or n-grams to search"):
        discover(Counts(orr, 0, np.zeros((4, 4), np.int64)))
    counts = asked.simulate({"tea": 10}, np.random.default_rng(1))
    with pytest.raises(ValueError, match="control must be 'bonferroni' or 'fdr', not 'none'"):
        discover(counts, control="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alphabet has the letter 'a' twice"):
        Dictionary(epsilon=2.0, alphabet="aba")
    with pytest.raises(TypeError, match="corpus is a list of strings, not one string"):
        discover(counts, corpus="teapot")
    with pytest.raises(ValueError, match="alphabet has no letters"):
        Dictionary(epsilon=2.0, alphabet="")
    with pytest.raises(ValueError, match=r"alphabet is a text .* but .* surrogate pair"):
        Dictionary(epsilon=2.0, alphabet="a\ud800")
    for useless in ({"estimator": "em"}, {"complete": True}):
        with pytest.raises(ValueError, match="method and complete are for a list of candidates"):
            asked.results(counts, {}, **useless)
    with pytest.raises(ValueError, match="alphabet has 'A-Z': write out every letter, as in \"abc"):
        Dictionary(epsilon=2.0, alphabet="abcA-Z")
    with pytest.raises(TypeError, match="alphabet is a text of all letters, not list"):
        Dictionary(epsilon=2.0, alphabet=["a"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="longest must be from 1 to 200, not 0"):
        Dictionary(epsilon=2.0, longest=0)
    with pytest.raises(ValueError, match="is a string that is not empty") as error:
        asked.encode("")
    with pytest.raises(ValueError, match="answer number 1:") as error:
        asked.encode_many(["secret", ""])
    assert "secret" not in str(error.value)


def test_a_large_alphabet_is_searched_among_what_is_likely() -> None:
    asked = Dictionary(
        epsilon=8.0, longest=4, alphabet="".join(map(chr, range(0x4E00, 0x4E00 + 300)))
    )
    texts = [asked.alphabet[i : i + 3] for i in range(0, 30, 3)]
    counts = asked.simulate(dict.fromkeys(texts, 2000), np.random.default_rng(1))
    found = searched(asked, counts)
    assert set(found.labels) == set(texts)
    assert found.tried <= 301 + 3 * (40 + 2) * 500  # at each level new ones, and those that ended


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (None, r"corpus is a list of strings, not None: corpus=\[...\]"),
        (b"tea", r"corpus is a list of strings, not one string: corpus=\[...\]"),
        (["tea", 5], "corpus has strings, but number 1 is none: 5 is not a string; leave it out"),
        (["tea", ""], "corpus has strings, but number 1 is none: it is empty; leave it out"),
        (["\ud800"], r"number 0 is none: '\\ud800' is no Unicode text"),
    ],
)
def test_a_corpus_of_something_else_is_refused(corpus: Any, message: str) -> None:
    asked = Dictionary(epsilon=2.0, longest=6)
    counts = asked.simulate({"tea": 10}, np.random.default_rng(1))
    with pytest.raises((TypeError, ValueError), match=message):
        asked.discover(counts, corpus=corpus)


def test_lengths_and_shares_that_no_string_has_are_refused() -> None:
    asked = Dictionary(epsilon=4.0, longest=6, people=1000)
    for length in (0, -5, 201):
        with pytest.raises(ValueError, match=f"length must be from 1 to 200, not {length}"):
            asked.floor_at(length)
        with pytest.raises(ValueError, match=f"length must be from 1 to 200, not {length}"):
            asked.people_needed(0.1, length)
    with pytest.raises(TypeError, match="length must be a whole number, not nan"):
        asked.floor_at(float("nan"))  # type: ignore[arg-type]
    for share in (0.0, -1.0, 2.0, float("nan")):
        with pytest.raises(ValueError, match=f"above 0 and at most 1, not {share:g}"):
            names_found().chance([0.1, share])


def test_counts_of_another_question_are_not_searched() -> None:
    other = Dictionary(2.0, longest=5, alphabet="ab").simulate(
        {"ab": 100}, np.random.default_rng(1)
    )
    with pytest.raises(ValueError, match="are not answers to"):
        Dictionary(4.0, longest=6, alphabet="ab").discover(other)


def test_strings_that_share_a_beginning_with_many_others_keep_the_rate_of_false_ones() -> None:
    """In 8 surveys, at most half of the strings found are false on average.

    If a string could only have left prefixes that are known for certain, 7 in 10 would be false.
    """
    asked, parts = Dictionary(4.0, longest=11, alphabet="abcd"), []
    for seed in range(8):
        rng = np.random.default_rng(900 + seed)
        texts = {"dcabdc" + "".join(rng.choice(list("abcd"), 4)) for _ in range(400)}
        held = rng.multinomial(15_000, np.full(len(texts), 1 / len(texts)))
        counts = asked.simulate(dict(zip(sorted(texts), held.tolist(), strict=True)), rng)
        found = discover(counts, alphabet="abcd", control="fdr", error_rate=0.5, beam=500)
        parts.append(len(set(found.labels) - texts) / max(len(found.labels), 1))
    assert np.mean(parts) <= 0.5
