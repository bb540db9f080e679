"""Strings have one normal form and one key; all that is wrong with a list is told by line."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from murmurs.hashing import strings
from murmurs.hashing.strings import candidates, key, keys, normal

texts = st.text(min_size=1, max_size=20)  # hypothesis leaves surrogates out
FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
HALVES = ["\ud800", "\udbff", "\udc00", "\udfff"]


def sha_key(text: str) -> int:
    digest = hashlib.sha256(unicodedata.normalize("NFC", text).encode("utf-8")).digest()
    return sum(byte << 8 * place for place, byte in enumerate(digest[:8]))


# normal and key


@given(texts)
@example("\0")
@example("\u0344")
@example("\U0010ffff")
def test_every_form_of_a_string_has_its_normal_form_and_its_key(text: str) -> None:
    forms = [text, *(unicodedata.normalize(form, text) for form in FORMS)]
    assert {normal(form) for form in forms} == {unicodedata.normalize("NFC", text)}
    assert {key(form) for form in forms} == {sha_key(text)}


def test_equivalent_strings_are_equal_and_similar_ones_are_not() -> None:
    assert key("Zu\u0308rich") == key("Z\u00fcrich")
    different = ["fi", "\ufb01", "Tea", "tea", "tea ", " tea", "tea\0", "\ufefftea", "t\u0435a"]
    assert len({key(text) for text in different}) == len(different)


@given(st.lists(texts, max_size=10))
def test_many_keys_are_those_of_each(some: list[str]) -> None:
    found = keys(some)
    assert found.dtype == np.uint64
    assert found[0].tolist() == [sha_key(text) for text in some]
    assert found.shape == (4, len(some))
    assert [[key(text, number) for text in some] for number in range(4)] == found.tolist()
    assert keys(iter(some)).tolist() == found.tolist()


def test_a_long_string_has_a_key() -> None:
    assert key("u\u0308" * 5000) == key("\u00fc" * 5000) == sha_key("\u00fc" * 5000)


def test_an_empty_string_is_refused() -> None:
    for refuse in (normal, key):
        with pytest.raises(
            ValueError, match=r"^an answer to an open question is a string that is not empty$"
        ):
            refuse("")


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize(("before", "place"), [("", 0), ("tea", 3), ("\U0001f600", 1)])
def test_half_of_a_surrogate_pair_is_refused_with_its_place(
    half: str, before: str, place: int
) -> None:
    text = f"{before}{half}."
    reason = f"is no Unicode text: it has half of a surrogate pair at place {place}"
    for refuse in (normal, key):
        with pytest.raises(ValueError, match=f"^an answer to an open question {reason}$"):
            refuse(text)


def test_two_halves_that_stand_apart_are_no_character() -> None:
    """Python may hold them one by one; they would be encoded as no UTF-8."""
    with pytest.raises(ValueError, match=r"at place 0$"):
        normal("\ud83d" + "\ude00")


@pytest.mark.parametrize("wrong", [7, None, b"tea", ["tea"], 1.5, True])
def test_what_is_no_string_is_refused_with_its_type(wrong: Any) -> None:
    message = f"^an answer to an open question is a string, not of type {type(wrong).__name__}$"
    for refuse in (normal, key):
        with pytest.raises(TypeError, match=message):
            refuse(wrong)


# candidates


@given(st.lists(texts, max_size=15, unique_by=lambda text: unicodedata.normalize("NFC", text)))
def test_candidates_keep_their_order_in_normal_form(some: list[str]) -> None:
    wanted = tuple(unicodedata.normalize("NFC", text) for text in some)
    assert candidates(some) == candidates(tuple(some)) == wanted


def refusal(some: list[Any]) -> str:
    with pytest.raises(ValueError, match=" cannot be taken: ") as error:
        candidates(some)
    return str(error.value)


def test_everything_that_is_wrong_is_told_by_line() -> None:
    assert refusal(["tea", "", "Z\u00fcrich", 7, "Zu\u0308rich", "a\ud800", "tea"]) == (
        "5 of 7 strings cannot be taken: line 2: it is empty; "
        "line 4: 7 is not a string; "
        "line 5: 'Zu\u0308rich' is the same as line 3; "
        "line 6: 'a\\ud800' is no Unicode text: it has half of a surrogate pair at place 1; "
        "line 7: 'tea' is the same as line 1"
    )


def test_a_candidate_that_comes_often_is_the_same_as_the_first() -> None:
    assert refusal(["tea"] * 3).endswith(
        "line 2: 'tea' is the same as line 1; line 3: 'tea' is the same as line 1"
    )


@given(st.integers(1, 30))
def test_five_are_listed_and_the_others_counted(wrong: int) -> None:
    message = refusal([*[""] * wrong, "tea"])
    assert message.startswith(f"{wrong} of {wrong + 1} strings cannot be taken: line 1: it is")
    assert message.count("it is empty") == min(wrong, 5)
    assert f"line {min(wrong, 5)}: it is empty" in message
    assert re.findall("; and .*", message) == ([f"; and {wrong - 5} more"] if wrong > 5 else [])


@pytest.mark.parametrize("wrong", ["tea", "", b"tea"])
def test_one_string_is_no_list(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^candidates are a list of strings, not one string$"):
        candidates(wrong)


def test_too_many_candidates_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MOST_CANDIDATES", 3)
    assert candidates(["a", "b", "c"]) == ("a", "b", "c")
    with pytest.raises(ValueError, match=r"^there are 4 candidates, at most 3 are allowed$"):
        candidates(["a", "b", "c", "d"])


@pytest.mark.parametrize(
    "texts",
    [
        ["tea", "mate"],
        ["u", "\u0308x", "ü"],  # a mark at the beginning joins nothing before it
        ["u\u0308", "tea"],
        ["\u1100", "\u1161"],  # two strings that would be one letter together
        [],
    ],
)
def test_normal_forms_of_many_are_those_of_each(texts: list[str]) -> None:
    assert strings.normals(texts) == [normal(text) for text in texts]


@pytest.mark.parametrize("wrong", ["", "a\ud800", 7])
def test_many_strings_are_refused_as_one_is(wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as alone:
        normal(wrong)
    with pytest.raises(type(alone.value)) as among:
        strings.normals(["tea", wrong, "Zürich"])
    assert str(among.value) == str(alone.value)
