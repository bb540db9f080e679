"""A document stands for one thing: what was written is read back, and nothing else is taken."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs import KRR, ORR, Counts, ORappor, Question, Rappor, Survey
from murmurs.boundary.documents import document
from murmurs.hashing.layout import listed
from murmurs.mechanisms import (
    BY_NAME,
    OPEN,
    Among,
    BooleanRappor,
    OpenProduct,
    Over,
    Prefixes,
    counts_from_document,
    from_document,
)
from murmurs.mechanisms.longitudinal.mapped import Mapped
from murmurs.mechanisms.settling import LEFT_OPEN
from murmurs.mechanisms.strings.over_ngrams import OverNGrams
from murmurs.questions.kinds import asked_from_document
from tests import laws

GOOGLE = Rappor(width=8, hashes=3, cohorts=4, f=0.5, p=0.25, q=0.75, scheme="google")
TEXTS = ("apple", "Z\u00fcrich", "\x1b[31m red")
MAPPED = Mapped(GOOGLE, TEXTS, map=listed(GOOGLE.bit_numbers(TEXTS), 4, 8, 3))
ALL: list[Any] = [
    *laws.SMALL,
    mm.warner(0.75),
    mm.PermutedRR(k=1000, epsilon=2.0),
    mm.ProjectiveGeometry(k=1000, epsilon=2.0),
    ORR(epsilon=1.0, width=3, cohorts=3, salt=1),
    ORappor(epsilon=4.0, width=4, cohorts=2, hashes=2, salt=7),
    Rappor(width=4, hashes=2, cohorts=2, f=0.25, p=0.125, q=0.875, salt=7),
    Prefixes(epsilon=2.0, width=4, levels=((2, 3), (4, 2)), salt=3),
    OpenProduct([ORR(epsilon=1.0, width=3, cohorts=3), KRR(k=2, epsilon=1.0)]),
    GOOGLE,
    GOOGLE.over(TEXTS),
    GOOGLE.over(TEXTS, complete=True),
    MAPPED,
    dataclasses.replace(MAPPED, complete=True),
]
every = pytest.mark.parametrize("mechanism", ALL, ids=repr)


def in_json(document: Any) -> Any:
    return json.loads(json.dumps(document))


# What was written is read back


def test_every_kind_is_there() -> None:
    assert {type(mechanism) for mechanism in ALL} == {
        *BY_NAME.values(),
        *OPEN.values(),
        Over,
        Mapped,
        mm.Design,
        BooleanRappor,
        Among,
        mm.Product,
        OpenProduct,
        OverNGrams,
    }


@every
def test_a_mechanism_is_read_back(mechanism: Any) -> None:
    again = from_document(in_json(mechanism.to_document()))
    assert again == mechanism
    assert type(again) is type(mechanism)
    assert hash(again) == hash(mechanism)
    assert repr(again) == repr(mechanism)
    assert json.dumps(again.to_document()) == json.dumps(mechanism.to_document())


@every
def test_counts_are_read_back(mechanism: Any) -> None:
    listed_ones = [["tea"], None] if isinstance(mechanism, OpenProduct) else ["tea", "mate"]
    source = mechanism if hasattr(mechanism, "k") else mechanism.over(listed_ones)
    drawn = source.simulate([3] * source.k, np.random.default_rng(1))
    for counts in (Counts(mechanism, drawn.n, drawn.cells), mechanism.count([])):
        again = counts_from_document(in_json(counts.to_document()))
        assert again == counts
        assert again.mechanism == mechanism


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("n"), "counts are an object with mechanism, n, cells"),
        (lambda d: d.update(more=1), "counts are an object with mechanism, n, cells"),
        (lambda d: d.update(n="3"), "n must be a whole number, not '3'"),
        (lambda d: d.update(n=4), "cells add up to 3, not 4: each report"),
        (lambda d: d.update(cells=[True, 1, 1]), "cells must be whole numbers, number 0 is of typ"),
        (lambda d: d.update(cells=[[1], [1, 1]]), "cells must be a table of whole numbers: its ro"),
        (lambda d: d.update(cells={"0": 3}), "cells has the label '0', but KRR"),
        (lambda d: d.update(cells=None), "cells must be a list or an array, not NoneType"),
        (lambda d: d.update(mechanism=None), "a mechanism is an object with a name, not None"),
        (lambda d: d["mechanism"].update(truth=None), "truth of KRR is null: leave it out"),
        (lambda d: d["mechanism"].update(epsilon=None), "epsilon of KRR is null: give it a value"),
    ],
)
def test_counts_that_are_none_are_refused(change: Any, message: str) -> None:
    document = in_json(KRR(k=3, epsilon=1.0).count([0, 1, 2]).to_document())
    change(document)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        counts_from_document(document)
    assert message in str(error.value)


@pytest.mark.parametrize("wrong", [None, [], "counts", 7])
def test_what_is_no_object_is_no_counts(wrong: Any) -> None:
    with pytest.raises(ValueError, match="counts are an object with mechanism, n, cells"):
        counts_from_document(wrong)


# Parameters that are left open


def left_open() -> list[tuple[type[Any], str]]:
    """Every parameter that is chosen if it is not given."""
    kinds: list[Any] = [*BY_NAME.values(), *OPEN.values()]
    return [
        (kind, field.name)
        for kind in kinds
        for field in dataclasses.fields(kind)
        if field.default is LEFT_OPEN
    ]


def test_all_that_can_be_chosen_is_left_open_by_its_absence() -> None:
    found = {name for _, name in left_open()}
    tables = {"g", "w", "b", "width", "cohorts", "blocks", "q", "t"}
    assert found == tables | {
        "truth",
        "flip",
        "permanent_flip",
        "permanent_truth",
        "f_numerator",
        "p_numerator",
        "q_numerator",
    }
    for kind in (*BY_NAME.values(), *OPEN.values()):
        for field in dataclasses.fields(kind):  # type: ignore[arg-type]
            assert field.default not in (-1, 0) or field.name in ("salt", "circular")


def small_document(kind: type[Any]) -> dict[str, Any]:
    mechanism = next(m for m in ALL if type(m) is kind)
    document: dict[str, Any] = in_json(mechanism.to_document())
    return document


@pytest.mark.parametrize(("kind", "name"), left_open())
def test_only_absence_leaves_a_parameter_open(kind: type[Any], name: str) -> None:
    """0, -1 and whatever else is false were taken for "choose for me"."""
    document = small_document(kind)
    assert type(document[name]) is int
    wrongs: list[Any] = [0, -1, 0.0, 1.5, False, True, [], {}, "", "1", None]
    for wrong in wrongs:
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
            from_document({**document, name: wrong})
        assert name in str(error.value)
        if wrong is not None:
            with pytest.raises((TypeError, ValueError)):
                kind(**{k: v for k, v in document.items() if k != "name"} | {name: wrong})
    probabilities = (
        {"truth", "flip"}
        if name in ("truth", "flip") or not name.endswith(("numerator", "flip", "truth"))
        else set()
    )
    document = {k: v for k, v in document.items() if k not in {name, *probabilities}}
    chosen = from_document(document)
    assert type(getattr(chosen, name)) is int
    parameters = {key: value for key, value in document.items() if key != "name"}
    assert kind(**parameters, **{name: None}) == kind(**parameters) == chosen


# Questions and surveys


def test_a_question_keeps_its_labels_as_a_tuple() -> None:
    labels: Any = ["a", "b"]
    question = Question("q", labels, KRR(k=2, epsilon=1.0))
    assert question.labels == ("a", "b")
    assert hash(question) == hash(Question("q", ("a", "b"), KRR(k=2, epsilon=1.0)))
    assert asked_from_document(in_json(question.to_document())) == question
    questions: Any = [question]
    survey = Survey("s", questions)
    assert Survey.from_json(survey.to_json()) == survey
    assert hash(survey) == hash(Survey("s", (question,)))
    labels.append("c")
    assert question.labels == ("a", "b")


RR = KRR(k=2, epsilon=1.0)
GOOD = Question("q", ("a", "b"), RR)
ASKED: Any = Question  # with fields of any kind
SURVEYED: Any = Survey


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: ASKED(7, ("a", "b"), RR), TypeError, "the name of a question must be text, no"),
        (lambda: ASKED("q", "ab", RR), TypeError, "labels of question 'q' are a list, not 'ab'"),
        (lambda: ASKED("q", {"a", "b"}, RR), TypeError, "labels of question 'q' are a list, not {"),
        (lambda: ASKED("q", None, RR), TypeError, "labels of question 'q' are a list, not None"),
        (lambda: ASKED("q", ("a", 7), RR), TypeError, "label 1 of question 'q' must be text, n"),
        (lambda: ASKED("q", ("a", "b"), RR, 7), TypeError, "the text of question 'q' must be t"),
        (lambda: ASKED("q", ("a", "b"), "KRR"), TypeError, "question 'q' has 'KRR' for a mech"),
        (
            lambda: ASKED("q", ("a",), RR),
            ValueError,
            "question 'q' has 1 labels, but its mechan",
        ),
        (lambda: SURVEYED(7, (GOOD,)), TypeError, "the name of a survey must be text, not 7"),
        (lambda: SURVEYED("s", GOOD), TypeError, "questions of 's' are a list, not Question("),
        (lambda: SURVEYED("s", ("q",)), TypeError, "survey 's' has 'q' for a question"),
        (
            lambda: SURVEYED("s", (GOOD,), True),
            TypeError,
            "survey 's' has version True, not a whole",
        ),
        (
            lambda: SURVEYED("s", (GOOD,), "1"),
            TypeError,
            "survey 's' has version '1', not a whole num",
        ),
        (
            lambda: SURVEYED("s", (GOOD,), 10**400),
            ValueError,
            "has version about 10**400; versions",
        ),
        (lambda: SURVEYED("s" * 10**6, ()), ValueError, "... (1000000 in all) has no question"),
    ],
)
def test_fields_of_another_kind_are_refused(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        make()
    assert message in str(error.value)
    assert len(str(error.value)) < 200


def test_a_mechanism_over_candidates_is_no_question_of_a_survey() -> None:
    over = ORR(epsilon=1.0, width=3, cohorts=3).over(["tea", "mate"], complete=True)
    message = (
        r"^question 'q' has a mechanism over candidates, .*: ask with ORR\(epsilon=1.0, width=3, "
        r"cohorts=3, salt=0\) and without labels; give candidates when estimating$"
    )
    with pytest.raises(ValueError, match=message):
        Question("q", ("tea", "mate"), over)


@pytest.mark.parametrize(
    "field", [{"candidates": ["tea", "mate"]}, {"complete": True}, {"map": [[0]]}], ids=str
)
@pytest.mark.parametrize("labels", [[], ["tea", "mate", "(other)"]])
def test_a_survey_lists_no_candidates(field: dict[str, Any], labels: list[str]) -> None:
    mechanism = {**ORR(epsilon=1.0, width=3, cohorts=3).to_document(), **field}
    question = {"name": "q", "labels": labels, "mechanism": mechanism}
    document = json.dumps({"name": "s", "questions": [question]})
    message = (
        f"^question 'q' has '{min(field)}' in its mechanism: a survey lists no candidates, give "
        "them when estimating$"
    )
    with pytest.raises(ValueError, match=message):
        Survey.from_json(document)
    with pytest.raises(ValueError, match=message):
        asked_from_document(question)


# Names and labels are printed


CONTROLS = ["\0", "\t", "\n", "\r", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066"]


@pytest.mark.parametrize("control", [*CONTROLS, "\ud800"], ids=lambda c: f"U+{ord(c):04X}")
def test_control_characters_are_refused_with_their_place(control: str) -> None:
    bad = f"red{control}[31m"
    what = f"has the control character U+{ord(control):04X} at place 3: take it out"
    for make, name in (
        (lambda: Question(bad, ("a", "b"), RR), "the name of a question"),
        (lambda: Question("q", ("a", bad), RR), "label 1 of question 'q'"),
        (lambda: Survey(bad, (GOOD,)), "the name of a survey"),
    ):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
            make()
        assert str(error.value) == f"{name} {what}"
    document = copy.deepcopy(Survey("s", (GOOD,)).to_document())
    document["questions"][0]["labels"][1] = bad
    with pytest.raises(ValueError, match=r"^label 1 of question 'q' has the control character"):
        Survey.from_json(json.dumps(document))
    if control in "\n\t":
        assert Question("q", ("a", "b"), RR, bad).text == bad  # a text may have several lines
    else:
        with pytest.raises(ValueError, match="the text of question 'q' has the control character"):
            Question("q", ("a", "b"), RR, bad)


@pytest.mark.parametrize(
    "label",
    [
        "Z\u00fcrich",
        "Zu\u0308rich",
        "\u540d",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family, joined by invisible joiners
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian has a joiner that parts
        "\u05e9\u05dc\u05d5\u05dd",
        "a\u00a0b",
        "a\u00adb",
        "a\u200eb",
        " tea ",
        "\ufefftea",
        "\ue000",
    ],
)
def test_ordinary_unicode_is_kept(label: str) -> None:
    survey = Survey(label, (Question(label, (label, "no"), RR, label),))
    assert Survey.from_json(survey.to_json()) == survey
    assert Survey.from_json(survey.to_json()).questions[0].answer(label) == 0


# Documents that are none


DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        "[" * DEEP + "]" * DEEP,
        '{"a":' * DEEP,
        '{"name": ' + "[" * DEEP + "]" * DEEP + ', "questions": []}',
    ],
)
def test_deep_nesting_is_no_survey(text: str) -> None:
    with pytest.raises(ValueError, match=r"^this is not a survey: .* it is nested too deeply$"):
        Survey.from_json(text)


@pytest.mark.parametrize("text", ["a = " + "[" * DEEP, "a = " + "{b = " * DEEP])
def test_deep_nesting_is_no_survey_in_toml_either(text: str) -> None:
    with pytest.raises(ValueError, match=r"^this is not a survey: it is nested too deeply$"):
        Survey.from_toml(text)


@pytest.mark.parametrize("depth", [10, 100, 300])
def test_nesting_that_can_be_read_is_told_shortly(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    text = '{"name": "s", "questions": [{"name": "q", "labels": ["a", "b"], "mechanism": '
    for name in ("epsilon", "truth"):
        other = '"epsilon": 1, ' if name == "truth" else ""
        document = f'{text}{{"name": "KRR", {other}"{name}": {nested}}}}}]}}'
        with pytest.raises(ValueError, match=rf"^{name} must be a .*number, not \[\[") as error:
            Survey.from_json(document)
        assert len(str(error.value)) < 100


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "s", "name": "t", "questions": []}',
        '{"name": "s", "questions": [{"name": "q", "labels": ["a", "b"], "mechanism": '
        '{"name": "KRR", "epsilon": 1.0, "epsilon": 20.0}}]}',
    ],
)
def test_a_key_that_comes_twice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a survey: .* the key '.*' occurs twice$"):
        Survey.from_json(text)


def test_what_a_reader_complains_about_is_told_shortly() -> None:
    for text in (
        json.dumps({"x" * 10**6: 1, "name": "s", "questions": []}),
        json.dumps({"\x1b[31m": 1, "name": "s", "questions": []}),
        '{"name": "s", "version": NaN, "questions": []}',
        '{"name": "s", "version": 1' + "0" * 5000 + ', "questions": []}',
        '{"name": "s", "murmurs": 1' + "0" * 400 + "}",
    ):
        with pytest.raises(ValueError, match="survey") as error:
            Survey.from_json(text)
        assert len(str(error.value)) < 400  # it lists the fields of a survey
        assert str(error.value).isprintable()


def test_a_byte_order_mark_is_no_part_of_a_survey() -> None:
    survey = Survey("s", (GOOD,))
    marked = b"\xef\xbb\xbf" + survey.to_json().encode()
    assert Survey.from_json(marked) == survey
    toml = 'name = "s"\n[[questions]]\nname = "q"\nlabels = ["a", "b"]\n'
    toml += 'mechanism = {name = "KRR", epsilon = 1.0}\n'
    assert Survey.from_toml(b"\xef\xbb\xbf" + toml.encode()) == survey
    assert Survey.from_toml(toml) == survey


# Fingerprints


def test_nothing_that_compares_takes_a_part_of_the_fingerprint(tmp_path: Any) -> None:
    """Two surveys whose fingerprints begin alike were found in minutes, for 64 bits of it."""
    from murmurs.files.reports import read_reports, write_reports

    survey = Survey("s", (GOOD,))
    path = tmp_path / "reports.bin"
    write_reports(path, survey, GOOD, [GOOD.closed.shape.stack([0, 1])])
    whole = path.read_bytes()
    assert whole.count(survey.fingerprint.encode()) == 1
    read_reports(path, survey)
    for digits in (0, 12, 16, 32, 63):
        part = survey.fingerprint[:digits]
        path.write_bytes(whole.replace(survey.fingerprint.encode(), part.encode()))
        with pytest.raises(ValueError, match="reports"):
            read_reports(path, survey)


def test_the_fingerprint_shown_is_too_short_to_be_taken_for_one() -> None:
    survey = Survey("s", (GOOD,))
    assert len(survey.fingerprint) == 64
    assert survey.fingerprint.startswith(survey.short_fingerprint)
    assert len(survey.short_fingerprint) == 12


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_an_empty_file_is_called_empty(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it is empty$"):
        document(data)
