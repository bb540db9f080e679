"""Compute: from counts to the answer of a request for results.

A task has everything that is needed, so that it can be sent to another process. The statistics are
those of the library: estimates, trends, differences, joint tables and dictionaries.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from murmurs import estimators
from murmurs.counts import Counts, People
from murmurs.estimators.estimation import Estimate
from murmurs.inference.detection import Control
from murmurs.inference.difference import Difference
from murmurs.inference.fit import Target
from murmurs.inference.trend import Trend, trend
from murmurs.inference.wanted import Wanted, statistics_table, usual
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import Asked
from murmurs.questions.dictionary.discovery import Discovery
from murmurs.questions.dictionary.letters import ALPHABET
from murmurs.questions.joint import JointEstimate
from murmurs.questions.joint.tested import tested_document
from murmurs.survey.rounds import Rounds, assumption_of, repeatable
from murmurs.survey.survey import Survey

LIKELIHOOD = "report_likelihood"
"""The method that needs the reports themselves."""

ITERATIVE = ("likelihood", "composite", "em", "regression", "selection")
"""Methods whose time depends on the counts: minutes are possible with thousands of answers."""

Kind = Literal["estimate", "trend", "compare"]

Progress = Callable[[float], None]
"""Called with the part of the work that is done, from 0 to 1."""


@dataclass(frozen=True)
class Options:
    """How shares are estimated and shown."""

    level: float = 0.95
    target: Target = "population"
    method: str | None = None
    candidates: tuple[str, ...] | Mapping[str, tuple[str, ...]] | None = None
    complete: bool = False
    people: People = "different"
    alphabet: str = ALPHABET
    error_rate: float = 0.05
    control: Control = "bonferroni"
    wanted: Wanted = field(default_factory=Wanted)


class Counted(NamedTuple):
    """The counts of a period or segment, and whose reports they are taken to be."""

    name: str
    n: int
    cells: Integers
    rounds: Rounds
    only: str | None = None
    """The first day of the round that they are from, if there may be others."""


@dataclass(frozen=True)
class Task:
    """What is to be computed: of which question, from which counts, under which names."""

    survey: str
    """The published survey."""
    question: str
    kind: Kind
    counts: tuple[Counted, ...]
    """Those of each period or segment."""
    options: Options = field(default_factory=Options)
    reports: tuple[bytes, ...] = ()
    as_text: bool = True
    """Whether the result is wanted as text too."""


@dataclass(frozen=True)
class Result:
    """A document for JSON, the columns of the same table for CSV and Arrow, and it as text."""

    document: dict[str, Any]
    columns: dict[str, Any]
    text: str | None
    """None if nobody has asked for it."""


def unit_of(survey: Survey, name: str) -> Asked:
    """Return what devices report to when they answer a question: itself, or the joint it is in."""
    asked = survey.asked(name)
    for unit in survey.reported:
        if unit.name == name or name in unit.names:
            return unit
    return asked


def is_pooled(survey: Survey, name: str) -> bool:
    """Whether several rounds of the same people are estimated together.

    Those of questions that are asked together are not, as their table is about one report of each
    person; nor are those of a mechanism whose permanent noise is known for one round only.
    """
    asked = unit_of(survey, name).part(name)
    return asked is not None and not asked.is_joint and repeatable(asked.mechanism)


def is_long(
    survey: Survey, name: str, candidates: int, kind: Kind, method: str | None = None
) -> bool:
    """Whether a result may take more than a moment: it is then computed by the worker."""
    asked = survey.asked(name)
    if asked.is_joint or asked.searches or method == LIKELIHOOD:
        return True
    is_quick = kind == "estimate" and method not in ITERATIVE
    if not is_quick and max(candidates, len(asked.labels)) > 100:
        return True
    return candidates > 500 or len(asked.labels) > 5000


def compute(task: Task, progress: Progress) -> Result:
    """Return the result of a task."""
    survey = _published(task.survey)
    unit = unit_of(survey, task.question)
    estimates: dict[str, Estimate | Discovery] = {}
    for number, (name, n, cells, rounds, _) in enumerate(task.counts):
        counts = Counts(unit.mechanism, n, cells)

        def partly(done: float, before: int = number) -> None:
            progress((before + done) / len(task.counts))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes say it
            estimates[name] = _estimate(survey, task, counts, rounds, partly)
        partly(1.0)
    return assuming(_result(task, estimates), task.counts)


@lru_cache(maxsize=16)
def _published(text: str) -> Survey:
    return Survey.from_json(text)


def _result(task: Task, estimates: dict[str, Estimate | Discovery]) -> Result:
    options = task.options
    if task.kind == "estimate":
        [found] = estimates.values()
        return _shown(found, options, task.as_text)
    several = cast("dict[str, Estimate]", estimates)  # nobody searches to compare
    if task.kind == "trend":
        shown = trend(several, people=options.people, target=options.target)
        return _shown_trend(shown, options, task.as_text)
    (first, one), (second, two) = several.items()
    difference = one.difference(two, options.target, names=(first, second))
    return _shown_difference(difference, options, task.as_text)


def _estimate(
    survey: Survey, task: Task, counts: Counts, rounds: Rounds, progress: Progress
) -> Estimate | Discovery:
    name, unit, options = task.question, unit_of(survey, task.question), task.options
    asked = unit.part(name)
    if asked is None:  # only the combination of its answer with others is reported
        table: Any = unit.estimate(counts, options.method)
        return cast(Estimate, table.margin(name))
    if len(asked.names) < len(unit.names):
        counts = counts.margin(unit.names.index(name))
    estimator: Any = _likely(asked, task) if options.method == LIKELIHOOD else options.method
    search = {
        "alphabet": options.alphabet,
        "error_rate": options.error_rate,
        "control": options.control,
        "progress": lambda done, levels: progress(done / levels),
    }
    shown = {"candidates": options.candidates, "complete": options.complete}
    return asked.results(rounds.apply(counts), search, estimator=estimator, **shown)


def _likely(asked: Asked, task: Task) -> Callable[[Counts], Estimate]:
    """Return the estimator with the largest likelihood of the reports that were kept."""
    reports = asked.mechanism.shape.view(b"".join(task.reports))

    def likely(over: Counts) -> Estimate:
        return estimators.report_likelihood(cast(Any, over.mechanism), reports)

    return likely


def _shown(found: Estimate | Discovery, options: Options, as_text: bool) -> Result:
    level, target = options.level, options.target
    text = None
    said = (options.wanted or usual(found)).of(found, level=level, target=target)
    if isinstance(found, Discovery):
        columns = {} if found.estimate is None else found.estimate.columns(level, target)
        document = {"summary": found.summary, **found.to_document(level, target)}
        if as_text:
            own = found.estimate
            table = "" if own is None else own.table(level=level, target=target)
            shares = "" if own is None else f"{table}\n\n{own.explanation}\n"
            text = shares + found.summary
        return Result({"reports": found.counts.n, **document}, columns, text)
    if isinstance(found, JointEstimate):
        document = tested_document(found, level, target)
    else:
        document = found.to_document(level, target)
    if said:
        document["statistics"] = [one.to_document() for one in said]
    if as_text:
        tested = document.get("association")
        told = [tested["sentence"], found.explanation] if tested else [found.explanation]
        numbers = [statistics_table(said), ""] if said else []
        text = "\n".join([found.table(level=level, target=target), "", *numbers, *told])
    return Result({"reports": document.pop("n"), **document}, found.columns(level, target), text)


def _shown_trend(found: Trend, options: Options, as_text: bool) -> Result:
    document = {"conclusion": found.conclusion, **found.to_document(options.level)}
    said = options.wanted.of(found, level=options.level) if options.wanted else []
    if said:
        document["numbers"] = [course.to_document() for course in said]
    reports = document.pop("n")
    text = "\n\n".join(map(str, [found, *said])) if as_text else None
    return Result({"reports": reports, **document}, found.columns(options.level), text)


def _shown_difference(found: Difference, options: Options, as_text: bool) -> Result:
    reports = [found.this.fit.n, found.other.fit.n]
    document = {"conclusion": found.conclusion, **found.to_document(options.level)}
    said = options.wanted.of(found, level=options.level) if options.wanted else []
    if said:
        document["statistics"] = [change.to_document() for change in said]
    text = None
    if as_text:
        notes = "".join(f"\nNote: {note}." for note in found.notes)
        numbers = f"{statistics_table(said)}\n\n" if said else ""
        text = f"{found.table(level=options.level)}\n\n{numbers}{found.conclusion}{notes}"
    return Result({"reports": reports, **document}, found.columns(options.level), text)


def packed(result: Result) -> Result:
    """Return a result whose columns are plain lists or arrays that can be sent to a process."""
    columns = {
        name: np.ascontiguousarray(column) if isinstance(column, np.ndarray) else list(column)
        for name, column in result.columns.items()
    }
    return Result(result.document, columns, result.text)


def assuming(result: Result, counted: Sequence[Counted]) -> Result:
    """Return a result that says what was assumed about the people behind the reports."""
    people = counted[0].rounds.people
    said = assumption_of([own.rounds for own in counted], [own.only for own in counted])
    numbers = [own.rounds.persons for own in counted]
    single = len(counted) == 1
    document = {
        **result.document,
        "people": people,
        "assumed_people": numbers[0] if single else numbers,
        "assumption": said,
    }
    columns, text = dict(result.columns), result.text
    rows = max((len(column) for column in columns.values()), default=0)
    if rows:
        columns["people"] = [people] * rows
    if "notes" in document:
        document["notes"] = [note for note in document["notes"] if not note.startswith("assumes ")]
    if text is not None:
        lines = [line for line in text.splitlines() if not line.startswith("Note: assumes ")]
        text = "\n".join([*lines, f"Note: {said}."])
    return Result(document, columns, text)
