"""What verdicts mean: of published numbers and sentences, and of our default beside the others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from murmurs.studies.measured import Series, Table
from murmurs_papers import (
    chosen,
    fanti2016_lengths,
    fanti2016_tables,
    lezia2020_tables,
    pinzon2026,
)
from murmurs_papers.fanti2016_other import PRINTED_TRUE, TOP, printed
from murmurs_papers.findings import claim, number, summary
from murmurs_papers.ours import ours, paired, quotient


def test_numbers_agree_within_three_combined_errors() -> None:
    assert number("x", 0.5, 0.53, 0.01).verdict == "agrees"
    assert number("x", 0.5, 0.54, 0.01).verdict == "differs"
    assert number("x", 0.5, 0.54, 0.01, published_error=0.01).verdict == "agrees"
    assert number("x", 0.5, 0.54, 0.01, tolerance=0.02).verdict == "agrees"
    assert number("x", 0.5, 0.54, 0.01, sigmas=4.5).verdict == "agrees"
    assert number("x", 0.5, 0.54, 0.0, decimals=1).verdict == "agrees"  # 0.5 is rounded
    explained = number("x", 0.5, 0.6, 0.01, why="misprint")
    assert (explained.verdict, explained.why) == ("explained", "misprint")
    assert number("x", 0.5, 0.5, 0.01, why="misprint").why == ""


def test_the_summary_counts_verdicts() -> None:
    yes, no = claim("a", "b", "c", True), claim("a", "b", "c", False)
    known = claim("a", "b", "c", False, why="d")
    assert summary([yes, yes]) == "2 of 2 agree"
    assert summary([yes, known, known]) == "1 of 3 agrees, 2 differ for a known reason"
    assert summary([no, yes]) == "1 of 2 agrees, 1 differs without a known reason"


def test_the_summary_counts_what_is_about_our_default_apart() -> None:
    yes = claim("a", "b", "c", True)
    ahead, behind = ours("a", "b", "c", [(0.5, 0.1)]), ours("a", "b", "c", [(2.0, 0.1)])
    assert summary([ahead, yes, behind]) == "1 of 1 agrees; our default: 1 ahead, 1 behind"
    assert summary([ahead]) == "our default: 1 ahead"


def _table_of_one_column(default: float, others: float) -> Table:
    """Rows of A4 at epsilon 0.5: all others have one error, with a standard error of 0.0001."""
    noise = np.array([-0.001, 0.001] * 50)
    return Table(
        Series(
            {"column": "A4", "form": form, "algorithm": name, "epsilon": 0.5},
            {"mae": (default if name == lezia2020_tables.DEFAULT else others) + noise},
        )
        for form, made in lezia2020_tables.FORMS.items()
        for name in made(3, 0.5)
    )


@pytest.mark.parametrize(
    ("default", "others", "verdicts"),
    [
        (0.0634, 0.0634, ["ahead", "ahead"]),  # 0.063 is printed for k-subset, which kept to it
        (0.0700, 0.0600, ["close", "behind"]),
        (0.0700, 0.0699, ["close", "close"]),
        (0.0800, 0.0900, ["behind", "ahead"]),
        (0.0500, 0.0400, ["ahead", "behind"]),
    ],
)
def test_no_agreement_hides_where_our_default_is_above_the_best(
    default: float, others: float, verdicts: list[str]
) -> None:
    rows = _table_of_one_column(default, others)
    found = [f for f in lezia2020_tables.judge(rows, 0.5) if f.about_ours]
    assert [f.verdict for f in found] == verdicts
    assert "k-subset, 0.063" in str(found[0].published)


def test_a_value_that_is_ahead_by_rounding_alone_says_so() -> None:
    """0.063 is printed; 0.0634 is not below it, but at the same digits it is the same."""
    told = {
        default: str(lezia2020_tables.judge(_table_of_one_column(default, 0.07), 0.5)[-2].measured)
        for default in (0.0634, 0.0629, 0.0636)
    }
    assert told[0.0634].startswith("0.0634 ± 0.0001, rounded 0.063; k-subset itself has ")
    assert told[0.0629].startswith("0.0629 ± 0.0001; k-subset itself has ")
    assert told[0.0636].startswith("0.0636 ± 0.0001; k-subset itself has ")


def test_of_estimators_that_are_the_same_none_is_counted_as_the_best() -> None:
    """In the first setting nothing is cut, and the three differ by rounding only."""
    errors = {"InvN": (0.3, 0.1), "InvP": (0.3 - 1e-16, 0.2), "MLE*": (0.3 + 1e-16, 0.3)}
    rows = Table(
        Series(
            {"skew": 1.3, "k": 50, "people": n, "epsilon": 1.0, "estimator": name},
            {loss: mean + np.array([-0.01, 0.01]) for loss in ("l1", "l2")},
        )
        for name, means in (*errors.items(), ("our default", (0.1, 0.1)))
        for n, mean in zip((10**6, 100), means, strict=True)
    )
    found = [f for f in pinzon2026.judge(rows) if "alternate" in str(f.published)]
    assert [f.measured for f in found] == [
        "how often each has the smallest mean error: InvN 1, InvP 0, MLE* 0; "
        "how often the best are alike: 1"
    ] * 2


def test_only_what_kept_to_epsilon_is_the_best_of_the_others() -> None:
    """Basic RAPPOR as published has epsilon ln 3, above 0.5 and 1 and below 2."""
    assert [len(lezia2020_tables.honest(e)) for e in (0.5, 1.0, 2.0)] == [4, 4, 5]
    rows = _table_of_one_column(0.05, 0.06)
    assert len(rows) == 11
    assert len(lezia2020_tables.kept_to_epsilon(rows, 0.5)) == 10


def test_ratios_in_the_same_draws_have_the_errors_of_their_differences() -> None:
    """Errors that rise and fall together, of which nine parts in ten are common."""
    rng = np.random.default_rng(1)
    common = rng.normal(10, 3, 4000)
    own, other = common + rng.normal(0, 0.3, 4000), common + rng.normal(0, 0.3, 4000)
    ratio, error = paired(own, other)
    assert ratio == pytest.approx(1, abs=0.01)
    assert error == pytest.approx(0.3 * math.sqrt(2) / 10 / math.sqrt(4000), rel=0.1)
    apart = quotient(own.mean(), 3 / math.sqrt(4000), other.mean(), 3 / math.sqrt(4000))
    assert apart[1] > 5 * error


def test_a_threshold_of_zero_that_changes_nothing_does_not_agree() -> None:
    """The paper says that accuracy falls; rejected: a distance that is the same up to noise."""

    def judged(at_zero: float) -> list[str]:
        noise = np.array([-0.01, 0.01] * 15)
        rows = Table(
            Series(
                {"part": "threshold", "multiple": multiple},
                {"edges": 100 - multiple + 0 * noise, "hellinger": distance + noise},
            )
            for multiple, distance in ((0.0, at_zero), (1.0, 0.3), (4.0, 0.35))
        )
        return [f.verdict for f in fanti2016_lengths.judge_figure11(rows)]

    assert judged(0.35) == ["agrees", "agrees", "agrees"]
    assert judged(0.301) == ["agrees", "explained", "agrees"]
    assert judged(0.29) == ["agrees", "explained", "agrees"]


def test_false_strings_do_not_agree_with_none() -> None:
    def judged(false: float) -> str:
        values = {"fraction": np.full(20, 0.1), "false": np.zeros(20)}
        values["false"][0] = false
        rows = Table([Series({"part": "length", "size": 2, "length": 4}, values)])
        return fanti2016_lengths.judge_figure10(rows)[-1].verdict

    assert [judged(0), judged(1), judged(9)] == ["agrees", "explained", "differs"]


def test_table_1_of_fanti2016_is_that_of_independent_answers() -> None:
    _, chi_square = fanti2016_tables.shape_of(printed(PRINTED_TRUE))
    [table] = chosen(["fanti2016-table1"])
    assert f"{chi_square:.1f} on {TOP**2} degrees of freedom" in table.about
