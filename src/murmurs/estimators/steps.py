"""Steps of a likelihood of reports: from the shares of all combinations of answers to derivatives.

The likelihood of a person's reports is a sum over combinations of answers: the share of the
combination times the likelihood of each report given its answer. A step needs the value of that sum
for everybody and its derivatives. It never holds all people by all combinations at once, but one of
these: tables of sums for each byte of a report, groups of people whose other reports are alike, or
a block of people.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.channels.evidence import Classified, Evidence, Supported
from murmurs.estimators.methods.em import Step
from murmurs.numerics.arrays import Floats, Integers

Precision = type[np.float32] | type[np.float64]

PEOPLE = 2**13
"""People in a block, at most."""

ENTRIES = 2**20
"""Numbers in a block, at most."""

ALIKE = 50
"""People in a group, on average, from which groups are worth a call of their own."""


def step_of(pieces: tuple[Evidence, ...], precision: Precision) -> Step:
    """Return the step of the likelihood of reports to one or several questions.

    ``precision`` is that of products within a block of people; everything is added up in double.
    """
    kinds = [piece for piece in pieces if isinstance(piece, Classified)]
    others = [i for i, piece in enumerate(pieces) if not isinstance(piece, Classified)]
    n = len(pieces[0])
    if len(others) < 2:
        firsts, group, sizes = _alike(kinds, n)
        if not others:
            few = tuple(Classified(piece.kinds[firsts], piece.table) for piece in kinds)
            return _by_blocks(few, sizes / n, n, precision)
        if n >= ALIKE * len(firsts):
            return _by_groups(pieces, others[0], firsts, group, sizes)
    if len(pieces) == 2 and all(isinstance(piece, Supported) for piece in pieces):
        return _by_pairs(*pieces, precision)  # type: ignore[arg-type]
    return _by_blocks(pieces, np.full(n, 1 / n), n, precision)


def rows_of(pieces: tuple[Evidence, ...], which: slice) -> Floats:
    """Return the likelihoods of some people given each combination of answers."""
    out: Floats = np.ones((1, 1))
    for piece in pieces:
        rows = piece.rows(which)
        out = (out[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    return out


def _alike(pieces: list[Classified], n: int) -> tuple[Integers, Integers, Integers]:
    """Group people whose reports are of the same kinds.

    Returns the first person of each group, the group of each person, and the sizes of the groups.
    """
    number = np.zeros(n, np.int64)
    for piece in pieces:
        count = len(piece.table)
        if int(number.max()) >= 2**62 // count:
            _, number = np.unique(number, return_inverse=True)
        number = number * count + piece.kinds
    _, firsts, group, sizes = np.unique(
        number, return_index=True, return_inverse=True, return_counts=True
    )
    return firsts, group, sizes


def _by_groups(
    pieces: tuple[Evidence, ...], own: int, firsts: Integers, group: Integers, sizes: Integers
) -> Step:
    """Return the step of one question of any form, and others whose reports are of a few kinds.

    Within a group of people whose other reports are alike, the likelihood is that of the one
    question, with the shares of its answers weighted by what the other reports say.
    """
    answers = tuple(each.k for each in pieces)
    weights: Floats = np.ones((len(firsts), 1))
    for i, each in enumerate(pieces):
        if i != own:
            assert isinstance(each, Classified)
            rows = each.table[each.kinds[firsts]]
            weights = (weights[:, :, None] * rows[:, None, :]).reshape(len(firsts), -1)
    order, ends, n = np.argsort(group, kind="stable"), np.cumsum(sizes), len(group)
    parts = [
        _alone(pieces[own], order[end - size : end])
        for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)
    ]

    def step(shares: Floats) -> tuple[Floats, float]:
        table = np.moveaxis(shares.reshape(answers), own, 0)
        means = table.reshape(answers[own], -1) @ weights.T
        slopes, height = np.zeros_like(means), 0.0
        for number, part in enumerate(parts):
            total = float(means[:, number].sum())
            own_slopes, here = part(means[:, number] / total)
            slopes[:, number] = own_slopes / total
            height += here + int(sizes[number]) * math.log(total)
        derivative = (slopes @ weights).reshape(table.shape)
        return np.moveaxis(derivative, 0, own).ravel() / n, height

    return step


def _alone(piece: Evidence, people: Integers) -> Step:
    """Return the derivatives and the log-likelihood of some people's reports to one question."""
    if isinstance(piece, Supported):
        load, bits, excess, k = kernels.load(), piece.bits[people], piece.excess, piece.k

        def by_bits(shares: Floats) -> tuple[Floats, float]:
            padded = np.zeros(8 * bits.shape[1])
            padded[:k] = shares
            inverses, by_answer, height = load.support_likelihood(bits, padded, excess)
            return inverses + excess * by_answer[:k], height

        return by_bits
    rows = piece.rows(people)

    def by_rows(shares: Floats) -> tuple[Floats, float]:
        likelihood = rows @ shares
        return (1 / likelihood) @ rows, float(np.log(likelihood).sum())

    return by_rows


def _by_pairs(one: Supported, two: Supported, precision: Precision) -> Step:
    """Return the step of two questions whose reports support sets, by tables for each byte."""
    shape = (8 * one.bits.shape[1], 8 * two.bits.shape[1])
    load, n, excess = kernels.load(), len(one), (one.excess, two.excess)

    def step(shares: Floats) -> tuple[Floats, float]:
        table = np.zeros(shape, precision)
        table[: one.k, : two.k] = shares.reshape(one.k, two.k)

        derivative, height = load.pair_likelihood(one.bits, two.bits, table, excess)
        return derivative[: one.k, : two.k].ravel() / n, height

    return step


def _by_blocks(pieces: tuple[Evidence, ...], weights: Floats, n: int, precision: Precision) -> Step:
    """Return the step of any evidence, by products of matrices; people have weights."""
    answers = tuple(piece.k for piece in pieces)
    rest = math.prod(answers[1:])
    size = max(1, min(PEOPLE, ENTRIES // max(answers[0], rest)))

    def step(shares: Floats) -> tuple[Floats, float]:
        table: NDArray[Any] = shares.reshape(answers[0], rest).astype(precision)

        derivative, height = np.zeros(table.shape), 0.0
        for start in range(0, len(weights), size):
            which = slice(start, start + size)
            first, *others = (piece.rows(which).astype(precision) for piece in pieces)
            both: NDArray[Any] = np.ones((len(first), 1), precision)
            for rows in others:
                both = (both[:, :, None] * rows[:, None, :]).reshape(len(first), -1)
            likelihood = np.einsum("ij,ij->i", first @ table, both)
            height += n * float((weights[which] * np.log(likelihood)).sum())
            both *= (weights[which] / likelihood).astype(precision)[:, None]
            derivative += first.T @ both
        return derivative.ravel(), height

    return step
