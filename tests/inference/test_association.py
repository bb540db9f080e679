"""Tests of association: exact identities first, then type I error and power."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import murmurs as mm
from murmurs.counts import Counts
from murmurs.inference.permutation import from_reports
from murmurs.inference.scores import Scores, contrasts
from murmurs.inference.wald import wald_statistic
from murmurs.numerics.arrays import Floats

FALSE_ALARM = 1e-6
"""The probability with which a statistical test of this file fails by chance."""

ORR = mm.ORR(epsilon=2.0, width=8, cohorts=4)
BITS = mm.ORappor(epsilon=2.0, width=8, cohorts=4)

PAIRS: dict[str, mm.Product] = {
    "KRR": mm.Product((mm.KRR(k=4, epsilon=1.0), mm.KRR(k=3, epsilon=2.0))),
    "SUE": mm.Product((mm.SUE(k=4, epsilon=1.5), mm.SUE(k=3, epsilon=1.5))),
    "OUE": mm.Product((mm.OUE(k=4, epsilon=1.0), mm.OUE(k=3, epsilon=3.0))),
    "Subset": mm.Product((mm.Subset(k=5, epsilon=1.5, w=2), mm.Subset(k=4, epsilon=1.5, w=2))),
    "Hadamard": mm.Product((mm.Hadamard(k=5, epsilon=1.0), mm.Hadamard(k=3, epsilon=2.0))),
    "mixed": mm.Product((mm.KRR(k=3, epsilon=1.0), mm.OUE(k=4, epsilon=1.0))),
    "ORR x KRR": mm.Product((ORR.over(["tea", "milk"]), mm.KRR(k=3, epsilon=1.0))),
    "ORR x ORR": mm.Product((ORR.over(["tea", "milk"]), ORR.over(["cat", "dog"]))),
    "ORappor x SUE": mm.Product((BITS.over(["tea", "milk"]), mm.SUE(k=3, epsilon=2.0))),
}


def independent(both: mm.Product, n: int, rng: np.random.Generator) -> Counts:
    laws = [rng.dirichlet(np.full(k, 3.0)) for k in both.answers]
    return both.simulate(rng.multinomial(n, np.outer(*laws).ravel()), rng)


def dependent(both: mm.Product, n: int, rng: np.random.Generator) -> Counts:
    """Return counts of a table with a fifth of all people on the diagonal."""
    table = np.full(both.answers, 0.8 / both.k)
    size = min(both.answers)
    table[np.arange(size), np.arange(size)] += 0.2 / size
    return both.simulate(rng.multinomial(n, table.ravel()), rng)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_contrasts_are_orthonormal_and_sum_to_zero(k: int) -> None:
    found = contrasts(k)
    assert found.T @ found == pytest.approx(np.eye(k - 1))
    assert found.sum(axis=0) == pytest.approx(np.zeros(k - 1))


@pytest.mark.parametrize("sizes", [(2, 2), (4, 3), (6, 6)])
def test_the_score_test_of_two_krr_is_pearsons(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    both = mm.Product((mm.KRR(k=sizes[0], epsilon=1.0), mm.KRR(k=sizes[1], epsilon=3.0)))
    counts = dependent(both, 2000, rng)
    pearson = stats.chi2_contingency(counts.cells, correction=False)
    for test in ("score", "pearson"):
        found = mm.association(counts, test=test)
        assert found.statistic == pytest.approx(pearson.statistic, rel=1e-9)
        assert found.freedom == pearson.dof
        assert found.p_value == pytest.approx(pearson.pvalue, rel=1e-6)


def test_reports_that_nobody_sent_do_not_count() -> None:
    both = mm.Product((mm.KRR(k=3, epsilon=9.0), mm.KRR(k=3, epsilon=9.0)))
    counts = Counts(both, 300, np.array([[90, 30, 0], [60, 120, 0], [0, 0, 0]]))
    seen = stats.chi2_contingency(counts.cells[:2, :2], correction=False)
    for test in ("score", "pearson"):
        found = mm.association(counts, test=test)
        assert found.freedom == 1
        assert found.statistic == pytest.approx(seen.statistic)


def test_contrasts_without_noise_are_left_out_on_every_processor() -> None:
    """Rounding gives them a variance of about 1e-24, but not the same one on all processors."""
    for epsilon, cells in (
        (9.0, [90, 30, 60, 120]),
        (14.0, [75, 75, 10, 140]),
        (3.0, [5, 5, 5, 9]),
    ):
        both = mm.Product((mm.KRR(k=3, epsilon=epsilon), mm.KRR(k=3, epsilon=epsilon)))
        table = np.zeros((3, 3), np.int64)
        for kept in ([0, 1], [0, 2], [1, 2]):
            table[:] = 0
            table[np.ix_(kept, kept)] = np.reshape(cells, (2, 2))
            found = mm.association(Counts(both, sum(cells), table), test="score")
            seen = stats.chi2_contingency(np.reshape(cells, (2, 2)), correction=False)
            assert found.freedom == 1
            assert found.statistic == pytest.approx(seen.statistic, rel=1e-6)


def unary_covariance(mechanism: mm.SUE, law: Floats) -> Floats:
    """Return the covariance of the bits of a report, by going through all reports."""
    hit, miss = float(mechanism.channel.hit), float(mechanism.channel.miss)
    second, mean = np.zeros((mechanism.k, mechanism.k)), np.zeros(mechanism.k)
    for answer, share in enumerate(law):
        for bits in itertools.product((0, 1), repeat=mechanism.k):
            on = [hit if j == answer else miss for j in range(mechanism.k)]
            chance = math.prod(p if b else 1 - p for p, b in zip(on, bits, strict=True))
            mean += share * chance * np.array(bits)
            second += share * chance * np.outer(bits, bits)
    return second - np.outer(mean, mean)


def test_the_score_test_of_unary_reports_is_that_of_their_law() -> None:
    """At expected counts, compare with generalised least squares on covariances by enumeration."""
    left, right = mm.SUE(k=4, epsilon=1.0), mm.SUE(k=3, epsilon=2.0)
    both = mm.Product((left, right))
    rows, columns = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.3, 0.2])
    away = np.zeros((4, 3))
    away[:2, :2] = 0.05 * np.array([[1, -1], [-1, 1]])
    n = 10**9
    cells = np.rint(n * both.channel.mean((np.outer(rows, columns) + away).ravel()))
    found = mm.association(Counts(both, n, cells.astype(np.int64)), test="score")

    def weights(covariance: Floats) -> Floats:
        inverse, basis = np.linalg.inv(covariance), contrasts(len(covariance))
        along = inverse @ basis
        return np.asarray(along @ np.linalg.solve(basis.T @ along, along.T))

    gains = [float(part.channel.hit - part.channel.miss) for part in (left, right)]
    cross = gains[0] * gains[1] * away
    w = [weights(unary_covariance(p, q)) for p, q in ((left, rows), (right, columns))]
    assert found.statistic == pytest.approx(n * np.trace(w[0] @ cross @ w[1] @ cross.T), rel=1e-5)
    assert found.freedom == 6


@pytest.mark.parametrize("name", ["KRR", "OUE", "Subset", "mixed"])
def test_neither_the_order_of_answers_nor_of_questions_matters(name: str) -> None:
    rng = np.random.default_rng(2)
    both = PAIRS[name]
    counts = dependent(both, 3000, rng)
    before = mm.association(counts, test="score")
    cells = counts.cells
    for axis, of_axis in enumerate(both.channel.axes):
        first = 0 if of_axis.is_histogram else 1
        order = np.concatenate([np.arange(first), first + rng.permutation(of_axis.k)])
        cells = cells.take(order, axis=axis)
    after = mm.association(Counts(both, counts.n, cells), test="score")
    turned = mm.association(Counts(mm.Product(both.parts[::-1]), counts.n, cells.T), test="score")
    for found in (after, turned):
        assert found.statistic == pytest.approx(before.statistic, rel=1e-8)
        assert found.freedom == before.freedom


@pytest.mark.parametrize("name", PAIRS)
def test_independent_answers_have_chi_square_statistics(name: str) -> None:
    """The sum of the statistics of 100 populations is chi-square too; false alarm 1e-6.

    The check fails if statistics are half as large again, as for a noise that is taken too small.
    """
    rng, both, times = np.random.default_rng(3), PAIRS[name], 100
    found = [mm.association(independent(both, 2000, rng), test="score") for _ in range(times)]
    freedom = sum(one.freedom for one in found)
    assert freedom == times * (both.answers[0] - 1) * (both.answers[1] - 1)
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], freedom)
    total = sum(one.statistic for one in found)
    assert low < total < high
    assert not low < 1.5 * total < high
    rejected = sum(one.p_value <= 0.05 for one in found)
    assert rejected <= stats.binom.ppf(1 - FALSE_ALARM, times, 0.05)


@pytest.mark.parametrize("name", PAIRS)
def test_answers_that_go_together_are_found_out(name: str) -> None:
    found = mm.association(dependent(PAIRS[name], 60_000, np.random.default_rng(4)))
    assert found.p_value < 1e-6
    assert found.sentence.startswith("The answers go together: p < 1e-6 (score test, ")


def test_all_pairings_of_few_reports_are_gone_through() -> None:
    """The exact p-value is that of all permutations of one list against the other."""
    left, right = [0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1]
    both = mm.Product((mm.KRR(k=2, epsilon=1.0), mm.KRR(k=2, epsilon=1.0)))

    def statistic(order: Any) -> float:
        counts = both.count(list(zip(left, order, strict=True)))
        return Scores(counts).statistic

    observed = statistic(right)
    reached = [statistic(p) >= observed - 1e-9 for p in set(itertools.permutations(right))]
    found = mm.association(both.count(list(zip(left, right, strict=True))))
    assert (found.test, found.permutations) == ("permutation", None)
    assert found.p_value == pytest.approx(np.mean(reached))
    assert "exact permutation test" in found.sentence


@pytest.mark.parametrize("name", ["KRR", "ORR x KRR"])
def test_permuted_tables_and_permuted_reports_have_one_law(name: str) -> None:
    """Two p-values from 1999 permutations each differ by less than 5 standard errors (1e-6)."""
    rng, both = np.random.default_rng(5), PAIRS[name]
    answers = rng.integers(0, both.k, 400)
    reports = both.encode_many(answers, rng)
    counts = both.count(reports)
    tables = mm.association(counts, test="permutation").p_value
    cohorts, axes = both.placed(reports)
    listed, _ = from_reports(Scores(counts), cohorts, (axes[0], axes[1]), 1999, rng)
    assert abs(tables - listed) < 5 * math.sqrt(2 * tables * (1 - tables) / 1999) + 1e-3
    chi_square = mm.association(counts, test="score").p_value
    assert abs(tables - chi_square) < 0.1


def test_permutation_p_values_are_exact_for_few_people() -> None:
    """With 19 permutations, p <= 0.05 in one of 20 populations: binomial, false alarm 1e-6.

    P-values that are three times as often small would be rejected.
    """
    rng, times = np.random.default_rng(6), 300
    both = mm.Product((mm.KRR(k=5, epsilon=5.0), mm.KRR(k=5, epsilon=5.0)))
    rows = np.array([0.6, 0.3, 0.06, 0.03, 0.01])
    hits = 0
    for _ in range(times):
        counts = both.simulate(rng.multinomial(40, np.outer(rows, rows).ravel()), rng)
        found = mm.association(counts, permutations=19, random=rng)
        assert found.test == "permutation"
        hits += found.p_value <= 0.05
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], times, 0.05)
    assert low <= hits <= high
    assert not low <= 3 * hits <= high


def test_reports_in_several_cells_can_be_permuted() -> None:
    rng, both = np.random.default_rng(7), PAIRS["OUE"]
    table = np.diag([3.0, 3.0, 3.0, 1.0])[:, :3] + 0.1
    reports = both.encode_many(rng.choice(both.k, 3000, p=(table / table.sum()).ravel()), rng)
    counts = both.count(reports)
    found = mm.association(counts, test="permutation", reports=reports, permutations=99)
    assert found.p_value == 0.01
    assert found == mm.association(counts, test="permutation", reports=reports, permutations=99)
    assert "99 permutations" in found.sentence


def test_few_expected_reports_lead_to_permutations_or_a_note() -> None:
    rng = np.random.default_rng(8)
    few, many = independent(PAIRS["KRR"], 20, rng), independent(PAIRS["KRR"], 5000, rng)
    assert mm.association(few).test == "permutation"
    assert "few reports are expected" in mm.association(few).why
    assert mm.association(many).test == "score"
    assert mm.association(few, test="score").notes[0].startswith("few reports are expected")
    bits = mm.Product((mm.OUE(k=3, epsilon=5.0), mm.OUE(k=3, epsilon=5.0)))
    reports = bits.encode_many(rng.integers(0, 9, 100), rng)
    alone = mm.association(bits.count(reports))
    assert (alone.test, len(alone.notes)) == ("bootstrap", 0)
    assert "simulation of independent answers, " in alone.sentence
    assert mm.association(bits.count(reports)) == alone  # the counts are the seed
    rough = mm.association(bits.count(reports), test="score")
    assert rough.notes[0].startswith("few reports are expected")
    wide = mm.Product((mm.OUE(k=20, epsilon=5.0), mm.OUE(k=6, epsilon=5.0)))
    told = mm.association(wide.count(wide.encode_many(rng.integers(0, 120, 100), rng)))
    assert told.test == "score"
    assert "pass the reports" in told.notes[0]
    assert mm.association(bits.count(reports), reports=reports).test == "permutation"


def test_questions_are_chosen_by_number() -> None:
    rng = np.random.default_rng(9)
    three = mm.Product((mm.KRR(k=2, epsilon=2.0), mm.OUE(k=3, epsilon=2.0), ORR.over(["tea"])))
    answers = np.stack([np.arange(900) % 2, rng.integers(0, 3, 900), np.arange(900) % 2], axis=1)
    reports = three.encode_many(answers, rng)
    counts = three.count(reports)
    assert mm.association(counts, questions=(2, 0)) == mm.association(counts, questions=(0, 2))
    assert mm.association(counts, questions=(0, 2)).p_value < 1e-6
    found = mm.association(counts, questions=(0, 1), test="permutation", reports=reports)
    assert found.questions == (0, 1)
    assert abs(found.p_value - mm.association(counts).p_value) < 0.1


def test_the_wald_test_uses_the_corrected_covariance() -> None:
    """In the interior, d' I d is the distance in units of I^-1 - p p'/n, by brute force."""
    both = mm.Product((mm.KRR(k=2, epsilon=2.0), mm.KRR(k=2, epsilon=2.0)))
    counts = Counts(both, 1000, np.array([[320, 180], [190, 310]]))
    shares = mm.estimators.unbiased(counts).shares
    law = both.channel.matrix().T
    information = law.T @ np.diag(counts.cells.ravel() / (law @ shares) ** 2) @ law
    covariance = np.linalg.inv(information) - np.outer(shares, shares) / counts.n
    table = shares.reshape(2, 2)
    d = (table - np.outer(table.sum(axis=1), table.sum(axis=0))).ravel()
    found = mm.association(counts, test="wald")
    assert found.statistic == pytest.approx(
        d @ np.linalg.pinv(covariance, rcond=1e-9) @ d, rel=1e-3
    )
    assert found.freedom == 1


def test_the_wald_test_of_bits_is_that_of_their_likelihood() -> None:
    rng = np.random.default_rng(10)
    both = mm.Product((mm.SUE(k=3, epsilon=3.0), mm.KRR(k=2, epsilon=3.0)))
    reports = both.encode_many(rng.integers(0, 6, 500), rng)
    _, (bits, numbers) = both.placed(reports)
    hit, miss = (float(getattr(both.parts[0].channel, name)) for name in ("hit", "miss"))
    on = np.where(np.eye(3, dtype=bool), hit, miss)  # the law of each bit given the answer
    left = np.stack([np.where(bits[:, 1:], row, 1 - row).prod(axis=1) for row in on], axis=1)
    right = both.parts[1].channel.matrix().T[numbers]
    exact, rests = wald_statistic(left, right, np.ones(500))
    found = mm.association(both.count(reports), test="wald", reports=reports)
    assert rests
    assert found.statistic == pytest.approx(exact, rel=1e-6)


def test_one_kind_of_report_goes_with_nothing() -> None:
    both = PAIRS["KRR"]
    cells = np.zeros((4, 3), np.int64)
    cells[1] = [20, 30, 50]
    found = mm.association(Counts(both, 100, cells), test="score")
    assert (found.freedom, found.p_value, found.statistic) == (0, 1.0, 0.0)
    assert "nothing can go with them" in found.notes[-1]
    assert mm.association(Counts(both, 100, cells)).p_value == 1.0


def test_an_association_is_told_in_words_and_as_a_document() -> None:
    counts = dependent(PAIRS["KRR"], 2000, np.random.default_rng(1))
    found = mm.association(counts, test="wald")
    document = found.to_document()
    assert document["sentence"] == found.sentence
    assert document["questions"] == [0, 1]
    assert "(Wald test, 6 degrees of freedom)" in found.sentence
    assert str(found).splitlines()[1] == "Test: wald, because it was asked for by name."


def test_what_cannot_be_tested_is_refused() -> None:
    rng = np.random.default_rng(1)
    counts, bits = independent(PAIRS["KRR"], 100, rng), independent(PAIRS["OUE"], 100, rng)
    hashed = independent(PAIRS["ORR x ORR"], 100, rng)
    one = mm.KRR(k=2, epsilon=1.0).count([0, 1])
    open_one = mm.mechanisms.OpenProduct((ORR, mm.KRR(k=2, epsilon=1.0)))
    strings = open_one.count(open_one.encode_many([["tea"], [0]]))
    with pytest.raises(TypeError, match="needs counts of a Product"):
        mm.association(one)
    with pytest.raises(TypeError, match="not list: add the reports up first"):
        mm.association([[1, 2], [3, 4]])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no reports"):
        mm.association(PAIRS["KRR"].count([]))
    with pytest.raises(ValueError, match=r"over\(candidates\)"):
        mm.association(strings)
    for questions in ((0, 0), (0, 2), (-1, 0), (0, 1, 1)):
        with pytest.raises(ValueError, match="numbers from 0 to 1"):
            mm.association(counts, questions=questions)
    with pytest.raises(ValueError, match="wald, permutation, bootstrap, not 'fisher'"):
        mm.association(counts, test="fisher")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"numpy.random.default_rng\(seed\), not 1"):
        mm.association(counts, random=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="permutations"):
        mm.association(counts, permutations=0)
    with pytest.raises(ValueError, match="every report counts once"):
        mm.association(bits, test="pearson")
    with pytest.raises(ValueError, match="reports themselves"):
        mm.association(bits, test="permutation")
    with pytest.raises(ValueError, match="reports themselves"):
        mm.association(bits, test="wald")
    with pytest.raises(ValueError, match="in cohorts"):
        mm.association(hashed, test="wald")
    with pytest.raises(ValueError, match="not the reports that were counted"):
        mm.association(counts, reports=PAIRS["KRR"].encode_many([0, 1], rng))
