"""Survey: the public contract, one JSON document that devices, collectors and analysts share.

It lists the questions with their labels and mechanisms, integer probabilities included, so that
everybody computes with the same numbers. Its fingerprint is the start of the SHA-256 of its
canonical form (RFC 8785): any change makes another survey.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from murmurs import mechanisms
from murmurs.mechanism import Mechanism, OpenMechanism

from murmurs.checks import index, shown
FORMAT = 1
"""Version of the document that this release writes; it reads all up to it."""


@dataclass(frozen=True)
class Question:
    """A question with its labels; answer j is labels[j]. An open one has none: any string is."""

    name: str
    labels: tuple[str, ...]
    mechanism: Mechanism[Any] | OpenMechanism[Any]
    text: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a question must have a name")
        if isinstance(self.mechanism, OpenMechanism):
            if self.labels:
                raise ValueError(
                    f"question {self.name!r} has {len(self.labels)} labels, but its mechanism "
                    f"{self.mechanism} takes any string: candidates come when it is estimated"
                )
            return
        if len(self.labels) != self.mechanism.k:
            raise ValueError(
                f"question {self.name!r} has {len(self.labels)} labels, "
                f"but its mechanism {self.mechanism} takes {self.mechanism.k} answers"
            )
        seen: set[str] = set()
        for label in self.labels:
            if not label.strip():
                raise ValueError(f"question {self.name!r} has an empty label")
            if "\n" in label or "\r" in label:
                raise ValueError(f"question {self.name!r} has the label {label!r} of several lines")
            if label in seen:
                raise ValueError(f"question {self.name!r} has the label {label!r} twice")
            seen.add(label)

    @property
    def is_open(self) -> bool:
        """Whether any string is an answer."""
        return isinstance(self.mechanism, OpenMechanism)

    @property
    def closed(self) -> Mechanism[Any]:
        """The mechanism of a question whose answers are listed."""
        if isinstance(self.mechanism, OpenMechanism):
            raise ValueError(f"question {self.name!r} is open: its answers are in no list")
        return self.mechanism

    def answer(self, label: str) -> int:
        """Return the number of the answer with this label; an error does not tell what it is."""
        if not isinstance(label, str):
            raise TypeError(
                f"an answer to {shown(self.name)} is one of its labels, a string, not of type "
                f"{type(label).__name__}"
            )
        if label not in self.labels:
            raise ValueError(
                f"this is not an answer to {shown(self.name)}; answers are {_listed(self.labels)}"
            )
        return self.labels.index(label)

    def to_document(self) -> dict[str, Any]:
        """Return the question as plain values for JSON."""
        return {
            "name": self.name,
            "text": self.text,
            "labels": list(self.labels),
            "mechanism": self.mechanism.to_document(),
        }


class _QuestionFile(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    mechanism: dict[str, Any]
    labels: list[str] = []
    text: str = ""

    def settled(self) -> Question:
        mechanism = self.mechanism
        if mechanism.get("name") not in list(mechanisms.OPEN):
            if not self.labels:
                raise ValueError(
                    f"question {self.name!r} has no labels; only open mechanisms "
                    f"({', '.join(mechanisms.OPEN)}) do without"
                )
            mechanism = {"k": len(self.labels), **mechanism}
        return Question(
            self.name, tuple(self.labels), mechanisms.from_document(mechanism), self.text
        )


class _SurveyFile(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    questions: list[_QuestionFile]
    version: int = 1
    murmurs: int = FORMAT


def question_from_document(document: Any) -> Question:
    """Return the question that a JSON object describes; its own ``to_document`` turned round."""
    try:
        return msgspec.convert(document, _QuestionFile).settled()
    except msgspec.ValidationError as error:
        raise ValueError(f"this is not a question: {error}") from None


@dataclass(frozen=True)
class Survey:
    """Questions under a name and a version.

    >>> survey = Survey.from_toml('''
    ... name = "coffee"
    ... [[questions]]
    ... name = "drink"
    ... labels = ["espresso", "filter", "tea", "nothing"]
    ... mechanism = {name = "KRR", epsilon = 1.0}
    ... ''')
    >>> survey.question("drink").mechanism
    KRR(k=4, epsilon=1.0)
    >>> Survey.from_json(survey.to_json()) == survey, survey.fingerprint
    (True, 'fb5ad9a1930becd8')
    """

    name: str
    questions: tuple[Question, ...]
    version: int = 1

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a survey must have a name")
        if not self.questions:
            raise ValueError(f"survey {self.name!r} has no question")
        if not 1 <= self.version < 2**53:
            raise ValueError(
                f"survey {self.name!r} has version {self.version}; versions start at 1 and stay "
                "below 2**53"
            )
        names = [question.name for question in self.questions]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"survey {self.name!r} has the question {name!r} twice")

    @classmethod
    def from_toml(cls, text: str | bytes) -> Survey:
        """Read a survey as people write it; the mechanisms' integers are settled here."""
        return cls._from_document(text, msgspec.toml.decode)

    @classmethod
    def from_json(cls, text: str | bytes) -> Survey:
        """Read a published survey; its integers are taken as they are, and checked."""
        return cls._from_document(text, msgspec.json.decode)

    @classmethod
    def _from_document(cls, text: str | bytes, decode: Callable[[str | bytes], Any]) -> Survey:
        try:
            document = decode(text)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ValueError(f"this is not a survey: {error}") from None
        _check_format(document)
        try:
            file = msgspec.convert(document, _SurveyFile)
        except msgspec.ValidationError as error:
            raise ValueError(f"this is not a survey: {error}") from None
        questions = tuple(question.settled() for question in file.questions)
        return cls(file.name, questions, file.version)

    def question(self, name: str) -> Question:
        """Return the question with this name."""
        for question in self.questions:
            if question.name == name:
                return question
        names = _listed(tuple(question.name for question in self.questions))
        raise ValueError(f"survey {self.name!r} has no question {name!r}; it has {names}")

    def to_document(self) -> dict[str, Any]:
        """Return the survey as plain values for JSON."""
        return {
            "murmurs": FORMAT,
            "name": self.name,
            "version": self.version,
            "questions": [question.to_document() for question in self.questions],
        }

    def to_json(self) -> str:
        """Return the document that is published."""
        return json.dumps(self.to_document(), indent=2, ensure_ascii=False) + "\n"

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that stand for this survey and no other."""
        return hashlib.sha256(canonical(self.to_document()).encode()).hexdigest()[:16]


def _check_format(document: Any) -> None:
    """Say so when a later release wrote the document, before its contents puzzle anyone."""
    written = document.get("murmurs", FORMAT) if isinstance(document, dict) else FORMAT
    if isinstance(written, int) and written > FORMAT:
        raise ValueError(
            f"survey {document.get('name')!r} has format {written}, this release reads up to "
            f"{FORMAT}: upgrade murmurs"
        )
    if isinstance(written, int) and written < 1:
        raise ValueError(
            f"survey {document.get('name')!r} has format {written}; formats start at 1"
        )


def canonical(value: Any) -> str:
    """Return JSON in its canonical form (RFC 8785): keys sorted, no spaces, numbers as ECMAScript.

    >>> canonical({"b": [1.0, 1e-6, 0.5, "ü"], "a": None})
    '{"a":null,"b":[1,0.000001,0.5,"ü"]}'
    """
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    if isinstance(value, float):
        return _ecmascript_number(value)
    return json.dumps(value, ensure_ascii=False)


def _ecmascript_number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written in JSON")
    if value == 0:
        return "0"  # also for -0.0
    if value == int(value) and abs(value) < 1e21:
        return format(Decimal(repr(value)), "f").removesuffix(".0")  # the shortest digits, then 0s
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    power = int(exponent)
    if -7 < power < 0:  # ECMAScript writes these without an exponent
        digits = mantissa.replace(".", "").lstrip("-")
        return ("-" if value < 0 else "") + "0." + "0" * (-power - 1) + digits
    return f"{mantissa}e{'+' if power > 0 else '-'}{abs(power)}"


def _listed(names: tuple[str, ...]) -> str:
    first = ", ".join(shown(name) for name in names[:8])
    return first + (f" and {len(names) - 8} more" if len(names) > 8 else "")
