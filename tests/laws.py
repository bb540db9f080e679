"""The laws of the mechanisms, written down a second time from their definitions.

By brute force and with other people's code (SciPy's Hadamard matrices, the xxhash package): nothing
of `murmurs` is used but the parameters. Each function returns the probability of every report.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
import xxhash

from murmurs import (
    KRR,
    OUE,
    SUE,
    BasicRappor,
    CountMeanSketch,
    Hadamard,
    HadamardSketch,
    LocalHashing,
    ProjectiveGeometry,
    Subset,
)
from murmurs.mechanism import Mechanism
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
    f, p, q = (Fraction(number, ONE) for number in (m.permanent, m.idle, m.busy))
    lasting = [f / 2 + (1 - f) * (j == x) for j in range(m.k)]
    return bit_rows([one * q + (1 - one) * p for one in lasting])


def subset(m: Subset, x: int) -> Law:
    sets = list(itertools.combinations(range(m.k), m.w))
    return two_stage(m.truth, [s for s in sets if x in s], sets)


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


BY_KIND: dict[type[Mechanism[Any]], Callable[[Any, int], Law]] = {
    KRR: krr,
    SUE: sue,
    OUE: oue,
    BasicRappor: basic_rappor,
    Subset: subset,
    Hadamard: hadamard,
    ProjectiveGeometry: projective,
    LocalHashing: local_hashing,
    CountMeanSketch: count_mean_sketch,
    HadamardSketch: hadamard_sketch,
}

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
    CountMeanSketch(k=4, epsilon=1.0, rows=2, width=3, salt=11),
    HadamardSketch(k=5, epsilon=1.0, rows=2, width=4, salt=3),
]
"""Small enough to walk every branch; at least one of each kind."""
