"""Choose the buckets and cohorts of an open question by the smallest expected loss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from murmurs.boundary.checks import real, whole
from murmurs.mechanisms.hashed.orappor import MOST_HASHES
from murmurs.mechanisms.hashed.permuted import MOST_PERMUTED
from murmurs.numerics.arrays import Floats
from murmurs.planning.loss_model import (
    KINDS,
    MOST_COHORTS,
    LossModel,
    Parameters,
    is_open_kind,
    mechanism_of,
)
from murmurs.privacy import check_epsilon

LOSSES = ("l1", "l2")

MOST_CELLS = 2**22
"""The most cells, cohorts times buckets, of a table that is considered."""

SHORTLIST = 6


@dataclass(frozen=True)
class Tuning:
    """The recommended parameters, what they cost, and the best alternatives."""

    kind: str
    epsilon: float
    people: int
    candidate_count: int
    loss: str
    best: Parameters
    alternatives: tuple[Parameters, ...]
    looked_at: int

    @property
    def mechanism(self) -> Any:
        """The mechanism with the recommended parameters."""
        return mechanism_of(self.kind, self.epsilon, self.candidate_count, self.best)

    @property
    def error_of_a_share(self) -> float:
        """The mean absolute error of a share, or for "l2" the root mean square error."""
        each = self.best.loss / self.candidate_count
        return each if self.loss == "l1" else math.sqrt(each)

    def to_document(self) -> dict[str, Any]:
        """Return the tuning as plain values for JSON."""
        found = asdict(self)
        return {"respondents" if name == "people" else name: found[name] for name in found}


def tune(
    epsilon: float,
    people: int,
    candidate_count: int,
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

    The loss is the "l1" or (squared) "l2" error of unbiased shares of the candidates, relative to
    the shares of the respondents. Estimators that know that shares are not negative do better, the
    more so the larger the noise; which parameters are best does not depend on that.

    ``shares`` are the expected shares of the candidates; if they sum to less than one, strings that
    are not listed hold the rest (open kinds only). By default they fall off as 1 / rank. More
    cohorts are never worse, but take time to estimate: of all choices whose loss is ``within`` this
    fraction of the smallest, the result is the one with the fewest counts times bits of a report.

    >>> found = tune(epsilon=2.0, people=10**6, candidate_count=100)
    >>> found.mechanism
    ORR(epsilon=2.0, width=7, cohorts=1024, salt=0)
    >>> round(found.error_of_a_share, 5)
    0.00067
    """
    question = _question(epsilon, people, candidate_count, kind, loss, shares)
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
            f"no given width is at least the number of hashes and at most {size}, the number of "
            "answers: give others"
        )
    limit = (1 + within) * min(grid, key=_loss).loss
    kept = _frugal(grid, limit, within)
    near = sorted((c for c in kept if c.loss <= limit), key=_cost)[:SHORTLIST]
    exact = [question.checked(choice) for choice in near]
    # Hash functions differ a little; a layout that is much worse than their mean is left out.
    good = [choice for choice in exact if choice.loss <= 1.02 * limit]
    best = good[0] if good else min(exact, key=_loss)
    rest = [c for c in exact if c is not best] + [c for c in kept if c not in near]
    alternatives = tuple(sorted(rest, key=_loss))
    return Tuning(kind, question.epsilon, question.n, size, loss, best, alternatives, len(grid))


def _loss(choice: Parameters) -> float:
    return choice.loss


def _cost(choice: Parameters) -> tuple[float, float]:
    """Return the cost of a choice, for devices and server; the loss breaks ties."""
    return choice.bits * choice.cells, choice.loss


def _frugal(grid: list[Parameters], limit: float, within: float) -> list[Parameters]:
    """Return, for each width and number of hashes, the cheapest choice that is nearly the best."""
    same: dict[tuple[int, int], list[Parameters]] = {}
    for choice in grid:
        same.setdefault((choice.width, choice.hashes), []).append(choice)
    out = []
    for own in same.values():
        enough = max(limit, (1 + within) * min(own, key=_loss).loss)
        out.append(min((c for c in own if c.loss <= enough), key=_cost))
    return out


def expected_loss(
    epsilon: float,
    people: int,
    candidate_count: int,
    width: int,
    cohorts: int,
    hashes: int = 1,
    *,
    kind: str = "ORR",
    loss: str = "l1",
    shares: Sequence[float] | Floats | None = None,
    exact: bool = True,
) -> Parameters:
    """Return the expected loss of given parameters; see `tune`.

    With ``exact``, it comes from the covariance of one drawn layout, if that is feasible; otherwise
    it is the mean over hash functions.

    >>> for cohorts in (1, 16, 256, 4096):
    ...     print(cohorts, f"{expected_loss(2.0, 10**6, 100, 8, cohorts).loss:.3f}")
    1 7.391
    16 1.849
    256 0.068
    4096 0.066
    """
    question = _question(epsilon, people, candidate_count, kind, loss, shares)
    rows = whole(cohorts, "cohorts", 1, MOST_COHORTS)
    highest = 2**16 if question.is_open else min(question.size, 2**16)
    width = whole(width, "width", 2, highest)
    most_hashes = min(MOST_HASHES, width) if kind == "ORappor" else 1
    found = question.expected(width, rows, whole(hashes, "hashes", 1, most_hashes))
    return question.checked(found) if exact else found


def _question(
    epsilon: float,
    people: int,
    candidate_count: int,
    kind: str,
    loss: str,
    shares: Sequence[float] | Floats | None,
) -> LossModel:
    """Check the arguments and return the model of the loss."""
    epsilon = check_epsilon(epsilon)
    n = whole(people, "people", 1, 2**62)
    size = whole(candidate_count, "candidate_count", 2, 10**7)
    if kind not in KINDS:
        raise ValueError(f"cannot tune {kind!r}; choose one of {', '.join(KINDS)}")
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, not {loss!r}")
    return LossModel(kind, epsilon, n, loss, _law(shares, size, kind))


def _law(shares: Sequence[float] | Floats | None, size: int, kind: str) -> Floats:
    if shares is None:
        law = 1 / np.arange(1.0, size + 1)
        return np.asarray(law / law.sum())
    law = np.asarray(shares, np.float64)
    if law.shape != (size,):
        raise ValueError(
            f"shares must be {size} numbers, one per candidate, not of shape {law.shape}"
        )
    if not (law >= 0).all():
        raise ValueError(
            f"shares must not be negative or missing, but one is {law[~(law >= 0)][0]}"
        )
    total = float(law.sum())
    if total > 1 + 1e-9 or (not is_open_kind(kind) and total < 1 - 1e-9):
        most = "at most 1: the rest is held by other strings" if is_open_kind(kind) else "1"
        raise ValueError(f"shares must add up to {most}, not to {total:g}")
    return law


def _checked(values: Iterable[int], low: int = 2, high: int = 2**16) -> list[int]:
    return sorted({whole(value, "width" if low == 2 else "hashes", low, high) for value in values})


def _widths(epsilon: float, size: int, kind: str) -> list[int]:
    """Return widths in steps of about a fifth, and those that are likely to be best."""
    highest = size if not is_open_kind(kind) else min(16 * size, 2**16)
    steps = {round(2 * 1.2**i) for i in range(60)}
    natural = math.exp(min(epsilon, 11.0)) + 1
    found = {*steps, math.floor(natural), math.ceil(natural), size}
    return sorted(width for width in found if 2 <= width <= max(2, min(highest, 2**16)))


def _hashes(kind: str) -> list[int]:
    return [1, 2, 4] if kind == "ORappor" else [1]


def _cohorts(width: int, size: int, most: int, kind: str) -> list[int]:
    """Return powers of two up to the largest allowed table; one cohort is always possible."""
    highest = min(most, max(1, MOST_CELLS // width))
    if not is_open_kind(kind):
        highest = min(highest, max(1, MOST_PERMUTED // size))
    return sorted({1 << i for i in range(highest.bit_length())} | {highest})
