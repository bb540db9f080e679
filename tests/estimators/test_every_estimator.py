"""What every estimator promises. One listed in `murmurs.estimators.BY_NAME` is held to it.

Exact promises come first; the coverage of intervals is a small study at the end, whose false-alarm
rates stand beside its checks (at most 1e-6 for each test, fixed seeds), with wrong intervals that
the same checks reject.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.channels.axes import Axis
from murmurs.channels.bit_sketch import BitSketch
from murmurs.channels.product import ProductChannel
from murmurs.channels.symmetric import Symmetric
from murmurs.channels.tables import Tables
from murmurs.counts import Counts
from murmurs.estimators import BY_NAME, NoiseDominates, report_likelihood
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.methods.smooth import NO_ORDER
from murmurs.inference import block_tails, tails
from murmurs.inference.fit import Target
from murmurs.inference.fitting import fitted
from murmurs.mechanisms import Over, Product
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.mechanisms.strings.over_ngrams import OverNGrams
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.tables import margin as sums_of
from murmurs.numerics.tables import outer
from tests import laws

AnyMechanism = Mechanism[Any]
Pair = tuple[str, AnyMechanism]

MEDIUM: list[AnyMechanism] = [
    mm.KRR(k=40, epsilon=1.0),
    mm.SUE(k=40, epsilon=1.0),
    mm.OUE(k=40, epsilon=1.0),
    mm.BasicRappor(k=40, f=0.5, p=0.25, q=0.75),
    mm.Subset(k=40, epsilon=1.0),
    mm.Hadamard(k=40, epsilon=1.0),
    mm.Hadamard(k=40, epsilon=3.0),
    mm.ProjectiveGeometry(k=40, epsilon=1.0),
    mm.LocalHashing(k=40, epsilon=1.0),
    mm.SquareWave(k=40, epsilon=1.0),
    mm.CountMeanSketch(k=12, epsilon=1.0, rows=5, width=8),
    mm.HadamardSketch(k=12, epsilon=1.0, rows=5, width=8),
]
HOPELESS: list[AnyMechanism] = [
    kind(k=k, epsilon=0.02)
    for kind in (mm.KRR, mm.OUE, mm.Subset, mm.Hadamard, mm.ProjectiveGeometry, mm.LocalHashing)
    for k in (2, 60)
]
"""With a thousand people nothing can be seen through these."""

SMALL = [m for m in laws.SMALL if not isinstance(m, OverNGrams)]
"""All but n-grams, whose tables must agree with each other, which made-up counts here do not."""

ALL = SMALL + MEDIUM + HOPELESS
SKETCHES = (mm.CountMeanSketch, mm.HadamardSketch)
TARGETS: tuple[Target, Target] = ("respondents", "population")


def run(name: str, counts: Counts) -> Estimate:
    """Estimate, whether or not noise dominates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseDominates)
        return BY_NAME[name](counts)


def refuses(name: str, mechanism: AnyMechanism) -> bool:
    """Whether an estimator cannot work on the counts of a mechanism, by its nature."""
    channel = mechanism.channel
    if name in ("likelihood", "em"):  # counts that are no histogram do not determine it
        return not channel.is_histogram
    if name == "ems":  # nor are answers to several questions in an order
        return not channel.is_histogram or bool(channel.factors)
    if name in ("joint", "independence"):  # they combine several questions
        return not channel.factors
    if name == "composite":  # it is made of counts of support
        return channel.support(np.zeros(channel.cells, np.int64)) is None
    if name == "smooth":  # it needs one order of all answers
        return bool(channel.factors) or channel.other is not None
    if name == "selection":  # it chooses among answers in cohorts
        if not (isinstance(channel, Tables) and channel.solvable):
            return True
        return channel.is_solved and not channel.is_open
    return False


def pairs(mechanisms: Iterable[AnyMechanism], *, refused: bool = False) -> list[Pair]:
    both = itertools.product(BY_NAME, mechanisms)
    return [(name, mechanism) for name, mechanism in both if refuses(name, mechanism) is refused]


def over(chosen: list[Pair]) -> Callable[[Any], Any]:
    return pytest.mark.parametrize(("name", "mechanism"), chosen, ids=lambda part: f"{part}")


every = pytest.mark.parametrize("name", BY_NAME)


@pytest.fixture(autouse=True, scope="module")
def equal_limits_once() -> Iterator[None]:
    """Find limits from exact tails once for equal counts: most estimators ask for the same.

    Another estimator changes only the guess with which the search begins, and every guess leads to
    the same limit: see `test_tails.py`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("murmurs.inference.tails._limits", each_once(tails._limits, 2))
        patch.setattr("murmurs.inference.block_tails._limits", each_once(block_tails._limits, 3))
        yield


def each_once(limits: Callable[..., Floats], first: int) -> Callable[..., Floats]:
    """The search for limits of counts, which searches no limit of a count twice.

    The ``first`` arguments are arrays that say which count and which side; then come their law and
    the level, and then what the search begins with.
    """
    known: dict[Any, dict[Any, float]] = {}

    def call(*given: Any) -> Floats:
        law, level = given[first : first + 2]
        found = known.setdefault((law, level), {})
        keys = list(zip(*(g.tolist() for g in given[:first]), strict=True))
        new = [i for i, key in enumerate(keys) if key not in found]
        if new:
            begin = [g[new] for g in given[first + 2 :]]
            limit = limits(*(g[new] for g in given[:first]), law, level, *begin)
            found.update(zip([keys[i] for i in new], limit.tolist(), strict=True))
        return np.array([found[key] for key in keys])

    return call


@cache
def noisy(mechanism: AnyMechanism) -> tuple[Counts, ...]:
    """Counts of one person, of a few, of a thousand, and the flattest there are."""
    rng = np.random.default_rng(17)
    law = rng.dirichlet(np.full(mechanism.k, 0.3))
    drawn = [mechanism.simulate(rng.multinomial(n, law), rng) for n in (1, 7, 1000)]
    return (*drawn, all_equal(mechanism))


@cache
def estimates(name: str) -> tuple[Estimate, ...]:
    """The estimates of all noisy counts that an estimator can use, made once."""
    usable = [mechanism for mechanism in ALL if not refuses(name, mechanism)]
    return tuple(run(name, counts) for mechanism in usable for counts in noisy(mechanism))


def informed(name: str) -> list[Estimate]:
    """Those from a thousand people and a small mechanism."""
    small = set(SMALL)
    return [e for e in estimates(name) if e.n == 1000 and e.counts.mechanism in small]


def all_equal(mechanism: AnyMechanism) -> Counts:
    """Counts of which none is larger than another."""
    channel = mechanism.channel
    if isinstance(channel, ProductChannel):
        sides = [flat_axis(axis) for axis in channel.axes]
        table = np.broadcast_to(10 * outer(sides), channel.cells).astype(np.int64)
        return Counts(mechanism, int(reports_in(channel, table).sum()), table)
    cells = np.full(channel.cells, 10)
    if isinstance(channel, BitSketch):  # of a row's reports each bit is set in half
        cells[:, 1:] = 5
        return Counts(mechanism, 10 * channel.rows, cells)
    if isinstance(mechanism, mm.Subset):  # each report is counted w times
        return Counts(mechanism, 10 * mechanism.k, cells * mechanism.w)
    return Counts(mechanism, int(cells.sum()) if channel.is_histogram else 20, cells)


def flat_axis(axis: Axis) -> Floats:
    """What the reports to a question add to its axis, equal for all answers."""
    if axis.is_histogram:
        return np.ones(axis.size)
    each = axis.channel.supported if isinstance(axis.channel, Symmetric) else None
    out = np.full(axis.size, float(each or 1))
    out[0] = axis.k if each else 2  # the reports
    return out


# Which estimator goes with which mechanism


def test_every_kind_of_mechanism_is_estimated() -> None:
    assert {type(mechanism) for mechanism in ALL} == {
        *mm.mechanisms.BY_NAME.values(),
        Over,
        Product,
        mm.Design,
        mm.mechanisms.BooleanRappor,
        mm.mechanisms.Among,
        mm.Product,
    }
    assert len(pairs(ALL)) > len(pairs(ALL, refused=True)) > 0


def accepted(name: str, mechanism: AnyMechanism) -> bool:
    try:
        run(name, noisy(mechanism)[2])
    except ValueError:
        return False
    return True


@over(pairs(SMALL))
def test_an_estimator_takes_the_counts_it_can_use(name: str, mechanism: AnyMechanism) -> None:
    assert accepted(name, mechanism)


@over(pairs(SMALL, refused=True))
def test_counts_that_cannot_be_used_are_refused_with_a_way_out(
    name: str, mechanism: AnyMechanism
) -> None:
    with pytest.raises(ValueError, match=re.escape(str(mechanism))) as error:
        run(name, noisy(mechanism)[2])
    ways = re.findall(r"(\w+)\((counts|mechanism, reports)\)", str(error.value))
    assert ways
    for way, argument in ways:  # each is one
        if argument == "counts":
            assert accepted(way, mechanism), f"{way}(counts) is no way out: it refuses them too"
        else:
            assert way == "report_likelihood"
            reports = mechanism.encode_many(np.arange(mechanism.k), np.random.default_rng(1))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoiseDominates)
                from_reports = report_likelihood(mechanism, reports)
            assert from_reports.n == mechanism.k


# Applied to expected counts it returns the truth

MANY = 10**12


def spread_shares(k: int) -> Floats:
    """Shares that differ, the largest about three times the smallest, in no order."""
    shares = np.random.default_rng(2).permutation(np.arange(k) + 1 + k / 2)
    return np.asarray(shares / shares.sum())


def expected_counts(mechanism: AnyMechanism, shares: Floats, n: int) -> Counts:
    """The mean of the counts, rounded to whole reports that add up."""
    cells = np.rint(n * mechanism.channel.mean(shares)).astype(np.int64)
    if isinstance(mechanism.channel, ProductChannel):
        add_up(mechanism.channel, cells, n)
    elif mechanism.channel.is_histogram or isinstance(mechanism, mm.Subset):
        times = mechanism.w if isinstance(mechanism, mm.Subset) else 1
        cells.ravel()[cells.argmax()] += n * times - cells.sum()
    elif isinstance(mechanism.channel, BitSketch):
        cells[0, 0] += n - cells[:, 0].sum()
    return Counts(mechanism, n, cells)


def reports_in(channel: ProductChannel, cells: Integers) -> Integers:
    """The cells that count whole reports, each in one of them: a view."""
    kept = tuple(slice(None) if axis.is_histogram else 0 for axis in channel.axes)
    return cells[kept] if channel.cohorts is None else cells[(slice(None), *kept)]


def add_up(channel: ProductChannel, cells: Integers, n: int) -> None:
    """Change the largest cells so that there are n reports, each with its number of supports."""
    reports = np.atleast_1d(reports_in(channel, cells))
    reports[np.unravel_index(reports.argmax(), reports.shape)] += n - reports.sum()
    for i, axis in enumerate(channel.axes):
        each = axis.channel.supported if isinstance(axis.channel, Symmetric) else None
        if each is not None and not axis.is_histogram:
            assert channel.cohorts is None
            lines = np.moveaxis(cells, i, 0)
            largest = lines[1:].argmax(axis=0)[None]
            more = np.take_along_axis(lines[1:], largest, 0)
            more += lines[0] * int(each) - lines[1:].sum(axis=0)
            np.put_along_axis(lines[1:], largest, more, 0)


def true_shares(name: str, mechanism: AnyMechanism) -> Floats:
    """Shares to find; those of independent answers for an estimator that assumes them."""
    shares = spread_shares(mechanism.k)
    channel = mechanism.channel
    if name != "independence" or not isinstance(channel, ProductChannel):
        return shares
    table = shares.reshape(channel.answers)
    return outer([sums_of(table, (i,)) for i in range(table.ndim)]).ravel()


@cache
def estimate_of_expected_counts(name: str, mechanism: AnyMechanism) -> Estimate:
    return run(name, expected_counts(mechanism, true_shares(name, mechanism), MANY))


@cache
def identifiable(mechanism: AnyMechanism) -> bool:
    """Whether other shares have other expected counts; not so in very small hash tables."""
    return bool(np.linalg.matrix_rank(mechanism.channel.matrix(), tol=1e-9) == mechanism.k)


SOLVE_COLLISIONS = {"regression", "likelihood", "em"}
"""On sketches these know the hash functions. The others use the linear inverse, which corrects for
collisions on average over hash functions only: given one table, it is off by them at any n."""

PART_OF_THE_ERROR = {
    "shrinkage": 1.0,
    "smooth": 1.0,
    "joint": 1.0,
    "independence": 1.0,
    "selection": 1.0,
    "regression": 0.05,
    "likelihood": 0.05,
    "em": 0.05,
}
"""Shrinkage moves shares by a part of their standard error; iterations stop that near. With 10**12
people a standard error is some 1e-5."""

BY_ORDER = ("ems",)
"""They take neighbouring answers for alike, and smooth whatever the counts say."""

RECOVERABLE = [
    (name, mechanism)
    for name, mechanism in pairs(SMALL + MEDIUM)
    if name not in BY_ORDER
    and identifiable(mechanism)
    and (name in SOLVE_COLLISIONS or not isinstance(mechanism, SKETCHES))
]


@over(RECOVERABLE)
def test_expected_counts_give_the_truth(name: str, mechanism: AnyMechanism) -> None:
    estimate = estimate_of_expected_counts(name, mechanism)
    truth = true_shares(name, mechanism)
    error = float(np.abs(estimate.shares - truth).max())
    noise = float(np.sqrt(mechanism.channel.variance(MANY * truth).max()))
    if name in PART_OF_THE_ERROR and not isinstance(mechanism, SKETCHES):
        assert noise < 3e-5
        assert error <= PART_OF_THE_ERROR[name] * noise
    elif name in PART_OF_THE_ERROR:  # whose standard errors include collisions
        assert error < 1e-6
    else:
        assert error < 1e-9  # half a report in 10**12, through the inverse
    # An estimator that took the counts for the answers, without inverting the channel, would not.
    seen = mechanism.channel.mean(truth).ravel()[: mechanism.k]
    assert np.abs(seen / seen.sum() - truth).max() > 1e-3


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in BY_ORDER])
def test_an_estimate_of_exact_counts_has_converged(name: str) -> None:
    found = [estimate_of_expected_counts(*pair) for pair in RECOVERABLE if pair[0] == name]
    assert found
    late = {f"{e.counts.mechanism}": (e.gap, e.iterations) for e in found if not e.converged}
    assert late == {}
    remarks = {note for e in found for note in e.notes if note not in e.fit.notes}
    remark = {"selection": "(other) includes", "smooth": NO_ORDER}.get(name)
    assert all(remark is not None and note.startswith(remark) for note in remarks)


# On the simplex, if it says so

OUTSIDE = {
    "unbiased": "free",
    "clipped": "not negative",
    "base_cut": "not negative",
    "norm_cut": "at most one",
}
"""What these promise; every other estimator returns a law."""


@every
def test_shares_are_a_law_unless_it_says_otherwise(name: str) -> None:
    promise = OUTSIDE.get(name, "law")
    for estimate in estimates(name):
        shares, mechanism = estimate.shares, estimate.counts.mechanism
        assert shares.shape == (estimate.counts.channel.k,), mechanism
        assert shares.dtype == np.float64
        assert np.isfinite(shares).all(), mechanism
        if promise != "free":
            assert shares.min() >= 0, mechanism
        if promise in ("law", "at most one"):
            assert shares.sum() <= 1 + 1e-9, mechanism
        if promise == "law":
            assert shares.sum() >= 1 - 1e-9, mechanism


def test_the_unbiased_shares_are_not_mended() -> None:
    assert min(float(estimate.shares.min()) for estimate in estimates("unbiased")) < -1
    assert max(float(estimate.shares.max()) for estimate in estimates("unbiased")) > 2


@every
def test_answers_that_are_counted_alike_get_the_same_share(name: str) -> None:
    for mechanism in SMALL:
        channels = mechanism.channel.factors or (mechanism.channel,)
        alike = all(isinstance(channel, Symmetric) for channel in channels)
        if alike and not refuses(name, mechanism):
            shares = run(name, all_equal(mechanism)).shares
            np.testing.assert_allclose(shares, shares[0], atol=1e-12, err_msg=f"{mechanism}")


# Intervals


def assert_inside(inner: Floats, outer: Floats, what: object) -> None:
    assert (outer[:, 0] <= inner[:, 0] + 1e-12).all(), what
    assert (inner[:, 1] <= outer[:, 1] + 1e-12).all(), what


LEVELS = (0.5, 0.8, 0.95, 0.999)


@every
def test_intervals_contain_the_estimate_within_zero_and_one(name: str) -> None:
    for estimate in estimates(name):
        inside = np.clip(estimate.shares, 0, 1)
        for level, target, together in itertools.product(LEVELS, TARGETS, (False, True)):
            both = estimate.interval(level, target, simultaneous=together).T
            assert both.shape == (len(inside), 2)
            assert (both[:, 0] >= 0).all(), estimate.counts
            assert (both[:, 1] <= 1).all(), estimate.counts
            assert (both[:, 0] <= inside).all(), estimate.counts
            assert (inside <= both[:, 1]).all(), estimate.counts


@every
def test_intervals_are_nested_in_their_level(name: str) -> None:
    for estimate, target in itertools.product(estimates(name), TARGETS):
        several = [estimate.interval(level, target).T for level in LEVELS]
        for narrow, wide in itertools.pairwise(several):
            assert_inside(narrow, wide, estimate.counts)
    for estimate, target in itertools.product(informed(name), TARGETS):  # the level acts
        widths = [(estimate.interval(level, target).T @ [-1, 1]).sum() for level in LEVELS]
        assert min(np.diff(widths)) > 0, estimate.counts


@every
def test_simultaneous_intervals_contain_single_ones(name: str) -> None:
    for estimate, target in itertools.product(estimates(name), TARGETS):
        together = estimate.interval(0.9, target, simultaneous=True).T
        assert_inside(estimate.interval(0.9, target).T, together, estimate.counts)
        # Bonferroni: each at the level 1 - 0.1 / k.
        one_by_one = estimate.interval(1 - 0.1 / len(together), target).T
        np.testing.assert_allclose(together, one_by_one, atol=1e-9)


@every
def test_intervals_for_the_population_contain_those_for_respondents(name: str) -> None:
    """Sampling adds to the noise, wherever the unbiased share lies.

    Respondents are whole people, so that limits from few reports may differ by one.
    """
    for estimate, level in itertools.product(estimates(name), LEVELS):
        respondents, population = (estimate.interval(level, target).T for target in TARGETS)
        respondents = respondents + np.array([1, -1]) / estimate.n
        within = (estimate.unbiased >= 0) & (estimate.unbiased <= 1)
        assert_inside(respondents[within], population[within], estimate.counts)


def test_so_they_do_where_the_unbiased_share_is_impossible() -> None:
    """Below zero nobody is sampled; above one the noise is that of one.

    There the lower limits may differ by a hundredth of a standard error the other way, as those of
    Feldman and Cousins reach less far down from a mean that is nearer to zero in units of noise.
    """
    for estimate, level in itertools.product(estimates("simplex"), LEVELS):
        respondents, population = (estimate.interval(level, target).T for target in TARGETS)
        respondents = respondents + np.array([1, -1]) / estimate.n  # limits are whole people
        above = estimate.unbiased > 1
        assert_inside(respondents[~above], population[~above], estimate.counts)
        allowed = 0.01 * estimate.standard_errors("population")[above]
        shrunk = np.stack([respondents[above, 0] + allowed, respondents[above, 1]], axis=1)
        assert_inside(shrunk, population[above], estimate.counts)


@every
def test_the_population_is_less_sure(name: str) -> None:
    for estimate in informed(name):
        respondents, population = (estimate.standard_errors(target) for target in TARGETS)
        share = estimate.plausible
        added = share * (1 - share) / estimate.n
        np.testing.assert_allclose(population**2, respondents**2 + added, rtol=1e-9, atol=1e-15)


@every
def test_a_level_or_target_that_is_none_is_refused(name: str) -> None:
    estimate = informed(name)[0]
    for level in (0.0, 0.49, 1.0, 1.5, -0.95, math.nan, 95):
        with pytest.raises(ValueError, match=r"level must be from 0\.5 to 0\.999999999, not"):
            estimate.interval(level)
    for wrong in ("0.95", True, None):
        with pytest.raises(TypeError, match="level must be a number, not"):
            estimate.interval(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'respondents' or 'population', not 'sample'"):
        estimate.interval(0.95, "sample")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'respondents' or 'population', not 'sample'"):
        estimate.standard_errors("sample")  # type: ignore[arg-type]


def test_the_highest_level_is_high_enough_for_many_answers_together() -> None:
    mechanism = mm.OUE(k=20_000, epsilon=1.0)
    people = np.zeros(mechanism.k, np.int64)
    people[:2] = 1000
    estimate = run("simplex", mechanism.simulate(people, np.random.default_rng(1)))
    together = estimate.interval(1 - 1e-9, simultaneous=True).T
    assert_inside(estimate.interval(1 - 1e-9).T, together, mechanism)


# What else an estimate says


@every
def test_without_reports_there_is_nothing_to_estimate(name: str) -> None:
    for mechanism in SMALL:
        if not refuses(name, mechanism):
            with pytest.raises(ValueError, match=r"^there are no reports to estimate from$"):
                run(name, mechanism.count([]))


@every
def test_an_open_question_needs_candidates_whatever_the_estimator(name: str) -> None:
    """Where it would print nan, or fail in linear algebra."""
    rng = np.random.default_rng(1)
    for mechanism in (
        mm.ORR(epsilon=2.0, width=4, cohorts=4),
        mm.ORappor(epsilon=2.0, width=4, cohorts=4),
        mm.Rappor(width=4, hashes=2, cohorts=2, f=0.25, p=0.125, q=0.875),
    ):
        counts = mechanism.count(mechanism.encode_many(["tea", "mate"] * 50, rng))
        way = r"open question: say which strings to look for, with counts\.over\(candidates\)$"
        for estimator in (BY_NAME[name], mm.estimate):
            with pytest.raises(ValueError, match=way) as error:
                estimator(counts)
            assert str(error.value).startswith(str(mechanism))
            with pytest.raises(ValueError, match=r"^there are no reports to estimate from$"):
                estimator(mechanism.count([]))


@every
def test_what_is_no_counts_is_refused_with_what_to_do(name: str) -> None:
    rr = mm.KRR(k=3, epsilon=1.0)
    counts = rr.count([0, 0, 1, 2])
    for estimator in (BY_NAME[name], mm.estimate):
        for wrong, said in (
            ([1, 2, 3], "list"),
            (np.array([1, 2, 3]), "ndarray"),
            ({"n": 3}, "dict"),
            (None, "NoneType"),
            (3, "int"),
            (rr, "KRR"),
        ):
            way = rf"^an estimator takes Counts, not {said}: .* mechanism\.count\(reports\)$"
            with pytest.raises(TypeError, match=way):
                estimator(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"not Estimate: pass its \.counts$"):
            estimator(mm.estimate(counts))  # type: ignore[arg-type]


@every
def test_an_estimate_says_what_made_it_and_why(name: str) -> None:
    for estimate in informed(name):
        assert estimate.estimator == name
        assert estimate.why == "it was asked for by name"
        assert f"Estimator: {name}." in estimate.explanation
        assert estimate.n == estimate.counts.n == 1000
        assert math.isfinite(estimate.gap)
        assert estimate.gap >= 0


@every
def test_a_reason_can_be_given(name: str) -> None:
    counts = informed(name)[0].counts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseDominates)
        estimate = cast(Any, BY_NAME[name])(counts, why="the paper did so")
    assert estimate.why == "the paper did so"


@every
def test_an_estimate_keeps_the_unbiased_shares(name: str) -> None:
    for estimate in informed(name):
        assert estimate.unbiased is estimate.fit.unbiased
        if name != "selection":  # which solves for the candidates it chose
            same = fitted(estimate.counts).unbiased
            np.testing.assert_allclose(estimate.unbiased, same, rtol=1e-12, atol=1e-12)


@every
def test_an_estimate_is_reproducible_and_leaves_the_counts_alone(name: str) -> None:
    for estimate in informed(name):
        before = estimate.counts.cells.copy()
        np.testing.assert_array_equal(run(name, estimate.counts).shares, estimate.shares)
        np.testing.assert_array_equal(estimate.counts.cells, before)


@every
def test_an_estimate_becomes_json(name: str) -> None:
    for plain in estimates(name):
        labels = tuple(f"answer {j}" for j in range(len(plain.shares)))
        estimate = plain.with_labels(labels)
        text = json.dumps(estimate.to_document(0.9, "population"), allow_nan=False)
        document = json.loads(text)
        assert document["method"] == name
        assert document["labels"] == list(labels)
        assert document["shares"] == estimate.shares.tolist()
        both = np.array([document["low"], document["high"]]).T
        np.testing.assert_array_equal(both, estimate.interval(0.9, "population").T)
        assert json.loads(estimate.to_json(0.9, "population")) == document


@every
def test_labels_must_be_as_many_as_answers(name: str) -> None:
    closed: AnyMechanism = mm.KRR(k=6, epsilon=2.0)
    both = mm.Product((mm.KRR(k=2, epsilon=1.0), mm.KRR(k=3, epsilon=2.0)))
    several = mm.ORR(epsilon=2.0, width=4, cohorts=4).over(["u", "v", "w", "x", "y"])
    mechanism = next(m for m in (closed, both, several) if not refuses(name, m))
    estimate = run(name, noisy(mechanism)[2])
    labels = ("a", "b", "c", "d", "e", "f")
    labelled = estimate.with_labels(labels)
    known = ("u", "v", "w", "x", "y", "(other)") if isinstance(mechanism, Over) else ()
    assert (labelled.labels, estimate.labels) == (labels, known)
    np.testing.assert_array_equal(labelled.shares, estimate.shares)
    for wrong in (labels[:4], (*labels, "g"), ()):
        with pytest.raises(ValueError, match=f"^{len(wrong)} labels do not fit 6 answers$"):
            estimate.with_labels(wrong)


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_the_default_estimator_is_listed_and_says_why(mechanism: AnyMechanism) -> None:
    counts = noisy(mechanism)[2]
    estimate = mm.estimate(counts)
    assert estimate.estimator in BY_NAME
    assert estimate.why not in ("", "it was asked for by name")
    np.testing.assert_array_equal(estimate.shares, run(estimate.estimator, counts).shares)


# Intervals cover: a small study

EPSILONS = (0.5, 1.0, 4.0)
ALPHABETS = (4, 20, 150)
PEOPLE = (300, 20_000)
KINDS: tuple[Any, ...] = (mm.KRR, mm.OUE, mm.Subset, mm.Hadamard)
POPULATIONS: dict[str, Callable[[int], Any]] = {
    "Zipf 1.3": lambda k: np.arange(1, k + 1) ** -1.3,
    "geometric": lambda k: (k / (k + 5)) ** np.arange(k),
}
REPETITIONS, SELDOM = 8, 2

ALWAYS = ["simplex"]
"""In every repetition, also with wrong intervals; the others in every second one."""

# em is likelihood, or refused; selection is for open questions, see test_selection.py; the last two
# are for several questions, see test_joint.py
ELSEWHERE = ("em", "selection", "joint", "independence")
IN_TURN = [name for name in BY_NAME if name not in (*ALWAYS, *ELSEWHERE)]
STRETCHED = {"base_cut"}
"""Their shares often lie outside the limits, which stretch to them and cover more often."""


class Setting(NamedTuple):
    """Where one repetition of the study took place."""

    mechanism: str
    k: int
    epsilon: float
    n: int
    law: str


class Row(NamedTuple):
    """How one repetition covered, averaged over the answers; last how wrong intervals would."""

    name: str
    target: str
    setting: Setting
    all_shares: float
    small_shares: float
    together: bool
    singly_together: bool
    half_wald: float
    wrong_target: float


def between(limits: Floats, truth: Floats) -> Any:
    return (limits[:, 0] <= truth) & (truth <= limits[:, 1])


def mean_of(flags: Any) -> float:
    return float(np.mean(flags)) if np.size(flags) else math.nan


def rows_of(estimate: Estimate, truths: dict[Target, Floats], setting: Setting) -> list[Row]:
    out = []
    channel, n = estimate.counts.channel, estimate.n
    for target, other in (TARGETS, TARGETS[::-1]):
        truth = truths[target]
        sampled = truth * (1 - truth) / n if target == "population" else 0.0
        small = truth < np.sqrt(channel.variance(n * truth) + sampled)
        covered = between(estimate.interval(0.95, target).T, truth)
        together = between(estimate.interval(0.95, target, simultaneous=True).T, truth)
        wrong = (False, math.nan, math.nan)
        if estimate.estimator in ALWAYS:
            half = 0.5 * 1.96 * estimate.standard_errors(target)
            wald = np.clip(np.stack([estimate.unbiased - half, estimate.unbiased + half], 1), 0, 1)
            wrong = (
                bool(covered.all()),
                mean_of(between(wald, truth)),
                mean_of(between(estimate.interval(0.95, other).T, truth)),
            )
        right = (mean_of(covered), mean_of(covered[small]), bool(together.all()))
        out.append(Row(estimate.estimator, target, setting, *right, *wrong))
    return out


@cache
def study() -> tuple[Row, ...]:
    """Simulate the whole grid once; most estimators join in every second repetition only."""
    rng = np.random.default_rng(20_260)
    rows: list[Row] = []
    grid = itertools.product(KINDS, ALPHABETS, EPSILONS, PEOPLE, POPULATIONS)
    for kind, k, epsilon, n, law in grid:
        mechanism = kind(k=k, epsilon=epsilon)
        setting = Setting(kind.__name__, k, epsilon, n, law)
        population = POPULATIONS[law](k) / POPULATIONS[law](k).sum()
        long = kind is mm.Hadamard and k > 100  # iterations there take a tenth of a second
        for repetition in range(REPETITIONS):
            people = rng.multinomial(n, population)
            counts = mechanism.simulate(people, rng)
            truths: dict[Target, Floats] = {"respondents": people / n, "population": population}
            for name in ALWAYS + (IN_TURN if repetition % SELDOM == 0 else []):
                if refuses(name, mechanism):
                    continue
                if long and name in ("likelihood", "regression", "smooth"):
                    continue
                if k > 100 and name == "smooth" and repetition % (2 * SELDOM):  # a tenth too
                    continue
                rows += rows_of(run(name, counts), truths, setting)
    return tuple(rows)


def chosen_rows(name: str, target: str) -> list[Row]:
    return [row for row in study() if row.name == name and row.target == target]


def margins(rows: list[Row]) -> dict[str, list[Row]]:
    """The whole grid, and its part at each value of each factor."""
    out = {"all": rows}
    for row in rows:
        for factor, value in row.setting._asdict().items():
            out.setdefault(f"{factor} {value}", []).append(row)
    return out


def outside(averages: list[float], low: float, high: float) -> bool:
    """Whether the mean of independent repetitions is surely not between two bounds.

    That is, when it is six of its standard errors away from them. By Student's law this happens
    with probability 2.6e-7 to 48 repetitions, the fewest there are, and 3e-8 to a hundred, when the
    expected mean is at the bound: below 1e-6 for the 15 margins of a test, of which one at most is
    so small. That the repetitions come from different settings only enlarges the standard error.
    """
    seen = np.array([x for x in averages if not math.isnan(x)])
    assert len(seen) >= 48
    error = 6 * seen.std(ddof=1) / math.sqrt(len(seen))
    return bool(seen.mean() + error < low or seen.mean() - error > high)


by_estimator = pytest.mark.parametrize("name", ALWAYS + IN_TURN)
by_target = pytest.mark.parametrize("target", TARGETS)


@by_estimator
@by_target
def test_intervals_cover_at_their_level(name: str, target: str) -> None:
    """95 % intervals cover from 93 to 97 % of the shares, at every value of every factor."""
    most = 1.0 if name in STRETCHED else 0.97
    for margin, rows in margins(chosen_rows(name, target)).items():
        averages = [row.all_shares for row in rows]
        assert not outside(averages, 0.93, most), (margin, np.mean(averages))


@by_estimator
@by_target
def test_intervals_cover_shares_that_drown_in_noise(name: str, target: str) -> None:
    """Of the shares below one standard error 95 % intervals cover at least 90 %."""
    for margin, rows in margins(chosen_rows(name, target)).items():
        averages = [row.small_shares for row in rows]
        if np.isfinite(averages).sum() >= 48:
            assert not outside(averages, 0.90, 1.0), (margin, np.nanmean(averages))


@by_estimator
@by_target
def test_simultaneous_intervals_cover_all_shares_together(name: str, target: str) -> None:
    """95 % bands hold all shares at once in at least 92 % of repetitions.

    False alarms: an exact binomial test at 1e-8 for each of 15 margins.
    """
    for margin, rows in margins(chosen_rows(name, target)).items():
        held = sum(row.together for row in rows)
        assert scipy.stats.binom.cdf(held, len(rows), 0.92) > 1e-8, (margin, held / len(rows))


@by_target
def test_the_study_rejects_intervals_of_half_the_width(target: str) -> None:
    """Wald's, clipped at zero: too narrow at every value of every factor."""
    for margin, rows in margins(chosen_rows("simplex", target)).items():
        assert outside([row.half_wald for row in rows], 0.93, 1.0), margin


def test_the_study_rejects_respondents_intervals_for_the_population() -> None:
    rows = [row for row in chosen_rows("simplex", "population") if row.setting.epsilon == 4.0]
    assert outside([row.wrong_target for row in rows], 0.93, 1.0)
    rows = [row for row in chosen_rows("simplex", "respondents") if row.setting.epsilon == 4.0]
    few = [row for row in rows if row.setting.k == 4]  # with many, noise outweighs the sampling
    assert outside([row.wrong_target for row in few], 0.93, 0.97)


@by_target
def test_the_study_rejects_single_intervals_as_bands(target: str) -> None:
    rows = chosen_rows("simplex", target)
    assert scipy.stats.binom.cdf(sum(r.singly_together for r in rows), len(rows), 0.92) < 1e-8
