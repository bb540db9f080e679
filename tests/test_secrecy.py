"""An error on a device does not carry the answer: a crash reporter would send it away.

Errors name the position and the rule. Looked through are the messages and arguments of an error and
of all errors it was raised from or during; the source lines of a traceback hold no answers.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs import Device, Question, Rappor, Secure, Survey
from murmurs.boundary.reading import blocks_of_lines
from murmurs.client import Client
from murmurs.files.columns import read_column
from murmurs.hashing import schemes, strings
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.rappor import clients
from tests import laws

SECRETS = ("SECRET", "987654321")


class Text(str):
    """A string of somebody else's making."""

    def __repr__(self) -> str:
        return f"Text({self!s})"


class Strange:
    """What tells its value when it is asked for a whole number."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __index__(self) -> int:
        raise ValueError(f"{self.value} is no whole number")

    def __repr__(self) -> str:
        return f"Strange({self.value})"


NO_NUMBERS: list[Any] = [
    "SECRET-of-mine",
    987654321,
    -987654321,
    987654321 * 10**400,
    987654321.5,
    Decimal(987654321),
    b"SECRET-of-mine",
    bytearray(b"SECRET"),
    Text("SECRET-of-mine"),
    np.str_("SECRET"),
    np.int64(987654321),
    np.float64(987654321.5),
    ["SECRET"],
    {"SECRET": 987654321},
    Strange("SECRET"),
    None,
]
NO_STRINGS: list[Any] = [
    987654321,
    987654321.5,
    b"SECRET-of-mine",
    "SECRET\ud800",
    Text("SECRET\udfff"),
    ["SECRET"],
    ("SECRET",),
    Strange("SECRET"),
    None,
]
CLOSED: list[Mechanism[Any]] = laws.SMALL
RAPPOR = Rappor(width=8, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75)
OPEN: list[OpenMechanism[Any]] = [
    mm.ORR(epsilon=1.0, width=4, cohorts=3),
    mm.ORappor(epsilon=1.0, width=4, cohorts=3, hashes=2),
    RAPPOR,
    *(
        Rappor(width=8, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75, scheme=scheme)
        for scheme in (*schemes.BY_NAME, "map")
    ),
]
named: Any = {"ids": lambda value: repr(value)[:30]}


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and all that it was raised from or during."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]


def told(error: BaseException) -> str:
    """Everything that the errors say, and everything that they hold."""
    return "\n".join(
        "".join(traceback.format_exception_only(one)) + str(one) + repr(one.args) + repr(vars(one))
        for one in chain(error)
    )


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises((TypeError, ValueError)) as caught:
        act()
    text = told(caught.value)
    assert not any(secret in text for secret in SECRETS), text
    return str(caught.value)


def number() -> None:
    try:
        int("SECRET")
    except ValueError:
        raise TypeError("this is no number") from None


def test_what_is_looked_through_would_show_an_answer() -> None:
    """Python's own errors tell it, by the message, by what they hold, and by what came before."""
    with pytest.raises(ValueError, match="SECRET") as plain:
        int("SECRET")
    with pytest.raises(UnicodeEncodeError) as held:
        "SECRET\ud800".encode()
    with pytest.raises(TypeError) as before:
        number()
    for caught in (plain, held, before):
        assert "SECRET" in told(caught.value)


@pytest.mark.parametrize("wrong", NO_NUMBERS, **named)
@pytest.mark.parametrize("mechanism", CLOSED, ids=repr)
def test_a_number_is_not_told(mechanism: Mechanism[Any], wrong: Any) -> None:
    message = refusal(lambda: mechanism.encode(wrong, Secure()))
    assert repr(mechanism) in message
    refusal(lambda: mechanism.check(wrong))
    answers = [0] * 17 + [wrong, 1]
    assert "17" in refusal(lambda: mechanism.encode_many(answers))
    assert "17" in refusal(lambda: mechanism.encode_many(tuple(answers)))
    held = np.empty(19, object)
    held[:] = answers
    assert "17" in refusal(lambda: mechanism.encode_many(held))
    refusal(lambda: mechanism.encode_many(wrong))
    if isinstance(mechanism, Longitudinal):
        device: Device[Any] = Device(mechanism, bytes(16), "q", memory="value")
        refusal(lambda: device.report(wrong))


@pytest.mark.parametrize("mechanism", CLOSED, ids=repr)
def test_numbers_in_an_array_are_not_told(mechanism: Mechanism[Any]) -> None:
    for bad in (987654321, -987654321):
        answers = np.zeros(40_000, np.int64)
        answers[[35_000, 36_000]] = bad
        message = refusal(lambda answers=answers: mechanism.encode_many(answers))  # type: ignore[misc]
        assert message == f"answer number 35000 is not one of 0..{mechanism.k - 1} of {mechanism}"
    refusal(lambda: mechanism.encode_many(np.array(["SECRET", "SECRET"])))
    refusal(lambda: mechanism.encode_many(np.array([987654321.0])))
    refusal(lambda: mechanism.encode_many([[987654321], [987654321, 0]]))


@pytest.mark.parametrize("wrong", NO_STRINGS, **named)
@pytest.mark.parametrize("mechanism", OPEN, ids=repr)
def test_a_string_is_not_told(mechanism: OpenMechanism[Any], wrong: Any) -> None:
    refusal(lambda: mechanism.encode(wrong, Secure()))
    refusal(lambda: mechanism.check(wrong))
    answers = ["tea"] * 17 + [wrong, "tea"]
    assert "17" in refusal(lambda: mechanism.encode_many(answers))
    assert "17" in refusal(lambda: mechanism.encode_many(iter(answers)))
    if isinstance(mechanism, Longitudinal):
        device: Device[Any] = Device(mechanism, bytes(16), "q", memory="value")
        refusal(lambda: device.report(wrong))


def test_a_string_that_cannot_be_hashed_is_not_told() -> None:
    blind = Rappor(width=8, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75, scheme="map")
    for act in (
        lambda: blind.encode("SECRET", Secure()),
        lambda: blind.encode_many(["tea", "SECRET"]),
        lambda: blind.bit_numbers(["SECRET"]),
        lambda: blind.places("SECRET", 0),
        lambda: Device(blind, bytes(16), "q", memory="value").report("SECRET"),
        lambda: strings.key("SECRET\ud800"),
        lambda: list(strings.keys(["tea", "SECRET\ud800"])),
        lambda: RAPPOR.encode_many({"SECRET": 987654321}),
        *(
            lambda scheme=scheme: scheme.bits("SECRET\ud800", 0, 8, 2)
            for scheme in schemes.BY_NAME.values()
        ),
        *(
            lambda scheme=scheme: scheme.table(["SECRET\ud800"], 8, 2, 4)
            for scheme in schemes.BY_NAME.values()
        ),
        lambda: clients.python_permanent(b"secret", 987654321, 8, 0.5),
    ):
        refusal(act)


@pytest.mark.parametrize("wrong", [*NO_NUMBERS, *NO_STRINGS], **named)
def test_a_label_is_not_told(wrong: Any) -> None:
    question = Question("drink", ("coffee", "tea"), mm.KRR(k=2, epsilon=1.0))
    message = refusal(lambda: question.answer(wrong))
    assert "'drink'" in message


@pytest.mark.parametrize("wrong", NO_STRINGS, **named)
def test_an_answer_to_one_of_several_questions_is_not_told(wrong: Any) -> None:
    drink = Question("drink", ("coffee", "tea"), mm.KRR(k=2, epsilon=1.0))
    word = Question("word", (), mm.ORR(epsilon=1.0, width=4, cohorts=3))
    joint = mm.Joint(drink, word)
    many, bad = ["tea"] * 17 + ["coffee"], ["tea"] * 17 + [wrong]
    for act in (
        lambda: joint.encode(("tea", wrong)),
        lambda: joint.encode((wrong, "tea")),
        lambda: joint.encode(wrong),
        lambda: joint.encode_many([many, bad]),
        lambda: joint.encode_many([bad, many]),
        lambda: joint.encode_many(wrong),
        lambda: mm.Joint(drink, mm.KRR(k=2, epsilon=1.0)).count_reported([bad, many]),
    ):
        refusal(act)
    assert "17" in refusal(lambda: joint.encode_many([many, bad]))


def test_the_first_row_of_a_file_without_names_is_not_told() -> None:
    """Readers of files take it for the names of the columns."""
    drink = Question("drink", ("coffee", "tea"), mm.KRR(k=2, epsilon=1.0))
    joint = mm.Joint(drink, mm.KRR(k=2, epsilon=1.0))
    refusal(lambda: joint.encode_many({"SECRET": ["tea"], "987654321": ["1"]}))


def test_a_label_that_is_refused_is_told_which_there_are() -> None:
    question = Question("drink", ("coffee", "t" * 10**6), mm.KRR(k=2, epsilon=1.0))
    message = refusal(lambda: question.answer("SECRET"))
    assert message.startswith("this is not an answer to 'drink'; answers are 'coffee', 'ttttttt")
    assert len(message) < 200


def test_an_answer_inside_an_array_of_arrays_is_not_told_and_not_cut() -> None:
    """An array without dimensions inside an array of objects is looked into like any other."""
    for inner in (np.array("SECRET"), np.array(2.7), np.array(True), np.array(["SECRET"])):
        answers = np.empty(2, object)
        answers[0], answers[1] = inner, 1
        with pytest.raises((TypeError, ValueError)) as error:
            mm.KRR(k=4, epsilon=1.0).encode_many(answers)
        assert "SECRET" not in str(error.value)
        assert error.value.__context__ is None or error.value.__suppress_context__


def test_bytes_that_are_no_text_are_kept_out_of_the_chain_of_errors(tmp_path: Path) -> None:
    path = tmp_path / "answers.txt"
    path.write_bytes(b"tea\n\xffSECRET\n")
    with pytest.raises(ValueError, match="line 2: it is not UTF-8") as error:
        list(blocks_of_lines(path))
    assert error.value.__context__ is None


@pytest.mark.parametrize(
    "line",
    [
        '{"drink": "SECRET"',
        '{"drink": SECRET}',
        '{"SECRET": 1, "SECRET": 2}',
        '{"drink": 987654321e999}',
        '"SECRET\\ud8"',
    ],
)
def test_a_line_that_is_no_json_is_kept_out_of_the_chain_of_errors(
    line: str, tmp_path: Path
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f'{{"drink": "tea"}}\n{line}\n')
    assert "line 2: this is not one JSON value" in refusal(lambda: list(read_column(path, "drink")))


def test_a_damaged_state_is_kept_out_of_the_chain_of_errors(tmp_path: Path) -> None:
    """It has the secret of the device, and what waits to be sent."""
    survey = Survey.from_toml(
        'name = "s"\n[[questions]]\nname = "hot"\nlabels = ["yes", "no"]\nepsilon = 1.0\n'
    )
    path = tmp_path / "me.json"
    Client(survey, path).answer({"hot": "yes"})
    secret = json.loads(path.read_text())["secret"]
    data = path.read_bytes()
    for damaged in (data[:-20], data.replace(b'"queue"', b'"\xff"'), data.replace(b"[", b"[NaN,")):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged") as caught:
            Client(survey, path).answer({"hot": "yes"})
        assert secret not in told(caught.value)
