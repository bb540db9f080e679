"""Questions with several answers: what an answer may be, and what goes in and out."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import murmurs as mm
from murmurs.cli import main
from murmurs.questions.kinds import asked_from_document
from murmurs.questions.several.question import Several
from murmurs.survey.promise import promise

LABELS = ("car", "bike", "boat", "kayak", "sled")
OWNS = mm.Question("owns", LABELS, several=True, most=3, epsilon=2.0)
ROWS = [[0, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
SETS = [(1, 4), (), (0,)]
NAMES = [["sled", "bike"], [], ["car"]]


def test_it_is_a_question_that_is_copied_and_kept() -> None:
    assert isinstance(OWNS, mm.Question)
    assert isinstance(OWNS, Several)
    assert pickle.loads(pickle.dumps(OWNS)) == copy.copy(OWNS) == OWNS
    assert asked_from_document(OWNS.to_document()) == OWNS
    other = mm.Question("owns", LABELS, several=True, most=2, epsilon=2.0)
    assert other != OWNS
    assert OWNS.with_mechanism(mm.PrivSet(5, 3, 1.0)).epsilon == 1.0


FORMS: dict[str, Any] = {
    "lists": NAMES,
    "sets": [set(NAMES[0]), frozenset(), {"car"}],
    "texts": ["sled; bike", ";", "car"],
    "array of texts": np.array(["sled;bike", "", "car"]),
    "pandas of lists": pd.Series(NAMES),
    "polars of lists": pl.Series(NAMES),
    "arrow of lists": pa.array(NAMES),
    "categories": pd.Series(["bike;sled", ";", "car"], dtype="category"),
    "zeros and ones": np.array(ROWS),
    "frame of pandas": pd.DataFrame(ROWS, columns=LABELS),
    "frame of booleans, in another order": pd.DataFrame(ROWS, columns=LABELS, dtype=bool)[
        list(reversed(LABELS))
    ],
    "frame of polars": pl.DataFrame(np.array(ROWS), schema=list(LABELS), orient="row"),
    "table of arrow": pa.table({name: [row[i] for row in ROWS] for i, name in enumerate(LABELS)}),
    "columns": {name: [row[i] for row in ROWS] for i, name in enumerate(LABELS)},
}


@pytest.mark.parametrize("form", FORMS)
def test_answers_are_read_in_all_forms_that_people_have(form: str) -> None:
    codes, sets = OWNS.coded_answers(FORMS[form])
    assert [sets[code] for code in codes.tolist()] == SETS


BAD: dict[str, tuple[Any, str]] = {
    "twice": (["car;secret1;car"], "label that is none"),
    "the same tick twice": ([[], ["car", "car"]], r"answer number 1 .* the same label twice"),
    "unknown": ([[], [], ["secret"]], r"answer number 2 .* none of question 'owns'"),
    "too many": ([["car", "bike", "boat", "sled"]], r"number 0 .* more labels than the 3 .*sample"),
    "not a collection": ([[], 71], r"answer number 1 .* a collection of labels"),
    "missing": ([[], None], "drop_missing"),
    "one text": ("car", "a list or a column"),
    "a set of answers": ({"car"}, "a list or a column"),
    "a number": (5, "a list or a column"),
    "another table": (np.zeros((2, 3)), "a column of zeros and ones for each label"),
    "columns left out": ({"car": [1]}, "a column of zeros and ones for each label"),
    "columns of two lengths": ({name: [1] * (1 + (name == "car")) for name in LABELS}, "lengths"),
    "twos": (np.full((1, 5), 2), r"number 0 .* the tick of 'car' is not 0 or 1"),
    "a gap": ({name: [1, None] for name in LABELS}, r"number 1 .* tick of 'car' is missing"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_answers_are_refused_with_position_and_way_out(kind: str) -> None:
    answers, rule = BAD[kind]
    with pytest.raises((TypeError, ValueError), match=rule) as error:
        OWNS.encode_many(answers)
    assert "secret" not in str(error.value)
    assert "71" not in str(error.value)


def test_missing_and_unknown_answers_are_taken_as_said() -> None:
    given = [["car"], None, ["submarine", "canoe"]]
    codes, sets = OWNS.coded_answers(given, missing=";", unknown="boat")
    assert [sets[code] for code in codes.tolist()] == [(0,), (), (2,)]
    assert OWNS.count(OWNS.encode_many(given[:2], drop_missing=True)).n == 1
    assert OWNS.numbers([["car", "sled"], ";"]).tolist() == [2, 0]
    with pytest.raises(ValueError, match="choose one of the two"):
        OWNS.encode_many(given, missing=";", drop_missing=True)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"most": 6}, "most"),
        ({"most": 0}, "most"),
        ({"more": "drop"}, "more must be"),
        ({"people": 5}, "people is for one answer"),
        ({"open": True}, "open is for one answer"),
        ({"range": (0, 5)}, "range is for one answer"),
        ({"epsilon": None}, "needs a mechanism, or an epsilon"),
        ({"labels": ()}, "needs labels"),
        ({"labels": ("a;b", "c", "d")}, "labels have no ';'"),
        ({"labels": ("a", "a", "b")}, "twice"),
        ({"mechanism": mm.KRR(5, 1.0), "epsilon": None}, "takes one"),
        ({"mechanism": mm.PrivSet(4, 3, 1.0), "epsilon": None}, "takes 4"),
        ({"mechanism": mm.PrivSet(5, 2, 1.0), "epsilon": None}, "at most 2"),
        ({"mechanism": mm.PrivSet(5, 3, 1.0)}, "leave epsilon and pairs out"),
        ({"several": "yes"}, "several must be True or False"),
        ({"several": False}, "most, more and pairs are for several=True"),
    ],
)
def test_questions_that_cannot_be_are_refused(fields: dict[str, Any], rule: str) -> None:
    given: dict[str, Any] = {"labels": LABELS, "several": True, "most": 3, "epsilon": 1.0}
    with pytest.raises((TypeError, ValueError), match=rule):
        mm.Question("owns", **given | fields)


def test_without_a_limit_all_may_be_ticked() -> None:
    free = mm.Question("owns", LABELS, several=True, epsilon=1.0)
    assert isinstance(free, Several)
    assert free.most == 5
    assert free.answer(LABELS) == (0, 1, 2, 3, 4)


def test_too_many_ticks_are_sampled_down_if_that_was_declared() -> None:
    asked = mm.Question("owns", LABELS, several=True, most=2, more="sample", epsilon=8.0)
    found = asked.estimate(asked.simulate({LABELS[:4]: 10**8}, np.random.default_rng(1)))
    np.testing.assert_allclose(found.unbiased, [0.5] * 4 + [0], atol=1e-3)
    assert any("2 were kept at random" in note for note in found.notes)
    assert len(asked.encode(LABELS)) == asked.mechanism.w  # type: ignore[union-attr]


def test_it_is_in_no_joint() -> None:
    sex = mm.Question("sex", ["f", "m"], epsilon=1.0)
    with pytest.raises(ValueError, match="takes several answers, and is asked by itself"):
        mm.Joint(OWNS, sex)


def test_a_population_is_given_in_several_forms() -> None:
    pairs = [(["car", "bike"], 600), ([], 400)]
    forms: list[Any] = [pairs, {("bike", "car"): 600, (): 400}, {"car;bike": 600, ";": 400}]
    made = [OWNS.simulate(form, np.random.default_rng(1)) for form in forms]
    assert made[0] == made[1] == made[2]
    for bad, rule in (
        ([600, 400], "pairs of a set"),
        ({"secret": 5}, "none of question"),
        (5, "a mapping from"),
    ):
        with pytest.raises((TypeError, ValueError), match=rule):
            OWNS.simulate(bad)


def test_a_file_of_answers_becomes_an_estimate_at_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(
        'name = "s"\n[[questions]]\nname = "owns"\nlabels = ["car", "bike", "boat"]\n'
        "several = true\nmost = 2\nepsilon = 4.0\n"
    )
    texts = ["car;bike"] * 1500 + [";"] * 500
    Path("a.csv").write_text("owns\n" + "".join(f"{text}\n" for text in texts))
    Path("p.csv").write_text("bike;car,3000\n;,1000\n")

    def run(line: str, given: str | None = None) -> str:
        return CliRunner().invoke(main, line.split(), given).output

    run("publish s.toml -o s.json")
    run("encode s.json a.csv --column owns --question owns --seed 1 -o r.bin")
    run("count s.json r.bin -o c.json")
    found = run("estimate c.json")
    assert "People tick 1." in found
    assert "car" in found
    run("simulate s.json p.csv --question owns --seed 1 -o d.json")
    assert "bike" in run("compare c.json d.json")
    assert "bike" in run("trend c.json d.json")
    for bad in ("car;car", "car;rocket", "car;bike;boat", "rocket"):
        told = " ".join(run("encode s.json - --question owns -o zz", f"car\n{bad}\n").split())
        assert "line 2: this is not an answer to 'owns'; an answer is at most 2 different" in told
        assert "rocket" not in told


def test_several_false_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match="several = false: leave it out"):
        mm.Survey.from_toml(
            'name = "s"\n[[questions]]\nname = "owns"\nlabels = ["a", "b"]\nseveral = false\n'
            "epsilon = 1.0"
        )
    with pytest.raises(ValueError, match="add several = true"):
        mm.Survey.from_toml(
            'name = "s"\n[[questions]]\nname = "owns"\nlabels = ["a", "b"]\n'
            'mechanism = {name = "PrivSet", most = 1, epsilon = 1.0}'
        )


def test_the_promise_is_about_all_ticks_together() -> None:
    said = " ".join(promise(mm.Survey("s", (OWNS,)), OWNS).split())
    assert "7.39 times as likely as with any other ticks, however many (epsilon 2)" in said
