"""Discovery: the strings that were found, with their shares, and what the search missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import numbered
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.inference.detection import Control
from murmurs.inference.fit import Target
from murmurs.numerics.arrays import Floats
from murmurs.present.discoveries import plot_discovery
from murmurs.present.layout import fold
from murmurs.questions.dictionary.power import (
    Searched,
    chances_of,
    chances_with_corpus,
    floor_of,
    floor_with_corpus,
    people_needed,
    usual_length,
)
from murmurs.questions.question import Question

if TYPE_CHECKING:
    from matplotlib.axes import Axes


USUAL_CORPUS = 10_000
"""The strings of a corpus that `Discovery.missed` tells of; the number matters little."""

MANKIND = 10**10
"""More people than there are: `Discovery.missed` advises nobody to ask that many."""


@dataclass(frozen=True, eq=False)
class Discovery:
    """The strings that were found, with their shares, and what the search could have missed.

    With the control "bonferroni", the probability of any false string is at most ``error_rate``;
    with "fdr", the expected part of false ones among those found is. ``p_values`` are adjusted for
    all that was searched, and ``tried`` is the number of prefixes or candidates that were tested.
    ``listed`` is the number of strings of the corpus that was given.
    """

    labels: tuple[str, ...]
    p_values: Floats
    counts: Counts
    mechanism: Searched
    estimate: Estimate | None
    error_rate: float
    control: Control
    tried: int
    notes: tuple[str, ...] = ()
    title: str = ""
    listed: int = 0

    def titled(self, title: str) -> Discovery:
        """Return the same discovery with a title for plots and tables."""
        own = self.estimate and replace(self.estimate, title=title)
        return replace(self, title=title, estimate=own)

    @property
    def floor(self) -> float:
        """The share above which a string is nearly always found among so many people.

        With prefixes, it holds for strings of up to three quarters of the longest length.
        """
        return floor_of(self.mechanism, self.counts.n)

    def chance(self, shares: float | Sequence[float] | Floats, length: int | None = None) -> Floats:
        """Return how likely a string of each share is found among so many people.

        Without a length, it is for strings of the length that the floor is for.
        """
        return chances_of(self.mechanism, self.counts.n, np.asarray(shares, np.float64), length)

    @property
    def missed(self) -> str:
        """What may be missing, and what more people or a corpus would find, in sentences."""
        if self.floor >= 1:
            few = "These are too few reports to be sure of any string."
            return f"{few} {self._by_people(0.1, 'one that a tenth of the people hold')}"
        usual, longest = usual_length(self.mechanism), self.mechanism.longest
        above = floor_of(self.mechanism, self.counts.n, longest)
        if _percent(above) == _percent(self.floor):
            usual, long = longest, ""
        else:
            long = f" ({_percent(above)} with {longest} letters)"
        letters = "1 letter" if usual == 1 else f"{usual} letters"
        more = self._by_people(self.floor / 2, "strings of half that share")
        return (
            f"Strings of up to {letters} with a share above {_percent(self.floor)}{long} are "
            f"nearly always found; rarer ones may be missing. {more}{self._by_corpus}"
        )

    def _by_people(self, share: float, what: str) -> str:
        """How many people would find strings of a share, in a sentence."""
        try:
            needed = people_needed(self.mechanism, share)
        except ValueError:  # strings that share buckets by chance hide it, see `people_needed`
            needed = MANKIND + 1
        if needed > MANKIND:
            return f"With this epsilon, no number of people is enough to find {what}."
        return f"To find {what}, ask {needed:,} people in all."

    @property
    def _by_corpus(self) -> str:
        """From which share on strings are found that a corpus lists."""
        floor = floor_with_corpus(self.mechanism, self.counts.n, self.listed or USUAL_CORPUS)
        if floor is None or floor > 0.95 * self.floor:
            return ""
        if self.listed:
            return f" Those of the corpus are nearly always found above {_percent(floor)}."
        return (
            " With a corpus, a list of similar strings, those in it are nearly always found above "
            f"{_percent(floor)}."
        )

    def question(
        self, name: str, epsilon: float, *, other: str = "(other)", text: str = ""
    ) -> Question:
        """Return a closed question with the labels found, for a next round.

        ``other`` is the answer for people whose string is not among them.
        """
        if not self.labels:
            raise ValueError("nothing was found, so there are no labels to ask about")
        return Question(name, (*self.labels, other), text=text, epsilon=epsilon)

    @property
    def summary(self) -> str:
        """How many strings were found, how certain that is, and what may be missing."""
        rate = f"{100 * self.error_rate:g} %"
        if self.control == "bonferroni":
            certain = f"at most a {rate} chance that any of them is false"
        else:
            certain = f"at most {rate} of them are false on average"
        if not self.labels:
            notes = "".join(f" Note: {note}." for note in self.notes)
            return f"No string was found. {self.missed}{notes}"
        return f"{self._many} found; {certain}. {self.missed}"

    @property
    def _many(self) -> str:
        return "1 string" if len(self.labels) == 1 else f"{len(self.labels) or 'no'} strings"

    def plot(
        self,
        axes: Axes | None = None,
        level: float = 0.95,
        target: Target = "population",
        *,
        title: str | None = None,
        limit: int = 100,
    ) -> Axes:
        """Draw the shares of the strings found by rank, with intervals, above the noise floor.

        Beside them is how likely a string of each share is found, even if its letters are random,
        and dashed, if it is in the corpus that was given. Return matplotlib's axes.
        """
        columns = None if self.estimate is None else self.estimate.columns(level, target)
        told = f"{self._many} found in {numbered(self.counts.n, 'report')}"
        return plot_discovery(
            columns,
            self.floor,
            self.chance,
            f"{100 * level:g} % intervals",
            title if title is not None else f"{self.title}\n{told}".lstrip(),
            axes,
            limit,
            self._chance_in_corpus if self.listed else None,
        )

    def _chance_in_corpus(self, shares: Floats) -> Floats:
        return chances_with_corpus(self.mechanism, self.counts.n, shares, self.listed)

    def to_document(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the strings and their shares as plain values for JSON."""
        estimate = None if self.estimate is None else self.estimate.to_document(level, target)
        return {
            "found": list(self.labels),
            "p_values": self.p_values.tolist(),
            "error_rate": self.error_rate,
            "control": self.control,
            "floor": self.floor,
            "tried": self.tried,
            "notes": list(self.notes),
            "estimate": estimate,
        }

    def __str__(self) -> str:
        found = "" if self.estimate is None else f"{self.estimate}\n\n"
        return f"{found}{fold(self.summary)}"

    def __repr__(self) -> str:
        first = ", ".join(shown(label) for label in self.labels[:3])
        more = ", ..." if len(self.labels) > 3 else ""
        return f"Discovery({self._many}{': ' if first else ''}{first}{more})"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
