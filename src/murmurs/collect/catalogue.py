"""Catalogue: the surveys and tokens of a store, in memory, for the work of every request."""

from __future__ import annotations

import datetime
import threading
from dataclasses import dataclass

from murmurs.boundary.checks import shown
from murmurs.collect.stores.store import Collection, Store, Token
from murmurs.submission import SubmissionForm
from murmurs.survey.survey import Survey

LATE = 1
"""Days for which submissions are taken after the last day: a device sends hours after an answer."""

_FIRST = datetime.date(1970, 1, 1)


def date_of(day: int) -> datetime.date:
    """Return the date of a day that is counted from 1970-01-01.

    >>> date_of(20_908).isoformat()
    '2027-03-31'
    """
    return _FIRST + datetime.timedelta(day)


def day_of(date: datetime.date) -> int:
    """Return the number of a day, counted from 1970-01-01."""
    return (date - _FIRST).days


@dataclass(frozen=True)
class Entry:
    """One survey: its collection, the form of its submissions, and the bytes that are published."""

    collection: Collection
    form: SubmissionForm
    published: bytes

    @property
    def survey(self) -> Survey:
        """The survey."""
        return self.collection.survey

    @property
    def fingerprint(self) -> str:
        """The survey's fingerprint."""
        return self.form.fingerprint

    def why_not(self, day: int, late: int = 0) -> str | None:
        """Return why the survey cannot be answered on this day; None if it can.

        With ``late``, return why answers that may have been given so many days ago are not taken.
        """
        name, terms = shown(self.survey.name), self.survey.terms
        if self.collection.state != "open":
            return f"survey {name} is closed"
        date = date_of(day)
        if terms.opens is not None and date < terms.opens:
            return f"survey {name} opens on {terms.opens}"
        if terms.closes is not None and date - datetime.timedelta(late) > terms.closes:
            return f"survey {name} closed on {terms.closes}"
        return None


class Catalogue:
    """What a store knows about surveys and tokens, as of the last `refresh`."""

    def __init__(self) -> None:
        self.by_fingerprint: dict[str, Entry] = {}
        self.tokens: tuple[Token, ...] = ()
        self._refreshing = threading.Lock()

    def refresh(self, store: Store) -> None:
        """Read the surveys and tokens again; both are replaced at once.

        One thread does so after another, so that what one reads does not replace what another read
        later: a token that was revoked would be valid again.
        """
        with self._refreshing:
            self._refresh(store)

    def _refresh(self, store: Store) -> None:
        found = {}
        for collection in store.collections():
            survey = collection.survey
            fingerprint = survey.fingerprint
            known = self.by_fingerprint.get(fingerprint)
            if known is None:
                known = Entry(collection, SubmissionForm(survey), survey.to_json().encode())
            elif known.collection != collection:
                known = Entry(collection, known.form, known.published)
            found[fingerprint] = known
        self.by_fingerprint, self.tokens = found, store.tokens()

    def versions(self, name: str) -> list[Entry]:
        """Return all versions of a survey, the newest first."""
        named = [entry for entry in self.by_fingerprint.values() if entry.survey.name == name]
        return sorted(named, key=lambda entry: -entry.survey.version)

    def find(self, name: str, version: int | None = None) -> Entry | None:
        """Return a version of a survey, by default the newest."""
        for entry in self.versions(name):
            if version is None or entry.survey.version == version:
                return entry
        return None


def why_unfit(survey: Survey) -> str | None:
    """Return why a survey cannot be served: its names are parts of addresses.

    >>> why_unfit(Survey.from_toml('''
    ... name = "tea/coffee"
    ... [[questions]]
    ... name = "hot"
    ... labels = ["yes", "no"]
    ... epsilon = 1.0
    ... '''))
    "the name 'tea/coffee' is part of an address, and must not be '.' or '..' or contain '/'"
    """
    for name in (survey.name, *survey.names):
        if "/" in name or name in (".", ".."):
            return (
                f"the name {shown(name)} is part of an address, and must not be '.' or '..' or "
                "contain '/'"
            )
    return None
