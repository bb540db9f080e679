"""The kinds of questions, and how a survey's document is read with them.

To add a kind, write a class that keeps the contract `Asked` and its `Entry` in a file of its own,
and list the entry here. Tests run on all kinds that are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from murmurs.boundary.checks import shown
from murmurs.boundary.documents import reading_as
from murmurs.boundary.texts import meant
from murmurs.questions.asked import Asked
from murmurs.questions.dictionary.dictionary import DictionaryEntry
from murmurs.questions.entry import Entry, QuestionEntry
from murmurs.questions.joint.entry import JointEntry
from murmurs.questions.several.entry import SeveralEntry
from murmurs.questions.single import Single

KINDS: list[type[Entry]] = [JointEntry, DictionaryEntry, SeveralEntry, QuestionEntry]
"""The first kind that owns an entry reads it, so that the one which takes the rest comes last."""


def read_entry(found: Mapping[str, Any], section: str, number: int) -> Entry:
    """Return entry number so and so of a list of a survey's document, in its kind."""
    kind = _kind_of(found, section)
    named = (
        f"{kind.kind.removeprefix('a ')} {shown(found['name'])}" if "name" in found else kind.kind
    )
    check_fields(found, named, kind.kind, kind)
    with reading_as("a survey"):
        try:
            return msgspec.convert(found, kind)
        except msgspec.ValidationError as error:
            what, _, where = str(error).partition(" - at `$")
            raise ValueError(f"{what} - at `$.{section}[{number}]{where or '`'}") from None


def _kind_of(found: Mapping[str, Any], section: str) -> type[Entry]:
    return next(kind for kind in KINDS if kind.section == section and kind.owns(found))


def asked_from_document(document: Any) -> Asked:
    """Return what a JSON object describes that is whole in itself; the inverse of `to_document`.

    >>> from murmurs import Joint, KRR
    >>> both = Joint(KRR(k=2, epsilon=1.0), KRR(k=3, epsilon=1.0), once=True)
    >>> asked_from_document(both.to_document()) == both
    True
    """
    own = document.get("questions") if isinstance(document, dict) else None
    if not isinstance(own, list):
        return _settled(document, "questions", {})
    singles: list[Any] = [_settled(each, "questions", {}) for each in own]
    known = {single.name: single for single in singles}
    if len(known) < len(singles):
        raise ValueError(f"joint {shown(document.get('name'))} has a question twice")
    return _settled({**document, "questions": list(known)}, "joint", known)


def _settled(document: Any, section: str, known: dict[str, Single]) -> Asked:
    kind = _kind_of(document, section) if isinstance(document, dict) else QuestionEntry
    with reading_as(kind.kind):
        entry = msgspec.convert(document, kind)
    return entry.settled(known)


def check_fields(found: Mapping[str, Any], it: str, kind: str, file: type[msgspec.Struct]) -> None:
    """Refuse unknown fields of a survey or of an entry, with a list of the known ones."""
    known = file.__struct_fields__
    for name in found:
        if name not in known:
            raise ValueError(
                f"this is not a survey: {it} has an unknown field {shown(name)}; the fields of "
                f"{kind} are {', '.join(known)}{meant(name, known)}"
            )
