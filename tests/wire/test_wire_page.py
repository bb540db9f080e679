"""The page about the wire is complete: a second implementation, written from it, makes the vectors.

Nothing of murmurs is used to make a report here, only the standard library and the xxhash package.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import hmac
import itertools
import json
import math
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import xxhash

from murmurs import mechanisms
from murmurs.survey.survey import _SurveyFile
from murmurs.survey.terms import FIELDS
from tests.make_vectors import FOLDER
from tests.pages import DOCS

PAGE = (DOCS / "wire.md").read_text(encoding="utf-8")
HALF = 2**52
Fields = dict[str, Any]


def vectors(name: str) -> list[Fields]:
    found: list[Fields] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return found


# How bytes become numbers


class Chance:
    """The two verbs, on bytes from anywhere."""

    def __init__(self, take: Callable[[int], bytes]) -> None:
        self._take = take

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def chance(self, a: int) -> bool:
        return self._number(8) // 2**11 < a

    def below(self, n: int) -> int:
        b = len(f"{n - 1:b}") if n > 1 else 0
        found = n
        while found >= n:
            found = self._number(-(-b // 8)) % 2**b
        return found


def given(data: bytes) -> tuple[Chance, list[bytes]]:
    left = [data]

    def take(size: int) -> bytes:
        taken, left[0] = left[0][:size], left[0][size:]
        assert len(taken) == size
        return taken

    return Chance(take), left


def derived(secret: bytes, *context: str | int) -> Chance:
    """Bytes that a device derives from its secret, as vectors/README.md describes them."""
    written = b"murmurs derived 1"
    for part in context:
        text = str(part).encode()
        written += (
            (b"i" if isinstance(part, int) else b"s") + len(text).to_bytes(8, "little") + text
        )
    blocks = (
        hmac.digest(secret, written + i.to_bytes(8, "little"), "sha256") for i in itertools.count()
    )
    stream = itertools.chain.from_iterable(blocks)
    return Chance(lambda size: bytes(itertools.islice(stream, size)))


def bucket(v: int, s: int, g: int) -> int:
    return xxh32(v, s) * g >> 32


def xxh32(v: int, s: int) -> int:
    return int(xxhash.xxh32_intdigest(v.to_bytes(8, "little"), s % 2**32))


def key(text: str, i: int) -> int:
    digest = hashlib.sha256(unicodedata.normalize("NFC", text).encode()).digest()
    return int.from_bytes(digest[8 * (i % 4) : 8 * (i % 4) + 8], "little")


# Each mechanism: draws, in order, and the report, given the cohort where there is one


def odd(number: int) -> bool:
    return f"{number:b}".count("1") % 2 == 1


def krr(m: Fields, x: int, r: Chance) -> int:
    return x if r.chance(m["truth"]) else r.below(m["k"])


def design(m: Fields, x: int, r: Chance) -> int:
    column = [Fraction(row[x]) for row in m["matrix"]]
    d = math.lcm(*(p.denominator for p in column))
    u = r.below(d)
    return next(i for i in range(len(column)) if d * sum(column[: i + 1]) > u)


def packed(bits: list[bool]) -> str:
    data = bytearray(-(-len(bits) // 8))
    for j, bit in enumerate(bits):
        data[j // 8] |= bit << j % 8
    return data.hex()


def turned(ones: set[int], count: int, flip: int, r: Chance) -> str:
    return packed([(j in ones) != r.chance(flip) for j in range(count)])


def sue(m: Fields, x: int, r: Chance) -> str:
    return turned({x}, m["k"], m["flip"], r)


def oue(m: Fields, x: int, r: Chance) -> str:
    return packed([r.chance(HALF if j == x else m["flip"]) for j in range(m["k"])])


def rappor_first(m: Fields, ones: set[int], count: int, r: Chance) -> list[bool]:
    return [r.below(2) == 1 if r.chance(m["f_numerator"]) else j in ones for j in range(count)]


def rappor_second(m: Fields, bits: list[bool], r: Chance) -> str:
    return packed([r.chance(m["q_numerator" if bit else "p_numerator"]) for bit in bits])


def basic_rappor(m: Fields, x: int, r: Chance) -> str:
    return rappor_second(m, rappor_first(m, {x}, m["k"], r), r)


def losue_first(m: Fields, x: int, r: Chance) -> list[bool]:
    return [r.chance(HALF if j == x else m["permanent_flip"]) for j in range(m["k"])]


def losue(m: Fields, x: int, r: Chance) -> str:
    bits = losue_first(m, x, r)
    return packed([bit != r.chance(m["flip"]) for bit in bits])


def some(n: int, m: int, r: Chance) -> set[int]:
    taken: set[int] = set()
    for i in range(n - m, n):
        d = r.below(i + 1)
        taken.add(i if d in taken else d)
    return taken


def subset(m: Fields, x: int, r: Chance) -> list[int]:
    if r.chance(m["truth"]):
        return sorted([x, *(o + 1 if o >= x else o for o in some(m["k"] - 1, m["w"] - 1, r))])
    return sorted(some(m["k"], m["w"], r))


def priv_set(m: Fields, x: list[int], r: Chance) -> list[int]:
    k, most, w = m["k"], m["most"], m["w"]
    if len(x) > most:
        x = [x[i] for i in sorted(some(len(x), most, r))]
    held = [*x, *range(k, k + most - len(x))]
    if not r.chance(m["truth"]):
        return sorted(some(k + most, w, r))
    sizes = range(m["overlap"], min(most, w) + 1)
    ways = [math.comb(most, h) * math.comb(k, w - h) for h in sizes]
    ways = [number // math.gcd(*ways) for number in ways]
    u = r.below(sum(ways))
    h = next(h for i, h in enumerate(sizes) if sum(ways[: i + 1]) > u)
    free = [item for item in range(k + most) if item not in held]
    own = [held[i] for i in some(most, h, r)]
    return sorted(own + [free[i] for i in some(k, w - h, r)])


def one_label(m: Fields, x: list[int], r: Chance) -> int:
    label = r.below(m["k"])
    y = int(label in x)
    return 2 * label + (y if r.chance(m["truth"]) else r.below(2))


def hadamard(m: Fields, x: int, r: Chance) -> int:
    b = 1
    while b <= -(-m["k"] // m["blocks"]):
        b *= 2
    if not r.chance(m["truth"]):
        return r.below(m["blocks"] * b)
    row, low = 1 + x // m["blocks"], 1
    while row % (2 * low) == 0:
        low *= 2
    d = r.below(b // 2)
    y = d % low + 2 * (d - d % low)
    return int(x % m["blocks"] * b) + (y + low if odd(y & row) else y)


def points(q: int, t: int) -> int:
    return sum(q**i for i in range(t))


def digits_of(point: int, q: int, t: int) -> list[int]:
    m = max(m for m in range(t) if points(q, m) <= point)
    rest = point - points(q, m)
    return [0] * (t - 1 - m) + [1] + [rest // q**i % q for i in reversed(range(m))]


def projective(m: Fields, x: int, r: Chance) -> int:
    q, t = m["q"], m["t"]
    if not r.chance(m["truth"]):
        return r.below(points(q, t))
    own = digits_of(x, q, t)
    e = own.index(1)
    found = digits_of(r.below(points(q, t - 1)), q, t - 1)
    found.insert(e, 0)
    found[e] = -sum(a * b for a, b in zip(own, found, strict=True)) % q
    first = next(d for d in found if d)
    scaled = [d * pow(first, -1, q) % q for d in found]
    after = scaled[scaled.index(1) + 1 :]
    return points(q, len(after)) + sum(int(d * q**i) for i, d in enumerate(reversed(after)))


def square_wave(m: Fields, x: int, r: Chance) -> int:
    k, b = m["k"], m["b"]
    if not r.chance(m["truth"]):
        return r.below(k if m["circular"] else k + 2 * b)
    d = r.below(2 * b + 1)
    return (x + d - b) % int(k) if m["circular"] else x + d


def local_hashing(m: Fields, x: int, r: Chance) -> list[int]:
    s = r.below(2**32)
    return [s, bucket(x, s, m["g"]) if r.chance(m["truth"]) else r.below(m["g"])]


def loloha(m: Fields, x: int, r: Chance) -> list[int]:
    s = r.below(2**32)
    v = bucket(x, s, m["g"]) if r.chance(m["permanent_truth"]) else r.below(m["g"])
    return [s, v if r.chance(m["truth"]) else r.below(m["g"])]


def mean_sketch(m: Fields, x: int, r: Chance, c: int) -> list[Any]:
    return [c, turned({bucket(x, m["salt"] + c, m["width"])}, m["width"], m["flip"], r)]


def hadamard_sketch(m: Fields, x: int, r: Chance) -> int:
    c, l = r.below(m["rows"]), r.below(m["width"])  # noqa: E741 - as the page calls it
    sign = odd(l & bucket(x, m["salt"] + c, m["width"])) != r.chance(m["flip"])
    return int(c * m["width"] + l) * 2 + sign


def rank(m: Fields, x: int, c: int) -> int:
    order = sorted(range(m["k"]), key=lambda a: (xxh32(a, m["salt"] + c), a))
    return order.index(x) % int(m["width"])


def response(m: Fields, y: int, r: Chance, c: int) -> int:
    own = y if r.chance(m["truth"]) else r.below(m["width"])
    return c * int(m["width"]) + own


def permuted_rr(m: Fields, x: int, r: Chance, c: int) -> int:
    return response(m, rank(m, x, c), r, c)


def permuted_rappor(m: Fields, x: int, r: Chance, c: int) -> list[Any]:
    return [c, turned({rank(m, x, c)}, m["width"], m["flip"], r)]


def orr(m: Fields, x: str, r: Chance, c: int) -> int:
    return response(m, bucket(key(x, c), m["salt"] + c, m["width"]), r, c)


def filled(m: Fields, x: str, c: int) -> set[int]:
    numbers = range(c * m["hashes"], (c + 1) * m["hashes"])
    return {bucket(key(x, j), m["salt"] + j, m["width"]) for j in numbers}


def orappor(m: Fields, x: str, r: Chance, c: int) -> list[Any]:
    return [c, turned(filled(m, x, c), m["width"], m["flip"], r)]


def rappor(m: Fields, x: str, r: Chance, c: int) -> list[Any]:
    assert m["scheme"] == "murmurs"
    bits = rappor_first(m, filled(m, x, c), m["width"], r)
    return [c, rappor_second(m, bits, r)]


def prefixes(m: Fields, x: str, r: Chance, c: int) -> int:
    x = unicodedata.normalize("NFC", x)
    cohorts = [(length, number) for length, size in m["levels"] for number in range(size)]
    length, within = cohorts[c]
    piece = "." + x if len(x) < length else "+" + x[:length]
    return response(m, bucket(key(piece, within), m["salt"] + c, m["width"]), r, c)


def ngrams(m: Fields, x: str, r: Chance) -> list[Any]:
    x = unicodedata.normalize("NFC", x)[: m["longest"]].rstrip(" ")
    count = -(-m["longest"] // m["size"])
    c = r.below(m["whole"]["cohorts"])
    choices = list(itertools.combinations(range(count), m["together"]))
    s = r.below(len(choices))
    padded = x.ljust(count * m["size"])
    grams = [padded[i * m["size"] : (i + 1) * m["size"]] for i in choices[s]]
    return [s, made(m["whole"], x, r, c), *(made(m["gram"], gram, r, c) for gram in grams)]


def product(m: Fields, x: Any, r: Chance) -> list[Any]:
    parts, answers = m["parts"], x if isinstance(x, list) else []
    for part in [] if isinstance(x, list) else reversed(parts):
        answers, x = [x % part["k"], *answers], x // part["k"]
    cohorts = [part["cohorts"] for part in parts if part["name"] in IN_COHORTS]
    c = r.below(cohorts[0]) if cohorts else None
    return [made(part, own, r, c) for part, own in zip(parts, answers, strict=True)]


ALONE: dict[str, Callable[[Fields, Any, Chance], Any]] = {
    "KRR": krr,
    "Design": design,
    "SUE": sue,
    "OUE": oue,
    "BasicRappor": basic_rappor,
    "LOSUE": losue,
    "Subset": subset,
    "Hadamard": hadamard,
    "ProjectiveGeometry": projective,
    "LocalHashing": local_hashing,
    "SquareWave": square_wave,
    "LOLOHA": loloha,
    "HadamardSketch": hadamard_sketch,
    "NGrams": ngrams,
    "PrivSet": priv_set,
    "OneLabel": one_label,
    "Product": product,
}
IN_COHORTS: dict[str, Callable[[Fields, Any, Chance, int], Any]] = {
    "CountMeanSketch": mean_sketch,
    "PermutedRR": permuted_rr,
    "PermutedRappor": permuted_rappor,
    "ORR": orr,
    "ORappor": orappor,
    "Rappor": rappor,
    "Prefixes": prefixes,
}


def made(m: Fields, x: Any, r: Chance, c: int | None = None) -> Any:
    """The report of an answer; in a given cohort, or in one that is drawn first."""
    if m["name"] in ALONE:
        return ALONE[m["name"]](m, x, r)
    if c is None:
        levels = sum(cohorts for _, cohorts in m.get("levels", []))
        c = r.below(m.get("rows") or m.get("cohorts") or levels)
    return IN_COHORTS[m["name"]](m, x, r, c)


@pytest.mark.parametrize("name", [*ALONE, *IN_COHORTS])
def test_the_page_is_enough_to_make_every_known_report(name: str) -> None:
    own = [v for v in vectors("reports.json") if v["mechanism"]["name"] == name]
    assert len(own) >= 4
    for vector in own:
        random, left = given(bytes.fromhex(vector["random"]))
        assert made(vector["mechanism"], vector["answer"], random) == vector["report"]
        assert left == [b""]


def test_the_page_has_every_mechanism_that_a_survey_may_have() -> None:
    table = PAGE.partition("## How chance becomes a report")[2].partition("## JSON")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    kinds: dict[str, Any] = {**mechanisms.BY_NAME, **mechanisms.OPEN, **mechanisms.SETS}
    named = {name for name, _ in rows}
    assert named == {*kinds, "Design", "NGrams", "Product"} == {*ALONE, *IN_COHORTS}
    for name, text in rows:
        drawn = {
            field.name
            for field in dataclasses.fields(kinds.get(name, mechanisms.KRR))
            if field.name.endswith(("truth", "flip"))
        }
        for field in drawn if name in kinds else ():
            others = re.findall(r"as for `(\w+)`", text)
            said = text + "".join(dict(rows)[other] for other in others)
            assert field in said, (name, field)


# Permanent responses and draws


@pytest.mark.parametrize("vector", vectors("devices.json"), ids=lambda v: v["mechanism"]["name"])
def test_the_page_is_enough_to_make_permanent_responses(vector: Fields) -> None:
    m, secret = vector["mechanism"], bytes.fromhex(vector["secret"])
    laws = {
        "BasicRappor": ["k", "f_numerator"],
        "LOSUE": ["k", "permanent_flip"],
        "LOLOHA": ["g", "permanent_truth"],
        "Rappor": ["width", "hashes", "cohorts", "salt", "scheme", "f_numerator"],
    }
    law = [m[field] for field in laws[m["name"]]]
    segment, before, extra = -1, None, list[Any]()
    for report in vector["reports"]:
        x: Any = report["answer"]
        x = unicodedata.normalize("NFC", x) if isinstance(x, str) else x
        if vector["memory"] == "period":
            if [report["period"]] == extra:
                continue  # the first report of a period sets the value
            extra = [report["period"]]
        elif vector["memory"] == "change":
            segment += x != before
            before, extra = x, [segment]
        about = [vector["question"], vector["memory"], m["name"], *law]
        device = derived(secret, "device", *about)
        first = derived(secret, "response", *about, *extra, x)
        if m["name"] == "LOLOHA":
            s = device.below(2**32)
            told = first.chance(m["permanent_truth"])
            found: Any = [s, bucket(x, s, m["g"]) if told else first.below(m["g"])]
        elif m["name"] == "LOSUE":
            found = packed(losue_first(m, x, first))
        elif m["name"] == "BasicRappor":
            found = packed(rappor_first(m, {x}, m["k"], first))
        elif m["scheme"] == "murmurs":
            c = device.below(m["cohorts"])
            found = [c, packed(rappor_first(m, filled(m, x, c), m["width"], first))]
        else:
            continue
        assert found == report["permanent"]


def number_of(every: str | int, day: datetime.date) -> int:
    d = (day - datetime.date(1970, 1, 1)).days
    words = {
        "day": d,
        "week": (d + 3) // 7,
        "month": 12 * (day.year - 1970) + day.month - 1,
        "year": day.year - 1970,
        "once": 0,
    }
    return words[every] if isinstance(every, str) else d // every


def test_the_page_is_enough_to_draw_questions() -> None:
    for vector in vectors("draws.json"):
        names, number = (
            vector["reported"],
            number_of(vector["every"], datetime.date.fromisoformat(vector["day"])),
        )
        random = derived(
            bytes.fromhex(vector["secret"]),
            "questions",
            vector["survey"],
            vector["every"],
            number,
            *names,
        )
        places = list(range(len(names)))
        for i in range(vector["questions_each"]):
            j = i + random.below(len(names) - i)
            places[i], places[j] = places[j], places[i]
        drawn = sorted(places[: vector["questions_each"]])
        assert [names[place] for place in drawn] == vector["drawn"]
        assert number == vector["period"]


# Terms and fingerprints


def canonical(value: Any) -> str:
    """RFC 8785 for the numbers that surveys have, which need no exponent."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return json.dumps(value, ensure_ascii=False)


def test_fingerprints_follow_from_the_page() -> None:
    for vector in vectors("surveys.json"):
        if vector["kind"] == "good":
            text = canonical(vector["survey"])
            assert text == vector["canonical"]
            assert hashlib.sha256(text.encode()).hexdigest() == vector["fingerprint"]


def test_the_page_has_every_term_and_every_field_of_a_survey() -> None:
    terms = PAGE.partition("### Terms")[2].partition("### An open question")[0]
    first = " ".join(re.findall(r"^\| (`.*?) \|", terms, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first)) == set(FIELDS)
    survey = PAGE.partition("## The survey")[2]
    for name in _SurveyFile.__struct_fields__:
        assert f"`{name}`" in survey
