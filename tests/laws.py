"""The laws of the mechanisms, written down a second time from their definitions.

By brute force and with other people's code (SciPy's Hadamard matrices, the xxhash package): nothing
of `murmurs` is used but the parameters. Each function returns the probability of every report.
"""

from __future__ import annotations

import hashlib
import itertools
import unicodedata
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
import xxhash

from murmurs import (
    KRR,
    LOLOHA,
    LOSUE,
    ORR,
    OUE,
    SUE,
    BasicRappor,
    CountMeanSketch,
    Design,
    Hadamard,
    HadamardSketch,
    LocalHashing,
    ORappor,
    PermutedRappor,
    PermutedRR,
    ProjectiveGeometry,
    Rappor,
    SquareWave,
    Subset,
)
from murmurs.mechanisms import (
    Among,
    BooleanRappor,
    NGrams,
    OneLabel,
    Over,
    OverNGrams,
    Prefixes,
    PrivSet,
    Product,
    SetMechanism,
)
from murmurs.mechanisms.mechanism import Mechanism
from tests.walk import sampled

Law = dict[Any, Fraction]
ONE = 2**53


def two_stage(truth: int, supporting: Iterable[Any], everything: Iterable[Any]) -> Law:
    """With the chance of truth one of the supporting reports, otherwise any."""
    yes, own, every = Fraction(truth, ONE), list(supporting), list(everything)
    law = dict.fromkeys(every, (1 - yes) / len(every))
    for report in own:
        law[report] += yes / len(own)
    return law


def packed(bits: Iterable[int]) -> bytes:
    return np.packbits(np.array(list(bits), np.uint8), bitorder="little").tobytes()


def bit_rows(chances: list[Fraction]) -> dict[bytes, Fraction]:
    """Independent bits with these chances of being set."""
    law = {}
    for bits in itertools.product((0, 1), repeat=len(chances)):
        weight = Fraction(1)
        for bit, chance in zip(bits, chances, strict=True):
            weight *= chance if bit else 1 - chance
        law[packed(bits)] = weight
    return law


def bucket(key: int, seed: int, g: int) -> int:
    return xxhash.xxh32_intdigest(key.to_bytes(8, "little"), seed) * g >> 32


def krr(m: KRR, x: int) -> Law:
    return two_stage(m.truth, [x], range(m.k))


def sue(m: SUE, x: int) -> Law:
    flip = Fraction(m.flip, ONE)
    return bit_rows([1 - flip if j == x else flip for j in range(m.k)])


def oue(m: OUE, x: int) -> Law:
    return bit_rows([Fraction(1, 2) if j == x else Fraction(m.flip, ONE) for j in range(m.k)])


def basic_rappor(m: BasicRappor, x: int) -> Law:
    f, p, q = (Fraction(number, ONE) for number in (m.f_numerator, m.p_numerator, m.q_numerator))
    lasting = [f / 2 + (1 - f) * (j == x) for j in range(m.k)]
    return bit_rows([one * q + (1 - one) * p for one in lasting])


def losue(m: LOSUE, x: int) -> Law:
    half, u, v = Fraction(1, 2), Fraction(m.permanent_flip, ONE), Fraction(m.flip, ONE)
    lasting = [half if j == x else u for j in range(m.k)]
    return bit_rows([one * (1 - v) + (1 - one) * v for one in lasting])


def subset(m: Subset, x: int) -> Law:
    sets = list(itertools.combinations(range(m.k), m.w))
    return two_stage(m.truth, [s for s in sets if x in s], sets)


def square_wave(m: SquareWave, x: int) -> Law:
    """Reports stand for places around the answer: on a circle, or with b more at both ends."""
    near = range(x - m.b, x + m.b + 1)
    if m.circular:
        return two_stage(m.truth, {place % m.k for place in near}, range(m.k))
    return two_stage(m.truth, [place + m.b for place in near], range(m.k + 2 * m.b))


def hadamard(m: Hadamard, x: int) -> Law:
    matrix = scipy.linalg.hadamard(m.width)
    block, row = x % m.blocks, 1 + x // m.blocks
    own = [block * m.width + y for y in range(m.width) if matrix[row, y] == 1]
    return two_stage(m.truth, own, range(m.blocks * m.width))


def projective(m: ProjectiveGeometry, x: int) -> Law:
    vectors = itertools.product(range(m.q), repeat=m.t)
    # In lexical order the vectors whose first non-zero digit is 1 come in the order of the numbers.
    points = [v for v in vectors if next((d for d in v if d), 0) == 1]
    own = [
        y
        for y, point in enumerate(points)
        if sum(a * b for a, b in zip(points[x], point, strict=True)) % m.q == 0
    ]
    return two_stage(m.truth, own, range(len(points)))


def local_hashing(m: LocalHashing, x: int) -> Law:
    """Only the reports with one of the seeds that the walk follows."""
    law: Law = {}
    for seed in sampled(2**32):
        given_seed = two_stage(m.truth, [bucket(x, seed, m.g)], range(m.g))
        law |= {(seed, value): weight / 2**32 for value, weight in given_seed.items()}
    return law


def loloha(m: LOLOHA, x: int) -> Law:
    """The values of one round after the other, for the seeds that the walk follows."""
    law: Law = {}
    for seed in sampled(2**32):
        permanent = two_stage(m.permanent_truth, [bucket(x, seed, m.g)], range(m.g))
        for lasting, weight in permanent.items():
            for value, share in two_stage(m.truth, [lasting], range(m.g)).items():
                key = (seed, value)
                law[key] = law.get(key, Fraction(0)) + weight * share / 2**32
    return law


def count_mean_sketch(m: CountMeanSketch, x: int) -> Law:
    law: Law = {}
    flip = Fraction(m.flip, ONE)
    for row in range(m.rows):
        own = bucket(x, m.salt + row, m.width)
        bits = bit_rows([1 - flip if b == own else flip for b in range(m.width)])
        law |= {(row, report): weight / m.rows for report, weight in bits.items()}
    return law


def hadamard_sketch(m: HadamardSketch, x: int) -> Law:
    law: Law = {}
    matrix = scipy.linalg.hadamard(m.width)
    flip = Fraction(m.flip, ONE)
    for row, place in itertools.product(range(m.rows), range(m.width)):
        plus = matrix[place, bucket(x, m.salt + row, m.width)] == 1
        for minus in (0, 1):
            weight = flip if plus == bool(minus) else 1 - flip
            law[(row * m.width + place) * 2 + minus] = weight / (m.rows * m.width)
    return law


def cohort_law(table: Any, places: Callable[[int], Iterable[set[int]]]) -> Law:
    """The cohort is uniform; in it each of the sets of places is as likely, and is randomised."""
    law: Law = {}
    for cohort in range(table.cohorts):
        sets = list(places(cohort))
        for own in sets:
            if isinstance(table, ORR | Prefixes):
                (place,) = own
                at = cohort * table.width
                every = range(at, at + table.width)
                given: Law = two_stage(table.truth, [at + place], every)
            else:
                one, zero = bit_chances(table)
                bits = bit_rows([one if b in own else zero for b in range(table.width)])
                given = {(cohort, report): weight for report, weight in bits.items()}
            for report, weight in given.items():
                part = weight / table.cohorts / len(sets)
                law[report] = law.get(report, Fraction(0)) + part
    return law


def bit_chances(table: Any) -> tuple[Fraction, Fraction]:
    """How often a bit of the answer is set, and any other."""
    if isinstance(table, ORappor):
        flip = Fraction(table.flip, ONE)
        return 1 - flip, flip
    f, p, q = (
        Fraction(number, ONE)
        for number in (table.f_numerator, table.p_numerator, table.q_numerator)
    )
    lasting = (1 - f / 2, f / 2)
    one, zero = (bit * q + (1 - bit) * p for bit in lasting)
    return one, zero


def permuted(m: PermutedRR | PermutedRappor, x: int) -> Law:
    def places(cohort: int) -> list[set[int]]:
        def order(y: int) -> tuple[int, int]:
            return xxhash.xxh32_intdigest(y.to_bytes(8, "little"), m.salt + cohort), y

        return [{sorted(range(m.k), key=order).index(x) % m.width}]

    return cohort_law(m.randomiser, places)


def prefix_of(m: Prefixes, text: str, cohort: int) -> tuple[str, int]:
    """What is hashed of a string in a cohort, and the first cohort of its level."""
    start = 0
    for length, cohorts in m.levels:
        if cohort < start + cohorts:
            return ("." + text if len(text) < length else "+" + text[:length]), start
        start += cohorts
    raise AssertionError("there is no such cohort")


def over(m: Over[Any], x: int) -> Law:
    table = m.mechanism

    def places(cohort: int) -> list[set[int]]:
        if x == len(m.candidates):  # any hash is as likely
            return [set(p) for p in itertools.product(range(table.width), repeat=table.hashes)]
        text, start = unicodedata.normalize("NFC", m.candidates[x]), 0
        if isinstance(table, Prefixes):
            text, start = prefix_of(table, text, cohort)
        digest = hashlib.sha256(text.encode()).digest()
        keys = [int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16, 24)]
        numbers = [cohort * table.hashes + i for i in range(table.hashes)]
        return [{bucket(keys[(j - start) % 4], table.salt + j, table.width) for j in numbers}]

    return cohort_law(table, places)


def design(m: Design, x: int) -> Law:
    return {r: Fraction(row[x]) for r, row in enumerate(m.matrix)}


def boolean_rappor(m: BooleanRappor, x: int) -> Law:
    f, p, q = (Fraction(round(value * ONE), ONE) for value in (m.f, m.p, m.q))
    permanent = f / 2 + (1 - f) * x
    one = permanent * q + (1 - permanent) * p
    return {0: 1 - one, 1: one}


def among(m: Among, x: int) -> Law:
    """One of the listed answers, or any of the others."""
    law = BY_KIND[type(m.mechanism)]
    if x < len(m.listed):
        return law(m.mechanism, m.listed[x])
    rest = [law(m.mechanism, y) for y in range(m.mechanism.k) if y not in m.listed]
    return {
        report: sum((each[report] for each in rest), Fraction(0)) / len(rest) for report in rest[0]
    }


def cohort_of(part: Mechanism[Any], report: Any) -> int | None:
    """The cohort of a report, if the part has cohorts."""
    table = getattr(part, "randomiser", None)
    if table is None:
        return None
    return int(report // table.width) if isinstance(table, ORR) else int(report[0])


def product(m: Product, x: int) -> Law:
    """Independent reports of the parts; those with cohorts are in the same one."""
    answers = []
    for part in reversed(m.parts):
        x, own = divmod(x, part.k)
        answers.append(own)
    law: Law = {(): Fraction(1)}
    for part, own in zip(m.parts, reversed(answers), strict=True):
        longer: Law = {}
        for reports, weight in law.items():
            before = {
                cohort_of(other, report)
                for other, report in zip(m.parts, reports, strict=False)
                if cohort_of(other, report) is not None
            }
            for report, share in BY_KIND[type(part)](part, own).items():
                cohort = cohort_of(part, report)
                if cohort is None or not before:
                    longer[(*reports, report)] = weight * share
                elif cohort in before:  # given the cohort
                    longer[(*reports, report)] = weight * share * (part.cohort_count or 1)
        law = longer
    return law


def over_ngrams(m: OverNGrams, x: int) -> Law:
    """Independent reports of the string and of n-grams, given the cohort and the positions."""
    own = m.mechanism
    count = -(-own.longest // own.size)
    choices = list(itertools.combinations(range(count), own.together))
    listed = x < len(m.candidates)
    text = unicodedata.normalize("NFC", m.candidates[x])[: own.longest] if listed else ""
    padded = text.rstrip(" ").ljust(count * own.size)

    def single(table: Any, part: str) -> dict[int, Law]:
        """The reports of one part by cohort, given the cohort."""
        given = over(table.over([part if listed else "never"]), 0 if listed else 1)
        by_cohort: dict[int, Law] = {}
        for report, weight in given.items():
            cohort = int(report // table.width) if isinstance(table, ORR) else int(report[0])
            by_cohort.setdefault(cohort, {})[report] = weight * table.cohorts
        return by_cohort

    whole = single(own.whole, text.rstrip(" "))
    grams = [single(own.gram, padded[i * own.size : (i + 1) * own.size]) for i in range(count)]
    law: Law = {}
    for (number, choice), cohort in itertools.product(enumerate(choices), range(own.whole.cohorts)):
        parts = [whole[cohort], *(grams[i][cohort] for i in choice)]
        for reports in itertools.product(*parts):
            weight = Fraction(1, len(choices) * own.whole.cohorts)
            for part, report in zip(parts, reports, strict=True):
                weight *= part[report]
            law[(number, *reports)] = weight
    return law


BY_KIND: dict[type[Mechanism[Any]], Callable[[Any, int], Law]] = {
    KRR: krr,
    SUE: sue,
    OUE: oue,
    BasicRappor: basic_rappor,
    Subset: subset,
    Hadamard: hadamard,
    ProjectiveGeometry: projective,
    LocalHashing: local_hashing,
    SquareWave: square_wave,
    CountMeanSketch: count_mean_sketch,
    HadamardSketch: hadamard_sketch,
    LOSUE: losue,
    LOLOHA: loloha,
    PermutedRR: permuted,
    PermutedRappor: permuted,
    Over: over,
    Design: design,
    BooleanRappor: boolean_rappor,
    Among: among,
    Product: product,
    OverNGrams: over_ngrams,
}

FEW = ("tea", "Z\u00fcrich")

SMALL: list[Mechanism[Any]] = [
    KRR(k=2, epsilon=0.8),
    KRR(k=5, epsilon=2.0),
    SUE(k=3, epsilon=1.0),
    OUE(k=4, epsilon=1.5),
    BasicRappor(k=3, f=0.4, p=0.3, q=0.8),
    Subset(k=5, epsilon=1.0, w=2),
    Subset(k=6, epsilon=1.0, w=3),
    Subset(k=17, epsilon=2.0, w=2),
    Hadamard(k=5, epsilon=1.0, blocks=1),
    Hadamard(k=7, epsilon=2.0, blocks=3),
    ProjectiveGeometry(k=6, epsilon=1.0, q=2, t=3),
    ProjectiveGeometry(k=10, epsilon=1.5, q=3, t=3),
    LocalHashing(k=4, epsilon=1.0, g=3),
    SquareWave(k=6, epsilon=1.0, b=2),
    SquareWave(k=4, epsilon=2.0, b=4),
    SquareWave(k=7, epsilon=1.5, b=1, circular=True),
    CountMeanSketch(k=4, epsilon=1.0, rows=2, width=3, salt=11),
    HadamardSketch(k=5, epsilon=1.0, rows=2, width=4, salt=3),
    LOSUE(k=3, epsilon=1.0, epsilon_permanent=2.5),
    LOLOHA(k=4, epsilon=1.0, epsilon_permanent=2.0, g=3),
    PermutedRR(k=5, epsilon=1.0, width=3, cohorts=3, salt=6),
    PermutedRappor(k=4, epsilon=1.0, width=3, cohorts=2, salt=2),
    ORR(epsilon=1.0, width=3, cohorts=3, salt=1).over(["tea", "Z\u00fcrich", "mate"]),
    ORR(epsilon=1.0, width=3, cohorts=3, salt=1).over(
        ["tea", "Z\u00fcrich", "mate"], complete=True
    ),
    ORappor(epsilon=4.0, width=4, cohorts=2, hashes=2, salt=7).over(["tea", "coffee"]),
    Rappor(width=3, hashes=2, cohorts=2, f=0.25, p=0.125, q=0.875, salt=7).over(["tea", "coffee"]),
    Prefixes(epsilon=1.0, width=3, levels=((1, 2), (3, 5)), salt=5).over(["ab", "a", "mate"]),
    Design([["1/2", "1/6", 0.25], [0.3, "1/2", 0.25], [0.2, "1/3", "1/2"]]),
    Design([[0.4, 0.1], [0.3, 0.3], [0.2, 0.2], [0.1, 0.4]], labels=("yes", "no")),
    BooleanRappor(f=0.3, p=0.2, q=0.9),
    Among(OUE(k=4, epsilon=1.5), (2, 0)),
    Among(SUE(k=3, epsilon=1.0), (1,)),
    Product((KRR(k=2, epsilon=0.8), KRR(k=3, epsilon=2.0))),
    Product((SUE(k=2, epsilon=1.0), OUE(k=3, epsilon=1.5))),
    Product((Subset(k=4, epsilon=1.0, w=2), KRR(k=2, epsilon=1.0))),
    Product((Subset(k=3, epsilon=1.0, w=1), SUE(k=2, epsilon=1.0))),
    Product((KRR(k=2, epsilon=1.0), KRR(k=2, epsilon=0.5), OUE(k=2, epsilon=1.0))),
    Product((Hadamard(k=3, epsilon=1.0, blocks=1), Design([[0.6, 0.3], [0.4, 0.7]]))),
    Product((ORR(epsilon=1.0, width=3, cohorts=3, salt=1).over(FEW), KRR(k=2, epsilon=0.5))),
    Product((Among(SUE(k=3, epsilon=1.0), (1,)), BooleanRappor(f=0.3, p=0.2, q=0.9))),
    Product(
        (
            ORR(epsilon=1.0, width=3, cohorts=3, salt=3).over(FEW),
            PermutedRR(k=3, epsilon=1.0, width=2, cohorts=3, salt=1),
        )
    ),
    Product(
        (
            ORappor(epsilon=2.0, width=3, cohorts=2, hashes=1, salt=1).over(FEW),
            ORR(epsilon=1.0, width=2, cohorts=2, salt=1).over(FEW, complete=True),
        )
    ),
    NGrams(
        longest=5,
        size=2,
        whole=ORR(epsilon=1.0, width=3, cohorts=2, salt=1),
        gram=ORR(epsilon=1.5, width=2, cohorts=2, salt=4),
    ).over(["tea", "Z\u00fcrich", "m"]),
    NGrams(
        longest=3,
        size=1,
        whole=ORappor(epsilon=2.0, width=2, cohorts=2, salt=1),
        gram=ORappor(epsilon=1.0, width=2, cohorts=2, salt=2),
        together=3,
    ).over(["teapot", "abc"], complete=True),
]
"""Small enough to walk every branch; at least one of each kind."""


# Mechanisms whose answers are sets


def priv_set(m: PrivSet, x: tuple[int, ...]) -> Law:
    """All reports by how many held items they have; somebody with too many keeps some at random."""
    sets = list(itertools.combinations(range(m.k + m.most), m.w))
    kept = list(itertools.combinations(x, min(m.most, len(x))))
    law: Law = dict.fromkeys(sets, Fraction(0))
    for part in kept:
        held = {*part, *(m.k + i for i in range(m.most - len(part)))}
        own = [z for z in sets if len(held & set(z)) >= m.overlap]
        for report, weight in two_stage(m.truth, own, sets).items():
            law[report] += weight / len(kept)
    return law


def one_label(m: OneLabel, x: tuple[int, ...]) -> Law:
    law: Law = {}
    for label in range(m.k):
        own = [2 * label + (label in x)]
        both = [2 * label, 2 * label + 1]
        law |= {y: weight / m.k for y, weight in two_stage(m.truth, own, both).items()}
    return law


OF_SETS: dict[type[Any], Callable[[Any, tuple[int, ...]], Law]] = {
    PrivSet: priv_set,
    OneLabel: one_label,
}

SMALL_SETS: list[SetMechanism[Any]] = [
    PrivSet(k=3, most=2, epsilon=2.0, w=2, overlap=1),
    PrivSet(k=4, most=2, epsilon=2.0, w=1),
    PrivSet(k=3, most=2, epsilon=4.0, w=2, overlap=2),
    PrivSet(k=3, most=3, epsilon=4.0, w=2, overlap=2, pairs=True),
    PrivSet(k=3, most=1, epsilon=2.0, w=2, pairs=True),
    PrivSet(k=3, most=2, epsilon=4.0, w=2, overlap=2, more="sample"),
    PrivSet(k=1, most=1, epsilon=1.0),
    OneLabel(k=3, epsilon=2.0),
    OneLabel(k=2, epsilon=1.0),
]
