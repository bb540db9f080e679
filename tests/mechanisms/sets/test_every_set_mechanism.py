"""What every mechanism promises whose answers are sets, over all sets of small cases.

Statistical tests have a false-alarm rate of `FALSE_ALARM` each, fixed seeds, and each shows a wrong
law that it rejects.
"""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs import kernels
from murmurs.inference.fitting import fitted
from murmurs.kernels import compiled, reference
from murmurs.mechanisms import SETS, SetMechanism, counts_from_document, from_document
from murmurs.privacy import exp_below
from tests import laws
from tests.goodness import FALSE_ALARM, p_value
from tests.walk import exact_law

Sets = SetMechanism[Any]
Ticks = tuple[int, ...]
every = pytest.mark.parametrize("mechanism", laws.SMALL_SETS, ids=repr)
PEOPLE = 20_000


def sets_of(mechanism: Sets) -> list[Ticks]:
    sizes = range(mechanism.limit + 1)
    return [x for size in sizes for x in itertools.combinations(range(mechanism.k), size)]


@cache
def law_of(mechanism: Sets, ticks: Ticks) -> laws.Law:
    return laws.OF_SETS[type(mechanism)](mechanism, ticks)


@cache
def cells_of(mechanism: Sets, report: Any) -> Ticks:
    return tuple(mechanism.count([report]).cells.tolist())


def test_every_kind_is_in_the_battery() -> None:
    assert {type(m) for m in laws.SMALL_SETS} == set(SETS.values()) == set(laws.OF_SETS)


@every
def test_encode_has_its_law_over_whole_reports_for_all_sets(mechanism: Sets) -> None:
    for ticks in sets_of(mechanism):
        walked = exact_law(mechanism.encode, ticks)  # type: ignore[arg-type]
        assert walked == law_of(mechanism, ticks)
        assert len({len(mechanism.shape.pack(report)) for report in walked}) == 1


@every
def test_the_largest_ratio_over_all_pairs_of_sets_is_exactly_as_told(mechanism: Sets) -> None:
    rows = [law_of(mechanism, ticks) for ticks in sets_of(mechanism)]
    largest = max(max(row[z] for row in rows) / min(row[z] for row in rows) for z in rows[0])
    assert largest == mechanism.ratio <= exp_below(mechanism.epsilon)
    assert mechanism.epsilon - 1e-9 < mechanism.epsilon_realised <= mechanism.epsilon


@every
def test_the_channel_is_the_mean_of_the_cells_exactly(mechanism: Sets) -> None:
    for ticks in sets_of(mechanism):
        if len(ticks) > getattr(mechanism, "most", mechanism.k):
            continue  # some of these are left out at random
        mean = [Fraction(0)] * mechanism.channel.cells[0]
        for report, weight in law_of(mechanism, ticks).items():
            mean = [m + weight * c for m, c in zip(mean, cells_of(mechanism, report), strict=True)]
        assert mechanism.channel.law_of_set(ticks) == mean  # type: ignore[attr-defined]


@every
def test_support_does_not_depend_on_how_many_labels_are_ticked(mechanism: Sets) -> None:
    channel = mechanism.channel
    for ticks in sets_of(mechanism):
        if len(ticks) > getattr(mechanism, "most", mechanism.k):
            continue
        expected = [channel.law_of_set(ticks)]  # type: ignore[attr-defined]
        cells = np.array([[float(x) for x in row] for row in expected])[0]
        found = channel.invert(10**9 * cells, 10**9)
        np.testing.assert_allclose(found, [j in ticks for j in range(mechanism.k)], atol=1e-9)


@pytest.mark.parametrize("random", ["generator", "secure", "keyed"])
@every
def test_encode_many_has_the_law_of_encode(
    mechanism: Sets, random: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("murmurs.mechanisms.mechanism.CHUNK", 2**13)  # three chunks
    ticks = sets_of(mechanism)[-1]
    sources: dict[str, Any] = {
        "generator": np.random.default_rng(11),
        "secure": None,
        "keyed": mm.Keyed(bytes(range(32)), ("law",), np.arange(PEOPLE)),
    }
    codes = np.zeros(PEOPLE, np.int64)
    reports = mechanism.encode_coded(codes, [ticks], sources[random])
    draws = mechanism.shape.unstack(reports)
    law, without = law_of(mechanism, ticks), law_of(mechanism, ())
    assert p_value(draws, law) > FALSE_ALARM
    assert p_value(draws, without) < FALSE_ALARM  # the ticks count
    assert p_value(draws[: 2**14] + draws[:1] * (PEOPLE - 2**14), law) < FALSE_ALARM


@every
def test_people_with_different_sets_are_encoded_together(mechanism: Sets) -> None:
    sets = sets_of(mechanism)
    codes = np.random.default_rng(1).permutation(np.repeat(np.arange(len(sets)), 4000))
    reports = mechanism.encode_coded(codes, sets, np.random.default_rng(12))
    for number, ticks in enumerate(sets[:3]):
        draws = mechanism.shape.unstack(reports[codes == number])
        assert p_value(draws, law_of(mechanism, ticks)) > FALSE_ALARM
        other = law_of(mechanism, sets[number - 1])
        assert other == law_of(mechanism, ticks) or p_value(draws, other) < FALSE_ALARM


@every
def test_simulate_has_the_exact_joint_law_of_counts(mechanism: Sets) -> None:
    sets = sets_of(mechanism)
    people = [sets[0], sets[-1], sets[-1]]

    def law_of_counts(people: list[Ticks]) -> dict[Ticks, float]:
        total: dict[Ticks, float] = {(): 1.0}
        for ticks in people:
            added: dict[Ticks, float] = {}
            for report, weight in law_of(mechanism, ticks).items():
                few = cells_of(mechanism, report)[:9]
                for cells, chance in total.items():
                    pairs = itertools.zip_longest(cells, few, fillvalue=0)
                    key = tuple(a + b for a, b in pairs)
                    added[key] = added.get(key, 0.0) + chance * float(weight)
            total = added
        return total

    rng = np.random.default_rng(23)
    numbers = np.array([1, 2])
    drawn = (mechanism._simulate([sets[0], sets[-1]], numbers, rng) for _ in range(700))
    draws = [tuple(cells[:9].tolist()) for cells in drawn]
    assert p_value(draws, law_of_counts(people)) > FALSE_ALARM
    assert p_value(draws, law_of_counts([sets[0]] * 3)) < FALSE_ALARM


@every
def test_compiled_and_reference_kernels_give_the_same_reports_and_counts(
    mechanism: Sets, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = sets_of(mechanism)
    codes = np.random.default_rng(5).integers(0, len(sets), 2000)
    made = []
    for form in (compiled, reference):
        monkeypatch.setattr(kernels, "load", lambda form=form: form)
        reports = mechanism.encode_coded(codes, sets, np.random.default_rng(6))
        made.append((reports, mechanism.count(reports)))
    [(fast, counts), (plain, plain_counts)] = made
    assert np.array_equal(fast, plain)
    assert counts == plain_counts


@every
def test_rows_with_keys_have_the_same_reports_in_any_order(mechanism: Sets) -> None:
    sets, secret = sets_of(mechanism), bytes(range(32))
    codes = np.random.default_rng(7).integers(0, len(sets), 300)
    order = np.random.default_rng(8).permutation(300)
    keyed = mm.Keyed(secret, ("order",), np.arange(300))
    other = mm.Keyed(secret, ("order",), order)
    first = mechanism.encode_coded(codes, sets, keyed)
    numbers = {ticks: i for i, ticks in enumerate(reversed(sets))}
    again = np.array([numbers[sets[code]] for code in codes])[order]
    assert np.array_equal(first[order], mechanism.encode_coded(again, list(reversed(sets)), other))


@every
def test_counts_add_and_are_read_back_and_impossible_ones_refused(mechanism: Sets) -> None:
    sets = sets_of(mechanism)
    codes = np.random.default_rng(5).integers(0, len(sets), 500)
    reports = mechanism.encode_coded(codes, sets, np.random.default_rng(6))
    whole = mechanism.count(reports)
    assert mechanism.count(reports[:200]) + mechanism.count(reports[200:]) == whole
    assert counts_from_document(json.loads(json.dumps(whole.to_document()))) == whole
    assert from_document(json.loads(json.dumps(mechanism.to_document()))) == mechanism
    wrong = whole.cells.copy()
    wrong[-1] += 1 if wrong[-1] < whole.n else -1
    with pytest.raises(ValueError, match="add up to"):
        mm.Counts(mechanism, whole.n, wrong)


@every
def test_what_is_no_set_is_refused_with_its_position_and_not_quoted(mechanism: Sets) -> None:
    for bad in ((0, 0), (71,), ("secret",), (-1,), (True,), 71, "secret", {71: 1}, None):
        with pytest.raises((TypeError, ValueError)) as error:
            mechanism.encode_many([(), bad])  # type: ignore[list-item]
        assert "answer number 1" in str(error.value)
        assert not any(quoted in str(error.value) for quoted in ("71", "secret"))


@every
def test_the_noise_is_the_variance_of_the_shares_exactly(mechanism: Sets) -> None:
    """Among the respondents, for counts of support; `OneLabel` is tested by itself."""
    channel, n = mechanism.channel, 10
    if isinstance(mechanism, mm.OneLabel) or getattr(mechanism, "more", "") == "sample":
        return
    for ticks in sets_of(mechanism):
        held = np.array([j in ticks for j in range(mechanism.k)], float)
        constant, slope = channel.noise(held, n)
        chances = np.where(held, float(channel.hit), float(channel.miss))
        wanted = chances * (1 - chances) / (n * float(channel.hit - channel.miss) ** 2)
        np.testing.assert_allclose(constant + slope * held, wanted, rtol=1e-12)
    counts = mechanism.simulate({(): n}, np.random.default_rng(1))
    assert len(fitted(counts).unbiased) == mechanism.k
