"""A question takes labels in every form people have them in, and gives labelled shares back."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import murmurs as mm
from murmurs.boundary.answers import coded
from murmurs.planning.choice import BYTE, KINDS, NEAR, choose
from murmurs.wire import BadReportError
from tests.input_forms import ANSWERS as FORMS
from tests.input_forms import LABELS

DRINK = mm.Question("drink", LABELS, epsilon=1.0)
ANSWERS = ["tea", "espresso", "tea", "nothing", "filter", "tea"]
NUMBERS = [2, 0, 2, 3, 1, 2]

every = pytest.mark.parametrize("form", FORMS)


@every
def test_every_form_gives_the_same_reports(form: str) -> None:
    column = FORMS[form](ANSWERS)
    reports = DRINK.encode_many(column, np.random.default_rng(1))
    wanted = DRINK.closed.encode_many(NUMBERS, np.random.default_rng(1))
    np.testing.assert_array_equal(reports, wanted)
    assert DRINK.numbers(FORMS[form](ANSWERS)).tolist() == NUMBERS
    assert DRINK.count(reports) == DRINK.count(wanted)


@pytest.mark.parametrize("form", [f for f in FORMS if f != "NumPy text"])  # has none missing
def test_missing_answers_are_refused_named_or_left_out(form: str) -> None:
    make, gaps = FORMS[form], ["tea", None, "tea", None]
    message = r"^2 of 4 answers are missing, first answer number 1 \(from 0\): leave them out"
    with pytest.raises(ValueError, match=message):
        DRINK.encode_many(make(gaps))
    left = DRINK.encode_many(make(gaps), np.random.default_rng(1), drop_missing=True)
    np.testing.assert_array_equal(left, DRINK.encode_many(["tea"] * 2, np.random.default_rng(1)))
    named = DRINK.encode_many(make(gaps), np.random.default_rng(1), missing="nothing")
    filled = ["tea", "nothing", "tea", "nothing"]
    np.testing.assert_array_equal(named, DRINK.encode_many(filled, np.random.default_rng(1)))


@every
def test_an_unknown_answer_is_refused_by_position_or_named(form: str) -> None:
    strange = ["tea", "tea", "mate", "filter", "mate"]
    with pytest.raises(ValueError, match=r"first answer number 2 \(from 0\): correct") as error:
        DRINK.encode_many(FORMS[form](strange))
    assert str(error.value).startswith("2 of 5 answers are not labels of question 'drink' (")
    assert "mate" not in str(error.value)
    assert error.value.__cause__ is None
    named = DRINK.encode_many(FORMS[form](strange), np.random.default_rng(1), unknown="nothing")
    wanted = [x.replace("mate", "nothing") for x in strange]
    np.testing.assert_array_equal(named, DRINK.encode_many(wanted, np.random.default_rng(1)))


@every
def test_every_form_of_strings_gives_the_same_reports_to_an_open_question(form: str) -> None:
    question = mm.Question("drink", mechanism=mm.ORR(epsilon=2.0, width=8, cohorts=16))
    codes, texts = coded(FORMS[form](ANSWERS))
    found = question.encode_many(FORMS[form](ANSWERS), np.random.default_rng(1))
    reports = question.mechanism.encode_coded(codes, texts, np.random.default_rng(1))  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, reports)
    assert question.count(found).n == 6


def test_booleans_and_numbers_stand_for_labels() -> None:
    smokes = mm.Question("smokes", ["Yes", "No"], epsilon=1.0)
    forms = [
        [True, False],
        np.array([True, False]),
        pd.Series([True, False]),
        pa.array([True, False]),
    ]
    for form in forms:
        assert smokes.numbers(form).tolist() == [0, 1]
    scale = mm.Question("mood", ["1", "2", "3"], epsilon=1.0, ordered=True)
    for numbers in (
        [3, 1, 2],
        np.array([3, 1, 2]),
        pd.Series([3.0, 1.0, 2.0]),
        pl.Series([3, 1, 2]),
    ):
        assert scale.numbers(numbers).tolist() == [2, 0, 1]
    for wrong in ([1.5], [0], [b"1"], [["1"]], [True], [float("inf")]):
        with pytest.raises(ValueError, match="answers is not a label of question 'mood'"):
            scale.numbers(wrong)
    with pytest.raises(ValueError, match="not a label of question 'drink'"):
        DRINK.numbers([True])


def test_labels_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        mm.Question("city", ["Z\u00fcrich", "Zu\u0308rich"], epsilon=1.0)
    with pytest.raises(ValueError, match="not a label"):
        mm.Question("q", ["Yes", "YES"], epsilon=1.0).numbers([True])
    decomposed = mm.Question("city", ["Zu\u0308rich", "Bern"], epsilon=1.0)
    assert decomposed.answer("Z\u00fcrich") == 0
    with pytest.raises(TypeError, match="drop_missing must be True or False, not 'no'"):
        DRINK.encode_many(ANSWERS, drop_missing="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="labels of a design are a list, not 'ab'"):
        mm.warner(0.7, "ab")


def test_a_label_in_another_normal_form_is_the_same_label() -> None:
    city = mm.Question("city", ["Z\u00fcrich", "Bern"], epsilon=1.0)
    assert city.answer("Zu\u0308rich") == 0
    assert city.numbers(["Zu\u0308rich", "Bern"]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("tea", "one per person, not one text"),
        ({"tea": 5}, r"this mapping looks like counts: simulate\(\) takes"),
        (pd.DataFrame({"drink": ANSWERS}), r"select the column, as in frame\['drink'\]"),
        (pl.DataFrame({"drink": ANSWERS}), r"select the column, as in frame\['drink'\]"),
        (np.array([ANSWERS]), "answers are one column"),
        (7, "one per person, not int"),
        (None, "one per person, not NoneType"),
    ],
)
def test_what_is_no_column_is_refused(column: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        DRINK.encode_many(column)


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="choose one of the two"):
        DRINK.encode_many(ANSWERS, missing="tea", drop_missing=True)
    with pytest.raises(
        ValueError, match=r"unknown must be one of the labels 'espresso'.*not 'mate'"
    ):
        DRINK.encode_many(ANSWERS, unknown="mate")
    open_question = mm.Question("drink", mechanism=mm.ORR(epsilon=2.0, width=8, cohorts=16))
    with pytest.raises(ValueError, match="is open and takes any string: leave unknown out"):
        open_question.encode_many(ANSWERS, unknown="tea")


class Talkative:
    """An object that tells what it is wherever it is asked."""

    def __hash__(self) -> int:
        raise RuntimeError("secret answer")


def bad_text() -> Any:
    """Text of Arrow that is not UTF-8, as damaged files have it."""
    return pa.Array.from_buffers(pa.string(), 2, pa.array([b"secretx\xff", b"tea"]).buffers())


class Incomparable(Talkative):
    """An object whose comparison fails, and tells what it holds."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secretx")

    __hash__ = object.__hash__


STRANGE: dict[str, Any] = {
    "not UTF-8": bad_text,
    "not UTF-8 in chunks": lambda: pa.chunked_array([bad_text()]),
    "a date": lambda: pa.array([1234567891], pa.date32()),
    "a list": lambda: pa.array([["secretx"]]),
    "a struct": lambda: pa.array([{"secretx": "secretx"}]),
    "a struct in a list": lambda: pl.Series([[{"secretx": 1}]]),
    "an object that cannot be compared": lambda: [Incomparable()],
    "polars lists": lambda: pl.Series([["secretx"]]),
    "damaged codes": lambda: pa.DictionaryArray.from_arrays(
        pa.array([7], pa.int8()), pa.array(["tea"]), safe=False
    ),
    "negative codes": lambda: pa.DictionaryArray.from_arrays(
        pa.array([-2], pa.int8()), pa.array(["tea", "filter"]), safe=False
    ),
    "an object": lambda: [Talkative()],
    "a number of 5000 digits": lambda: [10**5000],
    "a set": lambda: {"tea"},
    "one value": lambda: np.array("tea"),
    "a scalar of Arrow": lambda: pa.scalar("secretx"),
    "an expression": lambda: pl.col("secretx"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_strange_columns_are_refused_without_a_word_of_what_they_hold(what: str) -> None:
    for question in (DRINK, mm.Question("q", mechanism=mm.ORR(epsilon=2.0, width=8, cohorts=16))):
        with pytest.raises((TypeError, ValueError)) as error:
            question.encode_many(STRANGE[what]())
        told = f"{error.value!r} {error.value.args} {error.value.__cause__!r}"
        assert "secret" not in told
        assert "1234567891" not in told
        assert error.value.__context__ is None or error.value.__suppress_context__
        assert type(error.value) in (TypeError, ValueError)


@pytest.mark.parametrize("k", [4, 6, 9, 40, 300])
def test_a_column_of_reports_survives_a_data_frame(k: int) -> None:
    """KRR has numbers, Subset sets in one byte or more: pandas makes one dimension of two."""
    question = mm.Question("q", [f"label {i}" for i in range(k)], epsilon=1.0)
    answers = [f"label {i % k}" for i in range(500)]
    reports = question.encode_many(answers, np.random.default_rng(1))
    wanted = question.count(reports)
    column = question.encode_column(answers, np.random.default_rng(1))
    frames: list[Any] = [column, pd.Series(column), pl.Series(column), pa.array(column)]
    frames += [pd.Series(list(reports)), pd.DataFrame({"report": column})["report"]]
    for form in frames:
        assert question.count(form) == wanted
    if reports.ndim == 2 and reports.shape[1] == 1:
        frame = pd.DataFrame({"person": range(500)})
        frame["report"] = reports
        assert question.count(frame["report"]) == wanted


def test_positions_are_those_of_the_column_although_answers_are_left_out() -> None:
    gaps = [None, "tea", None, "mate"]
    with pytest.raises(ValueError, match=r"first answer number 3 \(from 0\)"):
        DRINK.encode_many(gaps, drop_missing=True)
    question = mm.Question("drink", mechanism=mm.ORR(epsilon=2.0, width=8, cohorts=16))
    with pytest.raises(
        TypeError, match=r"^answer number 3: an answer to an open question is a str"
    ):
        question.encode_many([None, "tea", None, 7], drop_missing=True)
    assert len(question.encode_many([None, "tea", None], drop_missing=True)) == 1
    assert len(question.encode_many(["", "tea"], drop_missing=True)) == 1
    with pytest.raises(ValueError, match=r"^answer number 0: .*: leave such answers out with drop"):
        question.encode_many(["", "tea"])


# The mechanism is chosen


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("k", [2, 3, 10, 100, 3000])
def test_the_chosen_mechanism_is_accurate_and_its_reports_are_short(k: int, epsilon: float) -> None:
    found = choose(k, epsilon)
    made = [kind(k=k, epsilon=epsilon) for kind in KINDS]
    errors = [m.channel.expected_l2(10**5) ** 0.5 for m in made]
    size = found.mechanism.shape.size
    own = found.mechanism.channel.expected_l2(10**5) ** 0.5
    assert own <= NEAR * min(errors) * (1 + 1e-9)
    for mechanism, error in zip(made, errors, strict=True):
        if error <= NEAR * min(errors):  # a byte less costs more than 1 % of error, and so on
            longer = (1 + BYTE * mechanism.shape.size) / (1 + BYTE * size)
            assert own <= error * longer * (1 + 1e-6)
    question = mm.Question("q", [str(i) for i in range(k)], epsilon=epsilon)
    assert (question.mechanism, question.why) == found


@pytest.mark.parametrize("epsilon", [4.0, 5.0, 8.0])
def test_a_million_answers_do_not_take_reports_of_many_kilobytes(epsilon: float) -> None:
    """Of Subset they have 71,944, 26,772 and 1,340 bytes, and nothing else is within 5 %."""
    found, subset = choose(10**6, epsilon), mm.Subset(k=10**6, epsilon=epsilon)
    assert subset.shape.size > 1000
    assert found.mechanism.shape.size == 4
    ratio = (found.mechanism.channel.expected_l2(100) / subset.channel.expected_l2(100)) ** 0.5
    assert NEAR < ratio < 1.45
    above = round(100 * (ratio - 1))
    assert (
        found.why
        == f"its reports are short (4 bytes), and its error is {above} % above the smallest"
    )


def test_the_reason_does_not_deny_a_slightly_smaller_error() -> None:
    """With 365 answers and epsilon 0.01, Subset has 46 bytes, and 0.08 % less error."""
    assert choose(365, 0.01).why == (
        "its reports are short (2 bytes), and its error is at most 0.1 % above the smallest"
    )


@pytest.mark.parametrize("k", [2, 5, 10, 256, 1000])
def test_where_there_is_no_noise_answers_are_reported_as_they_are(k: int) -> None:
    """All errors are below 1e-10, and how probabilities are rounded does not decide."""
    assert choose(k, 100.0) == (mm.KRR(k, 100.0), "no other mechanism has a smaller error")


def test_an_open_question_is_tuned_for_its_people() -> None:
    few, many = (mm.Question("q", epsilon=2.0, people=n) for n in (10**4, 10**7))
    assert few.is_open
    assert few.mechanism == mm.tune(2.0, 10**4, 256).mechanism
    assert few.why == "it was tuned for 10,000 people and 256 candidates"
    assert many.why == "it was tuned for 10,000,000 people and 256 candidates"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mm.Question("q", LABELS), "needs a mechanism, or an epsilon to have one chosen"),
        (lambda: mm.Question("q", epsilon=1.0), "is open: say how many people will answer"),
        (lambda: mm.Question("q", LABELS, epsilon=1.0, people=9), "people is for open questions"),
        (
            lambda: mm.Question("q", LABELS, mm.KRR(4, 1.0), epsilon=1.0),
            "leave epsilon, people and goal",
        ),
        (
            lambda: mm.Question("q", LABELS, mm.KRR(4, 1.0), open=True),
            "has a fixed list of answers",
        ),
        (
            lambda: mm.Question("q", LABELS, mm.ORR(1.0, 4, 4), open=False),
            "is not open, but ORR.* takes any string",
        ),
        (lambda: mm.Question("q", LABELS, mm.warner(0.7)), "has 4 labels, but its mechanism"),
        (
            lambda: mm.Question("q", ("a", "b"), mm.warner(0.7, ("c", "d"))),
            "has the labels 'a', 'b', but its mechanism has 'c', 'd': name .* as labels=",
        ),
    ],
)
def test_what_cannot_be_chosen_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# From labels to labelled shares


def test_people_are_matched_by_label() -> None:
    rng = np.random.default_rng
    wanted = DRINK.closed.simulate([0, 100, 900, 0], rng(1))
    by_label = pd.Series({"tea": 900, "filter": 100})
    for people in ({"tea": 900, "filter": 100}, by_label, [0, 100, 900, 0]):
        assert DRINK.simulate(people, rng(1)) == wanted
    with pytest.raises(ValueError, match="people has the label 'mate'"):
        DRINK.simulate({"mate": 5})


def test_people_are_matched_by_the_labels_that_answers_are_matched_by() -> None:
    rng = np.random.default_rng
    stars = mm.Question("stars", ["1", "2", "3"], epsilon=2.0)
    wanted = stars.closed.simulate([10, 20, 0], rng(1))
    answers = pd.Series([2] * 20 + [1] * 10)
    for people in (
        {1: 10, 2: 20},
        {"2": 20, "1": 10},
        answers.value_counts(),
        answers.astype(float).value_counts(),
        answers.astype("category").value_counts(),
        pl.Series(answers.tolist()).value_counts(),
    ):
        assert stars.simulate(people, rng(1)) == wanted
    with pytest.raises(ValueError, match="people has the label 0, which is not an answer"):
        stars.simulate(pd.Series([10, 20, 0]))
    smokes = mm.Question("smokes", ["no", "yes"], epsilon=2.0)
    told = pd.Series([True] * 3 + [False]).value_counts()
    assert smokes.simulate(told, rng(1)) == smokes.closed.simulate([1, 3], rng(1))
    design = mm.dice("1/2", ["1", "2", "3"])
    assert design.simulate({1: 10, 2: 20}, rng(1)) == design.simulate([10, 20, 0], rng(1))


def test_an_estimate_has_labels_title_and_order() -> None:
    scale = mm.Question(
        "mood", ["bad", "fair", "good"], epsilon=2.0, text="How are you?", ordered=True
    )
    est = scale.estimate(scale.simulate([100, 600, 300], np.random.default_rng(1)))
    assert (est.labels, est.title, est.ordered) == (scale.labels, "How are you?", True)
    shown = [line.split()[0] for line in est.table().split("\n")[2:]]
    assert shown == ["bad", "fair", "good"]
    assert est.table(order="share").split("\n")[2].startswith("fair")
    assert est.plot().get_title(loc="left").startswith("How are you?\n1,000 reports")
    simplex = scale.estimate(est.counts, "simplex")
    assert simplex.estimator == "simplex"
    assert scale.estimate(est.counts, mm.estimators.unbiased).estimator == "unbiased"


def test_counts_of_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="are not answers to question 'drink', which has KRR"):
        DRINK.estimate(mm.KRR(4, 2.0).count([1, 2]))
    with pytest.raises(TypeError, match=r"estimate takes Counts, not list: add reports up first"):
        DRINK.estimate([1, 2])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has labels: it takes no candidates"):
        DRINK.estimate(DRINK.count([1]), candidates=["tea"])
    with pytest.raises(ValueError, match="there is no estimator 'best'; choose one of shrinkage"):
        DRINK.estimate(DRINK.count([1]), "best")


def test_a_list_with_free_text_is_an_open_question_with_labels() -> None:
    home = mm.Question("home", ["a.example", "b.example"], epsilon=4.0, people=10_000, open=True)
    assert home.is_open
    counts = home.simulate(
        {"a.example": 7000, "b.example": 2000, "c": 1000}, np.random.default_rng(1)
    )
    est = home.estimate(counts)
    assert est.labels == ("a.example", "b.example", "(other)")
    assert abs(est.shares - [0.7, 0.2, 0.1]).max() < 0.05
    other = home.estimate(counts, candidates=["c"])
    assert other.labels == ("c", "(other)")
    with pytest.raises(ValueError, match=r"say which strings to look for, with candidates=\[...\]"):
        mm.Question("q", mechanism=home.mechanism).estimate(counts)
    with pytest.raises(TypeError, match="people is a mapping from string to number of people"):
        home.simulate([1, 2])


def test_labels_that_were_randomised_already_are_counted() -> None:
    counts = DRINK.count_reported(pd.Series(["tea", "tea", "filter"]))
    assert counts == DRINK.count([2, 2, 1])
    crossed = mm.Question("q", mechanism=mm.crosswise("1/4"))
    assert crossed.labels == ("yes", "no")
    assert crossed.count_reported(["same", "different"]).cells.tolist() == [1, 1]
    with pytest.raises(ValueError, match="answers is not a label"):
        crossed.count_reported(["yes"])
    with pytest.raises(ValueError, match="is not a label: count its reports with"):
        mm.Question("q", LABELS, mm.OUE(4, 1.0)).count_reported(["tea"])


# In files


def test_a_survey_file_needs_no_mechanism() -> None:
    survey = mm.Survey.from_toml("""
        name = "s"
        [[questions]]
        name = "drink"
        labels = ["tea", "mate", "milk"]
        epsilon = 1
        ordered = true
        [[questions]]
        name = "home"
        epsilon = 2
        people = 100000
        [[questions]]
        name = "site"
        labels = ["a", "b"]
        open = true
        epsilon = 2
        people = 100000
        [[questions]]
        name = "cheated"
        labels = ["ja", "nein"]
        mechanism = {name = "Warner", p = 0.75}
    """)
    assert survey["drink"].mechanism == mm.KRR(3, 1.0)
    assert survey["drink"].ordered
    assert [survey[name].is_open for name in ("home", "site")] == [True, True]
    assert survey["cheated"].mechanism == mm.warner("3/4", ("ja", "nein"))
    published = survey.to_json()
    again = mm.Survey.from_json(published)
    assert again == survey
    assert again.fingerprint == survey.fingerprint
    drink = json.loads(published)["questions"][0]
    assert set(drink) == {"name", "text", "labels", "mechanism", "ordered"}
    with pytest.raises(KeyError, match="has no question 'food'; it has 'drink', 'home'"):
        survey["food"]


def test_one_answer_is_encoded_by_its_label() -> None:
    """1,000 reports at epsilon 20 that are not all the label's have a probability of 1e-5."""
    sure = mm.Question("drink", LABELS, epsilon=20.0)
    assert {sure.encode("tea") for _ in range(1000)} == {2}
    with pytest.raises(ValueError, match="this is not an answer to 'drink'") as error:
        sure.encode("mate")
    assert "mate" not in str(error.value)
    with pytest.raises(TypeError, match="a string, not of type int"):
        sure.encode(2)


def test_reported_answers_that_are_missing_or_unknown() -> None:
    said = ["tea", None, "chai", "filter"]
    counts = DRINK.count_reported(said, drop_missing=True, unknown="nothing")
    assert counts.cells.tolist() == [0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"^1 of 4 reported answers is missing, first number 1: "):
        DRINK.count_reported(said, unknown="nothing")
    with pytest.raises(
        ValueError, match=r"first answer number 2 \(from 0\): .*unknown=\.\.\.$"
    ) as error:
        DRINK.count_reported(said, drop_missing=True)
    assert "chai" not in str(error.value)
    with pytest.raises(ValueError, match=r"^unknown must be one of the labels"):
        DRINK.count_reported(said, drop_missing=True, unknown="milk")


def test_totals_of_what_was_reported_are_counted() -> None:
    crossed = mm.Question("q", mechanism=mm.crosswise("1/4"))
    said = ["same"] * 3 + ["different"] * 2
    counts = crossed.count_reported(said)
    for totals in (
        {"different": 2, "same": 3},
        Counter(said),
        pd.Series(said).value_counts(),
        pd.Series(said, dtype="category").value_counts(),
    ):
        assert crossed.count_reported(totals) == counts
    assert crossed.count_reported({"same": 3}).cells.tolist() == [3, 0]
    assert DRINK.count_reported({"tea": 4}) == DRINK.count_reported(["tea"] * 4)
    scale = mm.Question("s", ["1", "2"], mm.KRR(2, 1.0))
    people = pd.Series([1, 2, 2], index=["ann", "bob", "cy"])
    assert scale.count_reported(people).cells.tolist() == [1, 2]  # answers, one per person


def test_totals_that_are_none_are_refused() -> None:
    crossed = mm.Question("q", mechanism=mm.crosswise("1/4"))
    with pytest.raises(
        ValueError, match=r"^label number 1 .*; reports are 'same', 'different': "
    ) as error:
        crossed.count_reported({"same": 3, "secret": 2})
    assert "secret" not in str(error.value)
    assert crossed.count_reported({"same": 3, "?": 2}, unknown="different").n == 5
    with pytest.raises(
        TypeError, match=r"people who reported 'same' must be a whole number, not 0"
    ):
        crossed.count_reported({"same": 0.6, "different": 0.4})
    with pytest.raises(ValueError, match=r"^the number of people .* must be from 0 to \d+, not -1"):
        crossed.count_reported({"same": -1})
    with_missing = pd.Series(["same", None]).value_counts(dropna=False)
    with pytest.raises(ValueError, match=r"some reported answers are missing: .*drop_missing=True"):
        crossed.count_reported(with_missing)
    assert crossed.count_reported(with_missing, drop_missing=True).n == 1


def test_a_design_takes_the_labels_of_the_question() -> None:
    forced = mm.Question("t", ["Yes", "No"], mm.forced_response("1/6", "1/12"))
    assert forced.mechanism == mm.forced_response("1/6", "1/12", ("Yes", "No"))
    assert forced.count_reported(["Yes", "No", "No"]).cells.tolist() == [1, 2]
    assert mm.Question("t", [",", "."], mm.warner(0.7)).mechanism.labels == (",", ".")
    crossed = mm.Question("t", ["cheated", "honest"], mm.crosswise("1/4"))
    assert crossed.mechanism == mm.crosswise("1/4", ("cheated", "honest"))
    assert crossed.count_reported(["same", "different"]).cells.tolist() == [1, 1]


def test_a_design_with_yes_first_is_not_given_no_for_yes() -> None:
    """The chances of being told to say yes and no differ, so the order matters."""
    for labels in (["No", "Yes"], ["no", "yes"], ["No, never", "sometimes"], ["never", "True"]):
        with pytest.raises(ValueError, match="but its mechanism has 'yes', 'no': name the answers"):
            mm.Question("t", labels, mm.forced_response("1/6", "1/12"))


def test_labels_that_are_not_text_are_refused_with_the_way_out() -> None:
    for zero in (0, np.int64(0)):
        with pytest.raises(TypeError) as error:
            mm.Question("nps", [zero, 1, 2], epsilon=1.0)  # type: ignore[list-item]
        assert str(error.value) == (
            "label 0 of question 'nps' must be text, not 0: write '0'; answers may then be whole "
            "numbers"
        )
    with pytest.raises(TypeError) as error:
        mm.Question("tea", ["no", True], epsilon=1.0)  # type: ignore[list-item]
    assert str(error.value) == (
        "label 1 of question 'tea' must be text, not True: write labels such as ['yes', 'no']; "
        "answers may then be True and False"
    )
    with pytest.raises(TypeError, match=r"label 0 of question 'x' must be text, not 1\.5$"):
        mm.Question("x", [1.5, "b"], epsilon=1.0)  # type: ignore[list-item]
    # The way out works.
    assert mm.Question("nps", ["0", "1"], epsilon=1.0).numbers([0, 1]).tolist() == [0, 1]
    assert mm.Question("tea", ["yes", "no"], epsilon=1.0).numbers([True, False]).tolist() == [0, 1]


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, pd.Index, pl.Series, pa.array])
def test_labels_may_be_a_column(form: Any) -> None:
    question = mm.Question("drink", form(["tea", "mate"]), epsilon=1.0)
    assert question == mm.Question("drink", ["tea", "mate"], epsilon=1.0)
    assert {type(label) for label in question.labels} == {str}
    assert mm.warner(0.7, form(["tea", "mate"])) == mm.warner(0.7, ["tea", "mate"])


def test_what_is_wrong_with_a_question_is_told_in_its_own_words() -> None:
    for wrong, message in (
        ({"labels": ["tea"]}, "question 'q' has one label: a question needs at least two"),
        ({"people": 0}, "people must be from 1 to"),
        ({"people": "many"}, "people must be a whole number, not 'many'"),
        ({"labels": ["tea", "mate"], "open": "yes"}, "open must be True or False, not 'yes'"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            mm.Question("q", epsilon=1.0, **wrong)


def test_labels_in_place_of_reports_are_told_apart_from_bad_reports() -> None:
    for answers in (
        ["tea", "filter"],
        pd.Series([None, "tea"]),
        np.array(["tea"]),
        pa.array(["tea"]),
    ):
        with pytest.raises(BadReportError, match=r"is a label, not a report: .*encode_many"):
            DRINK.count(answers)
    crossed = mm.Question("q", mechanism=mm.crosswise("1/4"))
    with pytest.raises(BadReportError, match=r"^report 0 is a label.*use count_reported"):
        crossed.count(["same", "different"])
    many = mm.Question("q", LABELS, mm.OUE(4, 1.0))
    with pytest.raises(BadReportError, match=r"^report 1 is a label") as error:
        many.count(["AQ==", "tea"])
    assert "count_reported" not in str(error.value)
    assert "tea" not in str(error.value)
    with pytest.raises(BadReportError, match=r"is outside 0\.\.3"):
        DRINK.count([2, 9])


def test_an_epsilon_in_the_place_of_the_mechanism_is_refused_with_the_way_out() -> None:
    with pytest.raises(
        TypeError, match=r"has 1.5 for a mechanism: for an epsilon, write eps.*=1.5"
    ):
        mm.Question("q", LABELS, 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"has 'KRR' for a mechanism: a mechanism is made like KRR"):
        mm.Question("q", LABELS, "KRR")  # type: ignore[arg-type]


def test_one_candidate_is_not_taken_for_its_letters() -> None:
    home = mm.Question("home", epsilon=2.0, people=1000)
    counts = home.count(home.encode_many(["a.example"]))
    with pytest.raises(TypeError, match=r"candidates are a list, not 'a\.example'"):
        home.estimate(counts, candidates="a.example")


def test_counts_of_another_design_of_the_same_size_are_told_apart() -> None:
    coin = mm.Question("q", mechanism=mm.forced_response("1/2", 0))
    counts = mm.Question("q", mechanism=mm.warner("3/4")).count_reported(["yes", "no"])
    with pytest.raises(
        ValueError, match=r"which has Design\(\[\['1', '1/2'\], \['0', '1/2'\]\]\)$"
    ):
        coin.estimate(counts)


def test_one_answer_is_spoken_of_in_the_singular() -> None:
    with pytest.raises(ValueError, match=r"^1 of 600 answers is missing, first answer number 599"):
        DRINK.encode_many(["tea"] * 599 + [None])
    with pytest.raises(ValueError, match=r"^1 of 2 answers is not a label of question 'drink'"):
        DRINK.encode_many(["tea", "mate"])
    with pytest.raises(ValueError, match=r"^1 of 2 reported answers is missing"):
        DRINK.count_reported(["tea", None])


def test_an_open_question_is_simulated_from_a_labelled_series() -> None:
    cats = mm.Question("cat", mechanism=mm.ORR(epsilon=2.0, width=8, cohorts=16))
    people = {"Luna": 700, "Leo": 300}
    wanted = cats.simulate(people, np.random.default_rng(1))
    found = cats.simulate(pd.Series(people), np.random.default_rng(1))
    assert found == wanted
    names = pd.Series(["Luna"] * 700 + ["Leo"] * 300)
    assert cats.simulate(names.value_counts(), np.random.default_rng(1)) == wanted
    frame = pl.DataFrame({"cat": list(people), "count": list(people.values())})
    assert cats.simulate(frame, np.random.default_rng(1)) == wanted
    with pytest.raises(TypeError, match="is open: people is a mapping from string to number"):
        cats.simulate([700, 300])


def test_a_scale_with_shrunk_shares_says_that_their_mean_is_biased() -> None:
    """77 ages: the mean of shrunk shares moves by years, that of unbiased ones by noise only."""
    ages, rng = np.arange(18, 95), np.random.default_rng(1)
    law = np.exp(-(((ages - 36) / 15) ** 2) / 2)
    question = mm.Question("age", [str(a) for a in ages], epsilon=1.0, ordered=True)
    counts = question.simulate(rng.multinomial(5000, law / law.sum()), rng)
    found = question.estimate(counts, "shrinkage")
    assert any("take a mean from the estimate itself" in note for note in found.notes)
    assert found.shares @ ages > law @ ages / law.sum() + 5
    many = question.simulate(rng.multinomial(50_000, law / law.sum()), rng)
    for other in (
        question.estimate(many),
        question.estimate(counts, "unbiased"),
        dataclasses.replace(question, ordered=False).estimate(counts),
    ):
        assert not any("mean" in note for note in other.notes)
    clear = question.simulate(np.rint(10**9 * law / law.sum()).astype(np.int64), rng)
    assert not any("mean" in note for note in question.estimate(clear).notes)


def test_epsilon_is_that_of_the_mechanism_chosen_or_given() -> None:
    assert mm.Question("drink", LABELS, epsilon=1.0).epsilon == 1.0
    assert mm.Question("drink", LABELS, mm.KRR(4, 2.5)).epsilon == 2.5
    assert mm.Question("cat", epsilon=2.0, people=10_000).epsilon == 2.0
    crossed = mm.crosswise("1/4")
    assert mm.Question("cheated", mechanism=crossed).epsilon == crossed.epsilon


def test_the_same_question_can_be_made_with_another_mechanism() -> None:
    again = DRINK.with_mechanism(mm.OUE(4, 3.0))
    assert (again.labels, again.epsilon, again.why) == (DRINK.labels, 3.0, "it was given")
