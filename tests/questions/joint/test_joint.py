"""Questions asked together: labels in, rows aligned, tables out, and bad input refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import murmurs as mm
from murmurs import Dictionary, Joint, Question
from murmurs.mechanisms import KRR, ORR, Design, OpenProduct, ORappor, Product
from murmurs.mechanisms.designs.known import crosswise
from murmurs.questions.kinds import asked_from_document

DRINK = Question("drink", ["tea", "mate", "water"], KRR(k=3, epsilon=40.0))
SUGAR = Question("sugar", ["yes", "no"], KRR(k=2, epsilon=40.0))
WORD = Question("word", (), ORR(epsilon=4.0, width=16, cohorts=8))
BOTH, ONCE = Joint(DRINK, SUGAR), Joint(DRINK, SUGAR, once=True)
FRAME = pd.DataFrame(
    {
        "sugar": ["yes", "no", "no", "yes", "yes", "no"],
        "person": range(6),
        "drink": ["tea", "tea", "mate", "water", "water", "water"],
    }
)
TABLE = pd.crosstab(FRAME["drink"], FRAME["sugar"])
both_ways = pytest.mark.parametrize("joint", [BOTH, ONCE], ids=["product", "once"])


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


# What goes in


DATA: dict[str, Any] = {
    "pandas": FRAME,
    "pandas categories": FRAME.astype({"drink": "category"}),
    "polars": pl.DataFrame(FRAME),
    "Arrow": pa.Table.from_pandas(FRAME),
    "mapping": {name: FRAME[name].tolist() for name in FRAME},
    "mapping of tuples": {name: tuple(FRAME[name]) for name in FRAME},
    "columns": [FRAME["drink"].tolist(), FRAME["sugar"].to_numpy()],
    "booleans": {"drink": FRAME["drink"], "sugar": FRAME["sugar"] == "yes"},
    "records": FRAME[["sugar", "drink"]].to_records(index=False),
}


@both_ways
@pytest.mark.parametrize("form", DATA)
def test_answers_in_every_form_give_the_same_reports(form: str, joint: Joint) -> None:
    wanted = joint.encode_many(DATA["columns"], rng())
    assert np.array_equal(joint.encode_many(DATA[form], rng()), wanted)


@both_ways
def test_without_noise_the_table_is_that_of_the_answers(joint: Joint) -> None:
    counts = joint.count(joint.encode_many(FRAME, rng()))
    found = joint.estimate(counts, "unbiased")
    truth = TABLE.loc[list(DRINK.labels), list(SUGAR.labels)] / len(FRAME)
    assert found.crosstab() == pytest.approx(truth.to_numpy(), abs=1e-9)
    pd.testing.assert_frame_equal(found.to_crosstab(), truth, atol=1e-9)
    assert joint.count(joint.encode_column(FRAME, rng())) == counts


@both_ways
def test_one_person_is_encoded_as_many_are(joint: Joint) -> None:
    shape = joint.mechanism.shape
    for drink, sugar in zip(FRAME["drink"], FRAME["sugar"], strict=True):
        many = joint.encode_many({"drink": [drink], "sugar": [sugar]}, rng())
        assert joint.encode((drink, sugar), rng()) == shape.unstack(many)[0]


def test_combinations_are_numbered_with_the_last_question_first() -> None:
    assert ONCE.encode(("mate", "no"), rng()) == 1 * 2 + 1
    assert BOTH.encode(("mate", "no"), rng()) == (1, 1)
    assert ONCE.labels == BOTH.labels
    assert BOTH.labels[3] == "mate × no"


@both_ways
def test_a_row_is_left_out_if_any_of_its_answers_is_missing(joint: Joint) -> None:
    data = {"drink": ["tea", None, "mate", "tea"], "sugar": ["no", "yes", None, "yes"]}
    reports = joint.encode_many(data, rng(), drop_missing=True)
    kept = joint.encode_many({"drink": ["tea", "tea"], "sugar": ["no", "yes"]}, rng())
    assert np.array_equal(reports, kept)
    filled = joint.encode_many(
        data, rng(), drop_missing=True, missing={"sugar": "no"}, unknown={"drink": "water"}
    )
    kept = joint.encode_many({"drink": ["tea", "mate", "tea"], "sugar": ["no", "no", "yes"]}, rng())
    assert np.array_equal(filled, kept)


def test_one_label_may_stand_for_missing_answers_to_all_questions() -> None:
    labels = ["yes", "no", "unsaid"]
    joint = Joint(*(Question(name, labels, KRR(k=3, epsilon=40.0)) for name in "ab"))
    reports = joint.encode_many(
        [["yes", None], [None, "odd"]], rng(), missing="unsaid", unknown="no"
    )
    assert joint.mechanism.shape.unstack(reports) == [(0, 2), (2, 1)]


BAD_DATA: list[tuple[Any, dict[str, Any], str]] = [
    ({"drink": ["tea", "tea"], "sugar": ["no"]}, {}, "2 answers to 'drink' and 1 to 'sugar': one"),
    ({"drink": ["tea"]}, {}, "no column called 'sugar'"),
    (
        {"drink": pd.Series(["tea", "tea"]), "sugar": pd.Series(["no", "no"], index=[1, 0])},
        {},
        "'drink' and 'sugar' have different indexes",
    ),
    ({"drink": ["tea"], "sugar": [None]}, {}, "question 'sugar': 1 of 1 answers is missing"),
    ({"drink": ["tea", "chai"], "sugar": ["no", "no"]}, {}, "1 of 2 answers is not a label of"),
    ([["tea"]], {}, "answers to 2 questions are as many columns, not 1"),
    ([("tea", "no"), ("tea", "no")], {}, "may be rows: give rows as dict"),
    ("tea", {}, "not str"),
    (np.array([["tea", "no"]]), {}, "not an array: give its rows as dict"),
    (FRAME, {"missing": {"cups": "no"}}, "missing names 'cups', which is none of the questions"),
    (FRAME, {"missing": "no", "drop_missing": True}, "choose one of the two"),
    (FRAME, {"unknown": "no"}, "unknown must be one of the labels 'tea'"),
    (pd.concat([FRAME, FRAME], axis=1), {}, "has 2 columns called 'drink'"),
]


@pytest.mark.parametrize(("data", "options", "rule"), BAD_DATA, ids=[r for *_, r in BAD_DATA])
def test_bad_answers_are_refused(data: Any, options: dict[str, Any], rule: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        BOTH.encode_many(data, rng(), **options)
    assert rule in str(caught.value)
    assert "chai" not in str(caught.value)


@pytest.mark.parametrize("answer", ["tea", ("tea",), ("tea", "no", "yes"), ["tea", "no"]])
def test_an_answer_is_a_tuple_with_an_answer_to_each_question(answer: Any) -> None:
    with pytest.raises(
        TypeError, match=r"is a tuple of 2 answers in this order, not (str|\d of|li)"
    ):
        BOTH.encode(answer)


def test_a_document_of_joints_within_a_joint_is_refused() -> None:
    inner = BOTH.to_document()
    with pytest.raises(ValueError, match="not a question: Object contains unknown field"):
        asked_from_document({"name": "x", "questions": [inner, inner["questions"][0]]})


def test_a_bad_string_is_refused_with_the_name_of_its_question() -> None:
    word = Question("word", (), ORR(epsilon=1.0, width=4, cohorts=3))
    with pytest.raises(TypeError, match=r"question 'word': ") as error:
        Joint(SUGAR, word).encode(("yes", 71))
    assert "71" not in str(error.value)


def test_a_dictionary_is_asked_together_with_other_questions() -> None:
    pets = Dictionary(epsilon=4.0, longest=4, alphabet="aelnou", name="pet")
    joint = Joint(pets, SUGAR)
    people = {("luna", "yes"): 9000, ("leo", "no"): 6000}
    counts = joint.simulate(people, rng())
    with pytest.raises(ValueError, match=r"counts of several questions: .* counts.margin"):
        pets.discover(counts)
    found = pets.discover(counts.margin(0)).labels
    assert found == ("luna", "leo")
    table = joint.estimate(counts, candidates={"pet": found}).crosstab()
    assert table[0, 0] == pytest.approx(0.6, abs=0.05)  # (luna, yes): five standard errors


# How it is made


def test_parts_may_be_mechanisms() -> None:
    joint = Joint(KRR(k=2, epsilon=1.0), Design([[0.6, 0.3], [0.4, 0.7]]), ORR(2.0, 8, 4))
    assert joint.names == ("0", "1", "2")
    assert joint.questions[0].labels == ("0", "1")
    assert joint.name == "0+1+2"
    assert isinstance(joint.mechanism, OpenProduct)
    assert joint.epsilon == pytest.approx(sum(q.mechanism.epsilon for q in joint.questions))


def test_open_questions_share_the_smaller_number_of_cohorts() -> None:
    other = Question("other", (), ORappor(epsilon=3.0, width=8, cohorts=4))
    joint = Joint(WORD, other, SUGAR)
    assert isinstance(joint.mechanism, OpenProduct)
    assert joint.mechanism.cohort_count == 4
    assert [part.epsilon for part in joint.mechanism.parts] == [4.0, 3.0, 40.0]
    assert joint.questions[0] is WORD


def test_a_combination_reported_once_has_the_whole_budget() -> None:
    a, b = (Question(name, ["x", "y", "z"], epsilon=0.7) for name in "ab")
    assert Joint(a, b, once=True).mechanism.epsilon == pytest.approx(1.4)
    assert Joint(a, b, once=True, epsilon=1.0).mechanism.epsilon == 1.0
    given = Joint(a, b, once=True, mechanism=KRR(k=9, epsilon=2.0))
    assert (given.epsilon, given.why) == (2.0, "it was given")
    assert Joint(a, b).mechanism == Product((a.closed, b.closed))


BAD_PARTS: list[tuple[Any, dict[str, Any], str]] = [
    ((DRINK,), {}, "at least two questions, not of 1"),
    ((DRINK, DRINK), {}, "'drink' is there twice"),
    ((DRINK, "sugar"), {}, "part 1 must be a question or a mechanism, not str"),
    ((BOTH, WORD), {}, "part 0 is itself joint"),
    ((BOTH.mechanism, WORD), {}, "part 0 is itself joint"),
    ((DRINK, SUGAR), {"epsilon": 1.0}, "leave epsilon and mechanism out, or report"),
    ((DRINK, SUGAR), {"name": ""}, "must have a name"),
    ((DRINK, SUGAR), {"once": 1}, "once must be True or False, not 1"),
    ((DRINK, WORD), {"once": True}, "'word' is open, and a combination"),
    ((DRINK, SUGAR), {"once": True, "mechanism": KRR(5, 1.0)}, "has 6 combinations of answers"),
    ((DRINK, SUGAR), {"once": True, "mechanism": BOTH.mechanism}, "no mechanism for one answer"),
    (
        (DRINK, SUGAR),
        {"once": True, "mechanism": KRR(6, 1.0), "epsilon": 1.0},
        "an epsilon or a mechanism, not both",
    ),
]


@pytest.mark.parametrize(("parts", "options", "rule"), BAD_PARTS, ids=[r for *_, r in BAD_PARTS])
def test_bad_parts_are_refused(parts: Any, options: dict[str, Any], rule: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        Joint(*parts, **options)
    assert rule in str(caught.value)


@pytest.mark.parametrize(
    "joint", [BOTH, ONCE, Joint(WORD, SUGAR, name="both")], ids=["product", "once", "open"]
)
def test_a_joint_is_read_as_written(joint: Joint) -> None:
    assert asked_from_document(joint.to_document()) == joint


# Counting


def test_reports_to_single_questions_are_counted_row_by_row() -> None:
    word, sugar = WORD.encode_many(list("abcde"), rng()), SUGAR.encode_many(["no"] * 5, rng())
    joint = Joint(WORD, SUGAR)
    counts = joint.count_aligned([[word[:1], word[1:]], sugar])
    together = joint.mechanism.shape.stack(zip(word.tolist(), sugar.tolist(), strict=True))
    assert counts == joint.count(together)
    assert joint.count_aligned([[], []]).n == 0


def test_columns_of_single_questions_are_sent_to_count_aligned() -> None:
    columns = [DRINK.encode_many(["tea"] * 4, rng()), SUGAR.encode_many(["no"] * 4, rng())]
    for given in (columns, tuple(columns), [column.tolist() for column in columns]):
        with pytest.raises(
            TypeError, match=r"not a column for each: .* use count_aligned\(columns"
        ):
            BOTH.count(given)
    with pytest.raises(ValueError, match="report 1 is refused"):
        BOTH.count([[0, 0], [0, 99]])


def test_rows_that_are_not_those_of_one_submission_are_refused() -> None:
    sugar = SUGAR.encode_many(["no"] * 5, rng())
    with pytest.raises(ValueError, match="'sugar' has more reports than 'drink', which has 4: one"):
        BOTH.count_aligned([DRINK.encode_many(["tea"] * 4, rng()), sugar])
    with pytest.raises(ValueError, match="reports to 2 questions are as many columns"):
        BOTH.count_aligned([sugar])
    with pytest.raises(ValueError, match="is reported once, as a combination"):
        ONCE.count_aligned([sugar, sugar])
    two = Joint(WORD, Question("other", (), ORR(epsilon=4.0, width=8, cohorts=8)))
    words = [question.encode_many(list("abcdefgh"), rng()) for question in two.questions]
    words[1] = words[1][::-1]
    with pytest.raises(ValueError, match="one cohort for all questions only if these are encoded"):
        two.count_aligned(words)
    fewer = Joint(WORD, Question("other", (), ORR(epsilon=4.0, width=8, cohorts=4)))
    with pytest.raises(ValueError, match="encode the questions together"):
        fewer.count_aligned(words)


def test_answers_randomised_on_paper_are_counted_together() -> None:
    cheated = Question("cheated", mechanism=crosswise("1/4"))
    joint = Joint(cheated, SUGAR)
    data = {"cheated": ["same", "different", None, "same"], "sugar": ["yes", "no", "no", "odd"]}
    counts = joint.count_reported(data, drop_missing=True, unknown={"sugar": "no"})
    assert counts.cells.tolist() == [[1, 1], [0, 1]]
    with pytest.raises(ValueError, match="question 'cheated': 1 of 4 reported answers is missing"):
        joint.count_reported(data)
    with pytest.raises(ValueError, match="answers that were randomised already cannot be counted"):
        ONCE.count_reported(data)


def test_a_longitudinal_question_is_estimated_from_one_round() -> None:
    again = Question("again", ["no", "yes"], mm.LOSUE(k=2, epsilon=1.0, epsilon_permanent=2.0))
    joint = Joint(again, SUGAR)
    counts = joint.simulate([[500, 200], [100, 200]], rng())
    assert "assumes 1,000 people with one report each" in joint.estimate(counts).notes
    with pytest.raises(ValueError, match="one report of each person, not from 2: use the counts"):
        mm.pool([counts, counts], people="same")
    assert mm.pool([counts, counts], people="different").n == 2000


# Simulation


PEOPLE: dict[str, Any] = {
    "crosstab": TABLE,
    "crosstab the other way": TABLE.T,
    "counts of rows": FRAME[["drink", "sugar"]].value_counts(),
    "counts of rows in polars": pl.DataFrame(FRAME).group_by("sugar", "drink").len(),
    "mapping": {("tea", True): 1, ("tea", "no"): 1, ("mate", "no"): 1, ("water", "no"): 1}
    | {("water", "yes"): 2},
    "nested list": [[1, 1], [0, 1], [2, 1]],
    "array": np.array([[1, 1], [0, 1], [2, 1]]),
}


@both_ways
@pytest.mark.parametrize("form", PEOPLE)
def test_people_are_found_by_their_labels(form: str, joint: Joint) -> None:
    counts = joint.simulate(PEOPLE[form], rng())
    assert counts.cells.reshape(3, 2).tolist() == [[1, 1], [0, 1], [2, 1]]


def test_people_with_any_strings_are_simulated() -> None:
    joint = Joint(WORD, SUGAR)
    people = {("luna", "yes"): 6000, ("max", "no"): 3000, ("max", "yes"): 1000}
    counts = joint.simulate(people, rng())
    found = joint.estimate(counts, candidates={"word": ["max", "luna"]})
    assert found.answers == (("max", "luna", "(other)"), ("yes", "no"))
    wanted = np.array([[0.1, 0.3], [0.6, 0.0], [0.0, 0.0]])
    # 8 standard errors: false alarm below 1e-14; rejects exchanged rows or columns.
    errors = found.crosstab("unbiased_error")
    assert (np.abs(found.crosstab("unbiased") - wanted) < 8 * errors).all()
    assert errors.max() < 0.03


BAD_PEOPLE: list[tuple[Any, str]] = [
    ({"tea": 5}, "has 'tea' for a combination: it should be a tuple of 2 labels"),
    ({("chai", "no"): 5}, "has the label 'chai', which is not an answer to 'drink'"),
    ({("tea", True): 5, ("tea", "yes"): 5}, "has the combination ('tea', 'yes') twice"),
    ([1, 2, 3, 4, 5, 6], "is a table of shape (3, 2), not (6,)"),
    (pl.DataFrame({"drink": ["tea"], "n": [1]}), "one for each question"),
]


@pytest.mark.parametrize(("people", "rule"), BAD_PEOPLE, ids=[r for _, r in BAD_PEOPLE])
def test_bad_people_are_refused(people: Any, rule: str) -> None:
    with pytest.raises(ValueError, match=re.escape(rule)):
        BOTH.simulate(people, rng())
    with pytest.raises(TypeError, match="has an open question: people is a mapping"):
        Joint(WORD, SUGAR).simulate([[1, 2]], rng())


BAD_ESTIMATES: list[tuple[Joint, dict[str, Any], str]] = [
    (BOTH, {"candidates": {"drink": ["tea"]}}, "no question of 'drink+sugar' is open"),
    (BOTH, {"complete": True}, "it takes no candidates"),
    (Joint(WORD, SUGAR), {}, "candidates={'word': [...]}"),
    (Joint(WORD, SUGAR), {"candidates": {"word": ["a"], "sugar": ["no"]}}, "'sugar' has labels"),
    (Joint(WORD, SUGAR), {"candidates": {"cat": ["no"]}}, "candidates names 'cat'"),
    (Joint(WORD, SUGAR), {"candidates": {"word": "luna"}}, "of 'word' are a list of strings, not"),
    (Joint(WORD, SUGAR), {"candidates": ["luna"]}, "are a mapping from a question's name"),
]


@pytest.mark.parametrize(
    ("joint", "options", "rule"), BAD_ESTIMATES, ids=[r for *_, r in BAD_ESTIMATES]
)
def test_bad_candidates_are_refused(joint: Joint, options: dict[str, Any], rule: str) -> None:
    data = {"drink": ["tea"], "word": ["luna"], "sugar": ["no"]}
    counts = joint.count(joint.encode_many(data, rng()))
    with pytest.raises((TypeError, ValueError)) as caught:
        joint.estimate(counts, **options)
    assert rule in str(caught.value)


def test_only_own_counts_are_estimated() -> None:
    counts = BOTH.count(BOTH.encode_many(FRAME, rng()))
    with pytest.raises(ValueError, match="are not answers to"):
        Joint(DRINK, Question("sugar", ["yes", "no"], epsilon=1.0)).estimate(counts)
    with pytest.raises(TypeError, match="takes Counts, not ndarray"):
        BOTH.estimate(counts.cells)  # type: ignore[arg-type]


def test_reports_and_counts_of_the_other_kind_of_joint_are_refused_in_plain_words() -> None:
    once = Joint(*BOTH.questions, once=True)
    reports = {joint: joint.encode_many(FRAME, rng()) for joint in (BOTH, once)}
    for joint, other, rule in (
        (BOTH, once, "has a report to each of its questions: use the joint that made them"),
        (once, BOTH, "reports the combination once: use the joint without once=True"),
    ):
        with pytest.raises(TypeError, match=f"these reports are of .*{rule}"):
            joint.count(reports[other])
        with pytest.raises(ValueError, match=f"these counts are of .*{rule}"):
            joint.estimate(other.count(reports[other]))
    with pytest.raises(ValueError, match="in JSON a report of 2 questions together is a list"):
        BOTH.count([[0], [1]])


def test_dictionaries_are_asked_together_only_with_their_own_cohorts() -> None:
    word = Question("word", (), ORR(epsilon=1.0, width=4, cohorts=3))
    names = mm.Dictionary(epsilon=2.0, longest=4, alphabet="abc", name="names")
    assert Joint(names, BOTH.questions[0]).mechanism.cohort_count == names.mechanism.cohort_count
    with pytest.raises(ValueError, match="cohorts cannot be asked together, as a person has one"):
        Joint(names, word)
    grams = mm.mechanisms.NGrams.splitting(6.0, longest=4)
    with pytest.raises(TypeError, match="part 0 sends several reports itself, NGrams"):
        Joint(grams, BOTH.questions[0])


def test_a_single_string_is_no_column() -> None:
    both = mm.mechanisms.OpenProduct([ORR(epsilon=1.0, width=4, cohorts=3), KRR(k=2, epsilon=1.0)])
    with pytest.raises(TypeError, match="question 0: answers are a list of strings, not one"):
        both.encode_many(["ab", [0, 1]])
    for wrong in (None, "ab"):
        with pytest.raises(TypeError, match="are a list of columns, not"):
            BOTH.count_aligned(wrong)  # type: ignore[arg-type]
