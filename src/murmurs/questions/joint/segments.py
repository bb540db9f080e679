"""Tables of the same questions in several segments of people, and whether they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import real, shown
from murmurs.boundary.texts import listed
from murmurs.inference.association import LEVEL, Association
from murmurs.inference.dependence import Strength
from murmurs.inference.detection import rejected
from murmurs.inference.difference import FEW_PEOPLE
from murmurs.inference.fit import Target, check_target
from murmurs.inference.homogeneity import Homogeneity, homogeneity
from murmurs.inference.trend import Trend
from murmurs.present import frames
from murmurs.present.layout import fold
from murmurs.present.text import MARK, p_text, table
from murmurs.questions.joint.estimate import JointEstimate

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class TableComparison(frames.Tabular):
    """The tables of several segments: the association in each, and whether tables differ.

    Made by `compare_tables`, which see.
    """

    estimates: tuple[JointEstimate, ...]
    names: tuple[str, ...]
    level: float = 0.95
    target: Target = "population"

    @property
    def is_pair(self) -> bool:
        """Whether the table is one of two questions."""
        return len(self.estimates[0].names) == 2

    @cached_property
    def tests(self) -> tuple[Association | None, ...]:
        """The test of association in each segment; None where it cannot be made."""
        return tuple(test for test, _ in self._tried_tests)

    @cached_property
    def _tried_tests(self) -> list[tuple[Association | None, str]]:
        return [_tried(estimate.association) for estimate in self.estimates]

    @cached_property
    def strengths(self) -> tuple[Strength | None, ...]:
        """Cramér's V in each segment; None where it is not defined."""
        found = []
        for estimate in self.estimates:
            strength, _ = _tried(partial(estimate.cramers_v, level=self.level, target=self.target))
            found.append(None if strength is None or np.isnan(strength.value) else strength)
        return tuple(found)

    @cached_property
    def stands_out(self) -> NDArray[np.bool_]:
        """The segments in which the answers go together, with control of false findings."""
        values = np.array([1.0 if test is None else test.p_value for test in self.tests])
        return rejected(values, LEVEL, "fdr")

    @cached_property
    def p_value(self) -> float | None:
        """The p-value of the hypothesis that the table is the same in all segments."""
        return self._tried_p_value[0]

    @cached_property
    def _tried_p_value(self) -> tuple[float | None, str]:
        if len(self.names) < 2:
            return None, ""
        return _tried(lambda: Trend(self.estimates, self.names, target=self.target).p_value)

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """The test that odds ratios are the same in all segments; of two questions only."""
        return self._tried_homogeneity[0]

    @cached_property
    def _tried_homogeneity(self) -> tuple[Homogeneity | None, str]:
        if len(self.names) < 2 or not self.is_pair:
            return None, ""
        fits = [estimate.fit for estimate in self.estimates]
        sizes = self.estimates[0].sizes
        return _tried(lambda: homogeneity(fits, (sizes[0], sizes[1]), self.target))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before using the tests."""
        few = [
            shown(name)
            for name, estimate in zip(self.names, self.estimates, strict=True)
            if estimate.counts.people < FEW_PEOPLE
        ]
        notes = []
        if few:
            told = f"fewer than {FEW_PEOPLE} people are in {', '.join(few)}"
            notes.append(f"{told}: tests with them are rough, and their tables are mostly noise")
        untested = {
            "the answers go together": [why for _, why in self._tried_tests if self.is_pair],
            "the tables differ": [self._tried_p_value[1]],
            "odds ratios differ": [self._tried_homogeneity[1]],
        }
        notes += [
            f"it is not tested whether {what}: {why}"
            for what, reasons in untested.items()
            for why in dict.fromkeys(filter(None, reasons))
        ]
        return tuple(notes)

    def table(self) -> str:
        """Return the segments for the terminal: reports, the test, and how strong it is."""
        if not self.is_pair:
            rows = [
                [name, f"{estimate.n:,}", _pairs(estimate)]
                for name, estimate in zip(self.names, self.estimates, strict=True)
            ]
            return table(["segment", "reports", "pairs that go together"], rows)
        rows = []
        for place, (name, estimate) in enumerate(zip(self.names, self.estimates, strict=True)):
            test, strength = self.tests[place], self.strengths[place]
            value, limits = "–", ""
            if strength is not None:
                value, limits = f"{strength.value:.2f}", f"{strength.low:.2f} … {strength.high:.2f}"
            p_value = "–" if test is None else p_text(test.p_value)
            mark = MARK if self.stands_out[place] else ""
            rows.append([name, f"{estimate.n:,}", mark, p_value, value, limits])
        head = [
            "segment",
            "reports",
            "",
            "p-value",
            "Cramér's V",
            f"{100 * self.level:g} % interval",
        ]
        return table(head, rows)

    @property
    def conclusion(self) -> str:
        """What the tests say, in a sentence each."""
        said = []
        if self.is_pair:
            count = int(self.stands_out.sum())
            said.append(
                f"The answers go together in {count} of {len(self.names)} segments; on average at "
                f"most {100 * LEVEL:g} % of such findings are false."
            )
        if len(self.names) < 2:
            said.append("There is one segment, and nothing to compare it with.")
        elif self.p_value is not None:
            differ = "differ between" if self.p_value <= LEVEL else "may be the same in"
            equals = "" if self.p_value < 1e-6 else "= "
            said.append(f"The tables {differ} the segments: p {equals}{p_text(self.p_value)}.")
        if self.homogeneity is not None:
            said.append(self.homogeneity.sentence)
        return "\n".join([*said, *(f"Note: {note}." for note in self.notes)])

    def columns(self) -> dict[str, Any]:
        """Return the columns of the long table: the segment, then those of its table."""
        parts = [estimate.columns(self.level, self.target) for estimate in self.estimates]
        of_segment = "segment" if "segment" not in parts[0] else "segment_name"
        sizes = [len(part["share"]) for part in parts]
        names = [name for name, size in zip(self.names, sizes, strict=True) for _ in range(size)]
        rest = {own: np.concatenate([part[own] for part in parts]) for own in parts[0]}
        return {of_segment: names, **rest}

    def to_document(self) -> dict[str, Any]:
        """Return the comparison as plain values for JSON; null is what cannot be tested."""
        return {
            "target": self.target,
            "p_value": self.p_value,
            "homogeneity": None if self.homogeneity is None else self.homogeneity.to_document(),
            "stands_out": self.stands_out.tolist() if self.is_pair else None,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return f"{self.table()}\n\n{fold(self.conclusion)}"


def compare_tables(
    estimates: Mapping[str, JointEstimate], *, level: float = 0.95, target: Target = "population"
) -> TableComparison:
    """Compare the tables of segments of people, each of whom is in one segment.

    ``estimates`` are the tables by the name of the segment. In each segment the association is
    tested. Two tests compare the segments: whether the tables are the same, and whether the answers
    to two questions go together in the same way, that is with the same odds ratios. The second may
    hold where the first does not: groups that answer differently can be alike in what goes with
    what.

    >>> import murmurs as mm
    >>> both = mm.Joint(mm.KRR(k=2, epsilon=2.0), mm.KRR(k=2, epsilon=2.0))
    >>> rng = np.random.default_rng(1)
    >>> people = {"north": [[8000, 2000], [2000, 8000]], "south": [[900, 900], [100, 1600]]}
    >>> found = {name: both.estimate(both.simulate(n, rng)) for name, n in people.items()}
    >>> print(compare_tables(found))
    segment  reports     p-value  Cramér's V  95 % interval
    ───────  ───────  ─  ───────  ──────────  ─────────────
    north     20,000  *   < 1e-6        0.61    0.59 … 0.64
    south      3,500  *   < 1e-6        0.45    0.39 … 0.51
    <BLANKLINE>
    The answers go together in 2 of 2 segments; on average at most 5 % of such findings are false.
    The tables differ between the segments: p < 1e-6.
    How the answers go together may be the same in the segments: p = 0.12 (test of equal odds
    ratios, 1 degree of freedom).
    """
    given: object = estimates
    if not isinstance(given, Mapping) or not estimates:
        raise TypeError("the tables of segments are a mapping from names to estimates, one or more")
    check_target(target)
    level = real(level, "level", 0.5, 1 - 1e-9)
    names = tuple(map(str, estimates))
    for number, called in enumerate(names):
        if called in names[:number]:
            raise ValueError(f"two segments have the name {shown(called)}: names must differ")
    first: JointEstimate | None = None
    for name, estimate in estimates.items():
        if not isinstance(estimate, JointEstimate):
            raise TypeError(
                f"segment {shown(name)} must be a table of a joint, joint.estimate(counts), not "
                f"{type(estimate).__name__}"
            )
        if first is None:
            first = estimate
        if (estimate.names, estimate.answers) != (first.names, first.answers):
            raise ValueError(
                f"segment {shown(name)} has other questions or answers than the first, which has "
                f"{listed(first.names)}"
            )
    return TableComparison(tuple(estimates.values()), names, level, target)


def _pairs(estimate: JointEstimate) -> str:
    found, _ = _tried(estimate.screening)
    return "–" if found is None else f"{int(found.stands_out.sum())} of {len(found.tests)}"


def _tried(measure: Callable[[], Found]) -> tuple[Found | None, str]:
    """Return what is measured, or None and why it cannot be, as of huge tables."""
    try:
        return measure(), ""
    except (ImportError, ValueError) as error:
        return None, str(error)
