"""Survey: the public contract, one JSON document that devices, collectors and analysts share.

It lists the questions with their labels and mechanisms, integer probabilities included, so that
everybody computes with the same numbers. Its fingerprint is the SHA-256 of its canonical form
(RFC 8785): any change makes another survey.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from murmurs import mechanisms
from murmurs.checks import index, shown
from murmurs.mechanism import Mechanism, OpenMechanism

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
        _check_name(self.name, "a question")
        _check_text(self.text, f"the text of {self._called}", allowed="\n\t")
        object.__setattr__(self, "labels", _as_tuple(self.labels, f"labels of {self._called}"))
        self._check_mechanism()
        seen: set[str] = set()
        for number, label in enumerate(self.labels):
            if not (type(label) is str and label.isprintable()):  # most are, of a million perhaps
                _check_text(label, f"label {number} of {self._called}")
            if not label.strip():
                raise ValueError(f"{self._called} has an empty label")
            if label in seen:
                raise ValueError(f"{self._called} has the label {shown(label)} twice")
            seen.add(label)

    @property
    def _called(self) -> str:
        return f"question {shown(self.name)}"

    def _check_mechanism(self) -> None:
        """Refuse a mechanism that does not fit the labels."""
        mechanism, called = self.mechanism, self._called
        if isinstance(mechanism, OpenMechanism):
            if self.labels:
                raise ValueError(
                    f"{called} has {len(self.labels)} labels, but its mechanism "
                    f"{mechanism} takes any string: candidates come when it is estimated"
                )
        elif not isinstance(mechanism, Mechanism):
            raise TypeError(f"{called} has {shown(mechanism)} for a mechanism")
        elif isinstance(mechanism, mechanisms.Over):
            raise ValueError(
                f"{called} has a mechanism over candidates, {mechanism}: ask with "
                f"{mechanism.mechanism} and without labels; candidates come when it is estimated"
            )
        elif len(self.labels) != mechanism.k:
            raise ValueError(
                f"{called} has {len(self.labels)} labels, "
                f"but its mechanism {mechanism} takes {mechanism.k} answers"
            )

    @property
    def is_open(self) -> bool:
        """Whether any string is an answer."""
        return isinstance(self.mechanism, OpenMechanism)

    @property
    def closed(self) -> Mechanism[Any]:
        """The mechanism of a question whose answers are listed."""
        if isinstance(self.mechanism, OpenMechanism):
            raise ValueError(f"{self._called} is open: its answers are in no list")
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
        mechanism, name = self.mechanism, shown(self.name)
        over = sorted(mechanisms.OF_CANDIDATES & set(mechanism))
        if over:
            raise ValueError(
                f"question {name} has {over[0]!r} in its mechanism: a survey lists no candidates, "
                "they come when it is estimated"
            )
        if mechanism.get("name") not in list(mechanisms.OPEN):
            if not self.labels:
                raise ValueError(
                    f"question {name} has no labels; only open mechanisms "
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
    with _reading("a question"):
        file = msgspec.convert(document, _QuestionFile)
    return file.settled()


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
    >>> Survey.from_json(survey.to_json()) == survey, survey.short_fingerprint
    (True, 'fb5ad9a1930b')
    """

    name: str
    questions: tuple[Question, ...]
    version: int = 1

    def __post_init__(self) -> None:
        _check_name(self.name, "a survey")
        name = shown(self.name)
        object.__setattr__(self, "questions", _as_tuple(self.questions, f"questions of {name}"))
        if not self.questions:
            raise ValueError(f"survey {name} has no question")
        version = index(self.version)
        if version is None:
            raise TypeError(f"survey {name} has version {shown(self.version)}, no whole number")
        if not 1 <= version < 2**53:
            raise ValueError(
                f"survey {name} has version {shown(version)}; versions start at 1 and stay "
                "below 2**53"
            )
        object.__setattr__(self, "version", version)
        seen: set[str] = set()
        for question in self.questions:
            if not isinstance(question, Question):
                raise TypeError(f"survey {name} has {shown(question)} for a question")
            if question.name in seen:
                raise ValueError(f"survey {name} has the question {shown(question.name)} twice")
            seen.add(question.name)

    @classmethod
    def from_toml(cls, text: str | bytes) -> Survey:
        """Read a survey as people write it; the mechanisms' integers are settled here."""
        return cls._from_document(text, msgspec.toml.decode)

    @classmethod
    def from_json(cls, text: str | bytes) -> Survey:
        """Read a published survey; its integers are taken as they are, and checked."""
        return cls._from_document(text, _decoded_json)

    @classmethod
    def _from_document(cls, text: str | bytes, decode: Callable[[str | bytes], Any]) -> Survey:
        if isinstance(text, bytes):
            text = text.removeprefix(b"\xef\xbb\xbf")  # editors put it before UTF-8
        with _reading("a survey"):
            document = decode(text)
        _check_format(document)
        with _reading("a survey"):
            file = msgspec.convert(document, _SurveyFile)
        questions = tuple(question.settled() for question in file.questions)
        return cls(file.name, questions, file.version)

    def question(self, name: str) -> Question:
        """Return the question with this name."""
        for question in self.questions:
            if question.name == name:
                return question
        names = _listed(tuple(question.name for question in self.questions))
        raise ValueError(f"survey {shown(self.name)} has no question {shown(name)}; it has {names}")

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
        """64 hexadecimal digits that stand for this survey and no other: what is compared."""
        return hashlib.sha256(canonical(self.to_document()).encode()).hexdigest()

    @property
    def short_fingerprint(self) -> str:
        """The first 12 digits, to be read by people; nothing is compared with it."""
        return self.fingerprint[:12]


def _check_format(document: Any) -> None:
    """Say so when a later release wrote the document, before its contents puzzle anyone."""
    written = document.get("murmurs", FORMAT) if isinstance(document, dict) else FORMAT
    if not isinstance(written, int) or written == FORMAT:
        return
    name = shown(document.get("name"))
    if written > FORMAT:
        raise ValueError(
            f"survey {name} has format {shown(written)}, this release reads up to {FORMAT}: "
            "upgrade murmurs"
        )
    raise ValueError(f"survey {name} has format {shown(written)}; formats start at 1")


def _decoded_json(text: str | bytes) -> Any:
    """Return the value that a JSON text stands for; a key that comes twice is refused."""
    text = text.decode() if isinstance(text, bytes) else text
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"an object has the key {shown(key)} twice")
        out[key] = value
    return out


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


@contextlib.contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turn what a reader complains about into one short sentence; it may quote the document."""
    try:
        yield
    except RecursionError:
        raise ValueError(f"this is not {what}: it is nested too deeply") from None
    except (msgspec.MsgspecError, ValueError) as error:
        text = str(error)
        reason = text if len(text) <= 200 and text.isprintable() else shown(text, 200)
        raise ValueError(f"this is not {what}: {reason}") from None


def _as_tuple(values: Any, what: str) -> tuple[Any, ...]:
    no_order = isinstance(values, Set | Mapping)
    if isinstance(values, str | bytes) or no_order or not isinstance(values, Iterable):
        raise TypeError(f"{what} are a list, not {shown(values)}")
    return tuple(values)


def _check_name(name: object, what: str) -> None:
    _check_text(name, f"the name of {what}")
    if not str(name).strip():
        raise ValueError(f"{what} must have a name")


def _check_text(text: object, what: str, allowed: str = "") -> None:
    """Refuse what is no text, or would do something to a screen beside being read.

    These are control characters, line and paragraph separators, halves of surrogate pairs, and
    the characters that turn the direction of the text after them.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, not {shown(text)}")
    if text.isprintable():
        return
    for place, character in enumerate(text):
        control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        if (control or character in _TURNING) and character not in allowed:
            raise ValueError(
                f"{what} has the control character U+{ord(character):04X} at place {place}: "
                "take it out"
            )


_TURNING = frozenset(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))


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
