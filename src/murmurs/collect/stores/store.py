"""Store: where a collector keeps surveys, counts, reports, ids and tokens.

A submission is added whole, once, and durably: when `Store.add` returns, it survives the end of the
process and of the machine. Days are numbers, counted from 1970-01-01 in UTC; nothing finer is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from murmurs.boundary.checks import shown
from murmurs.counts import Counts
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import Asked
from murmurs.submission import Batch, Submission
from murmurs.survey.survey import Survey

ERA = 2**40
"""More than the reports to a survey ever change."""


class StoreError(RuntimeError):
    """The store cannot take or give data now, for a reason that the operator can mend."""


class StoreFullError(StoreError):
    """There is no room left, on the disk or within the quota."""


class DamagedError(StoreError):
    """Something is not as it was written; everything else can be used."""


class UnknownSurveyError(LookupError):
    """The store has no survey with this fingerprint; it may have been deleted a moment ago."""

    def __init__(self, fingerprint: str) -> None:
        super().__init__(
            f"the store has no survey with the fingerprint {shown(fingerprint[:12])}: add it first"
        )


@dataclass(frozen=True)
class Collection:
    """One published survey in a store: open for submissions, or closed."""

    survey: Survey
    state: Literal["open", "closed"]
    first_day: int
    """The day on which it was added."""


@dataclass(frozen=True)
class Part:
    """Which reports are meant: of a question, perhaps of one segment and of some days only."""

    survey: str
    """The fingerprint."""
    question: str
    """The name of a question or joint among ``survey.reported``."""
    segment: str | None = None
    """One segment, or None for all of them."""
    first_day: int | None = None
    last_day: int | None = None
    """The last day that is included."""


class Entry(NamedTuple):
    """What was collected on a day from a segment: so many reports, added up in cells."""

    day: int
    segment: str | None
    n: int
    cells: Integers


@dataclass(frozen=True)
class Token:
    """A token as it is kept: its hash, what it allows, and for which surveys."""

    name: str
    digest: bytes
    """SHA-256 of the token: the token itself is random and is not kept."""
    scope: Literal["read", "metrics", "admin", "submit"]
    surveys: tuple[str, ...] = ()
    """Names of surveys; none means all of them."""


class Store(ABC):
    """What a collector needs of a store. All methods may be called from any thread.

    They raise a `StoreError` if the store cannot be reached or written, with nothing half done, and
    an `UnknownSurveyError` if they name a survey that is not there.
    """

    # Surveys

    @abstractmethod
    def publish(self, survey: Survey, day: int) -> None:
        """Add a survey, open for submissions; one that is there already stays as it is."""

    @abstractmethod
    def collections(self) -> tuple[Collection, ...]:
        """Return all surveys with their states, in the order in which they were added."""

    @abstractmethod
    def set_state(self, survey: str, state: Literal["open", "closed"]) -> None:
        """Open or close the survey with this fingerprint."""

    @abstractmethod
    def delete(self, survey: str) -> None:
        """Delete the survey with this fingerprint and everything that was collected for it."""

    # Submissions

    @abstractmethod
    def add(self, submissions: Sequence[Submission | Batch], day: int) -> list[bool]:
        """Add submissions in one durable transaction: all of them, or on an error none.

        Return for each whether it was new; one with an id that was added before to this survey is
        left out. Also within the sequence an id counts once. Submissions were checked by a
        `SubmissionForm`.
        """

    # What was collected

    @abstractmethod
    def counts(self, part: Part) -> Counts:
        """Return the counts of all reports of a part, exact at the moment of the call."""

    @abstractmethod
    def days(self, survey: str, question: str) -> dict[tuple[int, str | None], int]:
        """Return the number of reports to a question by day and segment."""

    @abstractmethod
    def by_day(self, part: Part) -> Iterator[Entry]:
        """Return the counts of a part by day and segment, read once and in one go.

        They are those of the moment of the first. A day and segment may come twice: its counts are
        the sum.
        """

    @abstractmethod
    def reports(self, part: Part) -> Iterator[bytes]:
        """Return the packed reports of a part, of a question whose reports are kept, in batches.

        They are those of the moment of the first batch, in no particular order.
        """

    @abstractmethod
    def changes(self, survey: str) -> int:
        """Return a number that grows whenever reports to a survey are added or deleted.

        It also grows when the survey is deleted and published again: divided by `ERA`, it is
        the same as long as the survey is the same one, and larger for a later one.
        """

    # Tokens

    @abstractmethod
    def add_token(self, token: Token) -> None:
        """Keep a token; a name that exists is refused."""

    @abstractmethod
    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens."""

    @abstractmethod
    def revoke(self, name: str) -> None:
        """Delete the token with this name."""

    # Upkeep, all while submissions arrive

    @abstractmethod
    def fold(self) -> None:
        """Add recent reports up, so that only counts remain of questions that need no reports."""

    @abstractmethod
    def forget_ids(self, before_day: int) -> int:
        """Delete the ids of submissions before a day; return how many."""

    @abstractmethod
    def forget_reports(self, survey: str, before_day: int) -> int:
        """Delete counts and reports of a survey from before a day; return how many reports."""

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Write a complete copy to a new file."""

    @abstractmethod
    def vacuum(self) -> None:
        """Give room that is no longer used back to the disk."""

    @abstractmethod
    def size(self) -> int:
        """Return the number of bytes that the store takes."""

    @abstractmethod
    def check(self) -> None:
        """Raise a `StoreError` if the store cannot take submissions now."""

    @abstractmethod
    def verify(self, *, sums_only: bool = False) -> None:
        """Read everything; raise a `StoreError` that says what is damaged, if something is.

        With ``sums_only``, do not ask whether reports and counts make sense, only whether they are
        as they were written.
        """

    @abstractmethod
    def close(self) -> None:
        """Finish what is under way and let go of all resources; calling it twice is fine."""


def keeps_reports(asked: Asked) -> bool:
    """Whether the reports to a question are kept, because their counts do not suffice.

    Counts suffice for all single questions and for joints of closed ones. The likelihood of a joint
    with an open question is of whole reports, over a list of candidates that comes later.
    """
    return asked.is_joint and asked.is_open
