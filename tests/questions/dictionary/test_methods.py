"""What a dictionary promises whichever way it asks: by prefixes or by n-grams."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs import Counts, Dictionary, Discovery, discover
from murmurs.mechanisms import NGrams, Prefixes, from_document
from murmurs.mechanisms.strings.dictionary import MOST_CELLS
from murmurs.present.discoveries import plot_discovery
from murmurs.questions.dictionary.power import chances_of, floor_of, people_needed

mpl.use("Agg")

METHODS: dict[str, dict[str, Any]] = {
    "prefix": {"method": "prefix", "epsilon": 8.0},
    "ngrams": {"method": "ngrams", "epsilon": 24.0},
}
"""Each method with an epsilon at which noise hides nothing."""
every = pytest.mark.parametrize("method", METHODS)


def asked_by(method: str, **options: Any) -> Dictionary:
    return Dictionary(**{**METHODS[method], **options})


def searched(asked: Dictionary, counts: Counts, beam: int = 500, **options: Any) -> Discovery:
    """What a narrow search finds: a few strings far above the noise need no wide one."""
    narrow = beam if isinstance(asked.mechanism, Prefixes) else None
    found = discover(counts, alphabet=asked.alphabet, beam=narrow, **options)
    return found.titled(asked.text or asked.name)


def found_by(method: str, people: dict[str, int], **options: Any) -> Discovery:
    asked = asked_by(method, **options)
    return searched(asked, asked.simulate(people, np.random.default_rng(3)))


# Exact recovery without noise


@every
@pytest.mark.parametrize(
    ("texts", "alphabet", "longest"),
    [
        (["tea", "te", "team", "t", "meat"], "aemt", 6),
        (["aaaaaaab", "aaaaaaac", "aaaaaa", "aaaaaaaa"], "abc", 9),
        (["zürich", "京都", "🍵"], "zürich京都🍵", 7),
        (["a", "bbb"], "ab", 3),
        (["a b", "ab"], "ab ", 4),
    ],
    ids=["prefixes of others", "long beginnings", "not ASCII", "one and all letters", "spaces"],
)
def test_all_strings_are_found_and_no_others(
    method: str, texts: list[str], alphabet: str, longest: int
) -> None:
    asked = asked_by(method, alphabet=alphabet, longest=longest)
    counts = asked.simulate(dict.fromkeys(texts, 4000), np.random.default_rng(3))
    found = searched(asked, counts)
    assert set(found.labels) == set(texts)
    assert found.estimate is not None
    assert found.estimate.labels == (*found.labels, "(other)")
    np.testing.assert_allclose(found.estimate.shares[:-1], 1 / len(texts), atol=0.03)
    assert (found.p_values < 0.05).all()


@every
def test_longer_strings_are_found_as_their_beginnings_and_a_note_says_so(method: str) -> None:
    found = found_by(method, {"matemate": 2000, "tea": 2000}, alphabet="aemt", longest=5)
    assert set(found.labels) == {"matem", "tea"}
    assert found.notes == ("1 string has 5 letters, the most that were asked for, and may go on",)
    assert found.estimate is not None
    assert "Note: 1 string has 5 letters" in found.estimate.explanation


@every
def test_people_with_long_and_short_strings_send_reports_alike(method: str) -> None:
    asked = asked_by(method, longest=3)
    for text in ("a", "tea", "teapot", "🍵", "Zu\u0308rich", "x" * 10_000):
        packed = asked.mechanism.shape.pack(asked.encode(text))
        assert len(packed) == asked.mechanism.shape.size
    for empty in ("", *([" "] if method == "ngrams" else [])):
        with pytest.raises(ValueError, match="is a string that is not empty"):
            asked.encode(empty)


# A question like any other


@every
def test_counts_add_and_reports_come_in_any_form(method: str) -> None:
    asked, rng = asked_by(method, longest=5), np.random.default_rng(1)
    reports = asked.encode_many(["tea", "mate", None, "coffee"] * 20, rng, drop_missing=True)
    counts = asked.count(reports)
    assert counts == asked.count(reports[:30]) + asked.count(reports[30:])
    shape: Any = asked.mechanism.shape
    assert counts == asked.count(shape.column(reports))
    packed = b"".join(map(shape.pack, shape.unstack(reports)))
    assert counts == asked.count(packed)


@every
def test_a_survey_file_asks_for_the_same_reports(method: str) -> None:
    asked = asked_by(method, longest=6, alphabet="aemt", name="drink")
    text = (
        'name = "s"\n[[questions]]\nname = "drink"\n'
        f'mechanism = {{name = "Dictionary", epsilon = {asked.epsilon}, longest = 6, letters = 4, '
        f'method = "{method}"}}\n'
    )
    survey = mm.Survey.from_toml(text)
    assert survey["drink"].mechanism == asked.mechanism
    again = mm.Survey.from_json(survey.to_json())
    assert again.fingerprint == survey.fingerprint
    assert from_document(asked.mechanism.to_document()) == asked.mechanism
    assert asked.mechanism.epsilon_realised <= asked.epsilon


@every
def test_a_discovery_is_the_same_kind_of_result(method: str) -> None:
    steps: list[tuple[int, int]] = []
    asked = asked_by(method, longest=4, alphabet="aemt", text="What do you drink?")
    counts = asked.simulate({"tea": 3000, "mate": 2000}, np.random.default_rng(1))
    found = asked.discover(counts, progress=lambda done, of: steps.append((done, of)))
    assert repr(found) == "Discovery(2 strings: 'tea', 'mate')"
    assert [done for done, _ in steps] == list(range(1, steps[-1][1] + 1))
    assert "2 strings found; at most a 5 % chance that any of them is false." in str(found)
    assert "are nearly always found; rarer ones may be missing" in found.missed
    document = found.to_document()
    assert document["found"] == ["tea", "mate"]
    assert document["estimate"]["labels"] == ["tea", "mate", "(other)"]
    assert found.question("drink", 1.0).labels == ("tea", "mate", "(other)")
    assert found.estimate is not None
    assert found.estimate.title == found.title == "What do you drink?"
    assert discover(counts, alphabet="aemt").labels == found.labels
    fdr = asked.discover(counts, control="fdr")
    assert set(fdr.labels) >= set(found.labels)


@every
def test_strings_of_other_letters_are_not_found(method: str) -> None:
    found = found_by(method, {"tea": 3000, "TEA": 3000}, alphabet="aet", longest=5)
    assert found.labels == ("tea",)
    assert "letters outside the alphabet" in found.notes[0]
    nothing = found_by(method, {"TEA": 3000}, alphabet="aet", longest=5)
    assert (nothing.labels, nothing.estimate) == ((), None)
    assert nothing.summary.startswith("No string was found.")


def test_the_method_decides_about_the_mechanism() -> None:
    assert isinstance(Dictionary(epsilon=3.0).mechanism, Prefixes)
    grams = Dictionary(epsilon=3.0, method="ngrams").mechanism
    assert isinstance(grams, NGrams)
    assert (grams.size, grams.positions, grams.together) == (2, 10, 2)
    many = Dictionary(
        epsilon=3.0, method="ngrams", alphabet="".join(map(chr, range(0x4E00, 0x4E00 + 400)))
    ).mechanism
    assert isinstance(many, NGrams)
    assert many.size == 1
    with pytest.raises(ValueError, match="method must be 'prefix' or 'ngrams', not 'suffix'"):
        Dictionary(epsilon=3.0, method="suffix")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="longest with method 'ngrams' must be from 2 to 200"):
        Dictionary(epsilon=3.0, longest=1, method="ngrams")


@pytest.mark.parametrize("epsilon", [0.5, 12.0, 60.0])
@pytest.mark.parametrize("longest", [2, 20, 200])
def test_counts_of_ngrams_stay_small(epsilon: float, longest: int) -> None:
    asked = Dictionary(epsilon=epsilon, longest=longest, method="ngrams").mechanism
    assert asked.channel.cells[0] <= MOST_CELLS + 256 * 64
    assert asked.epsilon <= epsilon


def test_what_only_prefixes_have_is_refused_for_ngrams() -> None:
    asked = asked_by("ngrams", longest=4, alphabet="aemt")
    counts = asked.simulate({"tea": 10}, np.random.default_rng(1))
    with pytest.raises(ValueError, match="a corpus is for prefixes; n-grams have none: leave it"):
        asked.discover(counts, corpus=["tea"])
    with pytest.raises(ValueError, match="a beam is for prefixes; n-grams have none: leave it"):
        discover(counts, alphabet="aemt", beam=100)
    with pytest.raises(ValueError, match="there are no reports to find strings in"):
        discover(asked.count([]))


def test_counts_of_simulated_ngrams_are_searched_as_they_are() -> None:
    asked = NGrams.splitting(24.0, longest=4)
    counts = asked.over(["tea", "mate"]).simulate([2000, 2000, 0], np.random.default_rng(1))
    assert set(discover(counts, alphabet="aemt").labels) == {"tea", "mate"}


# What is said beforehand


@every
def test_the_floor_falls_with_the_root_of_the_people(method: str) -> None:
    few, many = (asked_by(method, epsilon=3.0, people=n) for n in (10_000, 40_000))
    assert few.floor == pytest.approx(2 * many.floor, rel=0.1)
    assert few.people_needed(few.floor) == pytest.approx(10_000, rel=0.01)
    shares = few.floor * np.linspace(0.05, 2, 50)
    chances = chances_of(few.mechanism, 10_000, shares)
    assert (np.diff(chances) >= 0).all()
    assert chances[0] < 0.01
    assert 0.9 <= chances_of(few.mechanism, 10_000, np.array([few.floor]))[0] <= 1


@pytest.mark.parametrize(
    ("method", "epsilon", "people"), [("prefix", 4.0, 20_000), ("ngrams", 9.0, 40_000)]
)
@pytest.mark.parametrize("part", [0.6, 1.0])
def test_strings_are_found_as_often_as_was_said(
    method: str, epsilon: float, people: int, part: float
) -> None:
    """Fifteen random strings of a share at the floor, or below it, in 4 surveys.

    The chance is that of a usual length, and strings may share n-grams, so it is allowed to be off
    by 0.2; given that, fewer or more of 60 have probability 1e-6 at most. A floor of half or
    twice the share is rejected: then nearly none or nearly all would be found at 0.6 of it.
    """
    asked = asked_by(method, epsilon=epsilon, longest=6, alphabet="abcdefgh", people=people)
    share = part * asked.floor
    chance = float(chances_of(asked.mechanism, people, np.array([share]))[0])
    found = 0
    for seed in range(4):
        rng = np.random.default_rng([5, seed])
        texts = {"".join(row) for row in rng.choice(list("abcdefgh"), (15, 6))}
        held = dict.fromkeys(sorted(texts), round(share * people))
        rest = {f"X{number}": 0 for number in range(1000)}
        left = people - sum(held.values())
        held |= dict(zip(rest, rng.multinomial(left, [1 / 1000] * 1000).tolist(), strict=True))
        found += len(set(searched(asked, asked.simulate(held, rng), 1000).labels) & texts)
    low, high = max(0.0, chance - 0.2), min(1.0, chance + 0.2)
    assert scipy.stats.binom.ppf(1e-6, 60, low) <= found <= scipy.stats.binom.isf(1e-6, 60, high)


@every
def test_what_was_missed_says_how_many_people_would_find_it(method: str) -> None:
    found = found_by(method, {"tea": 3000}, alphabet="aet", longest=4)
    needed = people_needed(found.mechanism, found.floor / 2)
    assert floor_of(found.mechanism, needed) == pytest.approx(found.floor / 2, rel=0.01)
    assert found.missed.endswith(f"ask {needed:,} people in all.")
    assert found.missed.startswith("Strings of up to 4 letters with a share above")


# The picture


@every
def test_the_picture_shows_strings_floor_and_chances(method: str) -> None:
    found = found_by(method, {"tea": 3000, "mate": 2000}, alphabet="aemt", longest=4)
    axes = found.plot()
    said = [text.get_text() for text in axes.texts]
    assert said[:2] == ["tea", "mate"]
    assert said[2].startswith("noise floor")
    (beside,) = axes.child_axes
    chances, shares = (np.asarray(x) for x in beside.lines[0].get_data())
    np.testing.assert_allclose(chances, 100 * found.chance(np.minimum(shares / 100, 1)))
    assert axes.get_yscale() == "log"
    assert axes.get_title(loc="left") == "dictionary\n2 strings found in 5,000 reports"
    mpl.pyplot.close("all")


def test_long_names_are_shortened_and_stay_inside_the_picture() -> None:
    names = ["m" * 22, "a_$b^", "שלום", "a" * 20]
    share = np.array([0.5, 0.3, 0.1, 0.1, 0.0])
    columns = {"answer": [*names, "(other)"], "share": share, "low": share, "high": share}
    axes = plot_discovery(columns, 0.01, np.sqrt, "95 % intervals", "strings")
    axes.figure.canvas.draw()
    shown = {text.get_text(): text for text in axes.texts[:4]}
    assert set(shown) == {"m" * 19 + "…", "a_$b^", "שלום", "a" * 20}
    assert max(text.get_window_extent().y1 for text in shown.values()) <= axes.bbox.y1
    last = axes.child_axes[0].get_xticklabels()[-1]
    assert last.get_window_extent().x1 <= axes.figure.bbox.x1
    mpl.pyplot.close("all")


def test_the_picture_has_the_chances_of_a_corpus() -> None:
    texts = {"tea": 3000, "mate": 2000}
    asked = asked_by("prefix", longest=4, alphabet="aemt")
    counts = asked.simulate(texts, np.random.default_rng(1))
    (beside,) = searched(asked, counts, corpus=["tea", "mate", "meat"]).plot().child_axes
    alone, listed = beside.lines[:2]
    assert [text.get_text() for text in beside.texts] == ["dashed: in\nthe corpus"]
    assert (np.asarray(listed.get_xdata()) >= np.asarray(alone.get_xdata()) - 1e-9).all()
    mpl.pyplot.close("all")


def test_of_many_strings_some_are_named_and_none_leaves_the_floor() -> None:
    texts = [a + b + c for a in "abcd" for b in "abcd" for c in "abcd"][:40]
    found = found_by("prefix", dict.fromkeys(texts, 4000), alphabet="abcd", longest=4)
    axes = found.plot(limit=35, title="Letters")
    said = [text.get_text() for text in axes.texts]
    assert said == [*found.labels[:35:2], f"noise floor {100 * found.floor:.2g} %"]
    assert axes.get_xlabel() == f"rank of the string, the first 35 of {len(found.labels)}"
    assert axes.get_title(loc="left") == "Letters"
    nothing = found_by("prefix", {"X": 30}, alphabet="abcd", longest=4).plot()
    assert nothing.get_title(loc="left") == "dictionary\nno strings found in 30 reports"
    mpl.pyplot.close("all")


@pytest.mark.parametrize("method", ["prefix", "ngrams"])
def test_a_crowd_may_hold_strings_that_are_reported_alike(method: Any) -> None:
    asked = mm.Dictionary(epsilon=30.0, longest=4, alphabet="abcdefgh", method=method)
    crowd = {"abcdef": 2000, "abcdgh": 1000, "bé": 500, "be\u0301": 500}
    counts = asked.simulate(crowd, np.random.default_rng(1))
    assert counts.n == 4000
    assert searched(asked, counts).labels == ("abcd",)
    with pytest.raises(ValueError, match="a number of people must be from 0"):
        asked.simulate({"bé": 500, "be\u0301": -1}, np.random.default_rng(1))


@every
def test_a_survey_returns_the_dictionary(method: str) -> None:
    asked = asked_by(method, name="pet", text="Which pet?")
    survey = mm.Survey("pets", (asked,))
    found = mm.Survey.from_json(survey.to_json())["pet"]
    assert isinstance(found, Dictionary)
    assert (found, found.longest, found.epsilon) == (asked, asked.longest, asked.mechanism.epsilon)
    plain = mm.Question("pet", mechanism=asked.mechanism, text="Which pet?")
    assert plain == asked
    assert hash(plain) == hash(asked)
    assert isinstance(mm.Survey("pets", (plain,))["pet"], Dictionary)
    assert mm.Survey("pets", (plain,)).fingerprint == survey.fingerprint


@every
def test_a_dictionary_estimates_candidates(method: str) -> None:
    asked = asked_by(method, epsilon=6.0, longest=4, alphabet="aelnou")
    counts = asked.simulate({"luna": 700_000, "leo": 300_000}, np.random.default_rng(1))
    found = asked.estimate(counts, candidates=["luna", "leo"])
    assert found.unbiased[:2] == pytest.approx([0.7, 0.3], abs=0.05)
    with pytest.raises(ValueError, match="say which strings to look for"):
        asked.estimate(counts)


def test_a_dictionary_keeps_its_letters_with_another_mechanism() -> None:
    asked = Dictionary(4.0, longest=4, alphabet="aelnou", people=10)
    again = asked.with_mechanism(Dictionary(2.0, longest=5).mechanism)
    assert (again.alphabet, again.people, again.epsilon) == ("aelnou", 10, 2.0)


def test_a_dictionary_needs_an_epsilon_or_a_mechanism_that_is_searched() -> None:
    with pytest.raises(ValueError, match="needs an epsilon or a mechanism"):
        Dictionary()
    with pytest.raises(TypeError, match=r"ORR.* cannot be searched"):
        Dictionary(mechanism=mm.ORR(2.0, 8, 16))  # type: ignore[arg-type]
