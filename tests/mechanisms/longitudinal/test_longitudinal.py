"""Repeated reports: what a secret derives, what a device keeps, what many reports tell together.

Statistical tests have a false-alarm rate of `FALSE_ALARM` each, fixed seeds, and each shows a wrong
law that it rejects.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import math
import struct
import unicodedata
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import averaging
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs import LOLOHA, LOSUE, OUE, BasicRappor, Derived, Device, Given, LocalHashing
from murmurs.numerics.xxh32 import bucket
from murmurs.privacy import SCALE, exp_below
from murmurs.randomness.verbs import Randomness
from tests.goodness import FALSE_ALARM, p_value
from tests.laws import bit_rows, packed
from tests.make_vectors import FOLDER, Vector, in_json, text_places
from tests.walk import exact_law

SECRET = bytes(range(32))
AnyLongitudinal = BasicRappor | LOSUE | LOLOHA
RAPPOR = BasicRappor(k=3, f=0.4, p=0.3, q=0.8)
LASTING = BasicRappor(k=3, f=0.5, p=0.0, q=1.0)  # a report of it is the permanent response itself
SMALL: list[AnyLongitudinal] = [
    RAPPOR,
    LASTING,
    LOSUE(k=2, epsilon=1.0, epsilon_permanent=2.0),
    LOLOHA(k=3, epsilon=1.0, epsilon_permanent=2.0, g=3),
    LOLOHA(k=3, epsilon=2.0, epsilon_permanent=3.0, g=2),
]
every = pytest.mark.parametrize("mechanism", SMALL, ids=repr)


def read(name: str) -> list[Vector]:
    vectors: list[Vector] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return vectors


# Derived bytes


def part_of(vector: dict[str, str]) -> str | bytes | int:
    [(kind, text)] = vector.items()
    return {"str": str, "bytes": bytes.fromhex, "int": int}[kind](text)  # type: ignore[no-any-return,operator]


@pytest.mark.parametrize("vector", read("derived.json"), ids=lambda v: str(v["context"]))
def test_derived_bytes_are_the_mac_of_the_context_and_a_counter(vector: Vector) -> None:
    secret, message = bytes.fromhex(vector["secret"]), b"murmurs derived 1"
    for part in vector["context"]:
        [(kind, text)] = part.items()
        data = bytes.fromhex(text) if kind == "bytes" else text.encode()
        message += kind[:1].encode() + struct.pack("<Q", len(data)) + data
    blocks = [hmac.digest(secret, message + struct.pack("<Q", i), "sha256") for i in range(3)]
    stream = b"".join(blocks)[:70]
    assert stream.hex() == vector["stream"]
    assert Derived(secret, *map(part_of, vector["context"])).take(70) == stream


def test_one_block_worked_out_from_the_hash_alone() -> None:
    """HMAC as RFC 2104 defines it, on a message written out by hand."""
    key = SECRET + bytes(32)
    message = b"murmurs derived 1" + b"s\x01" + bytes(7) + b"q" + b"i\x02" + bytes(7) + b"-5"
    inner = hashlib.sha256(bytes(x ^ 0x36 for x in key) + message + bytes(8)).digest()
    outer = hashlib.sha256(bytes(x ^ 0x5C for x in key) + inner).digest()
    assert Derived(SECRET, "q", -5).take(32) == outer


def test_no_two_contexts_or_secrets_share_a_stream() -> None:
    streams = [vector["stream"] for vector in read("derived.json")]
    assert len({stream[:32] for stream in streams}) == len(streams) == 39
    assert Derived(SECRET, "question", "12").take(16) != Derived(SECRET, "question1", "2").take(16)


parts = st.one_of(st.text(max_size=4), st.binary(max_size=4), st.integers())
contexts = st.lists(parts, max_size=4).map(tuple)


@settings(deadline=None)
@given(contexts, contexts)
def test_equal_contexts_and_only_those_give_equal_bytes(one: Any, other: Any) -> None:
    same = [(type(part), part) for part in one] == [(type(part), part) for part in other]
    assert (Derived(SECRET, *one).take(16) == Derived(SECRET, *other).take(16)) is same


def test_the_stream_does_not_depend_on_how_it_is_read() -> None:
    whole = Derived(SECRET, "q").take(1000)
    pieces = Derived(SECRET, "q")
    assert b"".join(pieces.take(size) for size in (0, 1, 31, 32, 33, 64, 100, 739)) == whole


def test_the_verbs_read_the_stream_by_the_rule_of_bytes() -> None:
    derived, given_bytes = Derived(SECRET, "q"), Given(Derived(SECRET, "q").take(5000))
    for n in (1, 2, 3, 100, 257, 2**32, 2**40 + 1):
        assert derived.below(n) == given_bytes.below(n)
        assert derived.chance(SCALE // n) == given_bytes.chance(SCALE // n)


def test_draws_over_contexts_are_uniform() -> None:
    draws = [Derived(SECRET, "q", i).below(6) for i in range(12_000)]
    assert p_value(draws, dict.fromkeys(range(6), 1 / 6)) > FALSE_ALARM
    # Three bits taken modulo six have another law.
    wrong = {value: len(range(value, 8, 6)) / 8 for value in range(6)}
    assert p_value(draws, wrong) < FALSE_ALARM


def test_a_derived_stream_shows_neither_secret_nor_context() -> None:
    derived = Derived(SECRET, "answer", 3)
    assert repr(derived) == str(derived) == "Derived(...)"
    assert SECRET not in vars(derived).values()


@pytest.mark.parametrize("size", [0, 1, 15])
def test_a_short_secret_is_refused_without_showing_it(size: int) -> None:
    message = f"^a secret has at least 16 bytes, not {size}: secrets.token_bytes"
    with pytest.raises(ValueError, match=message):
        Derived(b"x" * size, "q")
    with pytest.raises(ValueError, match=message):
        Device(RAPPOR, b"x" * size, "q", memory="value")


@pytest.mark.parametrize("secret", ["x" * 32, bytearray(32), 7, None])
def test_a_secret_that_is_not_bytes_is_refused(secret: Any) -> None:
    with pytest.raises(TypeError, match=f"^a secret is bytes, .*, not {type(secret).__name__}$"):
        Derived(secret, "q")
    with pytest.raises(TypeError, match=f"^a secret is bytes, .*, not {type(secret).__name__}$"):
        Device(RAPPOR, secret, "q", memory="value")


@pytest.mark.parametrize("part", [1.0, True, None, ("a",), np.int64(3)])
def test_a_part_of_another_kind_is_refused(part: Any) -> None:
    with pytest.raises(TypeError, match="a context is text, bytes and whole numbers, not"):
        Derived(SECRET, part)


# A device and what it keeps


FIRST_ROUND = {
    "BasicRappor": ("k", "f_numerator"),
    "LOSUE": ("k", "permanent_flip"),
    "LOLOHA": ("g", "permanent_truth"),
    "Rappor": ("width", "hashes", "cohorts", "salt", "scheme", "f_numerator"),
}


@pytest.mark.parametrize("vector", read("devices.json"), ids=lambda v: v["memory"])
def test_permanent_responses_and_states_are_reproduced(vector: Vector) -> None:
    """From the text of vectors/README.md alone."""
    document, secret, memory = vector["mechanism"], vector["secret"], vector["memory"]
    law = [document[name] for name in FIRST_ROUND[document["name"]]]

    def derive(purpose: str, *key: Any) -> Derived:
        common = (purpose, vector["question"], memory, document["name"], *law)
        return Derived(bytes.fromhex(secret), *common, *key)

    number, value, response = -1, None, None
    for report in vector["reports"]:
        answer = report["answer"]
        normal = unicodedata.normalize("NFC", answer) if isinstance(answer, str) else answer
        if memory == "value":
            response, state = first_round(document, normal, derive, normal), {}
        elif memory == "change":
            number, value = number + (normal != value), normal
            response = first_round(document, normal, derive, number, normal)
            tag = derive("value", number, normal).take(16).hex()
            check = derive("state", number, tag).take(16).hex()
            state = {"device": {"segment": number, "value": tag, "check": check}}
        else:
            if report["period"] != number:
                number = report["period"]
                response = first_round(document, normal, derive, number, normal)
            packed_response = written(document, response)
            check = derive("state", number, packed_response).take(16).hex()
            state = {"device": {"period": number, "response": packed_response, "check": check}}
        assert report["permanent"] == in_json(response)
        assert report["state"] == state
    assert len(vector["reports"]) == 5


def first_round(document: Any, answer: Any, derive: Any, *key: Any) -> Any:
    chance = derive("response", *key)
    if document["name"] == "LOLOHA":
        seed, g = derive("device").below(2**32), document["g"]
        kept = chance.chance(document["permanent_truth"])
        return seed, bucket(answer, seed, g) if kept else chance.below(g)
    places, cohort = {answer}, None
    if document["name"] == "Rappor":
        cohort = derive("device").below(document["cohorts"])
        table = [document[name] for name in ("width", "hashes", "salt")]
        places = set(text_places(answer, cohort, *table))
    bits = []
    for j in range(document["k"] if cohort is None else document["width"]):
        if document["name"] == "LOSUE":
            bits.append(chance.chance(SCALE // 2 if j in places else document["permanent_flip"]))
        else:
            lied = chance.chance(document["f_numerator"])
            bits.append(chance.below(2) == 1 if lied else j in places)
    return packed(bits) if cohort is None else (cohort, packed(bits))


def written(document: Any, response: Any) -> str:
    """The bytes of a response on the wire, in hexadecimal digits."""
    if isinstance(response, bytes):
        return response.hex()
    first, second = response
    if document["name"] == "LOLOHA":
        return str((first.to_bytes(4, "little") + second.to_bytes(1, "little")).hex())
    return str((first.to_bytes(2, "little") + second).hex())


def test_the_same_value_has_the_same_permanent_response_for_ever() -> None:
    wide = BasicRappor(k=64, f=0.5, p=0.0, q=1.0)
    device, again = (
        Device(wide, SECRET, "q", memory="value"),
        Device(wide, SECRET, "q", memory="value"),
    )
    first = device.report(7)
    assert {device.report(7) for _ in range(20)} == {first}
    device.report(9)
    assert again.report(7) == device.report(7) == first
    assert device.report(9) != first


def test_reports_of_one_value_differ_in_the_instantaneous_part_only() -> None:
    device = Device(BasicRappor(k=64, f=0.5, p=0.25, q=0.75), SECRET, "q", memory="value")
    assert len({device.report(7) for _ in range(20)}) == 20
    random = np.random.default_rng(1)
    assert device.report(7, random) != device.report(7, random)
    one, other = (device.report(7, np.random.default_rng(1)) for _ in range(2))
    assert one == other


def secret_number(i: int) -> bytes:
    return hashlib.sha256(b"secret %d" % i).digest()


def changed_devices() -> dict[str, Any]:
    """Ways to ask another device for a permanent response, beside that of answer 0."""
    other = BasicRappor(k=3, f=0.5 + 2**-50, p=0.0, q=1.0)
    return {
        "question": lambda s: Device(LASTING, s, "q2", memory="value").report(0),
        "secret": lambda s: Device(LASTING, hashlib.sha256(s).digest(), "q", memory="value").report(
            0
        ),
        "value": lambda s: Device(LASTING, s, "q", memory="value").report(1),
        "parameters": lambda s: Device(other, s, "q", memory="value").report(0),
    }


@pytest.mark.parametrize("what", changed_devices())
def test_with_anything_else_the_permanent_response_is_independent(what: str) -> None:
    """The joint law of two permanent responses over devices, in exact fractions."""
    ask, n = changed_devices()[what], 4000
    draws = []
    for i in range(n):
        secret = secret_number(i)
        draws.append((Device(LASTING, secret, "q", memory="value").report(0), ask(secret)))
    rows = [bit_rows([Fraction(3 if j == x else 1, 4) for j in range(3)]) for x in (0, 1)]
    second = rows[1] if what == "value" else rows[0]
    law = {(a, b): p * q for (a, p), (b, q) in itertools.product(rows[0].items(), second.items())}
    assert p_value(draws, law) > FALSE_ALARM
    # Bits that share the noise of one in eight devices have another law.
    shared = {
        (a, b): Fraction(7, 8) * weight + Fraction(a == b, 8) * rows[0][a]
        for (a, b), weight in law.items()
    }
    assert p_value(draws, shared) < FALSE_ALARM


@every
def test_two_reports_of_devices_have_the_joint_law_of_memory(mechanism: AnyLongitudinal) -> None:
    rng, draws = np.random.default_rng(2), []
    for i in range(3000):
        device: Device[Any] = Device(mechanism, secret_number(i), "q", memory="value")
        draws.append(tuple(relative(mechanism, device.report(1, rng), 1) for _ in "12"))
    kept = {
        tuple(relative(mechanism, report, 1) for report in reports): weight
        for reports, weight in course_law(mechanism, (1, 1)).items()
    }
    assert p_value(draws, kept) > FALSE_ALARM
    # A device that draws its permanent response anew for each report has another law.
    single = {
        relative(mechanism, report, 1): weight
        for (report,), weight in course_law(mechanism, (1,)).items()
    }
    fresh = {(a, b): single[a] * single[b] for a in single for b in single}
    assert p_value(draws, fresh) < FALSE_ALARM


def relative(mechanism: AnyLongitudinal, report: Any, answer: int) -> Any:
    """A report, or for local hashing how far its value is from the bucket of the answer."""
    if not isinstance(mechanism, LOLOHA):
        return report
    return (report.value - bucket(answer, report.seed, mechanism.g)) % mechanism.g


class Word(LOLOHA):
    """An open alphabet: answers are strings, and the bucket comes from their hash."""

    def check(self, answer: object) -> Any:
        if not isinstance(answer, str):
            raise TypeError(f"an answer is a string, not {answer!r}")
        return answer

    def _permanent(self, answer: Any, device: Randomness, response: Randomness) -> Any:
        key = int.from_bytes(hashlib.sha256(answer.encode()).digest()[:8], "little")
        return super()._permanent(key, device, response)


def test_a_device_takes_the_answers_that_its_mechanism_takes() -> None:
    device = Device(
        Word(k=2, epsilon=1.0, epsilon_permanent=2.0, g=4), SECRET, "homepage", memory="value"
    )
    assert device.report("example.org").seed == device.report("example.com").seed
    with pytest.raises(TypeError, match="an answer is a string, not 3"):
        device.report(3)


# Exact laws of courses of values


def permanent_law(mechanism: AnyLongitudinal, answer: int) -> dict[Any, Fraction]:
    """The law of the permanent response; for local hashing under a function that parts 0 and 1."""
    two: Any = mechanism
    law = exact_law(lambda x, random: two._permanent(x, random, random), answer)
    if not isinstance(mechanism, LOLOHA):
        return law
    g = mechanism.g
    seed = next(s.seed for s in sorted(law) if bucket(0, s.seed, g) != bucket(1, s.seed, g))
    return {state: 2**32 * weight for state, weight in law.items() if state.seed == seed}


def instant_law(mechanism: AnyLongitudinal, permanent: Any) -> dict[Any, Fraction]:
    return exact_law(lambda _, random: mechanism._instant(permanent, random), 0)


def course_law(mechanism: AnyLongitudinal, values: tuple[int, ...]) -> dict[Any, Fraction]:
    """The law of the reports of a device whose value goes through ``values``."""
    total: dict[Any, Fraction] = {(): Fraction(1)}
    for value in dict.fromkeys(values):
        times = [i for i, x in enumerate(values) if x == value]
        part: dict[Any, Fraction] = {}
        for state, weight in permanent_law(mechanism, value).items():
            instant = instant_law(mechanism, state)
            for reports in itertools.product(instant, repeat=len(times)):
                chance = weight * math.prod(instant[report] for report in reports)
                placed = tuple(zip(times, reports, strict=True))
                part[placed] = part.get(placed, Fraction(0)) + chance
        total = {a + b: p * q for a, p in total.items() for b, q in part.items()}
    return {tuple(r for _, r in sorted(placed)): weight for placed, weight in total.items()}


class Kept(Randomness):
    """Chance that says again what it has said before."""

    def __init__(self, random: Randomness, said: list[int]) -> None:
        self.random, self.said, self.at = random, said, 0

    def chance(self, numerator: int) -> bool:
        return bool(self._next(lambda: self.random.chance(numerator)))

    def below(self, n: int) -> int:
        return self._next(lambda: self.random.below(n))

    def _next(self, draw: Any) -> int:
        if self.at == len(self.said):
            self.said.append(draw())
        self.at += 1
        return self.said[self.at - 1]


@pytest.mark.parametrize("mechanism", SMALL[2:], ids=repr)
@pytest.mark.parametrize("values", [(0,), (0, 0), (0, 1)])
def test_a_device_walked_branch_by_branch_has_the_law_of_the_course(
    mechanism: AnyLongitudinal, values: tuple[int, ...]
) -> None:
    two: Any = mechanism

    def reports(_: int, random: Randomness) -> tuple[Any, ...]:
        memory: dict[Any, list[int]] = {}

        def derive(*context: Any) -> Kept:
            return Kept(random, memory.setdefault(context, []))

        states = [two._permanent(x, derive("device"), derive("response", x)) for x in values]
        return tuple(two._instant(state, random) for state in states)

    walked = exact_law(reports, 0)
    if isinstance(mechanism, LOLOHA):
        [seed] = {state.seed for state in permanent_law(mechanism, 0)}
        walked = {key: 2**32 * w for key, w in walked.items() if key[0].seed == seed}
    assert walked == course_law(mechanism, values)


def largest_ratio(one: dict[Any, Fraction], other: dict[Any, Fraction]) -> Fraction:
    return max(max(one[key] / other[key], other[key] / one[key]) for key in one)


@pytest.mark.parametrize("mechanism", SMALL[2:], ids=repr)
def test_reports_of_one_value_never_tell_more_than_the_permanent_response(
    mechanism: LOSUE | LOLOHA,
) -> None:
    permanent = largest_ratio(permanent_law(mechanism, 0), permanent_law(mechanism, 1))
    assert permanent <= exp_below(mechanism.epsilon_permanent)
    assert mechanism.epsilon_permanent_realised == pytest.approx(math.log(permanent), rel=1e-14)
    assert exp_below(mechanism.epsilon_permanent_realised) * (1 + Fraction(1, 10**50)) > permanent
    found = []
    for t in (1, 2, 3, 4):
        laws = [course_law(mechanism, (x,) * t) for x in (0, 1)]
        found.append(largest_ratio(*laws))
    assert found[0] == mechanism.ratio
    assert found == sorted(set(found))  # each report tells more ...
    assert found[-1] < permanent  # ... and all together less than the permanent response
    fresh = [mechanism.ratio**t for t in (1, 2, 3, 4)]  # the law of t independent reports
    assert all(kept < anew for kept, anew in zip(found[1:], fresh[1:], strict=True))
    assert fresh[-1] > exp_below(mechanism.epsilon_permanent)


@every
def test_many_reports_tell_nearly_what_the_permanent_response_tells(
    mechanism: AnyLongitudinal,
) -> None:
    """The report that tells most, t times: its ratio rises to that of the permanent response."""
    laws = [permanent_law(mechanism, x) for x in (0, 1)]
    permanent = largest_ratio(*laws)
    instant = {state: instant_law(mechanism, state) for state in laws[0]}

    def ratio(t: int) -> Fraction:
        one, other = (
            {
                report: sum(
                    (
                        w * instant[state][report] ** t
                        for state, w in law.items()
                        if report in instant[state]
                    ),
                    Fraction(0),
                )
                for report in {r for given in instant.values() for r in given}
            }
            for law in laws
        )
        return largest_ratio(one, other)

    found = [ratio(t) for t in (1, 2, 10, 60)]
    assert found[0] == mechanism.ratio
    assert found == sorted(found)
    assert found[-1] <= permanent
    assert float(found[-1] / permanent) > 0.98


@pytest.mark.parametrize("mechanism", SMALL[2:4], ids=repr)
def test_changing_values_add_up_by_the_number_of_distinct_ones(mechanism: AnyLongitudinal) -> None:
    """Courses with one pattern of equal values: here both values are exchanged."""
    device: Device[Any] = Device(mechanism, SECRET, "q", memory="value")
    bound = exp_below(device.epsilon_spent(2))
    found = [
        largest_ratio(course_law(mechanism, course), course_law(mechanism, mirrored))
        for course, mirrored in [((0, 1), (1, 0)), ((0, 1, 0, 1), (1, 0, 1, 0))]
    ]
    assert found[0] == mechanism.ratio**2
    assert exp_below(mechanism.epsilon_permanent_realised) < found[1] <= bound


@pytest.mark.parametrize("mechanism", SMALL[2:4], ids=repr)
def test_that_a_value_changed_is_not_protected(mechanism: AnyLongitudinal) -> None:
    """Reports that look like one response and then like another tell of a change without bound."""
    constant, changed = (
        [permanent_law(mechanism, x) for x in values] for values in ((0, 0), (0, 1))
    )
    states = list(constant[0])
    instant = {state: instant_law(mechanism, state) for state in states}
    one, other = states[0], states[-1]

    def chance(t: int, same: bool) -> Fraction:
        """The chance of t reports like ``one`` and then t reports like ``other``."""

        def like(state: Any, report: Any) -> Fraction:
            return instant[state][report] ** t

        if same:
            return sum(
                (constant[0][s] * like(s, one) * like(s, other) for s in states), Fraction(0)
            )
        first = sum((changed[0][s] * like(s, one) for s in states), Fraction(0))
        return first * sum((changed[1][s] * like(s, other) for s in states), Fraction(0))

    found = [chance(t, same=False) / chance(t, same=True) for t in (1, 10, 20, 40)]
    assert found == sorted(found)
    assert found[-1] > exp_below(2 * mechanism.epsilon_permanent_realised)
    assert found[-1] > found[-2] ** Fraction(3, 2)


# Parameters


def at_zero(mechanism: Any) -> float:
    """n times the variance of the share of an answer that nobody gave."""
    return float(mechanism.channel.noise(np.zeros(mechanism.k), 1)[0][0])


def two_rounds(A: float, c: float, g: int) -> tuple[float, float]:
    """p* and the chance of one other value, for rounds that favour the truth A and c times."""
    p1, q1, p2, q2 = A / (A + g - 1), 1 / (A + g - 1), c / (c + g - 1), 1 / (c + g - 1)
    return p1 * p2 + (g - 1) * q1 * q2, p1 * q2 + q1 * p2 + (g - 2) * q1 * q2


def second_round(epsilon_permanent: float, epsilon: float, others: int) -> float:
    A, B = math.exp(epsilon_permanent), math.exp(epsilon)
    return (A * B - 1 + (B - 1) * others) / (A - B)


def rappor(epsilon: float, epsilon_permanent: float) -> BasicRappor:
    """RAPPOR with f from the one and symmetric p, q from the other epsilon."""
    f = 2 / (1 + math.exp(epsilon_permanent / 2))
    p = (1 / (1 + math.exp(epsilon / 2)) - f / 2) / (1 - f)
    return BasicRappor(k=1000, f=f, p=p, q=1 - p)


@pytest.mark.parametrize(
    ("epsilon", "epsilon_permanent", "g", "loloha", "losue", "symmetric"),
    [(1.0, 2.0, 4, 3.69, 3.68, 3.92), (2.0, 4.0, 8, 0.72, 0.72, 0.92)],
)
def test_variances_of_the_exact_chains(
    epsilon: float, epsilon_permanent: float, g: int, loloha: float, losue: float, symmetric: float
) -> None:
    hashing, unary = (
        LOLOHA(1000, epsilon, epsilon_permanent),
        LOSUE(1000, epsilon, epsilon_permanent),
    )
    assert hashing.g == g
    assert round(at_zero(hashing), 2) == loloha
    assert round(at_zero(unary), 2) == losue
    basic = rappor(epsilon, epsilon_permanent)
    assert basic.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert basic.epsilon_permanent_realised == pytest.approx(epsilon_permanent, rel=1e-12)
    assert round(at_zero(basic), 2) == symmetric


def test_one_report_has_the_law_of_the_mechanism_without_memory() -> None:
    for epsilon, epsilon_permanent in (
        (0.1, 0.2),
        (1.0, 2.0),
        (1.0, 1.001),
        (2.0, 30.0),
        (5.0, 8.0),
    ):
        pairs: list[tuple[Any, Any]] = [
            (LOSUE(20, epsilon, epsilon_permanent), OUE(20, epsilon)),
            (LOLOHA(20, epsilon, epsilon_permanent), LocalHashing(20, epsilon)),
        ]
        for two, one in pairs:
            assert float(two.channel.hit) == pytest.approx(float(one.channel.hit), abs=1e-14)
            assert float(two.channel.miss) == pytest.approx(float(one.channel.miss), abs=1e-14)
            assert at_zero(two) == pytest.approx(at_zero(one), rel=1e-12)


def test_the_second_round_of_local_hashing_is_that_of_the_exact_chain() -> None:
    for epsilon, epsilon_permanent, g in (
        (1.0, 2.0, 3),
        (1.0, 2.0, 4),
        (2.0, 4.0, 8),
        (0.5, 5.0, 100),
    ):
        mechanism = LOLOHA(50, epsilon, epsilon_permanent, g=g)
        truth = mechanism.truth / SCALE
        c = second_round(epsilon_permanent, epsilon, g - 2)
        assert truth + (1 - truth) / g == pytest.approx(c / (c + g - 1), rel=1e-12)
        hit, other = two_rounds(math.exp(epsilon_permanent), c, g)
        assert math.log(hit / other) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon_permanent", "epsilon", "g", "realised", "variance"),
    [(2.0, 1.0, 3, 0.948, 4.20), (4.0, 2.0, 7, 1.934, 0.79)],
)
def test_a_second_round_for_two_buckets_spends_less_than_it_may(
    epsilon_permanent: float, epsilon: float, g: int, realised: float, variance: float
) -> None:
    """What is in use elsewhere: the formula without its term in g - 2."""
    hit, other = two_rounds(
        math.exp(epsilon_permanent), second_round(epsilon_permanent, epsilon, 0), g
    )
    assert round(math.log(hit / other), 3) == realised
    miss = 1 / g
    assert round(miss * (1 - miss) / (hit - miss) ** 2, 2) == variance
    assert at_zero(LOLOHA(1000, epsilon, epsilon_permanent)) < 0.92 * variance


@pytest.mark.parametrize(
    ("epsilon_permanent", "epsilon", "k", "realised", "theirs", "exact"),
    [(2.0, 1.0, 10, 0.699, 9.77, 3.63), (4.0, 2.0, 100, 1.254, 16.2, 2.58)],
)
def test_the_same_formula_costs_more_without_hashing(
    epsilon_permanent: float, epsilon: float, k: int, realised: float, theirs: float, exact: float
) -> None:
    A = math.exp(epsilon_permanent)
    p, q = two_rounds(A, second_round(epsilon_permanent, epsilon, 0), k)
    assert round(math.log(p / q), 3) == realised
    assert q * (1 - q) / (p - q) ** 2 == pytest.approx(theirs, abs=0.05 if theirs > 10 else 0.005)
    p, q = two_rounds(A, second_round(epsilon_permanent, epsilon, k - 2), k)
    assert math.log(p / q) == pytest.approx(epsilon)
    assert q * (1 - q) / (p - q) ** 2 == pytest.approx(exact, abs=0.005)


def test_the_range_of_local_hashing_is_the_best() -> None:
    for k, epsilon, epsilon_permanent in ((10, 1.0, 2.0), (1000, 2.0, 4.0), (50, 0.5, 3.0)):
        best = LOLOHA(k, epsilon, epsilon_permanent)
        losses = [
            LOLOHA(k, epsilon, epsilon_permanent, g=g).channel.expected_l2(1) for g in range(2, 20)
        ]
        assert best.channel.expected_l2(1) == min(losses)


@pytest.mark.parametrize("kind", [LOSUE, LOLOHA])
def test_a_permanent_response_that_breaks_its_promise_is_refused(kind: Any) -> None:
    mechanism = kind(k=4, epsilon=1.0, epsilon_permanent=2.0)
    step = -1 if kind is LOSUE else 1
    name = "permanent_flip" if kind is LOSUE else "permanent_truth"
    settled = getattr(mechanism, name)
    message = r"the permanent response of .* give epsilon 2\.0000000000\d*, more than the 2\.0"
    with pytest.raises(ValueError, match=message):
        kind(k=4, epsilon=1.0, epsilon_permanent=2.0, **{name: settled + step})
    stronger = kind(k=4, epsilon=1.0, epsilon_permanent=2.0, **{name: settled - step})
    assert stronger.epsilon_permanent_realised < mechanism.epsilon_permanent_realised <= 2.0
    assert stronger.epsilon_realised <= 1.0


@pytest.mark.parametrize("kind", [LOSUE, LOLOHA])
@pytest.mark.parametrize("epsilon_permanent", [1.0, 0.5])
def test_a_permanent_epsilon_without_room_for_a_second_round_is_refused(
    kind: Any, epsilon_permanent: float
) -> None:
    told = f"not {epsilon_permanent:g}: one report reveals less than"
    message = f"epsilon_permanent must be above epsilon = 1, {told}"
    with pytest.raises(ValueError, match=message):
        kind(k=4, epsilon=1.0, epsilon_permanent=epsilon_permanent)


@pytest.mark.parametrize("kind", [LOSUE, LOLOHA])
def test_a_permanent_epsilon_that_is_no_epsilon_is_refused(kind: Any) -> None:
    for epsilon_permanent in (0, -1.0, 701, math.inf, math.nan):
        with pytest.raises(ValueError, match="epsilon_permanent must be from 1e-06 to 700, not"):
            kind(k=4, epsilon=1.0, epsilon_permanent=epsilon_permanent)
    for other in (True, "2", None):
        with pytest.raises(TypeError, match="epsilon_permanent must be a number, not"):
            kind(k=4, epsilon=1.0, epsilon_permanent=other)


@pytest.mark.parametrize("kind", [LOSUE, LOLOHA])
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 17.0, 699.0])
def test_epsilons_next_to_each_other_and_far_apart_work(kind: Any, epsilon: float) -> None:
    for epsilon_permanent in (math.nextafter(epsilon, 701), epsilon * 1.0001, 700.0):
        mechanism = kind(k=5, epsilon=epsilon, epsilon_permanent=epsilon_permanent)
        assert 0 < mechanism.epsilon_realised <= epsilon
        assert 0 < mechanism.epsilon_permanent_realised <= epsilon_permanent
        Device(mechanism, SECRET, "q", memory="value").report(4)


def test_probabilities_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="permanent_flip must be from 1 to"):
        LOSUE(4, 1.0, 2.0, permanent_flip=SCALE // 2)
    with pytest.raises(ValueError, match="flip must be from 1 to"):
        LOSUE(4, 1.0, 2.0, flip=SCALE // 2)
    with pytest.raises(ValueError, match="truth must be from 1 to"):
        LOLOHA(4, 1.0, 2.0, truth=SCALE)
    with pytest.raises(ValueError, match="g must be from 2 to"):
        LOLOHA(4, 1.0, 2.0, g=1)


# What a device refuses


def test_a_mechanism_without_permanent_response_is_refused() -> None:
    message = r"OUE\(k=4, epsilon=1\.0\) has no permanent response to keep: use BasicRappor"
    with pytest.raises(TypeError, match=message):
        Device(OUE(k=4, epsilon=1.0), SECRET, "q", memory="value")  # type: ignore[arg-type]


def test_a_question_is_text() -> None:
    with pytest.raises(TypeError, match="question must be a name such as 'coffee/drink', not 3"):
        Device(RAPPOR, SECRET, 3, memory="value")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="surrogates not allowed"):
        Device(RAPPOR, SECRET, "\ud800", memory="value")


def test_an_answer_outside_is_refused_by_the_device() -> None:
    with pytest.raises(ValueError, match=r"the answer is not one of 0\.\.2 of BasicRappor"):
        Device(RAPPOR, SECRET, "q", memory="value").report(3)
    with pytest.raises(TypeError, match=r"random must be Secure\(\) or, .*, not 7$"):
        Device(RAPPOR, SECRET, "q", memory="value").report(1, 7)  # type: ignore[arg-type]


def test_a_period_in_the_place_of_chance_is_recognised() -> None:
    device = Device(RAPPOR, SECRET, "q", memory="period")
    with pytest.raises(TypeError, match=r"random must be .*, not 2026: write period=2026$"):
        device.report(1, 2026)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an answer of BasicRappor") as error:  # not quoted
        device.report(np.random.default_rng(1), 1, period=2026)  # type: ignore[arg-type]
    assert "not 1" not in str(error.value)


def test_a_device_does_not_show_its_secret() -> None:
    device = Device(RAPPOR, SECRET, "q", memory="value")
    shown = f"Device(mechanism={RAPPOR}, question='q', memory='value')"
    assert repr(device) == str(device) == shown


# An attacker who averages


def test_kept_responses_stop_the_attacker_and_fresh_ones_do_not() -> None:
    """Rates are of 400 people: five standard deviations are a false alarm in millions."""
    rows = averaging.study(400, (1, 5, 40))
    assert len(rows) == 2 * 3 * 4
    for row in rows:
        limits = averaging.bounds(row["attack"], row["epsilon"], row["epsilon_permanent"])
        spare = 5 * math.sqrt(0.25 / 200)
        if row["attack"] == "change":  # nothing is promised, and most changes are told
            assert row["rate"][0] < row["rate"][-1]
            assert row["rate"][-1] > 0.65
        elif row["kept"]:
            assert max(row["rate"]) < limits["all reports"] + spare
            assert row["rate"][0] < limits.get("one report", 1.0) + spare
        else:
            assert row["rate"][-1] > 0.8 > limits["all reports"] + spare or row["epsilon"] == 2.0
    rows += averaging.study_courses(100, (1, 40)) + averaging.study_surveys(100, (1, 40))
    text = averaging.page(rows, 400)
    assert text.count("| `LOLOHA`, kept |") == 6
    assert "| *at most, all reports* | 45.1 %" in text
    assert text.count("by change |") == 3
    assert text.count("permanent response drawn anew |") == 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_attacked_crowd_is_one_of_devices(place: int) -> None:
    """The rate of guesses from reports of devices, beside that from the drawn sums."""
    mechanism = averaging.mechanisms(1.0, 2.0)[place]
    rng, t, n = np.random.default_rng(4), 20, 200
    values = rng.integers(0, averaging.K, n)
    support = np.zeros((n, averaging.K), np.int64)
    for i, value in enumerate(values):
        device: Device[Any] = Device(mechanism, secret_number(i), "q", memory="value")
        reports = mechanism.shape.stack([device.report(int(value), rng) for _ in range(t)])
        bits = np.unpackbits(
            mechanism.supports(reports), axis=1, count=averaging.K, bitorder="little"
        )
        support[i] = bits.sum(axis=0)
    rate = averaging.right(support, values, rng)
    [drawn] = averaging.guess_value(mechanism, 10_000, (t,), rng)
    deviation = math.sqrt(drawn * (1 - drawn) * (1 / n + 1 / 10_000))
    assert abs(rate - drawn) < 5.4 * deviation  # a false alarm in ten millions
    [fresh] = averaging.guess_fresh(mechanism, 2000, (t,), rng)
    assert abs(rate - fresh) > 5.4 * deviation  # devices that keep nothing are told from these


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    rows = averaging.study(20, (1, 3)) + averaging.study_courses(20, (1, 3))
    averaging.picture(rows, tmp_path / "averaging.png")
    assert (tmp_path / "averaging.png").read_bytes().startswith(b"\x89PNG")
