"""All that is printed for people fits 80 columns, however many weeks and however long a label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.present.layout import WIDTH, fold, split, width
from murmurs.present.text import table
from murmurs.questions.joint import compare_tables

LONG = "I would rather come by car or by train, depending on the weather and on the hour"
WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
LABELS = (LONG, WORD, "緑茶" * 30, "tea")
RNG = np.random.default_rng(1)


def asked(name: str = "drink", labels: tuple[str, ...] = LABELS, **options: Any) -> mm.Question:
    return mm.Question(name, labels, epsilon=2.0, text=f"{LONG}?", **options)


def weeks(count: int, labels: tuple[str, ...] = LABELS) -> list[mm.Estimate]:
    question = asked(labels=labels)
    people = [4000, 3000, 2000, 1000]
    return [question.estimate(question.simulate(people, RNG)) for _ in range(count)]


def joined() -> mm.JointEstimate:
    both = mm.Joint(asked("one"), asked("a question with a name that is rather long, too"))
    return both.estimate(both.simulate(np.full((4, 4), 300), RNG))


def three() -> mm.JointEstimate:
    all_of = mm.Joint(*(asked(name) for name in ("one", "two", "three")))
    return all_of.estimate(all_of.simulate(np.full((4, 4, 4), 100), RNG))


def studied() -> Any:
    return mm.study(
        ["KRR", "ProjectiveGeometry", "CountMeanSketch"],
        answers=[8, 16],
        people=[100, 1_000_000],
        epsilons=[0.5, 1.25],
        laws=["zipf", "geometric"],
        estimators=["default", "normalized"],
        repetitions=2,
        random=1,
    )


PRINTED = {
    "estimate": lambda: weeks(1)[0],
    "difference": lambda: weeks(1)[0].difference(weeks(1)[0], names=(LONG, "a short name")),
    "12 weeks": lambda: mm.trend(weeks(12), [f"2026-W{number}" for number in range(40, 52)]),
    "12 long names": lambda: mm.trend(weeks(12), [f"{LONG} {number}" for number in range(12)]),
    "joint": joined,
    "three": three,
    "segments": lambda: compare_tables({LONG: joined(), "south": joined()}),
    "conditional": lambda: joined().conditional_shares("one"),
    "screening": lambda: three().screening(),
    "study": studied,
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_fits_80_columns(name: str) -> None:
    text = str(PRINTED[name]())
    assert max(map(width, text.split("\n"))) <= WIDTH, text


def test_twelve_weeks_are_in_tables_below_each_other_with_every_number() -> None:
    labels = ("espresso", "filter", "tea", "nothing")
    found = mm.trend(weeks(12, labels), [f"week {number}" for number in range(1, 13)])
    text = found.table()
    assert text.count("espresso") > 1
    for number in range(1, 13):
        assert text.count(f"week {number} ") + text.count(f"week {number}\n") == 1
    for share, (low, high) in zip(
        found.shares.ravel(), found.interval().reshape(2, -1).T, strict=True
    ):
        assert f"{100 * share:.1f} %" in text
        assert f"{100 * low:.1f} … {100 * high:.1f}" in text
    assert text.endswith("\n\nBelow each share and slope is its 95 % interval.")
    assert "80 % interval" in found.table(level=0.8)


def test_a_table_that_fits_is_left_as_it_is_and_a_wide_one_keeps_its_numbers() -> None:
    rows = [[LONG, "1 %", "2 %"], ["tea", "3 %", "4 %"]]
    text = table(["answer", "share", "a very long heading of numbers"], rows)
    assert max(map(width, text.split("\n"))) <= WIDTH
    assert " ".join(text.split()).count("1 % 2 %") == 1
    assert "heading" in text
    assert text.replace("\n", " ").count("weather") == 1
    assert table(["a", "b"], [["x", "1"]]) == "a  b\n─  ─\nx  1"


def test_columns_of_several_tables_are_spread_evenly() -> None:
    heads = [f"week {number}" for number in range(1, 13)]
    text = table(["answer", *heads], [["tea", *["12.3 … 45.6"] * 12]])
    assert [part.count("week") for part in text.split("\n\n")] == [4, 4, 4]
    assert table(["edit", "of"], [["x" * 60, "y" * 60]], left=2).count("edit") == 1


def test_long_labels_have_four_lines_at_most() -> None:
    text = table(["answer", "share"], [[f"{LONG} " * 20, "5 %"]])
    lines = text.split("\n")
    assert len(lines) == 2 + 4
    assert lines[-1].endswith("…")


def test_folded_lines_keep_their_indent_and_long_words_whole() -> None:
    path = "/a/very/long/path" * 8
    assert fold(f"written to {path}") == f"written to\n{path}"
    assert all(line.startswith("  ") for line in fold("  " + "word " * 40).rstrip().split("\n"))
    assert fold("a\n\nb") == "a\n\nb"
    text = "the quick brown fox " * 30
    assert " ".join(fold(text).split()) == " ".join(text.split())
    assert "".join(split(WORD, 7)) == WORD


def test_changes_that_do_not_add_up_to_zero_are_explained() -> None:
    """Unbiased shares of OUE do not add up to one; those of KRR do."""
    sides = {
        kind: [mm.estimate(kind(4, 2.0).simulate([400, 300, 200, 100], RNG)) for _ in range(2)]
        for kind in (mm.OUE, mm.KRR)
    }
    (a, b), (c, d) = sides[mm.OUE], sides[mm.KRR]
    note = "changes are of unbiased shares, which need not add up to 100 %"
    assert abs(100 * a.difference(b).shares.sum()) >= 0.1
    assert note in a.difference(b).notes
    assert note not in c.difference(d).notes
