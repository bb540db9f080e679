"""What reports say about answers: the exact law of each report, up to a factor that it cancels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.channels.evidence import MOST_ENTRIES, Classified, Graded, Supported
from murmurs.mechanisms.closed.local_hashing import Hashing
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.mechanisms.strings.over_ngrams import OverNGrams
from tests import laws

AnyMechanism = Mechanism[Any]


def parts_of(mechanism: AnyMechanism) -> tuple[AnyMechanism, ...]:
    return mechanism.parts if isinstance(mechanism, mm.Product) else ()


def likelihoods(mechanism: AnyMechanism, reports: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """All reports by all answers, in the order of the answers."""
    out = np.ones((1, 1))
    for piece in mechanism.evidence(reports):
        rows = piece.rows(slice(None))
        assert rows.shape == (len(piece), piece.k)
        out = (out[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    return out


NOT_WHOLE = mm.mechanisms.Among | OverNGrams
WHOLE = [m for m in laws.SMALL if not any(isinstance(p, NOT_WHOLE) for p in (m, *parts_of(m)))]
"""Mechanisms that use whole reports; `Among` uses some of their bits (test_joint_likelihood.py)."""


def test_reports_of_several_mechanisms_by_turns_have_no_evidence() -> None:
    mechanism = next(m for m in laws.SMALL if isinstance(m, OverNGrams))
    with pytest.raises(TypeError, match=r"does not say how likely its reports .* from counts"):
        mechanism.evidence(mechanism.encode_many([0, 1], np.random.default_rng(1)))


@pytest.mark.parametrize("mechanism", WHOLE, ids=repr)
def test_evidence_is_the_law_of_each_report_up_to_a_factor(mechanism: AnyMechanism) -> None:
    rows = [laws.BY_KIND[type(mechanism)](mechanism, answer) for answer in range(mechanism.k)]
    reports = list(rows[0])[:400]
    if isinstance(mechanism, Hashing):  # seeds that were walked for all answers
        reports = [report for report in reports if all(report in row for row in rows)]
    exact = np.array([[float(row[report]) for row in rows] for report in reports])
    found = likelihoods(mechanism, mechanism.shape.stack(reports))
    np.testing.assert_allclose(
        found / found.sum(axis=1, keepdims=True),
        exact / exact.sum(axis=1, keepdims=True),
        rtol=1e-6,  # graded likelihoods are in single precision
    )


def test_unlisted_strings_with_several_hashes_are_averaged_over_all_of_them() -> None:
    """Independent bits, as in fanti2016, section 3.2, would be 20 % off here."""
    rappor = mm.Rappor(width=4, hashes=3, cohorts=1, f=0.0, p=0.1, q=0.9)
    over = rappor.over(["tea"])
    reports = over.encode_many([1] * 200, np.random.default_rng(1))
    (piece,) = over.evidence(reports)
    rows = piece.rows(slice(None))
    exact = laws.BY_KIND[type(over)](over, 1)
    listed = laws.BY_KIND[type(over)](over, 0)
    furthest = 1.0
    for report, row in zip(over.shape.unstack(reports), rows, strict=True):
        assert row[1] / row[0] == pytest.approx(float(exact[report] / listed[report]), rel=1e-6)
        ones = int.from_bytes(report.bits, "little").bit_count()
        filled = 1 - (3 / 4) ** 3
        chance = 0.1 + 0.8 * filled
        apart = chance**ones * (1 - chance) ** (4 - ones) / float(exact[report])
        furthest = max(furthest, apart, 1 / apart)
    assert furthest > 1.2


def test_each_form_of_evidence_is_used_where_it_is_the_smallest() -> None:
    def form(mechanism: AnyMechanism) -> type:
        (piece,) = mechanism.evidence(mechanism.encode_many([0, 1], np.random.default_rng(1)))
        assert (len(piece), piece.k) == (2, mechanism.k)
        return type(piece)

    assert form(mm.KRR(k=3, epsilon=1.0)) is Classified
    assert form(mm.Subset(k=5, epsilon=1.0, w=1)) is Classified
    assert form(mm.ORR(epsilon=1.0, width=4, cohorts=2).over(["tea"])) is Classified
    assert form(mm.LocalHashing(k=5, epsilon=1.0)) is Supported
    assert form(mm.OUE(k=5, epsilon=1.0)) is Supported
    assert form(mm.ORappor(epsilon=1.0, width=4, cohorts=2).over(["tea"])) is Graded


def test_sets_of_one_answer_count_in_one_cell_of_a_product() -> None:
    single = mm.Subset(k=5, epsilon=1.0, w=1)
    both = mm.Product((single, mm.KRR(k=2, epsilon=1.0)))
    reports = both.encode_many([0, 3, 8, 9], np.random.default_rng(1))
    cells = both.count(reports).cells
    assert cells.shape == (5, 2)
    assert cells.sum(axis=1).tolist() == single.count(reports["q0"]).cells.tolist()


def test_evidence_takes_what_count_takes() -> None:
    both = mm.Product((mm.SUE(k=3, epsilon=1.0), mm.KRR(k=2, epsilon=1.0)))
    reports = both.encode_many([0, 3, 5], np.random.default_rng(1))
    for form in (list(both.shape.unstack(reports)), reports.tobytes()):
        np.testing.assert_array_equal(likelihoods(both, reports), likelihoods(both, form))


def test_likelihoods_beyond_memory_are_refused() -> None:
    sketch = mm.HadamardSketch(k=1000, epsilon=1.0)
    assert math.prod(sketch.channel.cells) * 1000 > MOST_ENTRIES
    with pytest.raises(ValueError, match=r"likelihoods than 2\*\*27: estimate from counts"):
        sketch.evidence(sketch.encode_many([1, 2]))
