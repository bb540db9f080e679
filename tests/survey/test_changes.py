"""What edits of a published survey do: each kind of edit, and that harmless ones are harmless."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs import Survey
from murmurs.cli import main
from murmurs.survey.changes import _TERMS, compare_surveys
from murmurs.survey.terms import FIELDS

TOML = """
name = "coffee"
version = 2
title = "Coffee"
every = "week"
lifetime_epsilon = 20
memory = "period"
period = "month"
opens = 2026-12-01
segments = ["north", "south"]

[[questions]]
name = "drink"
text = "What do you drink?"
labels = ["espresso", "filter", "tea"]
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}

[[questions]]
name = "cafe"
mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}

[[questions]]
name = "hot"
labels = ["yes", "no"]
epsilon = 1.0

[[questions]]
name = "size"
labels = ["small", "large"]
epsilon = 1.0

[[questions]]
name = "sugar"
labels = ["yes", "no", "honey"]
epsilon = 1.0

[[joint]]
name = "cup"
questions = ["hot", "size"]
"""
OLD = Survey.from_toml(TOML)
DOCUMENT = OLD.to_document()
QUESTION = {question["name"]: place for place, question in enumerate(DOCUMENT["questions"])}


def edited(*changes: Any) -> Survey:
    document = copy.deepcopy(DOCUMENT)
    for change in changes:
        change(document)
    return Survey.from_json(json.dumps(document))


def question(which: str, /, **fields: Any) -> Any:
    def change(document: dict[str, Any]) -> None:
        document["questions"][QUESTION[which]].update(fields)

    return change


def mechanism(which: str, /, **fields: Any) -> Any:
    return question(which, mechanism=fields)


def top(**fields: Any) -> Any:
    def change(document: dict[str, Any]) -> None:
        for name, value in fields.items():
            document.pop(name, None)
            if value is not None:
                document[name] = value

    return change


def without(name: str) -> Any:
    def change(document: dict[str, Any]) -> None:
        document["questions"] = [q for q in document["questions"] if q["name"] != name]

    return change


LOSUE = {"name": "LOSUE", "epsilon": 1.0, "epsilon_permanent": 2.0}
MILK = {"name": "milk", "labels": ["yes", "no"], "epsilon": 1.0}

EDITS: list[tuple[str, Any, set[tuple[str, str]]]] = [
    ("title", top(title="Tea"), {("harmless", "title")}),
    ("purpose", top(purpose="To know"), {("harmless", "purpose")}),
    ("owner", top(owner="me"), {("harmless", "owner")}),
    ("every", top(every="day"), {("harmless", "every")}),
    ("budget", top(lifetime_epsilon=None), {("harmless", "lifetime_epsilon")}),
    ("opens", top(opens="2026-12-02"), {("harmless", "opens")}),
    ("closes", top(closes="2027-12-02"), {("harmless", "closes")}),
    ("minimum", top(minimum_reports=5), {("harmless", "minimum_reports")}),
    ("budgets", top(epsilon_per={"month": 2}), {("harmless", "epsilon_per")}),
    ("draw", top(questions_each=1), {("harmless", "questions_each")}),
    ("period", top(period="week"), {("resets", "period")}),
    ("memory", top(memory="value", period=None), {("resets", "memory"), ("resets", "period")}),
    ("name", top(name="tea"), {("resets", "the name of the survey")}),
    ("back", top(version=1), {("breaks", "the version")}),
    ("text", question("drink", text="?"), {("harmless", "the text of 'drink'")}),
    ("ordered", question("hot", ordered=True), {("harmless", "the order of 'hot'")}),
    ("text in a joint", question("hot", text="Is it?"), {("harmless", "the text of 'hot'")}),
    ("scale", question("sugar", ordered=True), {("harmless", "the order of 'sugar'")}),
    ("candidates", question("cafe", labels=["Luna"]), {("harmless", "the labels of 'cafe'")}),
    (
        "labels reordered",
        question("sugar", labels=["no", "yes", "honey"]),
        {("breaks", "the labels of 'sugar'")},
    ),
    (
        "label renamed",
        question("sugar", labels=["yes", "no", "syrup"]),
        {("breaks", "the labels of 'sugar'")},
    ),
    (
        "labels of a kept response",
        question("drink", labels=["filter", "espresso", "tea"]),
        {("breaks", "the labels of 'drink'"), ("resets", "the labels of 'drink'")},
    ),
    (
        "label of a kept response added",
        question("drink", labels=["espresso", "filter", "tea", "mate"], mechanism=LOSUE),
        {
            ("breaks", "the labels of 'drink'"),
            ("resets", "the labels of 'drink'"),
            ("breaks", "the mechanism of 'drink'"),
            ("resets", "the mechanism of 'drink'"),
        },
    ),
    (
        "k",
        question("sugar", labels=["yes", "no"], mechanism={"name": "KRR", "epsilon": 1.0}),
        {("breaks", "the labels of 'sugar'"), ("breaks", "the mechanism of 'sugar'")},
    ),
    (
        "epsilon",
        mechanism("sugar", name="KRR", epsilon=1.5),
        {("breaks", "the mechanism of 'sugar'")},
    ),
    (
        "probability",
        mechanism("sugar", name="KRR", epsilon=1.0, truth=2**50),
        {("breaks", "the mechanism of 'sugar'")},
    ),
    (
        "kind",
        mechanism("sugar", name="OUE", epsilon=1.0),
        {("breaks", "the mechanism of 'sugar'")},
    ),
    (
        "second round",
        mechanism("drink", **{**LOSUE, "epsilon": 0.5}),
        {("breaks", "the mechanism of 'drink'")},
    ),
    (
        "first round",
        mechanism("drink", **{**LOSUE, "epsilon_permanent": 3.0}),
        {("breaks", "the mechanism of 'drink'"), ("resets", "the mechanism of 'drink'")},
    ),
    (
        "salt",
        mechanism("cafe", name="ORR", epsilon=2.0, width=8, cohorts=16, salt=9),
        {("breaks", "the mechanism of 'cafe'")},
    ),
    ("removed", without("sugar"), {("breaks", "question 'sugar'")}),
    (
        "renamed",
        question("sugar", name="sweet"),
        {("breaks", "question 'sugar'"), ("harmless", "question 'sweet'")},
    ),
    ("added", lambda d: d["questions"].append(MILK), {("harmless", "question 'milk'")}),
    (
        "joint removed",
        top(joint=None),
        {
            ("breaks", "question 'cup'"),
            ("harmless", "question 'hot'"),
            ("harmless", "question 'size'"),
        },
    ),
    (
        "a label of a kept response",
        question("drink", labels=["espresso", "filter", "mate"]),
        {("breaks", "the labels of 'drink'"), ("resets", "the labels of 'drink'")},
    ),
    (
        "text and order in a joint",
        question("hot", text="Is it hot?", ordered=True),
        {("harmless", "the text of 'hot'"), ("harmless", "the order of 'hot'")},
    ),
    (
        "order of questions",
        lambda d: d["questions"].reverse(),
        {("harmless", "the order of the questions")},
    ),
    (
        "joint of others",
        lambda d: d["joint"][0].update(questions=["hot", "sugar"]),
        {
            ("breaks", "joint 'cup'"),
            ("breaks", "question 'sugar'"),
            ("harmless", "question 'size'"),
        },
    ),
    (
        "joint turned",
        lambda d: d["joint"][0].update(questions=["size", "hot"]),
        {("breaks", "joint 'cup'")},
    ),
    (
        "joint once",
        lambda d: d["joint"][0].update(once=True),
        {("breaks", "joint 'cup'")},
    ),
    (
        "label in a joint",
        question("hot", labels=["no", "yes"]),
        {("breaks", "joint 'cup'")},
    ),
    ("segment added", top(segments=["north", "south", "west"]), {("harmless", "the segments")}),
    ("segments reordered", top(segments=["south", "north"]), {("breaks", "the segments")}),
    ("segments removed", top(segments=None), {("breaks", "the segments")}),
]


@pytest.mark.parametrize(("edit", "wanted"), [e[1:] for e in EDITS], ids=[e[0] for e in EDITS])
def test_each_kind_of_edit_is_told(edit: Any, wanted: set[tuple[str, str]]) -> None:
    found = compare_surveys(OLD, edited(edit))
    assert {(change.kind, change.what) for change in found.changes} == wanted
    assert found.refused == any(kind == "breaks" for kind, _ in wanted)
    assert found.old.fingerprint != found.new.fingerprint


FORWARD = [e for e in EDITS if e[0] != "back"]


@pytest.mark.parametrize("edit", [e[1] for e in FORWARD], ids=[e[0] for e in FORWARD])
def test_a_higher_version_allows_every_edit(edit: Any) -> None:
    found = compare_surveys(OLD, edited(edit, top(version=3)))
    assert found.version_raised
    assert not found.refused


def test_a_new_question_is_told_with_what_it_costs_a_device() -> None:
    kept = {"name": "LOSUE", "epsilon": 1.0, "epsilon_permanent": 3.0}
    new = edited(
        lambda d: d["questions"].append({"name": "late", "labels": ["a", "b"], "mechanism": kept}),
        lambda d: d["questions"].append({"name": "soon", "labels": ["a", "b"], "epsilon": 1.0}),
    )
    told = {change.what: change.follows for change in compare_surveys(OLD, new).changes}
    assert told == {
        "question 'late'": "it is new; each permanent response costs epsilon 3",
        "question 'soon'": "it is new; each report costs epsilon 1",
    }


@pytest.mark.parametrize(
    ("before", "after", "what", "follows"),
    [
        ("lifetime_epsilon = 9", "", "lifetime_epsilon", "no lifetime budget stops devices"),
        ("", "lifetime_epsilon = 9", "lifetime_epsilon", "devices stop at the new budget"),
        ("epsilon_per = {week = 1}", "", "epsilon_per", "no budget of a week stops devices"),
        (
            "epsilon_per = {week = 1, month = 2, year = 3}",
            "epsilon_per = {month = 2}",
            "epsilon_per",
            "no budget of a week or year stops devices",
        ),
        (
            "epsilon_per = {month = 2}",
            "epsilon_per = {month = 3, day = 1}",
            "epsilon_per",
            "devices stop at the new budget",
        ),
        ('every = "week"', "", "every", "devices answer as often as they are asked"),
        ("", 'every = "week"', "every", "devices answer at other intervals"),
    ],
)
def test_a_limit_that_is_gone_is_told_as_that(
    before: str, after: str, what: str, follows: str
) -> None:
    question = '[[questions]]\nname = "hot"\nlabels = ["yes", "no"]\nepsilon = 1.0\n'
    old, new = (Survey.from_toml(f'name = "s"\n{terms}\n{question}') for terms in (before, after))
    [change] = compare_surveys(old, new).changes
    assert change.what == what
    assert change.follows.startswith(follows)


def test_every_term_is_known() -> None:
    assert set(_TERMS) == set(FIELDS)


def test_nothing_differs_between_a_survey_and_itself() -> None:
    for survey in (OLD, *(edited(edit) for _, edit, _ in EDITS)):
        found = compare_surveys(survey, survey)
        assert found.changes == ()
        assert found.addable == tuple(asked.name for asked in survey.reported)
        assert not found.refused


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(range(len(EDITS))), min_size=1, max_size=4, unique=True))
def test_counts_add_up_unless_an_edit_breaks_them(numbers: list[int]) -> None:
    """For any combination of edits that gives a survey."""
    try:
        new = edited(*(EDITS[number][1] for number in numbers))
    except (ValueError, KeyError, IndexError):
        return
    found = compare_surveys(OLD, new)
    broken = {c.what.rpartition(" ")[2] for c in found.changes if c.kind == "breaks"}
    rng = np.random.default_rng(1)
    for asked in OLD.reported:
        if repr(asked.name) in broken:
            continue
        assert asked.name in found.addable
        other = new.asked(asked.name)
        some: Any = {"a": 30} if asked.name == "cafe" else np.full(getattr(asked, "sizes", (2,)), 5)
        if asked.name in ("drink", "sugar"):
            some = [5, 6, 7]
        one, more = asked.simulate(some, rng), other.simulate(some, rng)
        together = one + more if asked.name != "drink" else one
        assert together.mechanism == asked.mechanism
    for name in found.addable:
        assert OLD.asked(name).mechanism == new.asked(name).mechanism


def test_a_combination_with_a_permanent_response_is_reset_with_its_labels() -> None:
    toml = """
name = "cups"
memory = "value"
[[questions]]
name = "hot"
labels = ["yes", "no"]
epsilon = 1.0
[[questions]]
name = "size"
labels = ["small", "large"]
epsilon = 1.0
[[joint]]
name = "cup"
questions = ["hot", "size"]
once = true
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}
"""
    old = Survey.from_toml(toml)
    new = Survey.from_toml(toml.replace('["small", "large"]', '["large", "small"]'))
    found = compare_surveys(old, new)
    assert {(c.kind, c.what) for c in found.changes} == {
        ("breaks", "joint 'cup'"),
        ("resets", "joint 'cup'"),
    }
    assert found.addable == ()


def run(tmp_path: Path, new: Survey, *options: str) -> Any:
    (tmp_path / "old.json").write_text(OLD.to_json(), encoding="utf-8")
    (tmp_path / "new.json").write_text(new.to_json(), encoding="utf-8")
    files = [str(tmp_path / "old.json"), str(tmp_path / "new.json")]
    return CliRunner().invoke(main, ["diff", *files, *options])


def test_the_command_refuses_edits_that_break_with_status_one(tmp_path: Path) -> None:
    done = run(tmp_path, edited(question("sugar", labels=["no", "yes", "honey"]), top(title="T")))
    assert done.exit_code == 1
    assert (
        "Refused: edits that break the decoding of reports need a version above 2." in done.output
    )
    assert "Counts of both may be added for 'drink', 'cafe', 'cup'." in done.output
    lines = [line.split()[0] for line in done.output.splitlines()[2:4]]
    assert lines == ["breaks", "harmless"]
    raised = run(tmp_path, edited(question("sugar", labels=["no", "yes", "honey"]), top(version=3)))
    assert raised.exit_code == 0
    assert "Refused" not in raised.output


def test_a_harmless_edit_needs_a_version_for_collectors_too(tmp_path: Path) -> None:
    sentence = "A collector that has version 2 takes the new survey only under a version above 2."
    done = run(tmp_path, edited(question("hot", text="Is it?")))
    assert done.exit_code == 0
    assert sentence in " ".join(done.output.split())  # lines may break anywhere
    raised = run(tmp_path, edited(question("hot", text="Is it?"), top(version=3)))
    assert sentence not in " ".join(raised.output.split())


def test_the_command_prints_json(tmp_path: Path) -> None:
    done = run(tmp_path, edited(without("sugar")), "--json")
    document = json.loads(done.output)
    assert done.exit_code == 1
    assert document["refused"]
    assert document["changes"] == [
        {"kind": "breaks", "what": "question 'sugar'", "follows": "it is no longer asked"}
    ]
    assert document["addable"] == ["drink", "cafe", "cup"]
    assert document["old"] == {"fingerprint": OLD.fingerprint, "version": 2}


def test_a_renamed_question_and_one_that_joined_others_are_told_as_such(tmp_path: Path) -> None:
    renamed = compare_surveys(OLD, edited(question("drink", name="cup of")))
    [gone] = [c for c in renamed.changes if c.kind == "breaks"]
    assert gone.follows == (
        "it seems to be renamed to 'cup of': keep its name; its permanent responses are drawn again"
    )
    joined = compare_surveys(
        OLD, edited(lambda d: d["joint"].append({"name": "new", "questions": ["sugar", "cafe"]}))
    )
    assert {c.follows for c in joined.changes if c.kind == "breaks"} == {
        "it is now reported together with others, in 'new'"
    }


def test_the_command_says_when_nothing_differs(tmp_path: Path) -> None:
    done = run(tmp_path, OLD)
    assert done.exit_code == 0
    assert done.output == f"Nothing differs: both have the fingerprint {OLD.short_fingerprint}.\n"


def test_what_a_draw_of_questions_does_is_told() -> None:
    one, two, off = (edited(top(questions_each=each)) for each in (1, 2, None))
    [change] = compare_surveys(one, two).changes
    assert change.follows == (
        "devices draw 2 of 4, for at most epsilon 4 each time; before, 1 of 4, for at most epsilon "
        "2 each time"
    )
    [change] = compare_surveys(one, off).changes
    assert "draw all of 4, for at most epsilon 7 each time; before, 1 of 4" in change.follows
    [change, _] = compare_surveys(one, edited(top(questions_each=1), without("sugar"))).changes
    assert (change.what, change.follows) == (
        "the draw of questions",
        "devices draw anew: 1 of 3, for at most epsilon 2 each time",
    )
    assert set(compare_surveys(one, two).addable) == {"drink", "cafe", "sugar", "cup"}
    assert "the draw of questions" in {
        change.what
        for change in compare_surveys(one, edited(top(questions_each=1, every="day"))).changes
    }


def test_a_new_question_without_an_epsilon_is_told_as_that() -> None:
    def add(document: dict[str, Any]) -> None:
        design = {"name": "Design", "matrix": [["1", "1/4"], ["0", "3/4"]]}
        new = {"name": "cheated", "text": "", "labels": ["yes", "no"], "mechanism": design}
        document["questions"].append(new)

    [change] = compare_surveys(OLD, edited(add)).changes
    assert change.follows == "it is new; each report costs more than any epsilon"
