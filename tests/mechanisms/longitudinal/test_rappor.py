"""RAPPOR: its law by every branch of chance, its two epsilons, and what deployed clients compute.

Statistical tests have a false-alarm rate of `FALSE_ALARM` each, fixed seeds, and each shows a wrong
law that it rejects.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import xxhash

import murmurs as mm
from murmurs import Derived, Device, Given, Rappor
from murmurs.hashing import schemes
from murmurs.hashing.cityhash import hash64, hash64_with_seed, seeded_many
from murmurs.hashing.layout import ListedPlaces, listed
from murmurs.mechanisms import from_document
from murmurs.mechanisms.hashed.cohorts import Over
from murmurs.mechanisms.longitudinal.mapped import Mapped
from murmurs.mechanisms.longitudinal.rappor import SCHEMES
from murmurs.privacy import SCALE, exp_below
from murmurs.randomness.secure import Secure
from murmurs.rappor import clients
from murmurs.wire import BitsByCohort, CohortBits
from tests.goodness import FALSE_ALARM, p_value
from tests.laws import bit_rows
from tests.make_vectors import FOLDER
from tests.walk import exact_law

Law = dict[Any, Fraction]

OWN = Rappor(width=3, hashes=2, cohorts=2, f=0.4, p=0.3, q=0.8, salt=5)
GOOGLE = Rappor(width=3, hashes=2, cohorts=2, f=0.5, p=0.5, q=0.75, scheme="google")
WITHOUT_F = Rappor(width=4, hashes=1, cohorts=2, f=0.0, p=0.25, q=0.75, scheme="java")
LASTING = Rappor(width=3, hashes=1, cohorts=2, f=0.5, p=0.0, q=1.0)  # a report is permanent
SMALL = [OWN, GOOGLE, WITHOUT_F, LASTING]
every = pytest.mark.parametrize("rappor", SMALL, ids=repr)
VECTORS = json.loads((FOLDER / "rappor.json").read_text(encoding="utf-8"))


def vectors(kind: str) -> list[dict[str, Any]]:
    return [vector for vector in VECTORS if vector["kind"] == kind]


def chances(rappor: Rappor) -> tuple[Fraction, Fraction]:
    """The chances of a true and of a false bit, from the numbers themselves."""
    f, p, q = (Fraction(round(x * SCALE), SCALE) for x in (rappor.f, rappor.p, rappor.q))
    return (1 - f / 2) * q + f / 2 * p, (1 - f / 2) * p + f / 2 * q


def own_bits(rappor: Rappor, text: str, cohort: int) -> set[int]:
    """The bits of a string, written out again."""
    if rappor.scheme == "murmurs":
        digest = hashlib.sha256(unicodedata.normalize("NFC", text).encode()).digest()
        keys = [digest[at : at + 8] for at in (0, 8, 16, 24)]
        numbers = range(cohort * rappor.hashes, (cohort + 1) * rappor.hashes)
        hashes = [xxhash.xxh32_intdigest(keys[j % 4], rappor.salt + j) for j in numbers]
        return {hash_ * rappor.width >> 32 for hash_ in hashes}
    digest = hashlib.md5(cohort.to_bytes(4, "big") + text.encode()).digest()
    if rappor.scheme == "google":
        return {digest[i] % rappor.width for i in range(rappor.hashes)}
    words = [256 * digest[2 * i] + digest[2 * i + 1] for i in range(rappor.hashes)]
    return {word % rappor.width for word in words}


def report_law(rappor: Rappor, sets: Iterable[tuple[int, set[int]]]) -> Law:
    """The law of a report whose cohort and bits are drawn uniformly from these."""
    one, zero = chances(rappor)
    law: Law = {}
    pairs = list(sets)
    for cohort, own in pairs:
        for bits, weight in bit_rows(
            [one if b in own else zero for b in range(rappor.width)]
        ).items():
            key = (cohort, bits)
            law[key] = law.get(key, Fraction(0)) + weight / len(pairs)
    return {report: weight for report, weight in law.items() if weight}


def law_of(rappor: Rappor, text: str) -> Law:
    return report_law(rappor, [(c, own_bits(rappor, text, c)) for c in range(rappor.cohorts)])


def encoded(rappor: Rappor, texts: list[str]) -> Any:
    """Encoding with a string by its number, as the walk hands it in."""
    return lambda answer, random: rappor.encode(texts[answer], random)


# The law


@every
@pytest.mark.parametrize("text", ["tea", "Zürich", "mate"])
def test_encode_has_the_law_of_two_rounds(rappor: Rappor, text: str) -> None:
    assert exact_law(encoded(rappor, [text]), 0) == law_of(rappor, text)


@every
def test_the_law_of_other_strings_is_that_of_a_random_hash(rappor: Rappor) -> None:
    over = rappor.over(["tea", "mate"])
    draws = itertools.product(range(rappor.width), repeat=rappor.hashes)
    sets = [(c, set(d)) for c, d in itertools.product(range(rappor.cohorts), draws)]
    assert exact_law(over.encode, 2) == report_law(rappor, sets)
    assert exact_law(over.encode, 1) == law_of(rappor, "mate")


@every
def test_the_channel_is_the_mean_of_the_law(rappor: Rappor) -> None:
    over = rappor.over(["tea", "mate", "Zürich"])
    for answer, row in enumerate(over.channel.matrix()):
        mean = np.zeros(over.channel.cells)
        for report, weight in exact_law(over.encode, answer).items():
            mean += float(weight) * over.count([report]).cells
        np.testing.assert_allclose(row, mean.ravel(), atol=1e-12)


@every
def test_many_and_one_have_the_same_law(rappor: Rappor) -> None:
    rng = np.random.default_rng(3)
    n = 40_000
    many = rappor.shape.unstack(rappor.encode_many(["tea"] * n, rng))
    law = law_of(rappor, "tea")
    assert p_value(many, law) > FALSE_ALARM
    wrong = law_of(rappor, "mate")
    assert p_value(many, wrong) < FALSE_ALARM


def test_a_simulated_population_has_the_mean_of_its_law() -> None:
    rappor = Rappor(width=16, hashes=2, cohorts=8, f=0.5, p=0.5, q=0.75, scheme="google")
    over = rappor.over(["tea", "mate", "coffee"])
    people = np.array([50_000, 30_000, 15_000, 5_000])
    counts = over.simulate(people, np.random.default_rng(1))
    mean = counts.n * over.channel.mean(people / counts.n)
    deviation = np.sqrt(mean * (1 - mean / counts.n))
    wrong = counts.n * over.channel.mean(people[::-1] / counts.n)
    # 136 cells, each within 6.5 standard deviations: a false alarm has probability 1e-8.
    assert (np.abs(counts.cells - mean) < 6.5 * deviation).all()
    assert not (np.abs(counts.cells - wrong) < 6.5 * deviation).all()


# The two epsilons


PAIRS = [(3, 1), (4, 2), (5, 2), (3, 2), (2, 1), (2, 2), (3, 3)]


def sets_of(width: int, hashes: int) -> list[set[int]]:
    """All filters that strings may have."""
    sizes = range(1, hashes + 1)
    return [set(c) for size in sizes for c in itertools.combinations(range(width), size)]


@pytest.mark.parametrize(("width", "hashes"), PAIRS)
@pytest.mark.parametrize("numbers", [(0.4, 0.3, 0.8), (0.0, 0.1, 0.6), (0.5, 0.0, 1.0)])
def test_the_ratio_is_the_largest_of_any_two_filters(
    width: int, hashes: int, numbers: tuple[float, float, float]
) -> None:
    f, p, q = numbers
    rappor = Rappor(width=width, hashes=hashes, cohorts=1, f=f, p=p, q=q)
    laws = [report_law(rappor, [(0, own)]) for own in sets_of(width, hashes)]
    assert rappor.ratio == max(a[x] / b[x] for a in laws for b in laws for x in a)


@pytest.mark.parametrize(("width", "hashes"), PAIRS)
def test_for_ever_is_the_largest_ratio_of_permanent_responses(width: int, hashes: int) -> None:
    rappor = Rappor(width=width, hashes=hashes, cohorts=1, f=0.3, p=0.2, q=0.7)
    half = Fraction(rappor.f_numerator, 2 * SCALE)
    laws = [
        bit_rows([1 - half if b in own else half for b in range(width)])
        for own in sets_of(width, hashes)
    ]
    largest = max(a[x] / b[x] for a in laws for b in laws for x in a)
    assert largest <= exp_below(math.nextafter(rappor.epsilon_permanent_realised, 9e9))
    assert rappor.epsilon_permanent_realised == pytest.approx(math.log(largest), rel=1e-14)


@pytest.mark.parametrize(
    ("f", "p", "q", "once", "epsilon_permanent"),
    [
        (0.5, 0.5, 0.75, 1.07, 4.39),  # google/rappor's default
        (0.5, 0.25, 0.75, 2.04, 4.39),  # Chromium, normal noise
        (0.25, 0.25, 0.75, 3.15, 7.78),  # Chromium, sparse
        (0.45, 0.39, 0.61, 0.97, 4.95),  # google/rappor's regression tests
        (0.0, 0.225, 0.775, 4.95, math.inf),
        (0.0, 0.35, 0.65, 2.48, math.inf),  # Mozilla's study
    ],
)
def test_settings_in_use_have_these_epsilons(
    f: float, p: float, q: float, once: float, epsilon_permanent: float
) -> None:
    rappor = Rappor(width=128, hashes=2, cohorts=64, f=f, p=p, q=q)
    assert (round(rappor.epsilon, 2), round(rappor.epsilon_permanent_realised, 2)) == (
        once,
        epsilon_permanent,
    )
    one, zero = chances(rappor)
    assert rappor.ratio == (one * (1 - zero) / (zero * (1 - one))) ** 2
    assert rappor.epsilon == rappor.epsilon_realised
    if f:
        assert rappor.epsilon_permanent_realised == pytest.approx(
            4 * math.log((1 - f / 2) / (f / 2))
        )


# A device


def test_a_device_stays_in_its_cohort_and_keeps_its_response() -> None:
    """With p = 0 and q = 1 a report is the permanent response."""
    rappor = Rappor(width=32, hashes=2, cohorts=64, f=0.5, p=0.0, q=1.0)
    device = Device(rappor, bytes(range(32)), "home page", memory="value")
    first, again, changed = (device.report(text) for text in ("tea", "tea", "mate"))
    assert first == again
    assert first.cohort == changed.cohort
    assert first != changed
    for other in (
        Device(rappor, bytes(range(1, 33)), "home page", memory="value"),
        Device(rappor, bytes(range(32)), "search engine", memory="value"),
        Device(dataclasses.replace(rappor, salt=1), bytes(range(32)), "home page", memory="value"),
    ):
        assert other.report("tea") != first
    assert device.epsilon_spent(2) == pytest.approx(2 * rappor.epsilon_permanent_realised)
    with pytest.raises(ValueError, match="a string that is not empty"):
        device.report("")


@every
def test_a_permanent_response_has_its_law(rappor: Rappor) -> None:
    f = Fraction(rappor.f_numerator, SCALE)
    lasting: Law = {}
    for cohort in range(rappor.cohorts):
        own = own_bits(rappor, "tea", cohort)
        bits = bit_rows([1 - f / 2 if b in own else f / 2 for b in range(rappor.width)])
        lasting |= {(cohort, x): weight / rappor.cohorts for x, weight in bits.items() if weight}
    found = exact_law(lambda _, random: rappor._permanent("tea", random, random), 0)
    assert found == lasting


@every
def test_a_report_of_a_device_has_the_law_of_the_second_round(rappor: Rappor) -> None:
    permanent = rappor._permanent("tea", Derived(bytes(32), "c"), Derived(bytes(32), "r"))
    held = [permanent.bits[b >> 3] >> (b & 7) & 1 for b in range(rappor.width)]
    p, q = (Fraction(x, SCALE) for x in (rappor.p_numerator, rappor.q_numerator))
    law = bit_rows([q if bit else p for bit in held])
    found = exact_law(lambda _, random: rappor._instant(permanent, random), 0)
    assert found == {(permanent.cohort, x): weight for x, weight in law.items() if weight}


def test_encoding_reads_cohort_then_permanent_bits_then_the_report() -> None:
    always, never, one = bytes(8), b"\xff" * 8, b"\x01"
    rappor = Rappor(width=2, hashes=1, cohorts=2, f=0.5, p=0.25, q=0.75, scheme="google")
    # Cohort 1; permanent bit 0 is replaced by one, 1 is kept; bit 0 is not sent, 1 is.
    random = Given(one + always + one + never + never + always)
    assert rappor.encode("tea", random) == CohortBits(1, b"\x02")
    assert random.left == 0


# Schemes


@pytest.mark.parametrize("vector", vectors("map"), ids=lambda v: f"{v['scheme']}-{v['text'][:9]}")
def test_known_rows_of_maps_are_reproduced(vector: dict[str, Any]) -> None:
    scheme, width, hashes = vector["scheme"], vector["width"], vector["hashes"]
    cohorts, text = vector["cohorts"], vector["text"]
    rows = [
        cohort * width + bit + 1
        for cohort in range(cohorts)
        for bit in schemes.BY_NAME[scheme].bits(text, cohort, width, hashes)
    ]
    assert rows == vector["entries"]
    rappor = Rappor(
        width=width, hashes=hashes, cohorts=cohorts, f=0.5, p=0.25, q=0.75, scheme=scheme
    )
    first = np.repeat(np.arange(cohorts) * width, hashes)
    assert (rappor.bit_numbers([text])[:, 0] + first + 1).tolist() == vector["entries"]
    for cohort in range(min(cohorts, 4)):
        own = {x - 1 - cohort * width for x in rows[cohort * hashes : (cohort + 1) * hashes]}
        assert sorted(rappor.places(text, cohort)) == sorted(own)
        at = rappor.layout_of([text]).look_up(np.array([0]), np.array([cohort])).ravel()
        assert sorted(at[at < width].tolist()) == sorted(own)


def test_every_scheme_has_vectors() -> None:
    assert {vector["scheme"] for vector in vectors("map")} == set(schemes.BY_NAME)


@pytest.mark.parametrize("vector", vectors("cityhash"), ids=lambda v: str(len(v["data"]) // 2))
def test_known_hashes_are_reproduced(vector: dict[str, Any]) -> None:
    data, seed = bytes.fromhex(vector["data"]), vector["seed"]
    assert f"{hash64(data):016x}" == vector["hash"]
    assert f"{hash64_with_seed(data, seed):016x}" == vector["with_seed"]
    many = seeded_many(hash64(data), np.array([0, seed], np.uint64))
    assert many.tolist() == [hash64_with_seed(data, 0), hash64_with_seed(data, seed)]


@pytest.mark.parametrize(
    ("scheme", "width", "hashes", "cohorts", "words"),
    [
        ("google", 257, 2, 4, "'google' has width up to 256, not 257"),
        ("google-vector", 512, 9, 4, "at most 8 hashes for width 512, not 9"),
        ("google-vector", 100, 2, 4, "a width of whole bytes, not 100 bits"),
        ("java", 5000, 2, 4, "width up to 4096, not 5000"),
        ("java", 64, 9, 4, "hashes up to 8, not 9"),
        ("java", 64, 2, 256, "cohorts up to 128, not 256"),
        ("java", 64, 2, 100, "a number of cohorts that divides 128, not 100"),
        ("chromium", 20, 2, 4, "a width of whole bytes, not 20 bits"),
        ("chromium", 32, 2, 3, "a number of cohorts that divides 128, not 3"),
        ("mozilla", 128, 2, 60_000, "cohorts up to 55296, not 60000"),
        ("mozilla-sha256", 128, 11, 4, "hashes up to 10, not 11"),
        ("sha1", 16, 2, 4, "there is no scheme 'sha1'; there are murmurs, google"),
    ],
)
def test_what_a_scheme_cannot_have_is_refused(
    scheme: str, width: int, hashes: int, cohorts: int, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Rappor(width=width, hashes=hashes, cohorts=cohorts, f=0.5, p=0.25, q=0.75, scheme=scheme)


def test_other_clients_strings_are_hashed_as_they_are() -> None:
    composed, typed = "Zürich", "Zu\u0308rich"
    own = Rappor(width=64, hashes=2, cohorts=2, f=0.5, p=0.25, q=0.75)
    assert own.check(typed) == composed
    assert own.places(own.check(typed), 0) == own.places(composed, 0)
    for scheme in schemes.BY_NAME:
        foreign = Rappor(width=64, hashes=2, cohorts=2, f=0.5, p=0.25, q=0.75, scheme=scheme)
        assert foreign.check(typed) == typed
        assert foreign.bit_numbers([typed]).tolist() != foreign.bit_numbers([composed]).tolist()
        over = foreign.over([composed, typed])
        assert over.labels == (composed, typed, "(other)")


def test_bits_of_the_own_scheme_are_those_of_its_layout() -> None:
    rappor = Rappor(width=5, hashes=3, cohorts=4, f=0.5, p=0.25, q=0.75, salt=2**32 - 3)
    texts = ["tea", "mate", "coffee"]
    same = listed(rappor.bit_numbers(texts), 4, 5, 3)
    [(_, places)] = rappor.layout_of(texts).blocks()
    assert np.array_equal(same.places, places)


# Candidates


def test_strings_are_found_again_under_every_scheme() -> None:
    rng = np.random.default_rng(2)
    people = ["tea"] * 60_000 + ["Zürich"] * 30_000 + ["a stranger"] * 10_000
    for scheme in SCHEMES[:-1]:
        rappor = Rappor(width=32, hashes=2, cohorts=16, f=0.25, p=0.25, q=0.75, scheme=scheme)
        counts = rappor.count(rappor.encode_many(people, rng)).over(["tea", "mate", "Zürich"])
        found = mm.estimators.simplex(counts).shares
        # The standard error of a share is below 0.01, so this is six of them.
        np.testing.assert_allclose(found, [0.6, 0.0, 0.3, 0.1], atol=0.06)


def test_a_map_takes_the_place_of_a_hash() -> None:
    rappor = Rappor(width=8, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75, scheme="google")
    blind = Rappor(width=8, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75, scheme="map")
    texts = ("apple", "banana")
    over = Mapped(blind, texts, map=listed(rappor.bit_numbers(texts), 4, 8, 2))
    np.testing.assert_array_equal(over.channel.matrix(), rappor.over(texts).channel.matrix())
    assert over.epsilon == rappor.epsilon
    assert (over.k, over.is_open, over.ratio) == (3, True, rappor.ratio)
    assert repr(over) == f"{blind!r}.over(2 candidates)"
    assert over.encode(2, Secure()).cohort in range(4)
    with pytest.raises(
        ValueError, match=r"^strings cannot be hashed for .* name the clients' scheme"
    ):
        blind.encode("apple", Secure())
    with pytest.raises(ValueError, match="cannot be hashed"):
        blind.over(["apple"]).channel  # noqa: B018
    assert blind.count([]).n == 0


def test_a_map_of_another_size_is_refused() -> None:
    rappor = Rappor(width=8, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75, scheme="map")
    map_ = ListedPlaces(np.zeros((6, 1), np.uint32), rows=3, width=8, hashes=2)
    with pytest.raises(
        ValueError, match="a map of 1 strings, 3 cohorts, 8 bits and 2 hashes does not"
    ):
        Mapped(rappor, ("apple",), map=map_)


@pytest.mark.parametrize(
    ("candidates", "error", "words"),
    [
        (["tea", "", "mate"], ValueError, "line 2: it is empty"),
        (["tea", "mate", "tea"], ValueError, "line 3: 'tea' is the same as line 1"),
        (["tea", 7], ValueError, "line 2: 7 is not a string"),
        (["\ud800"], ValueError, "line 1: .* surrogate"),
    ],
)
def test_candidates_that_are_wrong_are_told(
    candidates: list[Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        GOOGLE.over(candidates)


@pytest.mark.parametrize("text", ["", 5, "\udfff"])
def test_what_is_no_string_is_refused(text: Any) -> None:
    for rappor in (OWN, GOOGLE):
        with pytest.raises((ValueError, TypeError)):
            rappor.encode(text, Secure())


# Parameters


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"width": 1}, "width must be from 2"),
        ({"hashes": 0}, "hashes must be from 1 to 16, not 0"),
        ({"hashes": 17}, "hashes must be from 1 to 16, not 17"),
        ({"cohorts": 0}, "cohorts must be from 1"),
        ({"f": 1.5}, "f must be from 0 to 1, not 1.5"),
        ({"f": math.nan}, "f must be from 0 to 1, not nan"),
        ({"f": 1.0}, "reveals nothing: f must be below 1 and p below q"),
        ({"p": 0.75}, "reveals nothing"),
        ({"p": 0.9}, "reveals nothing"),
        ({"f": 0.0, "p": 0.0}, "is not private"),
        ({"f": 0.0, "q": 1.0}, "is not private"),
        ({"f_numerator": 5}, "f_numerator must be 4503599627370496, which is f = 0.5 over"),
        ({"scheme": "google", "salt": 3}, "a salt is for the scheme 'murmurs': 'google' has none"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(changed: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {"width": 16, "hashes": 2, "cohorts": 4, "f": 0.5, "p": 0.5, "q": 0.75}
    with pytest.raises(ValueError, match=words):
        Rappor(**{**good, **changed})


@every
def test_documents_are_read_back(rappor: Rappor) -> None:
    document = json.loads(json.dumps(rappor.to_document()))
    assert from_document(document) == rappor
    over = rappor.over(["tea", "mate"])
    assert from_document(json.loads(json.dumps(over.to_document()))) == over
    assert isinstance(over, Over)


@pytest.mark.parametrize("scheme", ["google", "map"])
@pytest.mark.parametrize("complete", [False, True])
def test_a_map_stands_in_the_document_and_is_read_back(scheme: str, complete: bool) -> None:
    google = Rappor(width=8, hashes=3, cohorts=4, f=0.5, p=0.25, q=0.75, scheme="google")
    texts = ("apple", "banana", "Zu\u0308rich")
    bits = listed(google.bit_numbers(texts), 4, 8, 3)
    over = Mapped(dataclasses.replace(google, scheme=scheme), texts, complete, map=bits)
    document = json.loads(json.dumps(over.to_document()))
    assert (document["scheme"], document["candidates"]) == (scheme, list(texts))
    again = from_document(document)
    assert isinstance(again, Mapped)
    assert (again, hash(again)) == (over, hash(over))
    assert json.dumps(again.to_document()) == json.dumps(over.to_document())
    wanted = google.over(texts, complete=complete)
    for row in range(4):
        assert np.array_equal(again.layout.places_in(row), wanted.layout.places_in(row))
    # In the map itself: bits of each string, cohort after cohort, and 8 for a bit that is there.
    for text, own in zip(texts, document["map"], strict=True):
        for cohort in range(4):
            there = schemes.BY_NAME["google"].bits(text, cohort, 8, 3)
            found = own[3 * cohort : 3 * cohort + 3]
            assert [b for b in found if b < 8] == list(dict.fromkeys(there))
    document["map"][0][0] ^= 1
    assert from_document(document) != over


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["map"].pop(), r"map must be 2 lists of 8 bits, not \(1, 8\)"),
        (lambda d: d["map"][1].pop(), "map must be a table of whole numbers: its rows differ"),
        (lambda d: d["map"][1].__setitem__(3, 9), "has the bit 9 at place 3 of candidate 1: bits"),
        (lambda d: d["map"][1].__setitem__(3, -1), "has the bit -1 at place 3 of candidate 1"),
        (lambda d: d["map"][1].__setitem__(3, True), "map must be whole numbers, number 1, 3 is"),
        (lambda d: d.update(map="0" * 64), "map must be a list or an array, not str"),
        (lambda d: d.update(map=None), "map must be a list or an array, not NoneType"),
        (lambda d: d.pop("candidates"), "candidates must be a list of strings, not None"),
        (lambda d: d.update(candidates="ab"), "candidates must be a list of strings, not 'ab'"),
        (lambda d: d.update(complete=1), "complete must be true or false, not 1"),
        (lambda d: d.update(name="ORappor"), "ORappor has no parameter 'f'"),
    ],
)
def test_a_map_that_is_none_is_refused(change: Any, words: str) -> None:
    rappor = Rappor(width=8, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75, scheme="google")
    texts = ("apple", "banana")
    document = Mapped(rappor, texts, map=listed(rappor.bit_numbers(texts), 4, 8, 2)).to_document()
    change(document)
    with pytest.raises(ValueError, match=words):
        from_document(document)


def test_a_map_is_for_rappor_alone() -> None:
    document = {"name": "ORR", "epsilon": 1.0, "width": 8, "cohorts": 4}
    with pytest.raises(ValueError, match="a map is for Rappor, not for ORR"):
        from_document({**document, "candidates": ["tea"], "map": [[0, 0, 0, 0]]})
    with pytest.raises(ValueError, match="KRR has no parameter 'candidates': it has a fixed list"):
        from_document({"name": "KRR", "k": 2, "epsilon": 1.0, "candidates": ["tea", "mate"]})


# Deployed clients


@pytest.mark.parametrize("vector", vectors("permanent"), ids=lambda v: str(v["bloom"]))
def test_known_permanent_responses_are_reproduced(vector: dict[str, Any]) -> None:
    secret, bloom = bytes.fromhex(vector["secret"]), vector["bloom"]
    found = clients.python_permanent(secret, bloom, vector["width"], vector["f"])
    assert found == vector["permanent"]


def test_the_python_clients_own_test_is_reproduced() -> None:
    bloom = sum(1 << b for b in set(schemes.BY_NAME["google"].bits("abc", 0, 16, 2)))
    permanent = clients.python_permanent(b"secret", bloom, 16, 0.5)
    chance = itertools.cycle([0.0, 0.6, 0.0])
    idle = sum((next(chance) < 0.5) << i for i in range(16))
    busy = sum((next(chance) < 0.75) << i for i in range(16))
    assert idle & ~permanent | busy & permanent == 64493


@pytest.mark.parametrize("vector", vectors("f"), ids=lambda v: f"{v['client']}-{v['f']}")
def test_clients_round_f_each_in_its_way(vector: dict[str, Any]) -> None:
    assert clients.effective_f(vector["f"], vector["client"]) == vector["steps"] / 128


def test_the_rounded_f_is_what_the_permanent_response_has() -> None:
    """Over all digests' bytes, so many of 256 replace a bit, and half of those by a one."""
    noisy = [byte for byte in range(256) if byte >> 1 < 0.3 * 128]
    assert len(noisy) / 256 == clients.effective_f(0.3, "python")
    assert sum(byte & 1 for byte in noisy) * 2 == len(noisy)


def test_an_unknown_client_is_refused() -> None:
    with pytest.raises(ValueError, match="no client 'go'; choose one of python, cpp, java"):
        clients.effective_f(0.5, "go")


def test_reports_of_all_clients_become_the_same_report() -> None:
    shape = BitsByCohort(cohorts=4, count=16)
    report = CohortBits(3, bytes([0b0000_0001, 0b1000_0010]))  # bits 0, 9 and 15
    text = "1000001000000001"
    assert clients.from_text(3, text, shape) == report
    assert clients.to_text(report, shape) == text
    assert clients.from_bytes(3, bytes([1, 130]), shape) == report
    assert clients.from_vector(3, bytes([130, 1]), shape) == report
    assert clients.from_mozilla({"cohort": 3, "report": "0182"}, shape) == report


@pytest.mark.parametrize("text", ["", "01", "0" * 15 + "2", "0" * 17, "٠" * 16])
def test_text_that_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a report of 16 bits, each 0 or 1"):
        clients.from_text(0, text, BitsByCohort(cohorts=4, count=16))


def test_bytes_that_are_no_report_are_refused() -> None:
    shape = BitsByCohort(cohorts=4, count=12)
    with pytest.raises(ValueError, match="cohort must be from 0 to 3, not 4"):
        clients.from_bytes(4, bytes(2), shape)
    with pytest.raises(ValueError, match="3 bytes are not reports"):
        clients.from_bytes(0, bytes(3), shape)
    with pytest.raises(ValueError, match="a bit after the first 12 is set"):
        clients.from_bytes(0, b"\x00\x10", shape)
    with pytest.raises(ValueError, match="'0g' is not a report in hexadecimal digits"):
        clients.from_mozilla({"cohort": 0, "report": "0g"}, shape)
    with pytest.raises(ValueError, match="report is missing"):
        clients.from_mozilla({"cohort": 0}, shape)
    with pytest.raises(ValueError, match="width must be from 1 to 32"):
        clients.python_permanent(b"secret", 0, 33, 0.5)
