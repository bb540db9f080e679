"""Survey: the public contract, one JSON document that devices, collectors and analysts share.

It lists the questions with their labels and mechanisms, including the integer probabilities, so
that everybody computes with the same numbers, and says which questions are reported together. Its
fingerprint is the SHA-256 of its canonical form (RFC 8785): any change makes it a different survey.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from murmurs.boundary.checks import index, shown
from murmurs.boundary.documents import canonical, document, reading_as
from murmurs.boundary.texts import as_tuple, check_name, listed, meant
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.questions.asked import Asked
from murmurs.questions.dictionary.dictionary import of_kind
from murmurs.questions.joint import Joint
from murmurs.questions.kinds import check_fields, read_entry
from murmurs.questions.single import Single
from murmurs.survey.terms import FIELDS, NO_TERMS, Terms

FORMAT = 1
"""The document version that this release writes; it reads all versions up to this one."""

MOST_SEGMENTS = 200
"""The most segments of a survey: results are kept for each of them."""


class _SurveyFile(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    questions: list[dict[str, Any]]
    version: int = 1
    murmurs: int = FORMAT
    joint: list[dict[str, Any]] = []
    segments: list[str] = []
    title: str = ""
    purpose: str = ""
    owner: str = ""
    every: str | int | None = None
    lifetime_epsilon: float | None = None
    memory: str | None = None
    period: str | int | None = None
    opens: datetime.date | None = None
    closes: datetime.date | None = None
    minimum_reports: int | None = None
    epsilon_per: dict[str, float] | None = None
    questions_each: int | None = None


@dataclass(frozen=True)
class Survey:
    """Questions under a name and a version; ``joints`` say which are reported together.

    ``segments`` are groups of devices, such as releases of an app. Each device sends the name of
    its segment in plain text beside its reports, so a segment must be no secret. ``terms`` say who
    asks, how often, until when, and what a device may spend.

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
    questions: tuple[Single, ...]
    version: int = 1
    joints: tuple[Joint, ...] = ()
    segments: tuple[str, ...] = ()
    terms: Terms = NO_TERMS

    def __post_init__(self) -> None:
        check_name(self.name, "a survey")
        name = shown(self.name)
        object.__setattr__(self, "questions", as_tuple(self.questions, f"questions of {name}"))
        if not self.questions:
            raise ValueError(f"survey {name} has no question")
        version = index(self.version)
        if version is None:
            raise TypeError(f"survey {name} has version {shown(self.version)}, not a whole number")
        if not 1 <= version < 2**53:
            raise ValueError(
                f"survey {name} has version {shown(version)}; versions start at 1 and stay "
                "below 2**53"
            )
        object.__setattr__(self, "version", version)
        seen: set[str] = set()
        for question in self.questions:
            if not isinstance(question, Single):
                raise TypeError(f"survey {name} has {shown(question)} for a question")
            if question.name in seen:
                raise ValueError(f"survey {name} has the question {shown(question.name)} twice")
            seen.add(question.name)
        object.__setattr__(self, "questions", tuple(map(of_kind, self.questions)))
        self._check_joints(seen)
        self._check_segments()
        self._check_terms()

    def _check_terms(self) -> None:
        if not isinstance(self.terms, Terms):
            raise TypeError(
                f"survey {shown(self.name)} has {shown(self.terms)} for terms: Terms(every='week')"
            )
        if self.terms.memory is not None and not any(map(keeps_response, self.reported)):
            raise ValueError(
                f"survey {shown(self.name)} has the memory {shown(self.terms.memory)}, but no "
                "question that is reported by itself has a permanent response: leave memory out"
            )
        each, most = self.terms.questions_each, len(self.reported)
        if each is not None and each >= most:
            raise ValueError(
                f"survey {shown(self.name)} has questions_each = {each}, and devices report to "
                f"{most}: draw fewer, or leave questions_each out to have all of them answered"
            )

    def _check_segments(self) -> None:
        name = shown(self.name)
        object.__setattr__(self, "segments", as_tuple(self.segments, f"segments of {name}"))
        for number, segment in enumerate(self.segments):
            check_name(segment, f"segment {number} of survey {name}")
            if segment in self.segments[:number]:
                raise ValueError(f"survey {name} has the segment {shown(segment)} twice")
        if len(self.segments) > MOST_SEGMENTS:
            raise ValueError(
                f"survey {name} has {len(self.segments)} segments; at most {MOST_SEGMENTS} are kept"
            )

    def _check_joints(self, seen: set[str]) -> None:
        """Refuse joints of other questions, and a question that would be reported twice."""
        name = shown(self.name)
        object.__setattr__(self, "joints", as_tuple(self.joints, f"joints of {name}"))
        within: dict[str, str] = {}
        for joint in self.joints:
            if not isinstance(joint, Joint):
                raise TypeError(f"survey {name} has {shown(joint)} for a joint of questions")
            if joint.name in seen:
                raise ValueError(f"survey {name} has the name {shown(joint.name)} twice")
            seen.add(joint.name)
            for question in joint.questions:
                if question not in self.questions:
                    raise ValueError(
                        f"survey {name} has the joint {shown(joint.name)} of a question "
                        f"{shown(question.name)} that is not one of its own"
                    )
                if question.name in within:
                    raise ValueError(
                        f"survey {name} has the question {shown(question.name)} in the joints "
                        f"{shown(within[question.name])} and {shown(joint.name)}, and each report "
                        "of it would cost its epsilon: put all these questions into one joint"
                    )
                within[question.name] = joint.name

    @classmethod
    def from_toml(cls, text: str | bytes) -> Survey:
        """Read a survey as people write it, and fix the integer probabilities."""
        _refuse_path(text, "from_toml")
        return cls._from_document(text, msgspec.toml.decode)

    @classmethod
    def from_json(cls, text: str | bytes) -> Survey:
        """Read a published survey; its integer probabilities are used as they are, and checked."""
        _refuse_path(text, "from_json")
        return cls._from_document(text, document)

    @classmethod
    def _from_document(cls, text: str | bytes, decode: Callable[[str | bytes], Any]) -> Survey:
        if isinstance(text, bytes):
            text = text.removeprefix(b"\xef\xbb\xbf")  # some editors put it before UTF-8
        with reading_as("a survey"):
            found = decode(text)
        _check_format(found)
        _check_fields(found)
        with reading_as("a survey"):
            file = msgspec.convert(found, _SurveyFile)
        entries = [read_entry(own, "questions", n) for n, own in enumerate(file.questions)]
        together = [read_entry(own, "joint", n) for n, own in enumerate(file.joint)]
        questions: Any = tuple(entry.settled({}) for entry in entries)
        known = {question.name: question for question in questions}
        joints: Any = tuple(entry.settled(known) for entry in together)
        terms = Terms(**{name: getattr(file, name) for name in FIELDS})
        return cls(file.name, questions, file.version, joints, tuple(file.segments), terms)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the questions, and those of the joints."""
        joints = tuple(joint.name for joint in self.joints)
        return (*(question.name for question in self.questions), *joints)

    @property
    def reported(self) -> tuple[Asked, ...]:
        """What devices report to: the joints, and the questions that are in none of them."""
        together = {name for joint in self.joints for name in joint.names}
        alone = tuple(q for q in self.questions if q.name not in together)
        return (*alone, *self.joints)

    def question(self, name: str) -> Single:
        """Return the question with this name."""
        for question in self.questions:
            if question.name == name:
                return question
        names = listed(self.names)
        together = set(name.split("+")) <= set(self.names)
        hint = "; to report questions together, name them in [[joint]] of the survey's TOML file"
        raise ValueError(
            f"survey {shown(self.name)} has no question {shown(name)}; it has {names}"
            f"{hint if together else meant(name, (*self.names, *(j.name for j in self.joints)))}"
        )

    def joint(self, *names: str) -> Joint:
        """Return the joint of these questions, in this order.

        It is the one that the survey lists; if it lists none of them together, it is the product of
        their own mechanisms, for reports to the single questions that came in one submission.
        """
        asked = [self.question(name) for name in names]
        for joint in self.joints:
            if set(joint.names) & set(names):
                if joint.names == names:
                    return joint
                raise ValueError(
                    f"survey {shown(self.name)} asks {listed(joint.names)} together, in this "
                    "order: take margins of that table"
                )
        return Joint(*asked)

    def asked(self, name: str) -> Asked:
        """Return the question or the joint of questions with this name."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        return self.question(name)

    def like(self, asked: Asked) -> Asked:
        """Return what the survey has in the place of a question, or of a joint of its questions."""
        if asked.name in self.names or not asked.is_joint:
            return self.asked(asked.name)
        return self.joint(*asked.names)

    def __getitem__(self, name: str) -> Asked:
        """Return the question or joint with this name: survey["drink"], survey["drink+age"]."""
        try:
            return self.asked(name)
        except ValueError as error:
            raise KeyError(str(error)) from None

    def to_document(self) -> dict[str, Any]:
        """Return the survey as plain values for JSON."""
        document: dict[str, Any] = {
            "murmurs": FORMAT,
            "name": self.name,
            "version": self.version,
            "questions": [question.to_document() for question in self.questions],
        }
        joints = [joint.to_entry() for joint in self.joints]
        if joints:
            document["joint"] = joints
        if self.segments:
            document["segments"] = list(self.segments)
        return document | self.terms.to_document()

    def to_json(self) -> str:
        """Return the document that is published."""
        return json.dumps(self.to_document(), indent=2, ensure_ascii=False) + "\n"

    @cached_property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that identify this survey; comparisons use all of them."""
        return hashlib.sha256(canonical(self.to_document()).encode()).hexdigest()

    @property
    def short_fingerprint(self) -> str:
        """The first 12 digits, for people to read; never used for comparisons."""
        return self.fingerprint[:12]


def keeps_response(asked: Asked) -> bool:
    """Whether devices keep a permanent response to a question, which bounds what it ever costs."""
    mechanism = asked.mechanism
    return isinstance(mechanism, Longitudinal) and math.isfinite(
        mechanism.epsilon_permanent_realised
    )


def _refuse_path(text: object, name: str) -> None:
    """Refuse the path of a file where its text is expected."""
    ends = isinstance(text, str) and "\n" not in text and text.endswith((".toml", ".json"))
    if ends or isinstance(text, os.PathLike):
        raise TypeError(
            f"Survey.{name} takes the text of a file, not its path {shown(text)}: pass "
            "Path(...).read_text()"
        )


def _check_fields(found: Any) -> None:
    """Refuse unknown fields of a survey, and entries that are not as they should be written."""
    if not isinstance(found, dict):
        return
    if found.get("murmurs") == "counts":
        raise ValueError("this is not a survey: it is a file of counts")
    check_fields(found, "it", "a survey", _SurveyFile)
    for field in ("questions", "joint"):
        if isinstance(found.get(field), dict):
            raise ValueError(
                f"this is not a survey: {field} is one entry, not a list of them: write "
                f"[[{field}]], with two brackets on each side"
            )
    _check_texts(found.get("segments"), "segment", "of the survey")
    questions = found.get("questions")
    for question in questions if isinstance(questions, list) else []:
        if isinstance(question, dict):
            name = f"question {shown(question.get('name'))}"
            _check_texts(question.get("labels"), "label", f"of {name}")


def _check_texts(found: Any, what: str, whose: str) -> None:
    """Refuse labels and segments that are numbers, dates or booleans, with the way to write them.

    They are texts, so that 18, 18.0 and "18" are not three labels.
    """
    for number, one in enumerate(found if isinstance(found, list) else []):
        if not isinstance(one, str):
            told = shown(one)
            if isinstance(one, bool | int | float | datetime.date):
                told = shown(str(one).lower() if isinstance(one, bool) else str(one)).strip("'")
            raise ValueError(
                f"this is not a survey: {what} {number} {whose} is {told}, and a {what} is a text: "
                f'write "{told}", in quotes'
            )


def _check_format(document: Any) -> None:
    """Refuse a document of a later release before its contents cause other errors."""
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
