"""Names and order of answers do not matter: estimators are equivariant under permutations.

The shares of permuted answers are the permuted shares, for every estimator and every kind of
channel. Of a joint table the answers to each question are permuted: its rows and its columns. A
channel whose answers are alike is permuted by permuting its cells. Of another one the answers are
given other numbers over the same cells: a hash table gets its columns in another order, and any
other channel is wrapped so that each of its methods permutes what goes in and what comes out.
Wherever an estimator looks at an answer's number, its shares differ.

Sums are made in another order then, so that floats differ in their last digits: by some 1e-15 of
the numbers involved, through equations whose condition is at most some hundreds. 1e-9 leaves room
for that, and is far below what an order would do: taking the first candidate's noise for all of
them moved shares by 1e-3. Only the extrapolated steps of `em` amplify rounding without end: they
are looked at early, and at the end to a hundredth of a standard error, which is what their
tolerance is worth.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

import murmurs as mm
from murmurs.channels.channel import Channel
from murmurs.channels.evidence import Classified, Evidence, Supported
from murmurs.channels.hashed import Sketch
from murmurs.channels.product import ProductChannel
from murmurs.channels.symmetric import Symmetric
from murmurs.counts import Counts
from murmurs.estimators import BY_NAME, NoiseDominates
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.methods.selection import _strongest
from murmurs.mechanisms import Over
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats, Integers
from tests.estimators.test_every_estimator import BY_ORDER, refuses

AnyMechanism = Mechanism[Any]
STRINGS = [f"string {i}" for i in range(80)]
SAME = 1e-9


def permuted(channel: Channel, order: Integers) -> Channel:
    """Return the channel whose answer j is answer order[j] of this one, over the same cells."""
    if isinstance(channel, Sketch):  # the unlisted answer, if there is one, stays the last
        return dataclasses.replace(channel, layout=channel.layout.select(order))
    back, kind = np.argsort(order), type(channel)

    class Permuted(kind):  # type: ignore[misc, valid-type]
        def law_of(self, answer: int) -> Any:
            return channel.law_of(order[answer])

        def gain(self, shares: Floats) -> Floats:
            return channel.gain(shares[back])

        def adjoint(self, weights: Floats) -> Floats:
            return channel.adjoint(weights)[order]

        def invert(self, cells: Any, n: int) -> Floats:
            return channel.invert(cells, n)[order]

        def noise(self, shares: Floats, n: float) -> Any:
            return tuple(part[order] for part in channel.noise(shares[back], n))

        def support(self, cells: Integers) -> Any:
            found = channel.support(cells)
            return None if found is None else (found[0][order], *found[1:])

        # What Hadamard response has beside.

        @property
        def block_of(self) -> Integers:
            return np.asarray(channel.block_of[order])  # type: ignore[attr-defined]

        def to_rows(self, shares: Any) -> Floats:
            return channel.to_rows(shares[back])  # type: ignore[attr-defined, no-any-return]

        def from_rows(self, lines: Floats) -> Floats:
            return np.asarray(channel.from_rows(lines)[order])  # type: ignore[attr-defined]

    out: Channel = object.__new__(Permuted)
    out.__dict__.update(channel.__dict__)
    return out


@dataclass(frozen=True)
class Reordered:
    """A mechanism with its answers in another order, as far as counts need one."""

    mechanism: AnyMechanism
    channel: Channel
    labels: tuple[str, ...]
    parts: tuple[Reordered, ...] = ()

    @property
    def is_longitudinal(self) -> bool:
        return self.mechanism.is_longitudinal

    def repeated(self, times: float) -> Channel:
        assert times == 1
        return self.channel

    def over(self, candidates: Sequence[str], *, complete: bool = False) -> Reordered:
        raise AssertionError("answers are listed")

    def select(self, questions: tuple[int, ...]) -> Reordered:
        kept = tuple(self.parts[i] for i in sorted(questions))
        return kept[0] if len(kept) == 1 else together(kept)

    def to_document(self) -> dict[str, Any]:
        return self.mechanism.to_document()


def reordered(counts: Counts, order: Order) -> Counts:
    """Return the counts of the answers in another order."""
    channel = counts.mechanism.channel
    mechanism = cast(AnyMechanism, counts.mechanism)
    if isinstance(order, list):
        return reordered_table(counts, order)
    if isinstance(channel, Symmetric):
        return Counts(counts.mechanism, counts.n, counts.cells[order])
    return Counts(turned(mechanism, order), counts.n, counts.cells)


def turned(mechanism: AnyMechanism, order: Integers) -> Reordered:
    """Return the mechanism with its answers in another order."""
    labels = getattr(mechanism, "labels", ())
    new = tuple(labels[j] for j in order) + tuple(labels[len(order) :]) if labels else ()
    return Reordered(mechanism, permuted(mechanism.channel, order), new)


def reordered_table(counts: Counts, order: list[Integers]) -> Counts:
    """Return the counts of several questions with the answers to each in another order."""
    channel, cells, parts = cast(ProductChannel, counts.mechanism.channel), counts.cells, []
    first = len(channel.cells) - len(channel.axes)
    of = cast(mm.Product, counts.mechanism).parts
    for i, (part, axis, own) in enumerate(zip(of, channel.axes, order, strict=True)):
        if isinstance(part.channel, Symmetric):  # of which the cells are permuted
            at = own if axis.is_histogram else np.append(0, 1 + own)
            cells = cells.take(at, first + i)
            parts.append(Reordered(part, part.channel, ()))
        else:
            parts.append(turned(part, own))
    return Counts(together(parts), counts.n, cells)


def together(parts: Sequence[Reordered]) -> Reordered:
    """Return the product of mechanisms with their answers in another order."""
    both = mm.Product(tuple(part.mechanism for part in parts))
    channel = dataclasses.replace(both.channel, factors=tuple(part.channel for part in parts))
    return Reordered(both, channel, (), tuple(parts))


Order = Integers | list[Integers]
"""Of the answers to one question, or to each of several."""


def listed(mechanism: AnyMechanism) -> int:
    """How many answers can change places."""
    channel = mechanism.channel
    return channel.layout.k if isinstance(channel, Sketch) else channel.k


def any_order(mechanism: AnyMechanism, rng: np.random.Generator) -> Order:
    if isinstance(mechanism, mm.Product):
        return [rng.permutation(listed(part)) for part in mechanism.parts]
    return rng.permutation(listed(mechanism))


def places(order: Order, mechanism: AnyMechanism) -> Integers:
    """Where the answers come from; "(other)" stays the last answer to its question."""
    if isinstance(order, list):
        parts = cast(mm.Product, mechanism).parts
        own = [places(x, part) for x, part in zip(order, parts, strict=True)]
        return np.arange(mechanism.k).reshape([part.k for part in parts])[np.ix_(*own)].ravel()
    return np.append(order, np.arange(len(order), mechanism.k))


def open_ones(strings: list[str], cohorts: int, complete: bool = False) -> list[AnyMechanism]:
    return [
        mechanism.over(strings, complete=complete)
        for mechanism in (
            mm.ORR(epsilon=2.0, width=5, cohorts=cohorts, salt=3),
            mm.ORappor(epsilon=2.0, width=6, cohorts=cohorts, salt=3),
            mm.ORappor(epsilon=6.0, width=16, cohorts=cohorts, hashes=2, salt=3),
            mm.Rappor(width=16, hashes=2, cohorts=cohorts, f=0.25, p=0.25, q=0.75, salt=3),
        )
    ]


ALIKE: AnyMechanism = mm.ORR(epsilon=3.0, width=2, cohorts=3).over(STRINGS[:20])
"""Twenty strings in three cohorts of two places: at most eight of them can be told apart."""

KINDS: list[AnyMechanism] = [
    mm.KRR(k=2, epsilon=1.0),
    mm.KRR(k=12, epsilon=1.0),
    mm.SUE(k=12, epsilon=1.0),
    mm.OUE(k=12, epsilon=1.0),
    mm.BasicRappor(k=12, f=0.5, p=0.25, q=0.75),
    mm.Subset(k=12, epsilon=1.0),
    mm.LocalHashing(k=12, epsilon=1.0),
    mm.SquareWave(k=12, epsilon=1.0),
    mm.LOSUE(k=12, epsilon=1.0, epsilon_permanent=2.0),
    mm.LOLOHA(k=12, epsilon=1.0, epsilon_permanent=2.0),
    mm.Hadamard(k=13, epsilon=1.0, blocks=1),
    mm.Hadamard(k=13, epsilon=3.0, blocks=4),
    mm.ProjectiveGeometry(k=10, epsilon=1.0, q=3, t=3),
    mm.CountMeanSketch(k=12, epsilon=1.0, rows=8, width=8),
    mm.HadamardSketch(k=12, epsilon=1.0, rows=8, width=8),
    mm.PermutedRR(k=12, epsilon=1.0, width=4, cohorts=12),
    mm.PermutedRappor(k=12, epsilon=1.0, width=4, cohorts=12),
    *open_ones(STRINGS[:12], cohorts=12),
    *open_ones(STRINGS[:12], cohorts=12, complete=True),
    *open_ones(STRINGS, cohorts=4),
    *open_ones(STRINGS, cohorts=4, complete=True),
    mm.PermutedRR(k=100, epsilon=2.0, width=4, cohorts=5),
    ALIKE,
    mm.Product((mm.KRR(k=4, epsilon=1.0), mm.KRR(k=3, epsilon=2.0))),
    mm.Product((mm.OUE(k=5, epsilon=1.0), mm.Subset(k=6, epsilon=1.0, w=2))),
    mm.Product((mm.Hadamard(k=5, epsilon=1.0), mm.KRR(k=2, epsilon=1.0))),
    mm.Product((mm.KRR(k=2, epsilon=1.0), mm.SUE(k=3, epsilon=2.0), mm.KRR(k=3, epsilon=2.0))),
    mm.Product(
        (mm.ORR(epsilon=3.0, width=5, cohorts=8).over(STRINGS[:3]), mm.KRR(k=2, epsilon=1.0))
    ),
]
"""Answers that are alike, that are not, and that cannot be solved for together."""


@cache
def collections(mechanism: AnyMechanism) -> tuple[Counts, ...]:
    """Counts of a skewed law: of many people, and of so few that noise dominates and cells tie."""
    rng = np.random.default_rng(29)
    law = 0.7 ** np.arange(mechanism.k)
    law[-1] += 0.05
    return tuple(mechanism.simulate(rng.multinomial(n, law / law.sum()), rng) for n in (7, 3000))


def run(name: str, counts: Counts, **options: Any) -> Estimate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseDominates)
        estimator: Any = BY_NAME.get(name, mm.estimate)
        return cast(Estimate, estimator(counts, **options))


def assert_permuted(
    name: str, counts: Counts, order: Order, within: float = SAME, **options: Any
) -> None:
    first, second = run(name, counts, **options), run(name, reordered(counts, order), **options)
    every = places(order, cast(AnyMechanism, counts.mechanism))

    def assert_same(of_second: Floats | None, of_first: Floats | None) -> None:
        assert (of_first is None) == (of_second is None)
        if of_first is not None and of_second is not None:
            np.testing.assert_allclose(
                of_second, of_first[every], rtol=within, atol=within, err_msg=f"{counts}"
            )

    assert_same(second.shares, first.shares)
    assert_same(second.unbiased, first.unbiased)
    assert_same(second.posterior_deviations, first.posterior_deviations)
    assert_same(second.standard_errors(), first.standard_errors())
    assert_same(second.interval(0.9).T, first.interval(0.9).T)
    assert (second.estimator, second.why) == (first.estimator, first.why)
    assert len(second.notes) == len(first.notes)


def usable_kinds(name: str) -> list[AnyMechanism]:
    if name not in BY_NAME:  # the default, which for a square wave is one of `BY_ORDER`
        return [m for m in KINDS if not isinstance(m, mm.SquareWave)]
    return [m for m in KINDS if not refuses(name, m)]


CLIMBS = ("em", "likelihood")
ON_A_SCALE = ("smooth", *BY_ORDER)
"""For these an order means something."""


@pytest.mark.parametrize(
    "name", [*(x for x in BY_NAME if x not in CLIMBS + ON_A_SCALE), "estimate"]
)
def test_permuted_answers_have_permuted_shares(name: str) -> None:
    rng = np.random.default_rng(31)
    for mechanism in usable_kinds(name):
        for counts in collections(mechanism):
            assert_permuted(name, counts, any_order(mechanism, rng))


@pytest.mark.parametrize("name", CLIMBS)
def test_so_they_do_after_a_few_steps_and_at_the_top(name: str) -> None:
    rng = np.random.default_rng(31)
    for mechanism in usable_kinds(name):
        for counts in collections(mechanism):
            order = any_order(mechanism, rng)
            assert_permuted(name, counts, order, tolerance=0.02 * counts.n)
            k = mechanism.k
            spread = counts.channel.variance_sampled(np.full(k, 1 / k), counts.n)
            assert_permuted(name, counts, order, within=0.01 * float(np.sqrt(spread.max())))


@cache
def scaled(mechanism: AnyMechanism) -> tuple[Counts, ...]:
    """Counts of answers around the middle of their scale, of few people and of many."""
    rng, k = np.random.default_rng(37), mechanism.k
    law = np.exp(-(((np.arange(k) - 0.4 * k) / (0.2 * k)) ** 2)) + 0.2 * (np.arange(k) == k // 3)
    return tuple(mechanism.simulate(rng.multinomial(n, law / law.sum()), rng) for n in (300, 10**5))


LONG: AnyMechanism = mm.Subset(k=80, epsilon=1.0)
"""With more answers than a spline has coefficients."""


def assert_turned(counts: Counts, order: Integers, **options: Any) -> None:
    """A scale that is turned has turned shares; widths are turned with it."""
    turned_options = dict(options)
    if "widths" in options:
        turned_options["widths"] = [options["widths"][j] for j in order]
    first = run("smooth", counts, **options)
    second = run("smooth", reordered(counts, order), **turned_options)
    within = 1e-6  # what steps leave of a difference in rounding
    np.testing.assert_allclose(
        second.shares, first.shares[order], rtol=within, atol=within, err_msg=f"{counts}"
    )
    np.testing.assert_allclose(second.interval(0.9), first.interval(0.9)[:, order], atol=within)
    assert len(second.notes) == len(first.notes)


def test_a_scale_that_is_reversed_has_reversed_shares() -> None:
    kinds = [*usable_kinds("smooth"), LONG]
    for counts in [own for mechanism in kinds for own in scaled(mechanism)]:
        k = counts.channel.k
        assert_turned(counts, np.arange(k)[::-1])
    for counts in scaled(LONG):
        backwards = np.arange(LONG.k)[::-1]
        widths = [*np.linspace(1, 3, LONG.k - 1), np.inf]
        assert_turned(counts, backwards, widths=widths)
        assert_turned(counts, backwards, circular=True)
    # Shares that are smooth along one order are not so along another: it does act.
    apart = np.argsort(np.arange(LONG.k) % 7, kind="stable")
    first, second = (run("smooth", own) for own in (counts, reordered(counts, apart)))
    assert np.abs(second.shares - first.shares[apart]).max() > 0.003


def test_a_circular_scale_that_is_turned_has_turned_shares() -> None:
    for mechanism in (mm.OUE(k=7, epsilon=1.0), mm.Subset(k=24, epsilon=1.0), LONG):
        for counts in scaled(mechanism):
            order = np.roll(np.arange(mechanism.k), 5)
            assert_turned(counts, order, circular=True)
            assert_turned(counts, order, circular=True, widths=1 + np.arange(mechanism.k) % 3 / 10)
    line, turned_line = (run("smooth", own) for own in (counts, reordered(counts, order)))
    assert np.abs(turned_line.shares - line.shares[order]).max() > 1e-5


@pytest.mark.parametrize("name", BY_ORDER)
def test_those_that_look_at_the_order_are_equivariant_under_its_reversal(name: str) -> None:
    """And not under any other order, on counts of many people."""
    rng = np.random.default_rng(31)
    for mechanism in usable_kinds(name):
        if mechanism.k == 2 or isinstance(mechanism, Over):  # no other order, or none at all
            continue
        for counts in collections(mechanism):
            assert_permuted(name, counts, np.arange(mechanism.k)[::-1], within=1e-7)
        with pytest.raises(AssertionError, match="Not equal"):
            assert_permuted(name, counts, any_order(mechanism, rng), within=1e-7)


@pytest.mark.parametrize("name", ["estimate", "shrinkage", "selection", "norm_cut"])
@pytest.mark.parametrize("complete", [False, True])
def test_the_order_of_a_list_of_candidates_does_not_matter(name: str, complete: bool) -> None:
    """The same counts over a list and over its reverse."""
    for view in (*open_ones(STRINGS[:12], cohorts=12), *open_ones(STRINGS, cohorts=4)):
        listed_first = cast(Any, view).mechanism.over(cast(Any, view).candidates, complete=complete)
        if name in BY_NAME and refuses(name, listed_first):
            continue
        people = np.zeros(listed_first.k, np.int64)
        people[:3] = 2000, 1000, 500
        counts = listed_first.simulate(people, np.random.default_rng(3))
        backwards = listed_first.mechanism.over(listed_first.candidates[::-1], complete=complete)
        first, second = run(name, counts), run(name, Counts(backwards, counts.n, counts.cells))
        shares = dict(zip(second.labels, second.shares.tolist(), strict=True))
        for label, share in zip(first.labels, first.shares.tolist(), strict=True):
            assert shares[label] == pytest.approx(share, rel=SAME, abs=SAME), (view, label)


# Ties


def test_answers_that_tie_at_the_end_of_norm_cut_are_lowered_alike() -> None:
    """Three answers whose unbiased shares are equal, and which exceed one together."""
    subset = mm.Subset(k=6, epsilon=1.0, w=3)
    counts = Counts(subset, 1000, np.array([620, 620, 620, 380, 380, 380]))
    shares = run("norm_cut", counts).shares
    np.testing.assert_allclose(shares, [1 / 3, 1 / 3, 1 / 3, 0, 0, 0], rtol=1e-12)
    # Only those that tie are: of these the first stays as it is.
    counts = Counts(subset, 1000, np.array([640, 610, 610, 380, 380, 380]))
    shares, unbiased = run("norm_cut", counts).shares, run("unbiased", counts).shares
    assert shares[0] == unbiased[0]
    assert 0 < shares[1] == shares[2] < unbiased[2]
    assert shares.sum() == pytest.approx(1)


def test_strings_that_nothing_tells_apart_share_what_they_hold() -> None:
    """The group of the string that everybody holds gets everything, in equal parts.

    Each of it may hold nothing or all, so that intervals reach from one to the other, and no single
    one is found, though the group is there beyond doubt.
    """
    assert isinstance(ALIKE.channel, Sketch)
    own = next(group for group in ALIKE.channel.layout.alike() if 3 in group)
    others = np.setdiff1d(np.arange(20), own)
    people = np.zeros(21, np.int64)
    people[3] = 10**6
    found = run("selection", ALIKE.simulate(people, np.random.default_rng(5)))
    np.testing.assert_allclose(found.shares[own], 1 / len(own), rtol=0.01)
    np.testing.assert_array_equal(found.shares[own], found.shares[own[0]])
    assert found.shares[others].max() < 0.01
    np.testing.assert_allclose(found.unbiased[own], 1 / len(own), rtol=0.01)
    both = found.interval(0.95).T
    np.testing.assert_array_equal(both[own, 0], 0)
    assert (both[own, 1] > 0.99).all()
    assert not found.detected().present[own].any()
    assert any("an equal part of their joint share" in note for note in found.notes)


def test_candidates_that_are_equally_strong_come_in_together_or_not_at_all() -> None:
    scores = np.array([5.0, 4.0, 4.0 * (1 + 1e-13), 4.0, 3.0])
    every = np.ones(5, np.bool_)
    for wanted, room, kept in (
        (0, 0, []),
        (1, 5, [0]),
        (2, 5, [0, 1, 2, 3]),  # there is room for all that tie
        (2, 3, [0]),  # there is none
        (4, 4, [0, 1, 2, 3]),
        (5, 5, [0, 1, 2, 3, 4]),
    ):
        assert np.flatnonzero(_strongest(every, scores, wanted, room)).tolist() == kept


# Reports


@pytest.mark.parametrize("kind", [mm.SUE, mm.OUE, mm.Subset, mm.LocalHashing])
def test_the_likelihood_of_reports_does_not_know_the_order_of_answers(kind: Any) -> None:
    mechanism = kind(k=9, epsilon=2.0)
    rng = np.random.default_rng(7)
    reports = mechanism.encode_many(rng.choice(9, 3000, p=np.arange(9, 0, -1) / 45), rng)
    order = rng.permutation(9)

    class Turned:
        def evidence(self, reports: Any) -> tuple[Evidence, ...]:
            (piece,) = mechanism.evidence(reports)
            if isinstance(piece, Classified):  # sets of one answer
                return (Classified(piece.kinds, piece.table[:, order]),)
            bits = np.unpackbits(piece.bits, axis=1, bitorder="little")
            bits[:, :9] = bits[:, :9][:, order]
            return (Supported(np.packbits(bits, axis=1, bitorder="little"), 9, piece.excess),)

        def count(self, reports: Any) -> Counts:
            return reordered(mechanism.count(reports), order)

    # Early, before steps amplify rounding.
    first = mm.estimators.report_likelihood(mechanism, reports, most=6)
    second = mm.estimators.report_likelihood(Turned(), reports, most=6)
    np.testing.assert_allclose(second.shares, first.shares[order], rtol=SAME, atol=SAME)
