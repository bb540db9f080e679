"""The likelihood of reports where they are: workers add up derivatives, and only these travel."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Unpack, cast

import numpy as np

from murmurs.counts import Counts
from murmurs.engines.counting import read_part
from murmurs.engines.job import Job, plan
from murmurs.engines.running import Options, Total, count
from murmurs.engines.sources import AnyPart, find
from murmurs.engines.tally import Tally
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.methods.em import Progress, Step, concluded
from murmurs.estimators.methods.report_likelihood import ascend
from murmurs.estimators.precondition import usable
from murmurs.estimators.steps import Precision, rows_of, step_of
from murmurs.mechanisms.mechanism import AnyMechanism
from murmurs.numerics.arrays import Floats
from murmurs.survey.survey import Survey
from murmurs.wire import Reports

KEPT = 2**29
"""Bytes of reports that a worker keeps between steps; what does not fit is read again."""

_ENTRIES = 2**24
"""Reports times answers that a worker looks at together."""


@dataclass
class Slopes:
    """The derivatives of the log-likelihood of some reports, and the log-likelihood."""

    derivative: Floats
    height: float

    def __add__(self, other: Slopes) -> Slopes:
        """Return those of all the reports."""
        return Slopes(self.derivative + other.derivative, self.height + other.height)


class Ascending(Options, total=False):
    """How a likelihood is maximised, and the options of a job."""

    candidates: Any
    complete: bool
    tolerance: float
    most: int
    progress: Progress | None


def estimate(
    total: Total, sources: object, survey: Survey, question: str, **given: Unpack[Ascending]
) -> Estimate:
    """Return the shares with the largest likelihood of the reports to a question, or to a joint.

    It is `murmurs.estimators.report_likelihood` for reports that do not fit in memory.
    ``candidates`` are strings to look for, as in ``question.estimate``.
    """
    for name in ("id", "by", "memory"):
        if given.get(name):
            raise ValueError(f"{name} is for counts: leave it out for the likelihood of reports")
    asked = survey.asked(question)
    found = find(sources, filesystem=given.get("filesystem"))
    given.setdefault("columns", [asked.name])
    job = plan(survey, found, given["columns"], bad=given.get("bad", "stop"))
    options: Options = {"columns": given["columns"], "bad": job.bad, "people": given.get("people")}
    counted = count(total, found, survey, **options)
    estimator = partial(
        _likely,
        total,
        job,
        found.parts,
        given.get("tolerance", 0.1),
        given.get("most", 2000),
        given.get("progress"),
    )
    return asked.estimate(
        counted[asked.name],
        cast(Callable[[Counts], Estimate], estimator),
        candidates=given.get("candidates"),
        complete=given.get("complete", False),
    )


def _likely(
    total: Total,
    job: Job,
    parts: Sequence[AnyPart],
    tolerance: float,
    most: int,
    progress: Progress | None,
    counts: Counts,
) -> Estimate:
    """Return the estimate from counts that are viewed over candidates, and from the reports."""
    mechanism = cast(AnyMechanism[Any], usable(counts).mechanism)
    token = secrets.token_hex(8)
    answers = tuple(piece.k for piece in mechanism.evidence(mechanism.shape.empty(0)))
    work = _Work(job, mechanism, token, int(np.prod(answers)))

    def steps(precision: Precision) -> Step:
        def step(shares: Floats) -> tuple[Floats, float]:
            start = Slopes(np.zeros(len(shares)), 0.0)
            found = total(partial(_slopes, work, shares, precision), parts, start)
            return found.derivative / counts.n, found.height

        return step

    def sample(every: int) -> Floats:
        found: list[Any] = total(partial(_sample, work, every), parts, [])
        return np.concatenate(found)

    found = ascend(steps, sample, counts.n, answers, tolerance, most, progress)
    return concluded(counts, found, "report_likelihood", ASKED)


@dataclass(frozen=True)
class _Work:
    """What workers need to know of the likelihood."""

    job: Job
    mechanism: AnyMechanism[Any]
    token: str
    answers: int

    def chunks(self, part: AnyPart) -> Sequence[Reports]:
        """Return the reports of a part, a bounded number at a time."""
        reports = _reports(self, part)
        size = max(1, _ENTRIES // self.answers)
        return [reports[start : start + size] for start in range(0, len(reports), size)]


def _slopes(work: _Work, shares: Floats, precision: Precision, part: AnyPart) -> Slopes:
    """Return the derivatives of a part; on a worker."""
    found = Slopes(np.zeros(len(shares)), 0.0)
    for reports in work.chunks(part):
        derivative, height = step_of(work.mechanism.evidence(reports), precision)(shares)
        found = found + Slopes(derivative * len(reports), height)
    return found


def _sample(work: _Work, every: int, part: AnyPart) -> list[Floats]:
    """Return the likelihoods of one report in so many of a part; on a worker."""
    reports = _reports(work, part)[::every]
    return [rows_of(work.mechanism.evidence(reports), slice(None))] if len(reports) else []


_kept: OrderedDict[tuple[str, int], Reports] = OrderedDict()
_lock = Lock()


def _reports(work: _Work, part: AnyPart) -> Reports:
    """Return the reports of a part, read once if the worker has room for them."""
    key = (work.token, part.number)
    with _lock:
        if key in _kept:
            return _kept[key]
        for other in [own for own in _kept if own[0] != work.token]:
            del _kept[other]  # of an earlier likelihood
    found = [work.mechanism.shape.empty(0)]
    read_part(work.job, part, None, Tally(), lambda _, __, reports: found.append(reports))
    reports = np.concatenate(found)
    with _lock:
        if sum(own.nbytes for own in _kept.values()) + reports.nbytes <= KEPT:
            _kept[key] = reports
    return reports
