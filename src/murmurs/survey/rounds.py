"""Rounds: whose reports those of several days are, as the survey says, and what that makes of them.

A survey whose devices answer once a week has the same people in every week. Their permanent noise
does not average out, and they are no new sample. Reports have no identity, so nobody knows how many
people were there again: the reports of several rounds are taken to be of as few people as possible,
each of whom reports at most once in a round. Then intervals are wide enough, whoever came back.

Where devices draw some of the questions in each round, whoever reported in one round reports in
another only if it draws the question again: at most that part of them is expected back.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from murmurs.boundary.texts import numbered
from murmurs.counts import CountedMechanism, Counts, People, pool
from murmurs.mechanisms.products.common import Combined
from murmurs.survey.survey import Survey
from murmurs.survey.terms import Period, Terms, period_number


def people_of(terms: Terms, mechanism: CountedMechanism) -> People:
    """Return whether the same people report again, as far as the survey says.

    They do if it says how often, if it says which reports share a permanent response, or if the
    mechanism has permanent responses, which are for people who report again.

    >>> import murmurs as mm
    >>> rr = mm.KRR(k=2, epsilon=1.0)
    >>> [people_of(terms, rr) for terms in (Terms(), Terms(every="once"), Terms(every="week"))]
    ['different', 'different', 'same']
    """
    if terms.every is not None:
        return "different" if terms.every == "once" else "same"
    return "same" if terms.memory is not None or mechanism.is_longitudinal else "different"


def round_of(terms: Terms) -> Period:
    """Return the period in which a device answers once: a day, if the survey does not say."""
    return "day" if terms.every in (None, "once") else terms.every


@dataclass(frozen=True)
class Rounds:
    """What is assumed about the people behind the reports of a question.

    ``sampled`` and ``kept`` are averages over the reports of how many reports the same person sent,
    and sent with the same permanent noise. Both are 1 if every report is of another person.
    """

    people: People
    reports: int
    persons: int
    """The number of people that is assumed."""
    number: int
    """The number of rounds."""
    each: Period
    """How long a round is."""
    sampled: float = 1.0
    kept: float = 1.0
    drawn: Fraction = Fraction(1)
    """The probability with which a device is asked the question in a round."""

    @property
    def assumption(self) -> str:
        """What is assumed, as a part of a sentence."""
        if self.people == "different":
            return f"assumes {numbered(self.reports, 'person')} with one report each"
        if self.number < 2:
            return f"assumes {numbered(self.persons, 'person')} with one report each"
        several = "rounds" if isinstance(self.each, int) else f"{self.each}s"
        who = numbered(self.persons, "person")
        if self.drawn < 1:
            who = f"about {who}, each asked with probability {self.drawn}"
        return (
            f"assumes the same people {self.often}: {numbered(self.reports, 'report')} in "
            f"{self.number} {several} from {who}"
        )

    @property
    def often(self) -> str:
        """How often the same people report."""
        if isinstance(self.each, int):
            return f"in every round of {numbered(self.each, 'day')}"
        return f"every {self.each}"

    def apply(self, counts: Counts) -> Counts:
        """Return counts of these reports that know whose they are."""
        if self.people == "different" or self.number < 2:
            return counts
        if not repeatable(counts.mechanism):
            raise ValueError(
                f"{self.number} rounds of the same people cannot be estimated together for "
                f"{counts.mechanism}: use the counts of one round"
            )
        kept: float = self.kept if counts.mechanism.is_longitudinal else 1
        return dataclasses.replace(counts, times=kept if kept > 1 else 1, again=self.sampled / kept)


def drawn_part(survey: Survey) -> Fraction:
    """Return the probability with which a device is asked a question in a round."""
    return Fraction(survey.terms.questions_each or len(survey.reported), len(survey.reported))


def rounds_of(
    numbers: Mapping[datetime.date, int],
    terms: Terms,
    people: People,
    drawn: Fraction = Fraction(1),
) -> Rounds:
    """Return what is assumed about the people who sent so many reports on each day.

    ``drawn`` is the probability with which each of them is asked in a round.

    >>> weeks = {datetime.date(2027, 3, 29): 1000, datetime.date(2027, 4, 5): 300}
    >>> found = rounds_of(weeks, Terms(every="week"), "same")
    >>> found.assumption
    'assumes the same people every week: 1,300 reports in 2 weeks from 1,000 people'
    >>> round(found.sampled, 3)  # 300 people sent two, 700 one: (600 * 2 + 700 * 1) / 1300
    1.462
    """
    each, n = round_of(terms), sum(numbers.values())
    rounds: dict[int, int] = {}
    shared: dict[int, dict[int, int]] = {}
    for day, number in numbers.items():
        own = period_number(each, day)
        rounds[own] = rounds.get(own, 0) + number
        if terms.memory == "period" and terms.period is not None:
            part = shared.setdefault(period_number(terms.period, day), {})
            part[own] = part.get(own, 0) + number
    if people == "different" or n == 0:
        return Rounds("different", n, n, len(rounds), each)
    sampled = float(_pairs(rounds.values(), drawn) / n)
    kept = sampled
    if shared:
        kept = float(sum(_pairs(part.values(), drawn) for part in shared.values()) / n)
    persons = min(n, math.ceil(max(rounds.values()) / drawn))
    return Rounds("same", n, persons, len(rounds), each, sampled, kept, drawn)


def pooled(
    days: Mapping[datetime.date, Counts],
    terms: Terms,
    people: People | None = None,
    drawn: Fraction = Fraction(1),
) -> tuple[Counts, Rounds]:
    r"""Return the counts of several days together, and what is assumed about their people.

    ``people`` overrides what the survey says; ``drawn`` is that of `drawn_part`. Segments of a day
    are put together beforehand, with ``pool(..., people="different")``.

    >>> import murmurs as mm
    >>> losue = mm.LOSUE(k=3, epsilon=1.0, epsilon_permanent=2.0)
    >>> days = {
    ...     datetime.date(2027, 3, 29): losue.count([b"\x01", b"\x02"]),
    ...     datetime.date(2027, 4, 5): losue.count([b"\x03"]),
    ... }
    >>> counts, rounds = pooled(days, Terms(every="week"))
    >>> counts.n, round(counts.times, 3), rounds.persons
    (3, 1.667, 2)
    """
    if not days:
        raise ValueError("there are no counts to pool")
    together = pool(days.values(), people="different")
    said = people_of(terms, together.mechanism) if people is None else people
    rounds = rounds_of({day: counts.n for day, counts in days.items()}, terms, said, drawn)
    return rounds.apply(together), rounds


def repeatable(mechanism: CountedMechanism) -> bool:
    """Whether several rounds of the same people can be estimated together.

    Questions that are asked together are not: their table is about one report of each person.
    """
    if isinstance(mechanism, Combined):
        return False
    if not mechanism.is_longitudinal:
        return True
    try:
        mechanism.repeated(2)
    except ValueError:
        return False
    return True


def _pairs(rounds: Iterable[int], drawn: Fraction) -> Fraction:
    """Return how many pairs of reports are of one person, at most, each with itself included.

    Two rounds have at most as many people in common as the smaller one has reports, or the part of
    them that is expected to be asked again.
    """
    ordered = sorted(rounds, reverse=True)
    return sum(((2 * place * drawn + 1) * n for place, n in enumerate(ordered)), Fraction(0))


def assumption_of(several: Sequence[Rounds], only: Sequence[str | None]) -> str:
    """Return what is assumed about the people of several parts, as a part of a sentence.

    ``only`` names the round that a part is from, if it is from one of several.
    """
    first = several[0]
    if len(several) == 1:
        alone = f", in the round that began on {only[0]} alone" if only[0] else ""
        return first.assumption + alone
    if first.people == "different":
        total = sum(rounds.reports for rounds in several)
        return f"assumes {numbered(total, 'person')} with one report each"
    if any(only):
        return (
            f"assumes the same people {first.often}, and takes the largest round of each period or "
            "segment alone"
        )
    if all(rounds.number < 2 for rounds in several):
        return (
            f"assumes the same people {first.often}, one report per person in each period or "
            "segment"
        )
    return (
        f"assumes the same people {first.often}, as few as there can be in each period or segment"
    )
