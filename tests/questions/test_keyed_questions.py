"""Questions take `Keyed` too: keys belong to the rows as they are given, and names tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs import Keyed
from murmurs.files.encoding import encode_file
from murmurs.questions.asked import Asked

SECRET = bytes(range(32))
N = 600
KEYS = np.arange(N) + 7

DRINK = mm.Question("drink", ["tea", "mate", "rum"], epsilon=1.0)
SUGAR = mm.Question("sugar", ["yes", "no"], epsilon=1.0)
PET = mm.Question("pet", mechanism=mm.ORR(epsilon=2.0, width=8, cohorts=64))
WORD = mm.Dictionary(4.0, longest=6)

DRINKS = [["tea", "mate", "rum"][i % 3] for i in range(N)]
SUGARS = [["yes", "no"][i % 2] for i in range(N)]
PETS = [f"pet {i % 40}" for i in range(N)]

CASES: dict[str, tuple[Asked, Any]] = {
    "labels": (DRINK, DRINKS),
    "strings": (PET, PETS),
    "dictionary": (WORD, PETS),
    "joint": (mm.Joint(DRINK, SUGAR), [DRINKS, SUGARS]),
    "combination": (mm.Joint(DRINK, SUGAR, once=True), [DRINKS, SUGARS]),
    "open joint": (mm.Joint(PET, SUGAR), [PETS, SUGARS]),
}
every = pytest.mark.parametrize(("asked", "answers"), CASES.values(), ids=list(CASES))


def keyed(keys: Any = KEYS) -> Keyed:
    return Keyed(SECRET, ("fingerprint",), keys)


def rows(asked: Asked, answers: Any, chosen: list[int]) -> Any:
    if asked.is_joint:
        return [[column[i] for i in chosen] for column in answers]
    return [answers[i] for i in chosen]


@every
def test_rows_have_the_same_reports_in_any_order_and_part(asked: Asked, answers: Any) -> None:
    together = asked.encode_column(answers, keyed())
    order = np.random.default_rng(1).permutation(N)
    found: dict[int, Any] = {}
    for part in np.array_split(order, 9):
        own = rows(asked, answers, part.tolist())
        made = asked.encode_column(own, keyed(KEYS[part]))
        found |= dict(zip(part.tolist(), made, strict=True))
    assert [found[i] for i in range(N)] == together


@every
def test_keys_of_rows_that_are_left_out_are_left_out(asked: Asked, answers: Any) -> None:
    gone = {3, 4, 599}
    holes: Any = [list(column) for column in (answers if asked.is_joint else [answers])]
    for i in gone:
        holes[0][i] = None
    given = holes if asked.is_joint else holes[0]
    kept = [i for i in range(N) if i not in gone]
    made = asked.encode_many(given, keyed(), drop_missing=True)
    wanted = asked.encode_many(answers, keyed())[kept]
    assert np.array_equal(made, wanted)
    with pytest.raises(ValueError, match="there are 597 keys and 600 answers"):
        asked.encode_many(given, keyed(KEYS[kept]), drop_missing=True)


def test_two_questions_with_the_same_mechanism_have_different_chance() -> None:
    """With the same chance, equal reports would tell that two people answered alike."""
    other = mm.Question("second", ["tea", "mate", "rum"], epsilon=1.0)
    assert not np.array_equal(
        DRINK.encode_many(DRINKS, keyed()), other.encode_many(DRINKS, keyed())
    )


def test_files_refuse_it_as_they_have_rows_of_their_own(tmp_path: Path) -> None:
    source, survey = tmp_path / "people.csv", mm.Survey("s", (DRINK,))
    source.write_text("drink\ntea\n")
    with pytest.raises(TypeError, match="Keyed is the chance of rows"):
        encode_file(source, tmp_path / "r.bin", survey, DRINK, "drink", random=keyed([1]))
