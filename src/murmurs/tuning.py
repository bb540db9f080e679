"""How many places and cohorts an open question needs: `tune`, and what can be told apart at all.

The expected loss of O-RR and O-RAPPOR is known before anybody is asked. It is computed twice: for a
whole grid as the mean over hash functions, in closed form, and for the best of the grid from the
exact covariance of least squares through a layout that is drawn. docs/tuning.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from murmurs.channels.solving import MOST_SOLVED, WELL_POSED
from murmurs.channels.tables import Tables
from murmurs.checks import Floats, real, whole
from murmurs.layout import Keyed
from murmurs.mechanisms.cohorts import MOST_PERMUTED, Cohorts, Tabled
from murmurs.mechanisms.orappor import MOST_HASHES, ORappor, PermutedRappor
from murmurs.mechanisms.orr import ORR, PermutedRR
from murmurs.privacy import check_epsilon

KINDS: dict[str, Any] = {kind.__name__: kind for kind in (ORR, ORappor, PermutedRR, PermutedRappor)}
LOSSES = ("l1", "l2")

MOST_COHORTS = 2**16
MOST_CELLS = 2**22
"""Cells, cohorts by places, of the largest table that is looked at."""

SHORTLIST = 6
MOST_WORK = 4e10
"""Multiplications that the exact covariance of one line may take; above, the mean is kept."""

CRAMPED = (1 - math.sqrt(WELL_POSED)) ** 2
"""Unknowns for each equation from which on least squares are not counted on.

(1 - sqrt(y))^2 is the smallest eigenvalue of the scaled normal equations of large random layouts.
"""

_FEWEST = 4
"""Cohorts below which some answers are nearly always tangled, however wide the tables are."""

_GROUPS = 200
_NODES = 96


@dataclass(frozen=True)
class Choice:
    """Parameters with the loss that is expected of them, against the people who answered.

    ``estimator`` says whether shares come from least squares through the known hash functions or
    from averages over them; ``exact`` whether the loss is that of one drawn layout by its
    covariance, or the mean over hash functions. ``bits`` are those of a report.
    """

    width: int
    cohorts: int
    hashes: int
    bits: float
    loss: float
    estimator: str
    exact: bool = False

    @property
    def cells(self) -> int:
        """How many counts the server keeps."""
        return self.width * self.cohorts


@dataclass(frozen=True)
class Tuning:
    """The recommended parameters, what they cost, and the best alternatives."""

    kind: str
    epsilon: float
    respondents: int
    candidates: int
    loss: str
    best: Choice
    alternatives: tuple[Choice, ...]
    looked_at: int

    @property
    def mechanism(self) -> Any:
        """The mechanism with the recommended parameters."""
        return _mechanism(self.kind, self.epsilon, self.candidates, self.best)

    @property
    def error_of_a_share(self) -> float:
        """The mean absolute error of a share, or with "l2" the root of the mean square."""
        each = self.best.loss / self.candidates
        return each if self.loss == "l1" else math.sqrt(each)

    def to_document(self) -> dict[str, Any]:
        """Return all of it as plain numbers and text."""
        return asdict(self)


def tune(
    epsilon: float,
    respondents: int,
    candidates: int,
    *,
    kind: str = "ORR",
    loss: str = "l1",
    shares: Sequence[float] | Floats | None = None,
    most_cohorts: int = 4096,
    widths: Iterable[int] | None = None,
    hashes: Iterable[int] | None = None,
    within: float = 0.01,
) -> Tuning:
    """Return the width and the number of cohorts with the smallest expected loss.

    The loss is that of unbiased shares of the candidates, "l1" or (squared) "l2", against the
    shares of the people who answered. Estimators that know that shares are not negative do better,
    by more the larger the noise; which parameters are best does not depend on that.

    ``shares`` are what the candidates are expected to have; what is missing to one is held by
    strings that are not listed (open kinds only). Left out, they fall off as 1 / rank. More
    cohorts are never worse, but cost time when estimating: of all whose loss is ``within`` this
    part of the smallest, the one is taken with the fewest counts times bits of a report.

    >>> found = tune(epsilon=2.0, respondents=10**6, candidates=100)
    >>> found.mechanism
    ORR(epsilon=2.0, width=7, cohorts=1024, salt=0)
    >>> round(found.error_of_a_share, 5)
    0.00067
    """
    question = _question(epsilon, respondents, candidates, kind, loss, shares)
    size, most = question.size, whole(most_cohorts, "most_cohorts", 1, MOST_COHORTS)
    within = real(within, "within", 0.0, 1.0)
    if hashes is not None and kind != "ORappor":
        raise ValueError(f"{kind} has one hash; hashes are for ORappor")
    looked = _widths(question.epsilon, size, kind) if widths is None else _checked(widths)
    numbers = _hashes(kind) if hashes is None else _checked(hashes, 1, MOST_HASHES)
    grid = [
        question.expected(width, rows, h)
        for width in looked
        for h in numbers
        for rows in _cohorts(width, size, most, kind)
        if h <= width and (question.is_open or width <= size)
    ]
    if not grid:
        raise ValueError(
            f"no width that was given is at least the number of hashes and at most {size} answers"
        )
    limit = (1 + within) * min(grid, key=_loss).loss
    kept = _frugal(grid, limit, within)
    near = sorted((c for c in kept if c.loss <= limit), key=_cost)[:SHORTLIST]
    exact = [question.checked(choice) for choice in near]
    # Hash functions differ by a little; a layout that is much worse than their mean is left aside.
    good = [choice for choice in exact if choice.loss <= 1.02 * limit]
    best = good[0] if good else min(exact, key=_loss)
    rest = [c for c in exact if c is not best] + [c for c in kept if c not in near]
    alternatives = tuple(sorted(rest, key=_loss))
    return Tuning(kind, question.epsilon, question.n, size, loss, best, alternatives, len(grid))


def _loss(choice: Choice) -> float:
    return choice.loss


def _cost(choice: Choice) -> tuple[float, float]:
    """Return what a choice costs, at the devices and at the server; of equals the better first."""
    return choice.bits * choice.cells, choice.loss


def _frugal(grid: list[Choice], limit: float, within: float) -> list[Choice]:
    """Return of each width and number of hashes the cheapest that is nearly the best."""
    same: dict[tuple[int, int], list[Choice]] = {}
    for choice in grid:
        same.setdefault((choice.width, choice.hashes), []).append(choice)
    out = []
    for own in same.values():
        enough = max(limit, (1 + within) * min(own, key=_loss).loss)
        out.append(min((c for c in own if c.loss <= enough), key=_cost))
    return out


def expected_loss(
    epsilon: float,
    respondents: int,
    candidates: int,
    width: int,
    cohorts: int,
    hashes: int = 1,
    *,
    kind: str = "ORR",
    loss: str = "l1",
    shares: Sequence[float] | Floats | None = None,
    exact: bool = True,
) -> Choice:
    """Return the loss that is expected of given parameters; see `tune`.

    With ``exact`` from the covariance of one drawn layout, if that is in reach; otherwise as the
    mean over hash functions.

    >>> for cohorts in (1, 16, 256, 4096):
    ...     print(cohorts, f"{expected_loss(2.0, 10**6, 100, 8, cohorts).loss:.3f}")
    1 7.391
    16 1.849
    256 0.068
    4096 0.066
    """
    question = _question(epsilon, respondents, candidates, kind, loss, shares)
    rows = whole(cohorts, "cohorts", 1, MOST_COHORTS)
    highest = 2**16 if question.is_open else min(question.size, 2**16)
    width = whole(width, "width", 2, highest)
    most_hashes = min(MOST_HASHES, width) if kind == "ORappor" else 1
    found = question.expected(width, rows, whole(hashes, "hashes", 1, most_hashes))
    return question.checked(found) if exact else found


def _question(
    epsilon: float,
    respondents: int,
    candidates: int,
    kind: str,
    loss: str,
    shares: Sequence[float] | Floats | None,
) -> _Question:
    """Check what is asked."""
    epsilon = check_epsilon(epsilon)
    n = whole(respondents, "respondents", 1, 2**62)
    size = whole(candidates, "candidates", 2, 10**7)
    if kind not in KINDS:
        raise ValueError(f"there is nothing to tune in {kind!r}; there is in {', '.join(KINDS)}")
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, not {loss!r}")
    return _Question(kind, epsilon, n, loss, _law(shares, size, kind))


def _law(shares: Sequence[float] | Floats | None, size: int, kind: str) -> Floats:
    if shares is None:
        law = 1 / np.arange(1.0, size + 1)
        return np.asarray(law / law.sum())
    law = np.asarray(shares, np.float64)
    if law.shape != (size,):
        raise ValueError(f"shares must be {size} numbers, one a candidate, not of {law.shape}")
    if not (law >= 0).all():
        raise ValueError(f"shares must not be negative or missing, as {law[~(law >= 0)][0]} is")
    total = float(law.sum())
    if total > 1 + 1e-9 or (not _is_open(kind) and total < 1 - 1e-9):
        most = "at most 1: the rest is held by other strings" if _is_open(kind) else "1"
        raise ValueError(f"shares must add up to {most}, not to {total:g}")
    return law


def _is_open(kind: str) -> bool:
    return kind in ("ORR", "ORappor")


def _is_exclusive(kind: str) -> bool:
    return kind in ("ORR", "PermutedRR")


def _checked(values: Iterable[int], low: int = 2, high: int = 2**16) -> list[int]:
    return sorted({whole(value, "width" if low == 2 else "hashes", low, high) for value in values})


def _widths(epsilon: float, size: int, kind: str) -> list[int]:
    """Return widths in steps of about a fifth around those that can be best."""
    highest = size if not _is_open(kind) else min(16 * size, 2**16)
    steps = {round(2 * 1.2**i) for i in range(60)}
    natural = math.exp(min(epsilon, 11.0)) + 1
    found = {*steps, math.floor(natural), math.ceil(natural), size}
    return sorted(width for width in found if 2 <= width <= max(2, min(highest, 2**16)))


def _hashes(kind: str) -> list[int]:
    return [1, 2, 4] if kind == "ORappor" else [1]


def _cohorts(width: int, size: int, most: int, kind: str) -> list[int]:
    """Return powers of two up to the largest allowed table; one cohort is always possible."""
    highest = min(most, max(1, MOST_CELLS // width))
    if not _is_open(kind):
        highest = min(highest, max(1, MOST_PERMUTED // size))
    return sorted({1 << i for i in range(highest.bit_length())} | {highest})


def _mechanism(kind: str, epsilon: float, size: int, choice: Choice) -> Any:
    parameters = {"epsilon": epsilon, "width": choice.width, "cohorts": choice.cohorts}
    if kind == "ORappor":
        parameters["hashes"] = choice.hashes
    if not _is_open(kind):
        parameters["k"] = size
    return KINDS[kind](**parameters)


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked of the parameters: the losses of one kind for one law and population."""

    kind: str
    epsilon: float
    n: int
    loss: str
    law: Floats

    @property
    def is_open(self) -> bool:
        return _is_open(self.kind)

    @property
    def size(self) -> int:
        return len(self.law)

    @cached_property
    def rest(self) -> float:
        """The share of strings that are not listed."""
        return max(1 - float(self.law.sum()), 0.0) if self.is_open else 0.0

    @cached_property
    def groups(self) -> tuple[Floats, Floats]:
        """Shares and how many have each; the tail of a long list in groups by its rank."""
        ordered = np.sort(self.law)[::-1]
        if self.size <= 2 * _GROUPS:
            return ordered, np.ones(self.size)
        edges = np.unique(np.geomspace(_GROUPS, self.size, _GROUPS + 1).astype(np.int64))
        starts = np.concatenate([np.arange(_GROUPS), edges[:-1]])
        times = np.diff(np.append(starts, self.size)).astype(np.float64)
        return np.add.reduceat(ordered, starts) / times, times

    def expected(self, width: int, cohorts: int, hashes: int) -> Choice:
        """Return the mean over hash functions: the better of least squares and averages."""
        bits = math.log2(cohorts) + (math.log2(width) if _is_exclusive(self.kind) else width)
        choice = Choice(width, cohorts, hashes, bits, math.inf, "averages")
        shares, times = self.groups
        private = shares * (1 - shares) / self.n
        solved = self._solved(choice, shares, times) - private
        averaged = self._averaged(choice, shares)
        losses = [self._sum(variance, times) for variance in (solved, averaged)]
        if losses[0] <= losses[1] or (self.size <= MOST_SOLVED and math.isfinite(losses[0])):
            return replace(choice, loss=losses[0], estimator="least squares")
        return replace(choice, loss=losses[1])

    def checked(self, choice: Choice) -> Choice:
        """Return the choice with the loss from the exact covariance, if that is in reach.

        Where least squares work for lucky hash functions only, the mean over them is kept.
        """
        if self.is_open and choice.estimator == "averages":
            return choice
        work = float(self.size) ** 2 * choice.cohorts * choice.width * choice.hashes
        if self.size > MOST_SOLVED or work > MOST_WORK:
            return choice
        channel = self._channel(choice)
        shares = np.append(self.law, self.rest) if self.is_open else self.law
        constant, slope = channel.noise(shares, self.n)
        variance = (constant + slope * shares)[: self.size]
        estimator = "least squares" if channel.is_solved else "averages"
        found = self._sum(variance, np.ones(self.size))
        return replace(choice, loss=found, estimator=estimator, exact=True)

    def _sum(self, variance: Floats, times: Floats) -> float:
        variance = np.maximum(variance, 0)
        if self.loss == "l2":
            return float(times @ variance)
        return float(times @ np.sqrt(variance * 2 / np.pi))

    def _table(self, choice: Choice) -> Cohorts[Any]:
        mechanism = _mechanism(self.kind, self.epsilon, self.size, choice)
        return mechanism.table if isinstance(mechanism, Tabled) else mechanism

    def _channel(self, choice: Choice) -> Tables:
        mechanism = _mechanism(self.kind, self.epsilon, self.size, choice)
        if isinstance(mechanism, Tabled):
            return mechanism.channel
        keys = np.arange(self.size, dtype=np.uint64)[None, :]
        layout = Keyed(keys, choice.cohorts, choice.width, 0, choice.hashes)
        table: Tables = mechanism.table(layout, True)
        return table

    @cached_property
    def _chances(self) -> dict[tuple[int, int], tuple[float, float]]:
        return {}

    def _hit_and_miss(self, choice: Choice) -> tuple[float, float]:
        """Return the chances that an own place, and another one, is counted."""
        key = (choice.width, choice.hashes)
        if key not in self._chances:
            table = self._table(replace(choice, cohorts=1))
            channel = table.table(Keyed(np.zeros((1, 0), np.uint64), 1, choice.width), False)
            self._chances[key] = (float(channel.hit), float(channel.miss))
        return self._chances[key]

    def _averaged(self, choice: Choice, shares: Floats) -> Floats:
        """Return the variance of averages over hash functions, collisions among it.

        It is that of `murmurs.channels.sketch`; the squares of all shares are those of the law,
        not of the groups.
        """
        hit, miss = self._hit_and_miss(choice)
        filled = 1 - (1 - 1 / choice.width) ** choice.hashes
        own = filled * choice.width
        scale, gain = (own - own * filled) ** -2, hit - miss
        crowded = miss + gain * filled
        noise = shares * hit * (1 - hit) + (1 - shares) * crowded * (1 - crowded)
        pair = own * filled * (1 - filled) / choice.cohorts
        squares = float((self.law * np.maximum(self.law - 1 / self.n, 0)).sum())
        together = squares - shares * np.maximum(shares - 1 / self.n, 0)
        return np.asarray(scale * (own * noise / (gain**2 * self.n) + together * pair))

    def _solved(self, choice: Choice, shares: Floats, times: Floats) -> Floats:
        """Return the variance of least squares for n people of a population, over hash functions.

        The information on a share alone is the sum over places of gain^2 / (variance of a cell),
        times the squared deviation of the answer's presence there from its mean. Other answers
        take their part of the equations away, which divides it by the inflation.
        """
        width, rows = choice.width, choice.cohorts
        hit, miss = self._hit_and_miss(choice)
        gain = hit - miss
        filled = 1 - (1 - 1 / width) ** choice.hashes
        inflation = self._inflation(width, rows, choice.hashes)
        if not math.isfinite(inflation):
            return np.full(len(shares), math.inf)
        aside = gain * filled * self.rest
        t = np.geomspace(1e-5 / (miss + aside + gain), 60 / (miss + aside), _NODES)
        crowd = self._crowd_of(choice, gain * t)
        own = _mean_inverse(miss + aside, gain, t, crowd, shares)
        other = _mean_inverse(miss + aside, gain, t, crowd, 0 * shares)
        if not _is_exclusive(self.kind):  # 1 / (l (1 - l)) = 1 / l + 1 / (1 - l), 1 - l being large
            mean = miss + gain * filled * (1 - shares)
            own, other = own + 1 / (1 - mean - gain * shares), other + 1 / (1 - mean)
        on = (1 - filled) ** 2 * filled * width * own
        off = filled**2 * (1 - filled) * width * other
        information = gain**2 * (on + off)
        if not self.is_open:  # two answers of a permutation meet less often than by chance
            apart = 1 - (self.size / width - 1) / (self.size - 1)
            information *= apart / (1 - filled) / (1 - 1 / self.size)
        return np.asarray(inflation / (information * self.n))

    def _crowd_of(self, choice: Choice, t: Floats) -> Floats:
        """Return the log of E[exp(-t m)], m the mass that others add to an answer's place.

        Others are there by chance, each independently. Permuted, there are as many of them on
        every place, up to one.
        """
        shares, times = self.groups
        if self.is_open:
            filled = 1 - (1 - 1 / choice.width) ** choice.hashes
            logs = np.log1p(filled * np.expm1(-np.outer(t, shares)))
            return np.asarray((logs @ times)[:, None] - logs)
        one = np.exp(-np.outer(t, shares)) @ times / self.size
        fewest, larger = divmod(self.size, choice.width)
        on_larger = larger * (fewest + 1) / self.size
        both = (1 - on_larger) * one ** (fewest - 1) + on_larger * one**fewest
        return np.asarray(np.log(np.maximum(both, 1e-300))[:, None])

    def _inflation(self, width: int, rows: int, hashes: int) -> float:
        """Return by how much other answers raise the variance, each having to be solved for.

        Hashed: columns of independent rows, for which Marchenko and Pastur give 1 / (1 - y) with y
        unknowns for each equation. Permuted: a sum of ``rows`` projections on a part of all
        dimensions, which are free of each other; with part 1 nothing is lost.
        """
        if rows < _FEWEST and not (width == self.size and not self.is_open):
            return math.inf
        if self.is_open:
            crowding = self.size / (rows * (width - (hashes == 1)))
            return 1 / (1 - crowding) if crowding < CRAMPED else math.inf
        part = (width - 1) / (self.size - 1)
        if part == 1:
            return 1.0
        return part * (rows - 1) / (part * rows - 1) if CRAMPED * part * rows > 1 else math.inf


def _mean_inverse(low: float, gain: float, t: Floats, crowd: Floats, extra: Floats) -> Floats:
    """Return E[1 / (low + gain (extra + m))] for each answer, m the mass of others on its place.

    1 / x is the integral of exp(-t x) over t, taken in steps of the logarithm of t.
    """
    exponent = crowd - gain * np.outer(t, extra) - t[:, None] * low
    step = math.log(float(t[1] / t[0]))
    inside = np.exp(exponent) * t[:, None]
    # Below the first node the exponential is one.
    return np.asarray((inside.sum(axis=0) - inside[0] / 2) * step + t[0])


@dataclass(frozen=True)
class Identifiability:
    """What hash functions alone allow to tell apart, before any noise.

    ``equations`` is the most that C cohorts of k places give for S shares: the places of each
    cohort add up to all people, so that it is C (k - 1) + 1 and not C k. ``sharing`` is the
    expected number of candidates that have another one on their place in every cohort.
    """

    width: int
    cohorts: int
    candidates: int
    equations: int
    sharing: float

    @property
    def enough(self) -> bool:
        """Whether there are as many equations as shares."""
        return self.equations >= self.candidates

    @property
    def distinguishable(self) -> float:
        """The expected number of candidates with a pattern of places of their own."""
        return self.candidates - self.sharing

    @property
    def advice(self) -> str:
        """What is missing, if anything is."""
        if not self.enough:
            more = -(-(self.candidates - 1) // (self.width - 1)) - self.cohorts
            wider = -(-(self.candidates - 1) // self.cohorts) + 1
            return (
                f"{self.cohorts} cohorts of {self.width} places give at most {self.equations} "
                f"equations for {self.candidates} shares: add {more} cohorts, or take a width of "
                f"{wider}; twice as many make the answer precise"
            )
        if self.sharing >= 0.01:
            wanted = cohorts_needed(self.width, self.candidates, 0.99, every=True)
            return (
                f"{self.sharing:.3g} of {self.candidates} candidates share all their places with "
                f"another: {wanted} cohorts tell all of them apart with probability 0.99"
            )
        return f"{self.candidates} candidates can be told apart"


def identifiable(width: int, cohorts: int, candidates: int) -> Identifiability:
    """Return whether so many candidates can be told apart by hashes into so many places.

    Kairouz, Bonawitz and Ramage (2016), supplement G: eq. 34, and the number of equations, which
    is C (k - 1) + 1 and not C k.

    >>> identifiable(width=16, cohorts=8, candidates=256).equations
    121
    """
    k = whole(width, "width", 2, 2**16)
    rows = whole(cohorts, "cohorts", 1, MOST_COHORTS)
    size = whole(candidates, "candidates", 1, 2**62)
    alone = (size - 1) * math.log1p(-math.exp(-rows * math.log(k)))
    return Identifiability(k, rows, size, rows * (k - 1) + 1, -size * math.expm1(alone))


def cohorts_needed(
    width: int, candidates: int, probability: float = 0.99, *, every: bool = False
) -> int:
    """Return the fewest cohorts in which a candidate has a pattern of places of its own.

    With at least this probability for a given candidate: k^C >= 1 / (1 - P^(1 / (S - 1))), where
    the paper prints P^(S - 1). With ``every``, for all candidates at once.

    >>> cohorts_needed(width=2, candidates=256, probability=0.9)
    12
    >>> cohorts_needed(width=2, candidates=256, probability=0.9, every=True)
    19
    """
    k = whole(width, "width", 2, 2**16)
    size = whole(candidates, "candidates", 1, 2**62)
    wanted = math.log(real(probability, "probability", 1e-300, 1 - 1e-15))
    found = 1
    while _log_alone(k**found, size, every) < wanted:
        found += 1
    return found


def _log_alone(patterns: int, size: int, every: bool) -> float:
    """Return the log of the chance that random patterns of so many are not shared."""
    if size == 1:
        return 0.0
    if not every:
        return (size - 1) * math.log1p(-1 / patterns)
    if size > patterns:
        return -math.inf
    if patterns < 2**20 or 2 * size > patterns:
        falling = math.lgamma(patterns + 1) - math.lgamma(patterns - size + 1)
        return falling - size * math.log(patterns)
    # Stirling's formula, which does not lose small differences of large logarithms.
    return -(patterns - size + 0.5) * math.log1p(-size / patterns) - size
