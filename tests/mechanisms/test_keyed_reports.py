"""With `Keyed`, every mechanism gives a row the same report in any order and part of a table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import murmurs as mm
from murmurs import Keyed, kernels
from murmurs.kernels import compiled, reference
from murmurs.mechanisms import BY_NAME, OPEN, Among, NGrams
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.products.open import OpenProduct
from murmurs.mechanisms.strings.dictionary import planned_dictionary
from tests import laws
from tests.mechanisms.test_custom import Coins

SECRET = bytes(range(32))
ROWS = 40_000
"""More than a chunk, so that one is crossed."""

STRINGS = [f"word {i}" for i in range(300)]

ORR = mm.ORR(epsilon=2.0, width=8, cohorts=64)
BLOOM = mm.Rappor(width=12, hashes=2, cohorts=4, f=0.25, p=0.25, q=0.75)

MECHANISMS: list[Any] = [
    *laws.SMALL,
    # Sizes that the small ones do not have
    mm.KRR(k=100_000, epsilon=9.0),
    mm.OUE(k=12, epsilon=1.0),
    mm.OUE(k=40, epsilon=1.0),
    mm.OUE(k=128, epsilon=1.0),
    mm.OUE(k=192, epsilon=1.0),
    mm.OUE(k=300, epsilon=1.0),
    mm.LOSUE(k=70, epsilon=1.0, epsilon_permanent=2.0),
    mm.BasicRappor(k=64, f=0.5, p=0.25, q=0.75),
    mm.Subset(k=100, epsilon=1.0),
    mm.Subset(k=400, epsilon=3.0),
    mm.Hadamard(k=1000, epsilon=1.0),
    mm.ProjectiveGeometry(k=1000, epsilon=1.0),
    mm.LocalHashing(k=1000, epsilon=1.0),
    mm.LOLOHA(k=1000, epsilon=1.0, epsilon_permanent=2.0),
    mm.HadamardSketch(k=1000, epsilon=1.0),
    mm.CountMeanSketch(k=1000, epsilon=1.0, rows=16, width=64),
    mm.dice("1/3", ("never", "rarely", "often")),
    Among(mm.OUE(k=50, epsilon=1.0), (3, 5)),
    Coins(k=3, epsilon=2.2),
    # Draws of some rows, and draws of all rows after them
    mm.Product((mm.dice("1/3", ("a", "b", "c")), mm.KRR(k=2, epsilon=1.0))),
    mm.Product((mm.ProjectiveGeometry(k=20, epsilon=1.0), mm.OUE(k=20, epsilon=1.0))),
    mm.Product((ORR.over(STRINGS[:9]), Coins(k=3, epsilon=2.2), mm.Subset(k=5, epsilon=1.0))),
    mm.SquareWave(k=300, epsilon=1.0),
    mm.SquareWave(k=24, epsilon=1.0, circular=True),
    # Strings
    ORR,
    mm.ORappor(epsilon=2.0, width=16, cohorts=8, hashes=2),
    BLOOM,
    planned_dictionary(4.0, longest=6),
    planned_dictionary(4.0, longest=6, method="ngrams"),
    OpenProduct((ORR, mm.KRR(k=4, epsilon=1.0))),
    OpenProduct((mm.KRR(k=4, epsilon=1.0), ORR, mm.PermutedRR(k=9, epsilon=1.0, cohorts=64))),
    OpenProduct((ORR, mm.ORR(epsilon=1.0, width=4, cohorts=64))),
]
every = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


def test_every_mechanism_is_here() -> None:
    kinds = {type(mechanism) for mechanism in MECHANISMS}
    assert {*BY_NAME.values(), *OPEN.values(), Coins, OpenProduct, mm.Design, Among} <= kinds
    assert any(isinstance(mechanism, NGrams) for mechanism in MECHANISMS)


Column = list[NDArray[Any]]


def answers_of(mechanism: Any, n: int, rng: np.random.Generator) -> Column:
    """Answers of n people, one column for each question."""
    if isinstance(mechanism, OpenProduct):
        return [answers_of(part, n, rng)[0] for part in mechanism.parts]
    if isinstance(mechanism, OpenMechanism):
        return [np.array(STRINGS)[rng.integers(0, len(STRINGS), n)]]
    return [rng.integers(0, mechanism.k, n)]


def encoded(mechanism: Any, answers: Column, keys: Any) -> bytes:
    keyed = Keyed(SECRET, ("survey", "question"), keys)
    columns = [own.tolist() if own.dtype.kind == "U" else own for own in answers]
    given = columns if isinstance(mechanism, OpenProduct) else columns[0]
    reports = mechanism.encode_many(given, keyed)
    assert len(reports) == len(keys)
    return bytes(np.ascontiguousarray(reports).tobytes())


def by_row(made: bytes, n: int) -> list[bytes]:
    size = len(made) // n
    return [made[i * size : (i + 1) * size] for i in range(n)]


@every
def test_rows_have_the_same_reports_alone_in_any_order_and_in_any_parts(mechanism: Any) -> None:
    n, rng = 200, np.random.default_rng(1)
    answers, keys = answers_of(mechanism, n, rng), rng.integers(-(2**63), 2**63 - 1, n)
    together = encoded(mechanism, answers, keys)
    assert together == encoded(mechanism, answers, keys)
    alone = [encoded(mechanism, [own[[i]] for own in answers], keys[[i]]) for i in range(n)]
    assert b"".join(alone) == together
    for _ in range(3):
        order = rng.permutation(n)
        ends = [0, *sorted(rng.integers(0, n, 6).tolist()), n]
        parts = [order[a:b] for a, b in pairwise(ends) if a < b]
        made = [encoded(mechanism, [own[rows] for own in answers], keys[rows]) for rows in parts]
        found = by_row(b"".join(made), n)
        assert [found[i] for i in np.argsort(order)] == by_row(together, n)


LONG = [
    mechanism
    for mechanism in MECHANISMS
    if not isinstance(mechanism, Coins) and "Coins" not in repr(mechanism)
]


@pytest.mark.parametrize("mechanism", LONG, ids=repr)
def test_rows_have_the_same_reports_across_chunks(mechanism: Any) -> None:
    rng = np.random.default_rng(2)
    answers, keys = answers_of(mechanism, ROWS, rng), rng.integers(0, 2**62, ROWS)
    together = by_row(encoded(mechanism, answers, keys), ROWS)
    order = rng.permutation(ROWS)
    shuffled = by_row(encoded(mechanism, [own[order] for own in answers], keys[order]), ROWS)
    assert [together[i] for i in order.tolist()] == shuffled
    middle = slice(32_000, 33_500)  # the end of a chunk, and the beginning of the next
    few = encoded(mechanism, [own[middle] for own in answers], keys[middle])
    assert by_row(few, 1500) == together[middle]


@pytest.mark.parametrize("form", ["text", "bytes", "uuid"])
@pytest.mark.parametrize("mechanism", [mm.KRR(k=9, epsilon=1.0), ORR, MECHANISMS[-2]], ids=repr)
def test_keys_of_all_types_do_so(mechanism: Any, form: str) -> None:
    n, rng = 300, np.random.default_rng(3)
    answers = answers_of(mechanism, n, rng)
    raw = rng.integers(0, 256, (n, 16), dtype=np.uint8)
    texts = [row.tobytes().hex()[: 1 + i % 32] + str(i) for i, row in enumerate(raw)]

    def keys(rows: NDArray[Any]) -> Any:
        if form == "uuid":
            return raw[rows]
        chosen = [texts[i] for i in rows.tolist()]
        return chosen if form == "text" else [text.encode() for text in chosen]

    together = by_row(encoded(mechanism, answers, keys(np.arange(n))), n)
    order = rng.permutation(n)
    made = [
        encoded(mechanism, [own[rows] for own in answers], keys(rows))
        for rows in np.array_split(order, 7)
    ]
    assert [together[i] for i in order.tolist()] == by_row(b"".join(made), n)


@every
def test_another_answer_key_secret_or_context_makes_other_reports(mechanism: Any) -> None:
    """Of 2,000 rows, some report differs: all equal has a probability below 1e-100."""
    n, rng = 2000, np.random.default_rng(4)
    answers, keys = answers_of(mechanism, n, rng), np.arange(n)
    given: Any = [own.tolist() if own.dtype.kind == "U" else own for own in answers]
    if not isinstance(mechanism, OpenProduct):
        [given] = given
    made = {
        np.ascontiguousarray(mechanism.encode_many(given, keyed)).tobytes()
        for keyed in (
            Keyed(SECRET, ("q",), keys),
            Keyed(SECRET[::-1], ("q",), keys),
            Keyed(SECRET, ("p",), keys),
            Keyed(SECRET, ("q",), keys + n),
            Keyed(SECRET, ("q",), [str(key) for key in keys]),
        )
    }
    assert len(made) == 5


@every
def test_compiled_and_reference_kernels_give_the_same_reports(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    answers, keys = answers_of(mechanism, 500, rng), np.arange(500)
    made = set()
    for form in (compiled, reference):
        monkeypatch.setattr(kernels, "load", lambda form=form: form)
        made.add(encoded(mechanism, answers, keys))
    assert len(made) == 1


@dataclass(frozen=True)
class Tossed(Coins):
    """Coins with a field that no document can have."""

    thrower: object = None


def test_a_mechanism_of_ones_own_may_have_any_fields() -> None:
    """Its report follows from the row alone, though not from an object whose address changes."""
    made = [
        encoded(Tossed(k=3, epsilon=2.2, thrower=object()), [np.arange(90) % 3], np.arange(90))
        for _ in range(2)
    ]
    assert made[0] == made[1]


def test_an_answer_that_is_spelled_in_another_normal_form_is_the_same() -> None:
    keyed = Keyed(SECRET, ("q",), list(range(500)))
    one, other = (ORR.encode_many([text] * 500, keyed) for text in ("Zürich", "Zu\u0308rich"))
    assert np.array_equal(one, other)


def test_coded_answers_are_those_that_the_codes_stand_for() -> None:
    keyed, codes = Keyed(SECRET, ("q",), list(range(500))), np.arange(500) % 3
    krr: Mechanism[int] = mm.KRR(k=9, epsilon=1.0)
    table = np.array([7, 2, 8])
    assert np.array_equal(
        krr.encode_coded(codes, table, keyed), krr.encode_many(table[codes], keyed)
    )
    texts = ["x", "tea", "mate"]
    assert np.array_equal(
        ORR.encode_coded(codes, texts, keyed),
        ORR.encode_many([texts[code] for code in codes], keyed),
    )
