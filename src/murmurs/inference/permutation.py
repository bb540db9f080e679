"""Exact tests of independence: the reports to one question are permuted against those to the other.

If the answers are independent, every pairing of the reports to the two questions is as likely as
the one observed, so its rank among random pairings is uniform, however few people there are. If
questions share cohorts, reports are permuted within cohorts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.inference.scores import Scores, ScoreSide
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.random_tables import MOST_IN_A_TABLE, random_tables, two_by_two

_AT_ONCE = 2**22
"""How many cells of permuted tables are held at once."""

_MOST_ENUMERATED = 10**6

_TIE = 1 - 1e-9
"""Statistics this close to the observed one are as large, up to rounding."""


def can_permute_tables(scores: Scores) -> bool:
    """Return whether the table of reports says what permuted reports would give."""
    return scores.channel.is_histogram and scores.counts.n <= MOST_IN_A_TABLE


def from_table(
    scores: Scores, permutations: int, rng: np.random.Generator
) -> tuple[float, int | None]:
    """Return the p-value of a table of reports, and how many permutations it comes from.

    All tables of two rows and two columns are gone through instead, if they are not too many.
    """
    observed = _TIE * float(scores.distances_of([s.table.astype(float) for s in scores.strata]))
    sums = [(_whole(s.left.sums), _whole(s.right.sums)) for s in scores.strata]
    if len(sums) == 1 and len(sums[0][0]) == len(sums[0][1]) == 2:
        rows, columns = sums[0]
        if min(*rows.tolist(), *columns.tolist()) < _MOST_ENUMERATED:
            tables, chances = two_by_two(rows, columns)
            reached = scores.distances_of([tables]) >= observed
            return min(float(chances[reached].sum()), 1.0), None
    cells = sum(len(rows) * len(columns) for rows, columns in sums)
    batch = max(1, _AT_ONCE // max(cells, 1))
    above = 0
    for start in range(0, permutations, batch):
        size = min(batch, permutations - start)
        tables_of = [random_tables(rows, columns, size, rng) for rows, columns in sums]
        above += int((scores.distances_of(tables_of) >= observed).sum())
    return (1 + above) / (1 + permutations), permutations


def from_reports(
    scores: Scores,
    cohorts: Integers | None,
    axes: tuple[NDArray[Any], NDArray[Any]],
    permutations: int,
    rng: np.random.Generator,
) -> tuple[float, int]:
    """Return the p-value of reports, and how many permutations it comes from.

    ``axes`` are the places of the reports to each question, see `Product.placed`.
    """
    groups = np.zeros(len(axes[0]), np.int64) if cohorts is None else cohorts
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.unique(groups), side="right")
    rows = [own for own in np.split(order, ends[:-1]) if cohorts is None or len(own) > 1]
    strata = list(zip(scores.strata, rows, strict=True))
    left = np.concatenate([_features(s.left, axes[0][own]) for s, own in strata])
    right = np.concatenate([_features(s.right, axes[1][own]) for s, own in strata])
    within = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    observed, above = _TIE * scores.statistic, 0
    for _ in range(permutations):
        turned = rng.permutation(len(left))
        if len(rows) > 1:
            turned = turned[np.argsort(within[turned], kind="stable")]
        above += bool(scores.distances(left.T @ right[turned]) >= observed)
    return (1 + above) / (1 + permutations), permutations


def _features(side: ScoreSide, places: NDArray[Any]) -> Floats:
    """Return what each report contributes to the scores of its question, from their mean."""
    if places.ndim == 1:
        found = side.lever.T[places]
    else:
        found = places[:, 1:].astype(np.float64) @ side.lever.T
    return np.asarray(found - found.mean(axis=0))


def _whole(sums: Floats) -> Integers:
    return np.rint(sums).astype(np.int64)
