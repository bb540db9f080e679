"""What every engine does: find the parts, count them on its workers, and add up.

An engine is one function, `Total`: it runs a task on each item, wherever its workers are, and adds
what the tasks return. It knows no mechanism and no format. Everything else is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed, numbered
from murmurs.counts import Counts, People, pool
from murmurs.engines import ledger
from murmurs.engines.batches import batches
from murmurs.engines.counting import count_part, nothing
from murmurs.engines.job import Bad, Job, plan
from murmurs.engines.repeats import (
    Ids,
    Shards,
    find_repeats,
    ids_of,
    repeats_of,
    shards_for,
    write_ids,
)
from murmurs.engines.scratch import scratch
from murmurs.engines.sources import AnyPart, Found, SourceError, UnreachableError, find
from murmurs.engines.suspects import Hashes, Hashing, Writer, find_suspects, hashing_for
from murmurs.engines.tally import Refusal, Tally
from murmurs.files.segments import Segment
from murmurs.survey.survey import Survey

R = TypeVar("R")

_TRIES = 3


class Total(Protocol):
    """What an engine is: it runs a task on each item, and returns the sum of what they return."""

    def __call__(self, task: Callable[[Any], R], items: Sequence[Any], start: R) -> R:
        """Run the task on each item; what it returns is added with +."""
        ...


class Options(TypedDict, total=False):
    """What can be said of a job; the same for every engine.

    ``columns`` maps questions to columns, None for one of the same name; a list names questions.
    Without it, everything that the survey asks is counted. ``by`` are columns of segments. ``id``
    is a column of ids, of which each counts once. With ``reported``, columns have labels that were
    randomised already. ``bad`` says whether a row that cannot be counted stops the job ("stop"), or
    is left out and counted as refused ("skip"). ``people="different"`` says that nobody reported
    twice to a longitudinal question. ``memory`` is a folder in which the job remembers what it has
    counted: the next run counts only new files. ``scratch`` is a folder that all workers see, for
    the ids. ``filesystem`` is one of pyarrow, for paths without a scheme.
    """

    columns: Mapping[str, str | None] | Sequence[str] | None
    by: str | Sequence[str]
    id: str | None
    reported: bool
    bad: Bad
    people: People | None
    memory: str | Path | None
    scratch: str | Path | None
    filesystem: Any


@dataclass(frozen=True)
class Counted:
    """The counts of a survey's questions by segment, and what was left out.

    ``segments`` has for each segment, a tuple of texts, the counts by the name of the question;
    without ``by`` there is one, (). ``new`` says how many of the rows were not counted in an
    earlier run.
    """

    survey: Survey
    by: tuple[str, ...]
    segments: dict[Segment, dict[str, Counts]]
    rows: int
    new: int
    missing: dict[str, int]
    refused: dict[str, int]
    repeated: int
    samples: tuple[Refusal, ...] = field(repr=False)

    def __getitem__(self, name: str) -> Counts:
        """Return the counts of a question over all segments, whose people differ."""
        asked = self.survey.asked(name)
        found = [own[asked.name] for own in self.segments.values() if asked.name in own]
        if not found:
            raise KeyError(f"there are no counts of {name!r}; there are {listed(self.names)}")
        return pool(found, people="different")

    @property
    def names(self) -> tuple[str, ...]:
        """The questions that were counted."""
        return tuple(dict.fromkeys(name for own in self.segments.values() for name in own))

    @property
    def notes(self) -> list[str]:
        """Sentences on what was left out, and on what was counted before."""
        found = []
        if self.new < self.rows:
            found.append(f"{numbered(self.rows - self.new, 'row')} counted in earlier runs.")
        if self.repeated:
            found.append(f"{numbered(self.repeated, 'row')} left out: their ids came before.")
        for name, number in self.missing.items():
            have = "has" if number == 1 else "have"
            found.append(f"{numbered(number, 'row')} {have} no report to {name!r}.")
        for reason, number in self.refused.items():
            found.append(f"{numbered(number, 'row')} refused: {reason}.")
        return found

    def to_document(self) -> dict[str, Any]:
        """Return how much was counted and left out as plain values for JSON."""
        return {
            "survey": self.survey.fingerprint,
            "rows": self.rows,
            "new": self.new,
            "by": list(self.by),
            "segments": len(self.segments),
            "reports": {name: self._n(name) for name in self.names},
            "missing": self.missing,
            "repeated": self.repeated,
            "refused": self.refused,
        }

    def _n(self, name: str) -> int:
        return sum(own[name].n for own in self.segments.values() if name in own)


def count(total: Total, sources: object, survey: Survey, **given: Unpack[Options]) -> Counted:
    """Return the counts of every question, counted by an engine."""
    with ledger.opened(given.get("memory")) as known:
        return _counted(total, sources, survey, known, given)


def _counted(
    total: Total, sources: object, survey: Survey, known: ledger.Ledger | None, given: Options
) -> Counted:
    """Count what is not known yet."""
    found = find(sources, filesystem=given.get("filesystem"))
    job = job_of(survey, found, given)
    check_people(job, found.parts, given.get("people"))
    parts = found.parts if known is None else known.new_parts(job, found)
    if job.identity is None:
        tally = total(partial(_count, job, None), parts, nothing(job, parts))
    else:
        tally = _without_repeats(total, job, parts, given.get("scratch"), known)
    before = Tally()
    if known is not None:
        before = known.tally
        tally = known.add(job, parts, tally)
    return concluded(job, tally, before)


def job_of(survey: Survey, found: Found, given: Options) -> Job:
    """Return the job that the options describe; what does not fit is refused."""
    return plan(
        survey,
        found,
        given.get("columns"),
        given.get("by", ()),
        id=given.get("id"),
        reported=given.get("reported", False),
        bad=given.get("bad", "stop"),
    )


def concluded(job: Job, tally: Tally, before: Tally) -> Counted:
    """Return what was counted; ``before`` is what earlier runs had counted of it."""
    return Counted(
        job.survey,
        job.by,
        tally.counts(job.survey),
        tally.rows,
        tally.rows - before.rows,
        {name: tally.missing[name] for name in sorted(tally.missing)},
        {reason: tally.refused[reason] for reason in sorted(tally.refused)},
        tally.repeated,
        tuple(tally.samples),
    )


def _without_repeats(
    total: Total,
    job: Job,
    parts: Sequence[AnyPart],
    where: str | Path | None,
    known: ledger.Ledger | None,
) -> Tally:
    """Count the rows whose ids are new; ids of earlier runs are remembered beside the ledger."""
    assert job.identity is not None
    rows = sum(part.rows for part in parts)
    with scratch(where) if known is None else known.scratch() as folder:
        if known is None:
            hashing = hashing_for(rows, folder)
            hashes = total(partial(_hashes, hashing, job.identity), parts, Hashes())
            suspects = find_suspects(total, hashing, hashes)
            only, key, before = (hashing, suspects), None, tuple[Ids, ...]()
        else:
            suspects, only, key, before = None, None, known.key, known.ids
            rows += known.tally.rows
        shards = None
        if suspects is None or suspects:
            shards = shards_for(rows, folder, job.identity, key, only)
            compare(total, shards, parts, before)
        return total(partial(_count, job, shards), parts, nothing(job, parts))


def _hashes(hashing: Hashing, identity: str, part: AnyPart) -> Hashes:
    """Write the hashes of the ids of a part on a worker."""
    writer = Writer(hashing, part)
    with named(part):
        for _, batch in batches(part, [identity], identity):
            writer.put(batch.column(identity))
    return writer.close()


def compare(total: Total, shards: Shards, parts: Sequence[AnyPart], before: Sequence[Ids]) -> int:
    """Find the rows whose ids came before, and return their number."""
    found = total(partial(_ids, shards), parts, 0)
    ids = (*before, *map(ids_of, parts))
    return found + total(partial(find_repeats, shards, ids), range(shards.count), 0)


def _ids(shards: Shards, part: AnyPart) -> int:
    """Write the ids of a part on a worker; return how many of them it has again."""
    with named(part):
        return write_ids(shards, part)


def _count(job: Job, shards: Shards | None, part: AnyPart) -> Tally:
    """Count a part on a worker."""
    with named(part):
        without = None if shards is None else repeats_of(shards, ids_of(part))
        return count_part(job, part, without)


class FailedError(SourceError):
    """Something failed that may not fail again, unlike a refusal; the message names the file."""


@contextmanager
def named(part: AnyPart, done: str = "counted") -> Iterator[None]:
    """Whatever goes wrong is said with the name of the part."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        raise FailedError(f"{part.name} could not be {done}: {error}") from error


def tried(task: Callable[[Any], R], item: Any) -> R:
    """Run a task, up to three times if it fails; what is refused is refused at once."""
    for _ in range(_TRIES - 1):
        try:
            return task(item)
        except (FailedError, UnreachableError):
            continue
    return task(item)


def check_people(job: Job, parts: Sequence[AnyPart], people: People | None) -> None:
    """Refuse to add up reports that the same people may have sent several times."""
    if people not in (None, "different"):
        raise ValueError(
            f"people must be 'different' here, not {shown(people)}: count each round by itself, "
            "with by=, and use murmurs.pool(..., people='same')"
        )
    for asked, _ in (pair for part in parts for pair in job.asked(part)):
        if asked.mechanism.is_longitudinal and not job.by and people is None:
            raise ValueError(
                f"{asked.name!r} is asked repeatedly, and the same people may have reported "
                "several times: count each round by itself, with by= and the column of the day or "
                "the round, or say people='different' if nobody reported twice"
            )
