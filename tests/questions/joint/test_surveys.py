"""Surveys that ask questions together: their documents, names and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from murmurs import KRR, Joint, Question, Survey

TOML = """
name = "coffee"
[[questions]]
name = "drink"
labels = ["tea", "mate", "water"]
epsilon = 1.0
[[questions]]
name = "sugar"
labels = ["yes", "no"]
epsilon = 1.5
[[questions]]
name = "word"
mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}
"""
JOINT = """
[[joint]]
questions = ["drink", "sugar"]
"""
ONCE = JOINT + "once = true\n"


def test_questions_are_asked_together_if_the_survey_says_so() -> None:
    survey = Survey.from_toml(TOML + JOINT)
    joint = survey["drink+sugar"]
    assert isinstance(joint, Joint)
    assert joint == Joint(*survey.questions[:2])
    assert survey.joint("drink", "sugar") is joint
    assert survey.names == ("drink", "sugar", "word", "drink+sugar")


def test_a_combination_is_reported_once_if_the_survey_says_so() -> None:
    joint = Survey.from_toml(TOML + ONCE).joint("drink", "sugar")
    assert joint.once
    assert joint.mechanism == KRR(k=6, epsilon=2.5)
    smaller = Survey.from_toml(TOML + ONCE + "epsilon = 1.0\nname = 'both'\n")["both"]
    assert smaller.mechanism.epsilon == 1.0
    named = "mechanism = {name = 'OUE', epsilon = 1.0}\n"
    assert Survey.from_toml(TOML + ONCE + named).joints[0].mechanism.to_document()["k"] == 6


@pytest.mark.parametrize("more", [JOINT, ONCE, JOINT + "name = 'both'\n"])
def test_a_survey_with_joints_is_read_as_written(more: str) -> None:
    survey = Survey.from_toml(TOML + more)
    assert Survey.from_json(survey.to_json()) == survey
    assert survey.fingerprint == Survey.from_json(survey.to_json()).fingerprint


def test_how_questions_are_reported_is_part_of_the_fingerprint() -> None:
    plain = Survey.from_toml(TOML)
    assert "joint" not in plain.to_document()
    several = {Survey.from_toml(TOML + more).fingerprint for more in ("", JOINT, ONCE)}
    assert len(several) == 3


def test_questions_that_are_not_listed_together_may_be_counted_together() -> None:
    survey = Survey.from_toml(TOML)
    assert survey.joint("word", "drink").names == ("word", "drink")
    with pytest.raises(KeyError, match=r"no question 'drink\+sugar'"):
        survey["drink+sugar"]


BAD: list[tuple[str, str]] = [
    ('questions = ["drink", "cups"]', "a joint has the question 'cups', which the survey does not"),
    ('questions = ["drink", "drink"]', "the question 'drink' is there twice"),
    ('questions = ["drink"]', "at least two questions, not of 1"),
    ('questions = ["drink", "sugar"]\nname = "word"', "has the name 'word' twice"),
    ('questions = ["drink", "sugar"]\ntext = "x"', "a joint has an unknown field 'text'"),
    ('questions = ["drink", "word"]\nonce = true', "question 'word' is open, and a combination"),
    ('questions = ["drink", "sugar"]\nepsilon = 1.0', "leave epsilon and mechanism out"),
    (
        'questions = ["drink", "sugar"]\nonce = true\n'
        'mechanism = {name = "KRR", k = 5, epsilon = 1}',
        "has 6 combinations of answers, but its mechanism",
    ),
    (
        'questions = ["drink", "sugar"]\nonce = true\n'
        'mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}',
        "takes any string, but combinations are listed",
    ),
    (
        'questions = ["drink", "sugar"]\n[[joint]]\nquestions = ["sugar", "word"]',
        "in the joints 'drink+sugar' and 'sugar+word', and each report of it would cost",
    ),
]


@pytest.mark.parametrize(("entry", "rule"), BAD, ids=[rule for _, rule in BAD])
def test_bad_joints_are_refused(entry: str, rule: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        Survey.from_toml(f"{TOML}\n[[joint]]\n{entry}\n")
    assert rule in str(caught.value)


def test_a_joint_is_made_of_the_questions_of_the_survey() -> None:
    survey = Survey.from_toml(TOML + JOINT)
    other = Joint(Question("drink", ["a", "b"], epsilon=1.0), survey.questions[1])
    with pytest.raises(ValueError, match="a question 'drink' that is not one of its own"):
        Survey("coffee", survey.questions, joints=(other,))
    bad: Any = "drink+sugar"
    with pytest.raises(TypeError, match="for a joint of questions"):
        Survey("coffee", survey.questions, joints=(bad,))
    with pytest.raises(ValueError, match="together, in this order: take margins"):
        survey.joint("sugar", "drink")
    with pytest.raises(ValueError, match="has no question 'cups'"):
        survey.joint("drink", "cups")
