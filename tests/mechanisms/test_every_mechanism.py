"""What every mechanism promises. A mechanism listed in `BY_NAME` and `laws.SMALL` is held to it.

Statistical tests have a false-alarm rate of `FALSE_ALARM` each (so below 1e-5 in all), fixed seeds,
and each shows a wrong law that it rejects.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs import kernels
from murmurs.channels.hashed import Sketch
from murmurs.kernels import compiled, reference
from murmurs.mechanisms import BY_NAME, Over, OverNGrams, Product, from_document
from murmurs.mechanisms.closed.local_hashing import Hashing
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.privacy import exp_below
from tests import laws
from tests.goodness import FALSE_ALARM, p_value
from tests.walk import exact_law

AnyMechanism = Mechanism[Any]
every = pytest.mark.parametrize("mechanism", laws.SMALL, ids=repr)
exact_cells = pytest.mark.parametrize(  # local hashing's channel is that of an ideal hash
    "mechanism", [m for m in laws.SMALL if not isinstance(m, Hashing)], ids=repr
)
unhashed = pytest.mark.parametrize(
    "mechanism",
    [m for m in laws.SMALL if not isinstance(m, mm.CountMeanSketch | mm.HadamardSketch)],
    ids=repr,
)
without_tables = pytest.mark.parametrize(  # tests/channels/test_solving.py holds tables to it
    "mechanism",
    [m for m in laws.SMALL if not isinstance(m.channel, Sketch) and not isinstance(m, OverNGrams)],
    ids=repr,
)


def law_of(mechanism: AnyMechanism, answer: int) -> laws.Law:
    return laws.BY_KIND[type(mechanism)](mechanism, answer)


@cache
def cells_of(mechanism: AnyMechanism, report: Any) -> tuple[int, ...]:
    return tuple(mechanism.count([report]).cells.ravel().tolist())


def test_every_kind_is_in_the_battery() -> None:
    kinds = {
        *BY_NAME.values(),
        Over,
        mm.Design,
        mm.mechanisms.BooleanRappor,
        mm.mechanisms.Among,
        Product,
        OverNGrams,
    }  # an open mechanism is held to it over candidates
    assert {type(m) for m in laws.SMALL} == kinds == set(laws.BY_KIND)


# The law of one report


@every
def test_encode_has_its_law_over_whole_reports(mechanism: AnyMechanism) -> None:
    for answer in range(mechanism.k):
        walked = exact_law(mechanism.encode, answer)
        assert walked == law_of(mechanism, answer)
        assert len({type(report) for report in walked}) == 1
        assert len({len(mechanism.shape.pack(report)) for report in walked}) == 1


@every
def test_the_largest_ratio_of_the_law_is_exactly_as_told(mechanism: AnyMechanism) -> None:
    rows = [law_of(mechanism, answer) for answer in range(mechanism.k)]
    largest = max(a[report] / b[report] for a, b in itertools.permutations(rows, 2) for report in a)
    assert largest == mechanism.ratio
    assert largest <= exp_below(mechanism.epsilon) or isinstance(
        mechanism, mm.BasicRappor | mm.mechanisms.BooleanRappor
    )
    assert mechanism.epsilon_realised <= mechanism.epsilon
    assert mechanism.epsilon_realised == pytest.approx(math.log(largest), rel=1e-14)


@exact_cells
def test_the_channel_is_the_mean_of_the_cells_exactly(mechanism: AnyMechanism) -> None:
    for answer in range(mechanism.k):
        mean = [Fraction(0)] * math.prod(mechanism.channel.cells)
        for report, weight in law_of(mechanism, answer).items():
            mean = [m + weight * c for m, c in zip(mean, cells_of(mechanism, report), strict=True)]
        assert mechanism.channel.law_of(answer) == mean


@exact_cells
def test_the_covariance_is_that_of_the_law(mechanism: AnyMechanism) -> None:
    people = np.arange(1, mechanism.k + 1)
    wanted = 0.0
    for answer, weight in enumerate(people):
        law = law_of(mechanism, answer)
        cells = np.array([cells_of(mechanism, report) for report in law], float)
        chances = np.array([float(x) for x in law.values()])
        mean = chances @ cells
        wanted = wanted + weight * (cells.T @ (cells * chances[:, None]) - np.outer(mean, mean))
    np.testing.assert_allclose(mechanism.channel.covariance(people), wanted, atol=1e-12)


@exact_cells
def test_a_sampled_population_adds_the_variance_of_sampling(mechanism: AnyMechanism) -> None:
    shares = np.arange(1.0, mechanism.k + 1) / (mechanism.k * (mechanism.k + 1) / 2)
    wanted, mean = 0.0, 0.0
    for answer, share in enumerate(shares):
        law = law_of(mechanism, answer)
        cells = np.array([cells_of(mechanism, report) for report in law], float)
        chances = share * np.array([float(x) for x in law.values()])
        wanted = wanted + cells.T @ (cells * chances[:, None])
        mean = mean + chances @ cells
    covariance = mechanism.channel.covariance_sampled(shares, 7)
    np.testing.assert_allclose(covariance, 7 * (wanted - np.outer(mean, mean)), atol=1e-12)


@every
def test_mean_is_the_matrix_applied(mechanism: AnyMechanism) -> None:
    shares = np.random.default_rng(3).dirichlet(np.ones(mechanism.k))
    mean = mechanism.channel.mean(shares)
    assert mean.shape == mechanism.channel.cells
    np.testing.assert_allclose(mean.ravel(), shares @ mechanism.channel.matrix(), atol=1e-14)


@every
def test_collect_is_the_adjoint_of_gain(mechanism: AnyMechanism) -> None:
    rng = np.random.default_rng(5)
    shares, weights = rng.normal(size=mechanism.k), rng.normal(size=mechanism.channel.cells)
    gained = float((mechanism.channel.gain(shares) * weights).sum())
    assert float((mechanism.channel.adjoint(weights) * shares).sum()) == pytest.approx(gained)


@unhashed
def test_invert_recovers_the_shares_from_expected_cells(mechanism: AnyMechanism) -> None:
    shares = np.random.default_rng(4).dirichlet(np.ones(mechanism.k))
    inverted = mechanism.channel.invert(10**6 * mechanism.channel.mean(shares), 10**6)
    np.testing.assert_allclose(inverted, shares, atol=1e-9)


@without_tables
def test_variance_is_that_of_the_inverse(mechanism: AnyMechanism) -> None:
    channel, people = mechanism.channel, np.arange(3, mechanism.k + 3)
    n, size = int(people.sum()), math.prod(mechanism.channel.cells)
    zero = channel.invert(np.zeros(channel.cells, np.int64), n)
    units = np.eye(size, dtype=np.int64).reshape(size, *channel.cells)
    linear = np.array([channel.invert(unit, n) - zero for unit in units])
    wanted = np.diag(linear.T @ channel.covariance(people) @ linear)
    np.testing.assert_allclose(channel.variance(people), wanted, rtol=1e-9)
    shares = people / n
    sampled = np.diag(linear.T @ channel.covariance_sampled(shares, n) @ linear)
    np.testing.assert_allclose(channel.variance_sampled(shares, n), sampled, rtol=1e-9)


# One law, three speeds


def draws_of(mechanism: AnyMechanism, answer: int, n: int, seed: int) -> list[Any]:
    reports = mechanism.encode_many(np.full(n, answer), np.random.default_rng(seed))
    return mechanism.shape.unstack(reports)


def comparable(mechanism: AnyMechanism, answer: int, reports: list[Any]) -> list[Any]:
    """For local hashing: the sixteenth of the seeds, and how far the value is from the bucket."""
    if not isinstance(mechanism, Hashing):
        return reports
    g = mechanism.g
    return [(seed >> 28, (value - laws.bucket(answer, seed, g)) % g) for seed, value in reports]


def comparable_law(mechanism: AnyMechanism, answer: int) -> laws.Law:
    if not isinstance(mechanism, Hashing):
        return law_of(mechanism, answer)
    first = next(iter(law_of(mechanism, answer)))[0]  # all seeds are alike
    own = laws.bucket(answer, first, mechanism.g)
    value = {
        (value - own) % mechanism.g: 2**32 * weight
        for (seed, value), weight in law_of(mechanism, answer).items()
        if seed == first
    }
    return {(part, v): weight / 16 for part in range(16) for v, weight in value.items()}


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 20,000 people be three chunks, the last one shorter."""
    monkeypatch.setattr("murmurs.mechanisms.mechanism.CHUNK", 2**13)


@every
@pytest.mark.usefixtures("in_chunks")
def test_encode_many_has_the_law_of_encode(mechanism: AnyMechanism) -> None:
    others = isinstance(mechanism, Over | OverNGrams)  # all others together are uniform
    answer = mechanism.k - 1 - others
    draws = comparable(mechanism, answer, draws_of(mechanism, answer, 20_000, seed=11))
    law = comparable_law(mechanism, answer)
    assert p_value(draws, law) > FALSE_ALARM
    # A device that keeps a quarter of its chances for a uniform report has another law.
    assert p_value(draws, nearly(law)) < FALSE_ALARM
    # So has a chunk that is left as it was.
    assert p_value(draws[: 2**14] + draws[:1] * (20_000 - 2**14), law) < FALSE_ALARM


@every
@pytest.mark.usefixtures("in_chunks")
def test_encode_many_with_system_randomness_has_the_same_law(mechanism: AnyMechanism) -> None:
    reports = mechanism.shape.unstack(mechanism.encode_many(np.zeros(20_000, np.int64)))
    draws, law = comparable(mechanism, 0, reports), comparable_law(mechanism, 0)
    assert p_value(draws, law) > FALSE_ALARM
    assert p_value(draws, nearly(law)) < FALSE_ALARM


@every
@pytest.mark.usefixtures("in_chunks")
def test_encode_many_with_keys_has_the_same_law(mechanism: AnyMechanism) -> None:
    others = isinstance(mechanism, Over | OverNGrams)  # all others together are uniform
    answer = mechanism.k - 1 - others
    keyed = mm.Keyed(bytes(range(32)), ("law",), np.arange(20_000))
    reports = mechanism.encode_many(np.full(20_000, answer), keyed)
    draws = comparable(mechanism, answer, mechanism.shape.unstack(reports))
    law = comparable_law(mechanism, answer)
    assert p_value(draws, law) > FALSE_ALARM
    assert p_value(draws, nearly(law)) < FALSE_ALARM


def nearly(law: laws.Law) -> laws.Law:
    """The same law with a quarter of it spread evenly over all reports."""
    return {report: (3 * weight + Fraction(1, len(law))) / 4 for report, weight in law.items()}


FEW_CELLS = 9
"""So many cells are looked at jointly; all of them, or the first ones of a larger table."""


def law_of_counts(mechanism: AnyMechanism, people: list[int]) -> dict[tuple[int, ...], float]:
    """The exact law of the first cells of a few people, by adding them one by one."""
    total: dict[tuple[int, ...], float] = {(): 1.0}
    for answer in people:
        one: dict[tuple[int, ...], float] = {}
        for cells, weight in single_law(mechanism, answer):
            few = cells[:FEW_CELLS]
            one[few] = one.get(few, 0.0) + float(weight)
        added: dict[tuple[int, ...], float] = {}
        for (a, p), (b, q) in itertools.product(total.items(), one.items()):
            key = tuple(x + y for x, y in itertools.zip_longest(a, b, fillvalue=0))
            added[key] = added.get(key, 0.0) + p * q
        total = added
    return total


def single_law(mechanism: AnyMechanism, answer: int) -> list[tuple[tuple[int, ...], Fraction]]:
    if not isinstance(mechanism, Hashing):
        law = law_of(mechanism, answer)
        return [(cells_of(mechanism, report), weight) for report, weight in law.items()]
    hit = max(law_of(mechanism, answer).values()) * 2**32
    chances = [hit if j == answer else Fraction(1, mechanism.g) for j in range(mechanism.k)]
    return [
        (tuple(np.unpackbits(np.frombuffer(r, np.uint8), bitorder="little")[: mechanism.k]), w)
        for r, w in laws.bit_rows(chances).items()
    ]


@every
def test_simulate_has_the_exact_joint_law_of_counts(mechanism: AnyMechanism) -> None:
    people = [0, 1, 1]
    histogram = np.bincount(people, minlength=mechanism.k)
    rng = np.random.default_rng(23)
    drawn = (mechanism._simulate(histogram, rng).ravel() for _ in itertools.count())
    draws: list[tuple[int, ...]] = []
    # One person with another answer makes another law. Most are told from it by half the draws.
    wrong = law_of_counts(mechanism, [0, 0, 1] if mechanism.k == 2 else [2, 2, 1])
    while not draws or (len(draws) < 2500 and p_value(draws, wrong) > FALSE_ALARM):
        draws += [tuple(x[:FEW_CELLS].tolist()) for x in itertools.islice(drawn, 1250)]
    assert p_value(draws, wrong) < FALSE_ALARM
    # Looked at once or twice: the chance of a false alarm is that of both.
    assert p_value(draws, law_of_counts(mechanism, people)) > FALSE_ALARM / 2


@every
def test_counting_encoded_people_has_the_law_of_simulate(mechanism: AnyMechanism) -> None:
    """Means and covariance of many cells at once, for a population too large to enumerate."""
    rng = np.random.default_rng(31)
    squares = np.arange(1.0, mechanism.k + 1) ** 2
    people = rng.multinomial(30_000, squares / squares.sum())
    answers = np.repeat(np.arange(mechanism.k), people)
    covariance = mechanism.channel.covariance(people)
    mean = (people @ mechanism.channel.matrix()).ravel()
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    freedom = np.linalg.matrix_rank(covariance, tol=1e-9 * np.abs(covariance).max())
    for counts in (
        mechanism.count(mechanism.encode_many(rng.permutation(answers), rng)),
        mechanism.simulate(people, rng),
    ):
        away = counts.cells.ravel() - mean
        assert chi2_p(float(away @ inverse @ away), int(freedom)) > FALSE_ALARM
        wrong = counts.cells.ravel() - (people[::-1] @ mechanism.channel.matrix()).ravel()
        assert chi2_p(float(wrong @ inverse @ wrong), int(freedom)) < FALSE_ALARM


def chi2_p(statistic: float, freedom: int) -> float:
    return float(scipy.stats.chi2.sf(statistic, freedom))


@every
def test_compiled_and_reference_kernels_give_the_same_reports_and_counts(
    mechanism: AnyMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = np.random.default_rng(5).integers(0, mechanism.k, 3000)
    made = []
    for form in (compiled, reference):
        monkeypatch.setattr(kernels, "load", lambda form=form: form)
        reports = mechanism.encode_many(answers, np.random.default_rng(6))
        made.append((reports, mechanism.count(reports)))
    [(fast, counts), (plain, plain_counts)] = made
    assert np.array_equal(fast, plain)
    assert counts == plain_counts


# Adding, writing down, reading back


@every
def test_merged_counts_equal_counts_of_all_reports(mechanism: AnyMechanism) -> None:
    rng = np.random.default_rng(8)
    reports = mechanism.encode_many(rng.integers(0, mechanism.k, 500), rng)
    whole = mechanism.count(reports)
    parts = [mechanism.count(part) for part in np.array_split(reports, 7)]
    assert mm.pool(parts, people="different") == whole
    assert mechanism.count(iter(np.array_split(reports, 7))) == whole
    assert mechanism.count(mechanism.shape.unstack(reports)) == whole
    if mechanism.is_longitudinal:  # whether they are of the same people must be said
        with pytest.raises(ValueError, match="may come from the same people"):
            _ = parts[0] + parts[1]
        return
    assert mechanism.count(reports[:100]) + mechanism.count(reports[100:]) == whole
    assert sum(parts) == whole
    assert mechanism.count([]) + whole == whole


@every
def test_counts_of_another_mechanism_are_not_added(mechanism: AnyMechanism) -> None:
    other = mm.KRR(k=mechanism.k, epsilon=1.25)
    with pytest.raises(ValueError, match="cannot add counts of KRR"):
        _ = mechanism.count([]) + other.count([])
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        _ = mechanism.count([]) + 1


@every
def test_a_report_survives_its_bytes(mechanism: AnyMechanism) -> None:
    random = mm.Seeded(np.random.default_rng(9))
    reports = [mechanism.encode(x % mechanism.k, random) for x in range(50)]
    for report in reports:
        data = mechanism.shape.pack(report)
        assert len(data) == mechanism.shape.size
        again = mechanism.shape.unpack(data)
        assert again == report
        assert type(again) is type(report)
    stacked = mechanism.shape.stack(reports)
    assert mechanism.shape.unstack(stacked) == reports
    assert np.array_equal(mechanism.shape.from_bytes(stacked.tobytes()), stacked)


@every
def test_other_bytes_are_refused(mechanism: AnyMechanism) -> None:
    size = mechanism.shape.size
    for length in (0, size - 1, size + 1, 2 * size):
        with pytest.raises(ValueError, match=f"^{length} bytes are not reports of {size} bytes"):
            mechanism.shape.unpack(bytes(length))
    with pytest.raises(ValueError, match=r"is not a|bytes are not"):
        mechanism.shape.from_bytes(bytes([255]) * (size * 3 + 1))


@every
def test_bits_say_how_many_reports_there_are(mechanism: AnyMechanism) -> None:
    if not isinstance(mechanism, Hashing):
        assert mechanism.bits == pytest.approx(math.log2(len(law_of(mechanism, 0))))
    assert mechanism.bits <= 8 * mechanism.shape.size


@every
def test_a_mechanism_survives_json(mechanism: AnyMechanism) -> None:
    text = json.dumps(mechanism.to_document())
    again = from_document(json.loads(text))
    assert again == mechanism
    assert json.dumps(again.to_document()) == text
    assert hash(again) == hash(mechanism)


# What is refused


@every
@pytest.mark.parametrize("answer", [-1, 99, 2**70])
def test_an_answer_outside_is_refused_with_the_rule(mechanism: AnyMechanism, answer: int) -> None:
    message = f"the answer is not one of 0..{mechanism.k - 1} of {mechanism}"
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        mechanism.encode(answer, mm.Secure())
    assert str(error.value) == message


@every
@pytest.mark.parametrize("answer", [True, 1.0, float("nan"), "1", None, np.bool_(1)])
def test_an_answer_that_is_no_whole_number_is_refused(mechanism: AnyMechanism, answer: Any) -> None:
    rule = re.escape(f"an answer of {mechanism} is a whole number from 0 to {mechanism.k - 1}, not")
    with pytest.raises(TypeError, match=f"^{rule} of type {type(answer).__name__}"):
        mechanism.encode(answer, mm.Secure())


@every
def test_a_numpy_integer_is_an_answer(mechanism: AnyMechanism) -> None:
    mechanism.encode(np.int8(1), mm.Secure())  # type: ignore[arg-type]
    assert len(mechanism.encode_many(np.ones(3, np.uint8))) == 3
    assert len(mechanism.encode_many([])) == 0


@every
@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ([0, 1, -1], ValueError, r"^answer number 2 is not one of 0\.\."),
        ([0, 99], ValueError, r"^answer number 1 is not one of 0\.\."),
        ([0, 10**400], ValueError, "^answers must fit into 64 bits, number 1 does not$"),
        ([0, 1.0], TypeError, "must be whole numbers, number 1 is of type float: take .astype"),
        (np.array([0.0]), TypeError, "answers must be whole numbers, not float64: take .astype"),
        ([0, True], TypeError, "must be whole numbers, number 1 is of type bool: write 0 and 1"),
        (np.array([True]), TypeError, "answers must be whole numbers, not bool: write 0 and 1"),
        ([0, None], TypeError, "answers must be whole numbers, number 1 is of type NoneType"),
        ((x for x in "01"), TypeError, "answers must be a list or an array, not generator"),
        ([[0, 1]], ValueError, r"answers must be one-dimensional, not of shape \(1, 2\)"),
        (["0"], TypeError, r"is of type str: question.answer\(label\) gives the number"),
        (np.array(["0"]), TypeError, r"not text: question.answer\(label\) gives the number"),
    ],
)
def test_bad_answers_in_bulk_are_refused(
    mechanism: AnyMechanism, answers: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        mechanism.encode_many(answers)


@every
def test_a_bad_histogram_is_refused(mechanism: AnyMechanism) -> None:
    with pytest.raises(ValueError, match=f"histogram has 1 numbers, .* needs {mechanism.k}"):
        mechanism.simulate([5])
    with pytest.raises(ValueError, match="histogram has -2 people at answer 1"):
        mechanism.simulate([1, -2] + [0] * (mechanism.k - 2))
    with pytest.raises(ValueError, match=r"more than 2\*\*62 people"):
        mechanism.simulate([2**62] * mechanism.k)
    with pytest.raises(TypeError, match="histogram must be whole numbers, number 0 is of type fl"):
        mechanism.simulate([1.5] * mechanism.k)
    with pytest.raises(ValueError, match="histogram must fit into 64 bits, number 0 does not"):
        mechanism.simulate([10**400] * mechanism.k)


@every
def test_chance_from_elsewhere_is_refused(mechanism: AnyMechanism) -> None:
    for act in (mechanism.encode_many, mechanism.simulate):
        with pytest.raises(TypeError, match=r"random must be Secure\(\) or"):
            act([1] * mechanism.k, 7)  # type: ignore[arg-type]


@every
def test_reports_of_another_shape_are_not_counted(mechanism: AnyMechanism) -> None:
    with pytest.raises((TypeError, ValueError)):
        mechanism.count(np.zeros((3, 77)))
    with pytest.raises((TypeError, ValueError)):
        mechanism.count(["report"])
    with pytest.raises((TypeError, ValueError)):
        mechanism.count([(1, 2, 3, 4, 5, 6)])


kinds = pytest.mark.parametrize(
    "kind", [kind for kind in BY_NAME.values() if kind is not mm.BasicRappor]
)


def more_for(kind: Any, epsilon: float) -> dict[str, float]:
    """What else a kind needs beside k and epsilon."""
    longitudinal = kind in (mm.LOSUE, mm.LOLOHA)
    return {"epsilon_permanent": min(2 * epsilon, 700.0)} if longitudinal else {}


@kinds
@pytest.mark.parametrize("epsilon", [0, -1.0, 1e-7, 701, math.inf, -math.inf, math.nan])
def test_an_epsilon_outside_is_refused(kind: Any, epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon must be from 1e-06 to 700, not"):
        kind(k=4, epsilon=epsilon, **more_for(kind, 1.0))


@kinds
@pytest.mark.parametrize("epsilon", [True, "1", None, 1j])
def test_an_epsilon_that_is_no_number_is_refused(kind: Any, epsilon: Any) -> None:
    with pytest.raises(TypeError, match="epsilon must be a number, not"):
        kind(k=4, epsilon=epsilon, **more_for(kind, 1.0))


@pytest.mark.parametrize("kind", BY_NAME.values())
@pytest.mark.parametrize("k", [0, 1, -3, 10**6 + 1, 2**70])
def test_a_k_outside_is_refused(kind: Any, k: int) -> None:
    rest = {"f": 0.5, "p": 0.25, "q": 0.75} if kind is mm.BasicRappor else {"epsilon": 1.0}
    rest |= more_for(kind, 1.0)
    with pytest.raises(ValueError, match=f"k must be from 2 to {kind.largest_k}, not {k}"):
        kind(k=k, **rest)
    with pytest.raises(TypeError, match=r"k must be a whole number, not 4\.0"):
        kind(k=4.0, **rest)


EXTREME = (1e-6, 0.01, 5.0, 30.0, 700.0)


def extreme(kind: Any, k: int, epsilon: float) -> AnyMechanism:
    # The permanent response needs an epsilon above that of a report, and at most 700.
    epsilon = 699.0 if more_for(kind, epsilon) and epsilon == 700.0 else epsilon
    mechanism: AnyMechanism = kind(k=k, epsilon=epsilon, **more_for(kind, epsilon))
    return mechanism


@kinds
@pytest.mark.parametrize("epsilon", EXTREME)
@pytest.mark.parametrize("k", [2, 3, 1000, 10**6])
def test_extreme_parameters_keep_their_promise(kind: Any, epsilon: float, k: int) -> None:
    k = min(k, kind.largest_k)
    mechanism = extreme(kind, k, epsilon)
    assert 0 < mechanism.epsilon_realised <= epsilon
    assert 1 < mechanism.ratio <= exp_below(epsilon)
    shape = mechanism.shape
    if k <= 1000:  # a device draws a million bits one by one, in seconds
        one = mechanism.encode(k - 1, mm.Seeded(np.random.default_rng(1)))
        assert shape.unpack(shape.pack(one)) == one
    many = mechanism.encode_many([0, k - 1], np.random.default_rng(1))
    assert np.array_equal(shape.from_bytes(many.tobytes()), many)
    assert mechanism.count(many).n == 2


@kinds
@pytest.mark.parametrize("k", [2, 3, 1000])
def test_extreme_parameters_are_inverted(kind: Any, k: int) -> None:
    """Expected counts give the shares back, unless they are averaged over hash functions."""
    k = min(k, 200) if kind is mm.SquareWave else k  # a matrix for each epsilon takes seconds
    shares = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
    for epsilon in EXTREME:
        channel = extreme(kind, k, epsilon).channel
        if not isinstance(channel, Sketch):
            inverted = channel.invert(10**6 * channel.mean(shares), 10**6)
            np.testing.assert_allclose(inverted, shares, atol=1e-6)


@kinds
@pytest.mark.parametrize("k", [2, 3, 1000])
def test_errors_shrink_from_one_extreme_to_the_other(kind: Any, k: int) -> None:
    if kind in (
        mm.PermutedRR,
        mm.PermutedRappor,
        mm.SquareWave,
    ):  # equations in a thousand unknowns take seconds
        k = min(k, 50)
    for loss in ("expected_l1", "expected_l2"):
        losses = [getattr(extreme(kind, k, e).channel, loss)(1000, sampled=True) for e in EXTREME]
        assert all(a >= b * (1 - 1e-9) for a, b in itertools.pairwise(losses)), losses
        # The noise grows as 1 / epsilon, and its square as the square of that.
        power = 1 if loss == "expected_l1" else 2
        assert losses[0] / losses[1] == pytest.approx(1e4**power, rel=0.1)


def test_an_epsilon_that_leaves_nothing_for_the_permanent_response_is_refused() -> None:
    for kind in (mm.LOSUE, mm.LOLOHA):
        with pytest.raises(
            ValueError, match="epsilon_permanent must be above epsilon = 700, not 700"
        ):
            kind(k=4, epsilon=700.0, epsilon_permanent=700.0)


@kinds
def test_small_alphabets_keep_nearly_all_of_epsilon(kind: Any) -> None:
    mechanism = kind(k=16, epsilon=1.0, **more_for(kind, 1.0))
    assert mechanism.epsilon_realised == pytest.approx(1.0, abs=1e-14)


@kinds
def test_probabilities_that_break_the_promise_are_refused(kind: Any) -> None:
    rest = more_for(kind, 1.0)
    mechanism = kind(k=4, epsilon=1.0, **rest)
    name = "truth" if hasattr(mechanism, "truth") else "flip"
    weaker = getattr(mechanism, name) + (1 if name == "truth" else -1)
    with pytest.raises(ValueError, match=r"give epsilon 1\.000000000000000\d*, more than the 1\.0"):
        kind(k=4, epsilon=1.0, **rest, **{name: weaker})
    stronger = getattr(mechanism, name) - (1 if name == "truth" else -1)
    assert kind(k=4, epsilon=1.0, **rest, **{name: stronger}).ratio < mechanism.ratio
