"""A screen of several questions: which pairs go together, with control of false findings."""

from __future__ import annotations

import numpy as np
import pytest

import murmurs as mm
from murmurs.counts import Counts

FOUR = mm.Product(
    (mm.KRR(k=2, epsilon=2.0), mm.OUE(k=3, epsilon=2.0), *(mm.KRR(k=2, epsilon=2.0),) * 2)
)


def counts() -> Counts:
    """Return counts in which questions 0 and 2 go together, and no others."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 4000)
    third = np.where(rng.random(4000) < 0.3, first, rng.integers(0, 2, 4000))
    others = rng.integers(0, 3, 4000), rng.integers(0, 2, 4000)
    answers = np.stack([first, others[0], third, others[1]], axis=1)
    return FOUR.count(FOUR.encode_many(answers, rng))


def test_a_screen_tests_every_pair_as_associate_does() -> None:
    table = counts()
    found = mm.screening(table)
    assert [test.questions for test in found.tests] == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 3),
    ]
    for test in found.tests:
        assert test == mm.association(table, questions=test.questions)


def test_a_screen_marks_the_pair_that_goes_together() -> None:
    found = mm.screening(counts(), names=["sex", "diet", "job", "pet"])
    assert [pair for pair, out in zip(found.pairs, found.stands_out, strict=True) if out] == [
        ("sex", "job")
    ]
    lines = str(found).splitlines()
    assert lines[2].split()[:4] == ["sex", "job", "*", "<"]
    assert "1 of 6 pairs" in " ".join(lines)
    assert found.to_document()["stands_out"] == found.stands_out.tolist()
    assert len(found.table(limit=2).splitlines()) == 5


def test_the_error_rate_and_its_control_act() -> None:
    table = counts()
    p = np.sort(mm.screening(table).p_values)
    harmonic = (1 / np.arange(1, 7)).sum()
    second = float(p[1] * 6 * harmonic / 2)  # Benjamini and Yekutieli's limit for two findings
    assert second < 0.5 or mm.screening(table, 0.5).stands_out.sum() == 1
    assert mm.screening(table, 1e-12).stands_out.sum() == int(p[0] * 6 * harmonic <= 1e-12)
    strict = mm.screening(table, control="bonferroni")
    assert strict.stands_out.tolist() == (strict.p_values <= 0.05 / 6).tolist()
    assert "the chance of any false finding" in strict.sentence


def test_names_must_fit() -> None:
    with pytest.raises(ValueError, match="names are 4 different texts"):
        mm.screening(counts(), names=["a", "b", "c"])
    with pytest.raises(ValueError, match="names are 4 different texts"):
        mm.screening(counts(), names=["a", "b", "c", "a"])
    with pytest.raises(TypeError, match="asks one question"):
        mm.screening(mm.KRR(k=2, epsilon=1.0).count([0, 1]))
