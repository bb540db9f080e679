"""Open questions: a string has the law of its place among candidates, whoever lists them.

Exact where possible, with fractions over all branches of chance. Statistical tests have a
false-alarm rate of `FALSE_ALARM` each, fixed seeds, and each shows a wrong law that it rejects.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs import KRR, ORR, SUE, Counts, ORappor, PermutedRappor, PermutedRR
from murmurs.mechanisms import Over, from_document
from murmurs.mechanisms.hashed.candidates import OTHER
from murmurs.privacy import exp_below
from murmurs.wire import CohortBits
from tests import laws
from tests.goodness import FALSE_ALARM, p_value
from tests.numerics.test_sampling import added, same_law, walked
from tests.walk import exact_law

Open = ORR | ORappor
TEXTS = ["tea", "Z\u00fcrich", "\U0001f600"]

SMALL: list[Open] = [
    ORR(epsilon=1.0, width=2, cohorts=1),
    ORR(epsilon=2.0, width=5, cohorts=3, salt=2**32 - 2),
    ORappor(epsilon=1.0, width=3, cohorts=3, salt=2),
    ORappor(epsilon=4.0, width=4, cohorts=2, hashes=2, salt=31),
    ORappor(epsilon=6.0, width=3, cohorts=2, hashes=3, salt=2**32 - 1),
]
every = pytest.mark.parametrize("mechanism", SMALL, ids=repr)
ONE_STRING = "candidates are a list of strings, not one string"


def law_of(mechanism: Open, text: str) -> laws.Law:
    """The law written down a second time; a salt near 2**32 stands for its seeds."""
    return laws.over(mechanism.over([text]), 0)


@pytest.fixture(autouse=True)
def _seeds_go_round(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = laws.bucket
    monkeypatch.setattr(laws, "bucket", lambda key, seed, g: plain(key, seed % 2**32, g))


# One string


@every
def test_a_string_has_the_law_of_its_place_in_a_list(mechanism: Open) -> None:
    over = mechanism.over(TEXTS)
    for number, text in enumerate(TEXTS):
        encode: Any = lambda _, random, text=text: mechanism.encode(text, random)  # noqa: E731
        law = exact_law(encode, 0)
        assert law == exact_law(over.encode, number) == law_of(mechanism, text)
        assert sum(law.values()) == 1


@every
def test_both_forms_of_a_string_have_one_law(mechanism: Open) -> None:
    both = [
        exact_law(lambda _, random, text=text: mechanism.encode(text, random), 0)  # type: ignore[misc]
        for text in ("Zu\u0308rich", "Z\u00fcrich")
    ]
    assert both[0] == both[1]


@every
def test_the_same_chance_gives_the_same_report_over_any_list(mechanism: Open) -> None:
    for seed in range(50):
        rngs = [np.random.default_rng(seed) for _ in range(3)]
        report = mechanism.encode("tea", rngs[0])
        assert mechanism.over(["tea"]).encode(0, rngs[1]) == report
        assert mechanism.over(["mate", "tea"]).encode(1, rngs[2]) == report


@every
def test_places_are_told_once_and_in_order(mechanism: Open) -> None:
    for text, cohort in itertools.product(TEXTS, range(mechanism.cohorts)):
        places = mechanism.places(text, cohort)
        assert len(set(places)) == len(places) <= mechanism.hashes
        table = mechanism.over([text]).layout.places_in(cohort).ravel()
        assert places == [place for place in table.tolist() if place < mechanism.width]


# Many strings


def draws_of(mechanism: Open, texts: list[str], seed: int | None) -> list[Any]:
    random = None if seed is None else np.random.default_rng(seed)
    return mechanism.shape.unstack(mechanism.encode_many(texts, random))


@every
@pytest.mark.parametrize("seed", [12, None], ids=["generator", "system"])
def test_many_reports_of_a_string_have_its_law(mechanism: Open, seed: int | None) -> None:
    draws = draws_of(mechanism, ["Zu\u0308rich"] * 20_000, seed)
    law = law_of(mechanism, "Z\u00fcrich")
    assert p_value(draws, law) > FALSE_ALARM
    # A device that keeps a quarter of its chances for a uniform report has another law.
    wrong = {report: (3 * weight + Fraction(1, len(law))) / 4 for report, weight in law.items()}
    assert p_value(draws, wrong) < FALSE_ALARM


@every
def test_people_keep_their_own_strings_among_many(mechanism: Open) -> None:
    """Everyone's report has the law of the own string, wherever people stand."""
    n = 90_000
    order = np.random.default_rng(3).permutation(np.arange(n) % 3)
    draws = draws_of(mechanism, [TEXTS[x] for x in order], seed=13)
    joint = {
        (x, report): weight / 3
        for x, text in enumerate(TEXTS)
        for report, weight in law_of(mechanism, text).items()
    }
    assert p_value(zip(order.tolist(), draws, strict=True), joint) > FALSE_ALARM
    # Reports handed to the next person have another law.
    turned = zip(np.roll(order, 1).tolist(), draws, strict=True)
    assert p_value(turned, joint) < FALSE_ALARM


@every
def test_chunks_do_not_change_the_law_of_strings(
    mechanism: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("murmurs.mechanisms.mechanism.CHUNK", 1000)
    draws = draws_of(mechanism, ["tea"] * 30_500, seed=14)
    law = law_of(mechanism, "tea")
    assert p_value(draws, law) > FALSE_ALARM
    assert (
        p_value(draws[:-15_000] + draws[:1] * 15_000, law) < FALSE_ALARM
    )  # a chunk left as it was


def cohort_of(mechanism: Open, report: Any) -> int:
    return int(report[0] if isinstance(report, CohortBits) else report // mechanism.width)


@pytest.mark.parametrize(
    "mechanism",
    [ORR(epsilon=1.0, width=4, cohorts=7), ORappor(epsilon=1.0, width=4, cohorts=7)],
    ids=repr,
)
def test_cohorts_have_the_same_size_whatever_is_answered(mechanism: Open) -> None:
    uniform = dict.fromkeys(range(7), Fraction(1, 7))
    for seed, text in enumerate(TEXTS):
        draws = [cohort_of(mechanism, r) for r in draws_of(mechanism, [text] * 10_000, seed)]
        assert p_value(draws, uniform) > FALSE_ALARM
        # Three bits taken modulo seven would make the first cohort twice as large.
        wrong = {cohort: Fraction(2 if cohort == 0 else 1, 8) for cohort in range(7)}
        assert p_value(draws, wrong) < FALSE_ALARM


# Counts


@every
def test_counts_of_parts_add_up_to_the_counts_of_all(mechanism: Open) -> None:
    reports = mechanism.encode_many(TEXTS * 300, np.random.default_rng(8))
    whole = mechanism.count(reports)
    assert whole.n == 900
    assert mechanism.count(reports[:100]) + mechanism.count(reports[100:]) == whole
    assert mechanism.count(iter(np.array_split(reports, 7))) == whole
    assert mechanism.count(mechanism.shape.unstack(reports)) == whole
    over = mechanism.over(TEXTS)
    assert whole.over(TEXTS) == over.count(reports)
    assert mechanism.count(reports[:5]).over(TEXTS) + over.count(reports[5:]) == whole.over(TEXTS)


@every
def test_cells_are_those_of_brute_force(mechanism: Open) -> None:
    reports = mechanism.encode_many(TEXTS * 30, np.random.default_rng(9))
    rows = isinstance(mechanism, ORappor)
    wanted = np.zeros((mechanism.cohorts, mechanism.width + rows), np.int64)
    for report in mechanism.shape.unstack(reports):
        if isinstance(report, CohortBits):
            wanted[report.cohort, 0] += 1
            for b in range(mechanism.width):
                wanted[report.cohort, 1 + b] += report.bits[b >> 3] >> (b & 7) & 1
        else:
            wanted[divmod(report, mechanism.width)] += 1
    assert np.array_equal(mechanism.count(reports).cells, wanted)


@every
def test_counts_over_candidates_keep_all_but_the_mechanism(mechanism: Open) -> None:
    counts = mechanism.count(mechanism.encode_many(TEXTS * 10, np.random.default_rng(1)))
    over = counts.over(["Zu\u0308rich", "mate"])
    assert isinstance(over.mechanism, Over)
    assert over.mechanism == mechanism.over(["Z\u00fcrich", "mate"])
    assert over.mechanism.labels == ("Z\u00fcrich", "mate", OTHER)
    assert over.mechanism.k == over.channel.k == 3
    assert over.n == counts.n
    assert np.array_equal(over.cells, counts.cells)
    assert over != counts
    with pytest.raises(ValueError, match="there are no candidates: list the strings to look for"):
        counts.over(())
    with pytest.raises(ValueError, match=r"line 2: '\(other\)' stands for all strings"):
        counts.over(["tea", OTHER])


def test_counts_over_other_lists_are_not_added() -> None:
    counts = SMALL[0].count([])
    with pytest.raises(ValueError, match=r"^cannot add counts of "):
        _ = counts.over(["tea"]) + counts.over(["mate"])
    with pytest.raises(ValueError, match=r"^cannot add counts of "):
        _ = counts + counts.over(["tea"])


@pytest.mark.parametrize(
    "closed",
    [KRR(k=3, epsilon=1.0), PermutedRR(k=3, epsilon=1.0), SMALL[0].over(["tea"])],
    ids=repr,
)
def test_counts_of_closed_questions_take_no_candidates(closed: Any) -> None:
    message = f"^{re.escape(repr(closed))} has a fixed list of answers"
    with pytest.raises(TypeError, match=message):
        closed.count([]).over(["tea"])


def test_bad_candidates_are_refused() -> None:
    counts = SMALL[0].count([])
    for refuse in (SMALL[0].over, counts.over):
        with pytest.raises(ValueError, match=r"^1 of 2 strings cannot be taken: line 2: it is"):
            refuse(["tea", ""])
    one: Any = "tea"
    with pytest.raises(TypeError, match=ONE_STRING):
        Over[Any](SMALL[0], one)


def test_one_string_is_no_list_of_candidates() -> None:
    one: Any = "tea"
    for refuse in (SMALL[0].over, SMALL[0].count([]).over):
        with pytest.raises(TypeError, match=ONE_STRING):
            refuse(one)


@every
def test_open_counts_survive_documents(mechanism: Open) -> None:
    for written in (mechanism, mechanism.over(TEXTS)):
        assert from_document(written.to_document()) == written


# Simulation


@every
def test_simulated_counts_have_the_law_of_encoded_strings(mechanism: Open) -> None:
    """Means and covariance of all cells; others than the candidates have fresh hashes each."""
    over, people = mechanism.over(TEXTS), np.array([9000, 4000, 2000, 0])
    covariance = over.channel.covariance(people)
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    freedom = int(np.linalg.matrix_rank(covariance, tol=1e-9 * np.abs(covariance).max()))
    matrix, rng = over.channel.matrix(), np.random.default_rng(41)
    strings = np.repeat(np.array(TEXTS, object), people[:-1])
    for counts in (
        over.simulate(people, rng),
        mechanism.count(mechanism.encode_many(rng.permutation(strings).tolist(), rng)).over(TEXTS),
    ):
        assert counts.n == people.sum()
        away = counts.cells.ravel() - people @ matrix
        assert chi2_p(float(away @ inverse @ away), freedom) > FALSE_ALARM
        # The same people with strings that nobody listed have another law.
        wrong = counts.cells.ravel() - np.array([0, 0, 0, 15_000]) @ matrix
        assert chi2_p(float(wrong @ inverse @ wrong), freedom) < FALSE_ALARM


def chi2_p(statistic: float, freedom: int) -> float:
    return float(scipy.stats.chi2.sf(statistic, freedom))


def test_other_strings_are_the_last_answer_on_average_over_hash_functions() -> None:
    """Many strings that nobody listed fall on places alike, as `Over` simulates them.

    Each has its own hash, so the cells of 5,000 strings vary about the law of the last answer as
    if hashes were drawn. The false-alarm rate is `FALSE_ALARM`.
    """
    rr = ORR(epsilon=3.0, width=4, cohorts=3, salt=5)
    draws = draws_of(rr, [f"string {i}" for i in range(30_000)], seed=2)
    law = laws.over(rr.over(["tea"]), 1)
    assert p_value(draws, law) > FALSE_ALARM
    assert p_value(draws, laws.over(rr.over(["tea"]), 0)) < FALSE_ALARM


@pytest.mark.parametrize(("width", "hashes"), [(3, 2), (4, 2), (2, 2), (3, 3)])
@pytest.mark.parametrize("n", [1, 2])
def test_other_strings_hold_places_with_the_exact_law_of_random_hashes(
    width: int, hashes: int, n: int
) -> None:
    """The joint law of who is in which cohort and holds which places, without sampling."""
    over = ORappor(epsilon=4.0, width=width, cohorts=2, hashes=hashes).over(["tea"])

    def draw(rng: Any) -> Any:
        people, places = over._simulate_unlisted(n, rng)
        return np.concatenate([people[:, None], places], axis=1)

    one: dict[tuple[int, ...], Fraction] = {}
    for cohort in (0, 1):
        for drawn in itertools.product(range(width), repeat=hashes):
            cells = np.zeros((2, 1 + width), int)
            cells[cohort, [0, *(1 + place for place in drawn)]] = 1
            key = tuple(cells.ravel().tolist())
            one[key] = one.get(key, Fraction(0)) + Fraction(1, 2 * width**hashes)
    assert same_law(walked(draw), added([one] * n))


def test_other_strings_with_several_hashes_are_drawn_for_any_number_of_people() -> None:
    """Person after person, 2**61 of them would take centuries."""
    rappor = ORappor(epsilon=4.0, width=16, cohorts=4, hashes=3)
    people = [0, 2**61]
    counts = rappor.over(["tea"]).simulate(people, np.random.default_rng(5))
    assert counts.n == 2**61
    mean = counts.mechanism.channel.mean(np.array([0.0, 1.0]))
    np.testing.assert_allclose(counts.cells / 2**61, mean, atol=1e-7)


def test_shares_of_strings_are_recovered_from_simulated_counts() -> None:
    """Within 5.4 standard errors, which fails once in 1e7 runs for each share."""
    rr = ORR(epsilon=3.0, width=16, cohorts=32)
    over, people = rr.over(TEXTS), np.array([50_000, 20_000, 10_000, 20_000])
    counts = over.simulate(people, np.random.default_rng(6))
    shares = counts.channel.invert(counts.cells, counts.n)
    reach = 5.4 * np.sqrt(counts.channel.variance(people))
    assert (np.abs(shares - people / 100_000) < reach).all()
    assert (np.abs(shares - people[::-1] / 100_000) > reach).any()  # another order is rejected


# Closed alphabets: the literature's mechanisms as special cases


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("salt", [0, 7, 2**32 - 1])
def test_one_cohort_as_wide_as_the_alphabet_is_krr_in_another_order(k: int, salt: int) -> None:
    rr, krr = PermutedRR(k=k, epsilon=1.3, width=k, cohorts=1, salt=salt), KRR(k=k, epsilon=1.3)
    renamed = rr.layout.places_in(0)[0].tolist()
    assert sorted(renamed) == list(range(k))
    for answer in range(k):
        wanted = {renamed[y]: weight for y, weight in laws.krr(krr, answer).items()}
        assert exact_law(rr.encode, answer) == wanted
    assert rr.ratio == krr.ratio


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("salt", [0, 7, 2**32 - 1])
def test_one_cohort_as_wide_as_the_alphabet_is_sue_in_another_order(k: int, salt: int) -> None:
    rappor = PermutedRappor(k=k, epsilon=1.3, width=k, cohorts=1, salt=salt)
    sue = SUE(k=k, epsilon=1.3)
    renamed = rappor.layout.places_in(0)[0].tolist()
    for answer in range(k):
        wanted = {}
        for bits, weight in laws.sue(sue, answer).items():
            moved = [0] * k
            for y in range(k):
                moved[renamed[y]] = bits[0] >> y & 1
            wanted[(0, laws.packed(moved))] = weight
        assert exact_law(rappor.encode, answer) == wanted
    assert rappor.ratio == sue.ratio


@pytest.mark.parametrize(
    ("k", "epsilon"), [(2, 1.0), (5, 3.0), (100, 1.0), (1000, 2.0), (10**6, 4.0), (300, 20.0)]
)
def test_what_is_left_open_is_chosen_so_that_answers_are_told_apart(k: int, epsilon: float) -> None:
    """Places are as many as answers, three times over, unless permutations would be too large."""
    for kind in (PermutedRR, PermutedRappor):
        made = kind(k=k, epsilon=epsilon)
        assert 2 <= made.width <= k
        if made.width == k:
            assert made.cohorts == 1
        elif k * (made.cohorts + 1) <= 2**22:
            assert (made.cohorts - 1) * (made.width - 1) < 3 * k <= made.cohorts * (made.width - 1)
        else:
            assert made.cohorts == max(2, 2**22 // k)
        assert from_document(made.to_document()) == made


def test_the_default_width_is_where_the_literature_has_it() -> None:
    assert PermutedRR(k=1000, epsilon=2.0).width == round(math.exp(2)) + 1
    assert PermutedRR(k=5, epsilon=2.0).width == 5
    assert PermutedRappor(k=1000, epsilon=2.0).width == 128


# Privacy


def test_epsilon_is_exact_over_all_pairs_of_places() -> None:
    """Any string may have any place: the largest ratio is that of two that differ."""
    for width in (2, 3, 5):
        rr = ORR(epsilon=1.1, width=width, cohorts=1)
        rows = [laws.two_stage(rr.truth, [y], range(width)) for y in range(width)]
        assert largest_ratio(rows) == rr.ratio <= exp_below(1.1)


@pytest.mark.parametrize(
    ("width", "hashes"), [(2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (4, 4), (5, 3), (6, 3), (7, 2)]
)
def test_epsilon_is_split_over_all_bits_that_may_differ(width: int, hashes: int) -> None:
    """Up to twice as many bits as hashes differ, counted over all pairs of sets of places."""
    epsilon = 2.0
    rappor = ORappor(epsilon=epsilon, width=width, cohorts=1, hashes=hashes)
    sets = {frozenset(p) for p in itertools.product(range(width), repeat=hashes)}
    flip = Fraction(rappor.flip, 2**53)
    rows = [
        laws.bit_rows([1 - flip if b in own else flip for b in range(width)])
        for own in sorted(sets, key=sorted)
    ]
    assert largest_ratio(rows) == rappor.ratio <= exp_below(epsilon)
    if 2 * hashes <= width:  # a chance of a flip that is smaller by 2**-53 would break the promise
        smaller = Fraction(rappor.flip - 1, 2**53)
        assert ((1 - smaller) / smaller) ** (2 * hashes) > exp_below(epsilon)
    # Leaving the number of hashes out, as the paper does, breaks it for more than one hash.
    one = Fraction(ORappor(epsilon=epsilon, width=width, cohorts=1).flip, 2**53)
    differing = min(2 * hashes, width)
    assert (((1 - one) / one) ** differing > exp_below(epsilon)) == (differing > 2)


def test_every_epsilon_can_be_split_over_every_number_of_hashes() -> None:
    for quarters, hashes in itertools.product(range(1, 41), range(1, 17)):
        epsilon = quarters / 4
        rappor = ORappor(epsilon=epsilon, width=64, cohorts=2, hashes=hashes)
        smaller = Fraction(rappor.flip - 1, 2**53)
        assert rappor.ratio <= exp_below(epsilon) < ((1 - smaller) / smaller) ** (2 * hashes)


def largest_ratio(rows: list[Any]) -> Fraction:
    ratios = [a[report] / b[report] for a, b in itertools.permutations(rows, 2) for report in a]
    return Fraction(max(ratios))


@every
def test_the_ratio_of_two_strings_is_within_the_promise(mechanism: Open) -> None:
    rows = [law_of(mechanism, f"string {i}") for i in range(12)]
    assert largest_ratio(rows) <= mechanism.ratio <= exp_below(mechanism.epsilon)
    assert mechanism.over(TEXTS).ratio == mechanism.ratio
    assert mechanism.epsilon_realised <= mechanism.epsilon


# Bad input


def orr(**changed: Any) -> ORR:
    return ORR(**{"epsilon": 1.0, "width": 4, "cohorts": 3, **changed})


def orappor(**changed: Any) -> ORappor:
    return ORappor(**{"epsilon": 1.0, "width": 4, "cohorts": 3, **changed})


def permuted_rr(**changed: Any) -> PermutedRR:
    return PermutedRR(**{"k": 6, "epsilon": 1.0, "width": 4, "cohorts": 3, **changed})


def permuted_rappor(**changed: Any) -> PermutedRappor:
    return PermutedRappor(**{"k": 6, "epsilon": 1.0, "width": 4, "cohorts": 3, **changed})


OPEN_MAKERS: list[Callable[..., Any]] = [orr, orappor]
CLOSED_MAKERS: list[Callable[..., Any]] = [permuted_rr, permuted_rappor]
Wrong = tuple[dict[str, Any], type[Exception], str]
WRONG_FOR_ALL: list[Wrong] = [
    ({"epsilon": 0}, ValueError, "epsilon must be from 1e-06 to 700, not 0"),
    ({"epsilon": float("nan")}, ValueError, "epsilon must be from 1e-06 to 700, not nan"),
    ({"epsilon": "1"}, TypeError, "epsilon must be a number, not '1'"),
    ({"width": 1}, ValueError, "width must be from 2 to "),
    ({"width": -4}, ValueError, "width must be from 2 to "),
    ({"width": 4.0}, TypeError, "width must be a whole number, not 4.0"),
    ({"cohorts": 0}, ValueError, "cohorts must be from 1 to 65536, not 0"),
    ({"width": 0}, ValueError, "width must be from 2 to "),
    ({"cohorts": -1}, ValueError, "cohorts must be from 1 to 65536, not -1"),
    ({"cohorts": 65537}, ValueError, "cohorts must be from 1 to 65536, not 65537"),
    ({"cohorts": "3"}, TypeError, "cohorts must be a whole number, not '3'"),
    ({"salt": -1}, ValueError, "salt must be from 0 to 4294967295, not -1"),
    ({"salt": 2**32}, ValueError, "salt must be from 0 to 4294967295, not 4294967296"),
    ({"salt": None}, TypeError, "salt must be a whole number, not None"),
]
WRONG: list[tuple[list[Callable[..., Any]], *Wrong]] = [
    *((OPEN_MAKERS + CLOSED_MAKERS, *wrong) for wrong in WRONG_FOR_ALL),
    (OPEN_MAKERS, {"width": 65537}, ValueError, "width must be from 2 to 65536, not 65537"),
    (
        OPEN_MAKERS,
        {"width": 65536, "cohorts": 257},
        ValueError,
        "cohorts * width must be at most 2**24, not 16842752: counts have that many cells",
    ),
    ([orappor], {"hashes": 0}, ValueError, "hashes must be from 1 to 4, not 0"),
    ([orappor], {"hashes": 5}, ValueError, "hashes must be from 1 to 4, not 5"),
    ([orappor], {"width": 99, "hashes": 17}, ValueError, "hashes must be from 1 to 16, not 17"),
    ([orappor], {"hashes": True}, TypeError, "hashes must be a whole number, not True"),
    ([orr, permuted_rr], {"truth": -1}, ValueError, "truth must be from 1 to "),
    ([orr, permuted_rr], {"truth": 2**53}, ValueError, "truth must be from 1 to "),
    ([orr, permuted_rr], {"truth": 2**52}, ValueError, "more than the 1.0 they promise"),
    ([orappor, permuted_rappor], {"flip": -1}, ValueError, "flip must be from 1 to "),
    ([orappor, permuted_rappor], {"flip": 2**52}, ValueError, "flip must be from 1 to "),
    ([orappor, permuted_rappor], {"flip": 0}, ValueError, "flip must be from 1 to "),
    ([orr, permuted_rr], {"truth": 0}, ValueError, "truth must be from 1 to "),
    ([orappor, permuted_rappor], {"flip": 2**50}, ValueError, "more than the 1.0 they promise"),
    (CLOSED_MAKERS, {"k": 1}, ValueError, "k must be from 2 to 1000000, not 1"),
    (CLOSED_MAKERS, {"k": 10**6 + 1}, ValueError, "k must be from 2 to 1000000, not 1000001"),
    (CLOSED_MAKERS, {"k": "6"}, TypeError, "k must be a whole number, not '6'"),
    (CLOSED_MAKERS, {"k": 2.5}, TypeError, "k must be a whole number, not 2.5"),
    (CLOSED_MAKERS, {"width": 7}, ValueError, "width must be from 2 to 6, not 7"),
    (
        CLOSED_MAKERS,
        {"k": 10**6, "cohorts": 17},
        ValueError,
        "k * cohorts must be at most 2**24, not 17000000: permutations of all answers are kept",
    ),
]


@pytest.mark.parametrize(
    ("make", "changed", "kind", "message"),
    [(make, *rest) for makers, *rest in WRONG for make in makers],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:40],
)
def test_bad_parameters_are_refused_with_value_and_rule(
    make: Callable[..., Any], changed: dict[str, Any], kind: type[Exception], message: str
) -> None:
    make()
    with pytest.raises(kind, match=re.escape(message)) as error:
        make(**changed)
    value = list(changed.values())[-1]
    assert str(value) in str(error.value) or "they promise" in message or "2**24" in message


@every
@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ("", ValueError, "an answer to an open question is a string that is not empty"),
        ("a\udfff", ValueError, "half of a surrogate pair at place 1"),
        (7, TypeError, "an answer to an open question is a string, not of type int"),
        (b"tea", TypeError, "an answer to an open question is a string, not of type bytes"),
        (None, TypeError, "an answer to an open question is a string, not of type NoneType"),
    ],
)
def test_bad_answers_are_refused_with_their_number(
    mechanism: Open, wrong: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        mechanism.encode(wrong, mm.Secure())
    with pytest.raises(kind, match=f"^answer number 2: .*{re.escape(message)}"):
        mechanism.encode_many(["tea", "mate", wrong, "tea", wrong])


@every
@pytest.mark.parametrize("one", ["tea", b"tea"])
def test_one_string_is_no_list_of_answers(mechanism: Open, one: Any) -> None:
    with pytest.raises(TypeError, match=r"^answers are a list of strings, not one string$"):
        mechanism.encode_many(one)


def test_an_answer_without_a_hash_is_refused_with_its_number() -> None:
    wrong: Any = ["mate"]
    message = "^answer number 1: an answer to an open question is a string, not of type list$"
    with pytest.raises(TypeError, match=message):
        SMALL[0].encode_many(["tea", wrong])


def test_no_answers_make_no_reports() -> None:
    for mechanism in SMALL:
        assert len(mechanism.encode_many([])) == 0
        assert mechanism.count(mechanism.encode_many([])) == Counts(
            mechanism, 0, np.zeros(mechanism.channel.cells, np.int64)
        )
