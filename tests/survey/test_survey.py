"""A survey is read as people write it; what is published is one document, and no other."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from murmurs import KRR, OUE, BasicRappor, Question, Survey
from murmurs.boundary.documents import canonical
from murmurs.mechanisms import BY_NAME, from_document
from murmurs.privacy import SCALE
from tests.surveys import DRINK, coffee

SUGAR = """
[[questions]]
name = "sugar"
labels = ["no", "yes"]
mechanism = {name = "SUE", epsilon = 0.5}
"""
TOML = coffee(DRINK + SUGAR, "version = 3\n")
SURVEY = Survey.from_toml(TOML)
DOCUMENT = SURVEY.to_document()


def changed(change: Any) -> str:
    """Return the published document after a change."""
    document = copy.deepcopy(DOCUMENT)
    change(document)
    return json.dumps(document)


# In and out


def test_a_survey_is_read_as_people_write_it() -> None:
    assert (SURVEY.name, SURVEY.version) == ("coffee", 3)
    drink, sugar = SURVEY.questions
    assert drink.mechanism == KRR(k=4, epsilon=1.0)
    assert drink.labels == ("espresso", "filter", "tea", "nothing")
    assert (drink.text, sugar.text) == ("What do you drink?", "")
    assert SURVEY.question("sugar") is sugar
    assert drink.answer("tea") == 2
    assert Survey.from_toml(TOML.encode()) == SURVEY


def test_a_published_survey_is_the_same_survey() -> None:
    text = SURVEY.to_json()
    again = Survey.from_json(text)
    assert again == Survey.from_json(text.encode()) == SURVEY
    assert again.to_json() == text
    assert again.fingerprint == SURVEY.fingerprint


def test_a_published_survey_holds_the_integer_probabilities() -> None:
    published = json.loads(SURVEY.to_json())["questions"]
    assert published[0]["mechanism"]["truth"] == KRR(k=4, epsilon=1.0).truth
    assert published[1]["mechanism"]["flip"] > 0


@pytest.mark.parametrize("name", BY_NAME)
def test_every_mechanism_can_be_asked_for(name: str) -> None:
    numbers = "f = 0.5, p = 0.25, q = 0.75" if name == "BasicRappor" else "epsilon = 1.0"
    numbers += ", epsilon_permanent = 2.0" if name in ("LOSUE", "LOLOHA") else ""
    survey = Survey.from_toml(f"""
        name = "all"
        [[questions]]
        name = "q"
        labels = ["a", "b", "c"]
        mechanism = {{name = "{name}", {numbers}}}
    """)
    assert type(survey.questions[0].mechanism) is BY_NAME[name]
    assert Survey.from_json(survey.to_json()) == survey


def test_labels_may_be_in_any_language() -> None:
    survey = Survey("ü", (Question("名", ("да", "nein 🙂"), KRR(k=2, epsilon=1.0)),))
    assert "да" in survey.to_json()
    assert Survey.from_json(survey.to_json()).fingerprint == survey.fingerprint


# The fingerprint


def test_the_fingerprint_is_the_whole_hash_of_the_canonical_form() -> None:
    wanted = hashlib.sha256(canonical(DOCUMENT).encode()).hexdigest()
    assert len(wanted) == 64
    assert SURVEY.fingerprint == wanted
    assert SURVEY.short_fingerprint == wanted[:12]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the way to every plain value of a document."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        if isinstance(part, dict | list):
            yield from leaves(part, (*path, key))
        else:
            yield (*path, key)


@pytest.mark.parametrize("path", list(leaves(DOCUMENT)), ids=str)
def test_any_changed_value_changes_the_fingerprint(path: tuple[Any, ...]) -> None:
    document = copy.deepcopy(DOCUMENT)
    at: Any = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = at[path[-1]] + ("x" if isinstance(at[path[-1]], str) else 1)
    assert canonical(document) != canonical(DOCUMENT)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(name="tea"),
        lambda d: d.update(version=4),
        lambda d: d["questions"].reverse(),
        lambda d: d["questions"].pop(),
        lambda d: d["questions"][0].update(name="cup"),
        lambda d: d["questions"][0].update(text=""),
        lambda d: d["questions"][0]["labels"].reverse(),
        lambda d: d["questions"][0]["mechanism"].update(epsilon=1.5),
        lambda d: d["questions"][0]["mechanism"].update(truth=12345),
        lambda d: d["questions"][1]["mechanism"].update(name="OUE"),
    ],
)
def test_another_survey_has_another_fingerprint(change: Any) -> None:
    assert Survey.from_json(changed(change)).fingerprint != SURVEY.fingerprint


def test_order_of_keys_and_whitespace_do_not_change_the_fingerprint() -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(part) for part in value] if isinstance(value, list) else value

    for text in (
        json.dumps(turned(DOCUMENT)),
        json.dumps(DOCUMENT, indent=7),
        json.dumps(DOCUMENT, separators=(",", ":"), ensure_ascii=True),
        changed(lambda d: d["questions"][0]["mechanism"].update(epsilon=1)),
    ):
        assert Survey.from_json(text).fingerprint == SURVEY.fingerprint


# What is no survey


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d.update(colour="red"),
            "this is not a survey: it has an unknown field 'colour'; the fields of a survey are "
            "name, questions, version, murmurs",
        ),
        (
            lambda d: d["questions"][0].update(hint="x"),
            "question 'drink' has an unknown field 'hint'; the fields of a question are name, "
            "mechanism, labels, text",
        ),
        (lambda d: d.update(joint={}), "joint is one entry, not a list of them: write [[joint]]"),
        (lambda d: d.update(murmurs="counts"), "this is not a survey: it is a file of counts"),
        (
            lambda d: d["questions"][0]["mechanism"].update(delta=1),
            "KRR has no parameter 'delta'; it has epsilon, k, truth",
        ),
        (lambda d: d.pop("name"), "this is not a survey: Object missing required field `name`"),
        (
            lambda d: d["questions"][0].pop("labels"),
            "question 'drink' has no labels; only open mechanisms",
        ),
        (lambda d: d["questions"][0]["mechanism"].pop("epsilon"), "KRR needs epsilon"),
        (
            lambda d: d["questions"][0]["mechanism"].update(name="GRR"),
            "there is no mechanism 'GRR'; there are KRR, ",
        ),
        (lambda d: d["questions"][0]["mechanism"].pop("name"), "there is no mechanism None"),
        (lambda d: d.update(name=""), "a survey must have a name"),
        (lambda d: d.update(name="  "), "a survey must have a name"),
        (lambda d: d.update(questions=[]), "survey 'coffee' has no question"),
        (lambda d: d.update(version=0), "survey 'coffee' has version 0; versions start at 1"),
        (lambda d: d.update(version=1.5), "Expected `int`, got `float` - at `$.version`"),
        (lambda d: d["questions"][0].update(name=" "), "a question must have a name"),
        (
            lambda d: d["questions"][1].update(name="drink"),
            "survey 'coffee' has the question 'drink' twice",
        ),
        (
            lambda d: d["questions"][0]["labels"].__setitem__(3, "tea"),
            "question 'drink' has the label 'tea' twice",
        ),
        (
            lambda d: d["questions"][0]["labels"].__setitem__(1, " "),
            "question 'drink' has an empty label",
        ),
        (
            lambda d: d["questions"][0]["labels"].append("mate"),
            "question 'drink' has 5 labels, but its mechanism KRR(k=4, epsilon=1.0) takes 4",
        ),
        (
            lambda d: d["questions"][0].update(labels=[1, 2, 3, 4]),
            "label 0 of question 'drink' is 1, and a label is a text: write \"1\", in quotes",
        ),
        (lambda d: d["questions"][0]["mechanism"].update(epsilon=-1), "epsilon must be from"),
    ],
)
def test_a_document_that_is_no_survey_is_refused_with_the_reason(change: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        Survey.from_json(changed(change))
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '"survey"', b"\xff\xfe", "{'name': 1}"])
def test_text_that_is_no_json_object_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"^this is not a survey: "):
        Survey.from_json(text)


@pytest.mark.parametrize("text", ["", "name = ", "= 1", "[[questions]]", b"\xff\xfe"])
def test_text_that_is_no_toml_survey_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"^this is not a survey: "):
        Survey.from_toml(text)


def test_a_mechanism_whose_name_is_no_text_is_refused_like_any_other() -> None:
    text = changed(lambda d: d["questions"][0]["mechanism"].update(name=["KRR"]))
    with pytest.raises(ValueError, match=r"^there is no mechanism \['KRR'\]; there are KRR"):
        Survey.from_json(text)


def test_a_label_that_is_no_answer_is_refused_with_the_answers() -> None:
    message = "^this is not an answer to 'drink'; answers are 'espresso', 'filter', 'tea', 'nothi"
    with pytest.raises(ValueError, match=message):
        SURVEY.questions[0].answer("mate")
    many = Question("q", tuple(str(i) for i in range(20)), OUE(k=20, epsilon=1.0))
    with pytest.raises(ValueError, match=r"'6', '7' and 12 more$"):
        many.answer("20")


def test_the_path_of_a_survey_is_not_its_text(tmp_path: Path) -> None:
    for path in ("coffee.json", "coffee.toml", tmp_path / "coffee"):
        for read in (Survey.from_json, Survey.from_toml):
            with pytest.raises(TypeError, match="takes the text of a file, not its path") as error:
                read(path)  # type: ignore[arg-type]
            assert str(error.value).endswith("pass Path(...).read_text()")


def test_an_open_mechanism_without_its_table_points_to_tune() -> None:
    for name in ("ORR", "ORappor"):
        with pytest.raises(ValueError, match=f"{name} needs cohorts, width: murmurs tune finds"):
            from_document({"name": name, "epsilon": 2.0})
        with pytest.raises(ValueError, match=f"{name} needs epsilon$"):
            from_document({"name": name, "width": 8, "cohorts": 4})


def test_a_question_that_is_not_there_is_refused_with_those_that_are() -> None:
    message = r"^survey 'coffee' has no question 'milk'; it has 'drink', 'sugar'$"
    with pytest.raises(ValueError, match=message):
        SURVEY.question("milk")
    together = r"it has 'drink', 'sugar'; to report questions together, name them in \[\[joint\]\]"
    with pytest.raises(ValueError, match=together):
        SURVEY.question("drink+sugar")


# A later release


def test_a_published_survey_of_a_later_format_is_refused_before_its_contents() -> None:
    text = changed(lambda d: d.update(murmurs=2, novelty=[1]))
    message = r"^survey 'coffee' has format 2, this release reads up to 1: upgrade murmurs$"
    with pytest.raises(ValueError, match=message):
        Survey.from_json(text)


def test_a_written_survey_of_a_later_format_is_refused_too() -> None:
    message = r"^survey 'coffee' has format 2, this release reads up to 1: upgrade murmurs$"
    with pytest.raises(ValueError, match=message):
        Survey.from_toml("murmurs = 2\n" + TOML)


def test_a_format_that_never_was_is_refused() -> None:
    with pytest.raises(ValueError, match="format 0"):
        Survey.from_json(changed(lambda d: d.update(murmurs=0)))


# Integer probabilities that were tampered with


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "BasicRappor"])
def test_a_tampered_probability_that_breaks_epsilon_is_refused(name: str) -> None:
    rest = {"epsilon_permanent": 2.0} if name in ("LOSUE", "LOLOHA") else {}
    made = BY_NAME[name](k=3, epsilon=1.0, **rest)  # type: ignore[call-arg]
    tampered = Survey("s", (Question("q", ("a", "b", "c"), made),)).to_document()
    mechanism = tampered["questions"][0]["mechanism"]
    if "truth" in mechanism:
        mechanism["truth"] += 1
    else:
        mechanism["flip"] -= 1
    with pytest.raises(ValueError, match=r"give epsilon 1\.0\d+, more than the 1\.0 they promise"):
        Survey.from_json(json.dumps(tampered))


@pytest.mark.parametrize("truth", [-1, SCALE, 2 * SCALE])
def test_a_probability_that_is_none_is_refused(truth: int) -> None:
    text = changed(lambda d: d["questions"][0]["mechanism"].update(truth=truth))
    with pytest.raises(ValueError, match=f"truth must be from 1 to 9007199254740991, not {truth}"):
        Survey.from_json(text)


@pytest.mark.parametrize("field", ["f_numerator", "p_numerator", "q_numerator"])
def test_a_probability_other_than_the_one_shown_is_refused(field: str) -> None:
    """f, p and q are what people read; the integers are what devices use: they must agree."""
    survey = Survey("s", (Question("q", ("a", "b"), BasicRappor(k=2, f=0.5, p=0.5, q=0.75)),))
    tampered = survey.to_document()
    tampered["questions"][0]["mechanism"][field] += SCALE // 5
    with pytest.raises(ValueError, match=field):
        Survey.from_json(json.dumps(tampered))


# The canonical form


RFC_8785 = """
0000000000000000 0
8000000000000000 0
0000000000000001 5e-324
8000000000000001 -5e-324
7fefffffffffffff 1.7976931348623157e+308
ffefffffffffffff -1.7976931348623157e+308
4340000000000000 9007199254740992
c340000000000000 -9007199254740992
4430000000000000 295147905179352830000
44b52d02c7e14af5 9.999999999999997e+22
44b52d02c7e14af6 1e+23
44b52d02c7e14af7 1.0000000000000001e+23
444b1ae4d6e2ef4e 999999999999999700000
444b1ae4d6e2ef4f 999999999999999900000
444b1ae4d6e2ef50 1e+21
3eb0c6f7a0b5ed8c 9.999999999999997e-7
3eb0c6f7a0b5ed8d 0.000001
41b3de4355555553 333333333.3333332
41b3de4355555554 333333333.33333325
41b3de4355555555 333333333.3333333
41b3de4355555556 333333333.3333334
41b3de4355555557 333333333.33333343
becbf647612f3696 -0.0000033333333333333333
43143ff3c1cb0959 1424953923781206.2
"""
"""Appendix B: the bits of a number, and how it is written."""


@pytest.mark.parametrize("line", RFC_8785.strip().splitlines())
def test_numbers_are_written_as_the_rfc_has_them(line: str) -> None:
    bits, written = line.split()
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (0.000001, "0.000001"),
        (4.5, "4.5"),
        (2e-3, "0.002"),
        (333333333.33333329, "333333333.3333333"),
        (1e30, "1e+30"),
        (0.00000123, "0.00000123"),
        (1.5e-9, "1.5e-9"),
        (-1e-6, "-0.000001"),
        (1.0, "1"),
        (-0.0, "0"),
        (100.0, "100"),
        (SCALE - 1, "9007199254740991"),
        (True, "true"),
        (None, "null"),
    ],
)
def test_values_are_written_as_ecmascript_does(value: Any, written: str) -> None:
    assert canonical(value) == written


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_in_json_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=f"^{value} cannot be written in JSON$"):
        canonical({"a": [value]})


def test_text_is_escaped_as_the_rfc_has_it() -> None:
    text = '\u20ac$\u000f\nA\'B"\\\\"/'
    assert canonical(text) == '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'


def test_keys_are_sorted_by_their_utf_16_units() -> None:
    """The example of section 3.2.3: by code points the smiling face would be the last."""
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    found = list(json.loads(canonical(dict.fromkeys(names, 0))))
    assert found == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert canonical({"b": 1, "a": {"d": [], "c": {}}}) == '{"a":{"c":{},"d":[]},"b":1}'


@pytest.mark.parametrize(
    ("written", "meant"),
    [("krr", "KRR"), ("crosswise", "Crosswise"), ("forced_response", "ForcedResponse")],
)
def test_a_mechanism_in_other_capitals_is_told(written: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"^there is no mechanism '{written}'; write '{meant}'$"):
        from_document({"name": written})
