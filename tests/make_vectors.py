"""Write the files of ``vectors/``: ``python -m tests.make_vectors``.

The cases are listed here, the bytes of chance come from SHAKE-128 of each vector's label, hashes
from the xxhash package. ``tests/test_vectors.py`` holds the written files to this script, and the
library to the files; ``vectors/README.md`` says what they mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash

from murmurs import (
    KRR,
    OUE,
    SUE,
    BasicRappor,
    CountMeanSketch,
    Given,
    Hadamard,
    HadamardSketch,
    LocalHashing,
    ProjectiveGeometry,
    Subset,
)
from murmurs.mechanism import Mechanism

FOLDER = Path(__file__).parent.parent / "vectors"
Vector = dict[str, Any]

KEYS_AND_SEEDS = [
    (0x0102030405060708, 0),  # 048e9240, known from elsewhere
    (2**64 - 1, 0xDEADBEEF),  # 21efbffd, known from elsewhere
    *((key, seed) for key in (0, 1, 2, 255, 256, 99_999) for seed in (0, 1, 2**32 - 1)),
    *((key, 7) for key in (2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53 - 1, 2**53 + 1, 2**63)),
    *((1000, 2**31 + step) for step in (-1, 0, 1)),
    (2**64 - 1, 0),
    (2**64 - 1, 2**32 - 1),
    (0xFFFFFFFF00000000, 5),
]
RANGES = (2, 3, 7, 10, 256, 1000, 2**16, 2**21 - 1)

CASES: list[Mechanism[Any]] = [
    KRR(k=2, epsilon=1.0),
    KRR(k=5, epsilon=0.5),
    KRR(k=300, epsilon=5.0),
    KRR(k=70_000, epsilon=11.0),
    SUE(k=3, epsilon=1.0),
    SUE(k=8, epsilon=2.0),
    SUE(k=101, epsilon=1.0),
    OUE(k=5, epsilon=1.0),
    OUE(k=16, epsilon=0.5),
    OUE(k=203, epsilon=2.0),
    BasicRappor(k=4, f=0.5, p=0.5, q=0.75),
    BasicRappor(k=6, f=0.0, p=0.35, q=0.65),
    BasicRappor(k=51, f=0.25, p=0.25, q=0.75),
    Subset(k=5, epsilon=1.0, w=2),
    Subset(k=16, epsilon=1.0, w=4),
    Subset(k=100, epsilon=1.0, w=27),
    Subset(k=17, epsilon=2.0, w=2),
    Subset(k=100, epsilon=3.0, w=5),
    Subset(k=1000, epsilon=4.0, w=18),
    Hadamard(k=5, epsilon=1.0, blocks=1),
    Hadamard(k=7, epsilon=2.0, blocks=3),
    Hadamard(k=100, epsilon=3.0, blocks=10),
    Hadamard(k=1000, epsilon=2.0, blocks=3),
    ProjectiveGeometry(k=6, epsilon=1.0, q=2, t=3),
    ProjectiveGeometry(k=16, epsilon=4.0, q=17, t=2),
    ProjectiveGeometry(k=100, epsilon=2.0, q=7, t=4),
    ProjectiveGeometry(k=1000, epsilon=1.0, q=3, t=7),
    LocalHashing(k=4, epsilon=1.0, g=3),
    LocalHashing(k=1000, epsilon=2.0, g=2),
    LocalHashing(k=50_000, epsilon=6.0, g=404),
    CountMeanSketch(k=4, epsilon=1.0, rows=2, width=3, salt=11),
    CountMeanSketch(k=1000, epsilon=2.0, rows=300, width=20, salt=2**32 - 1),
    HadamardSketch(k=5, epsilon=1.0, rows=2, width=4, salt=3),
    HadamardSketch(k=1000, epsilon=2.0, rows=16, width=64, salt=2**32 - 1),
    HadamardSketch(k=100_000, epsilon=2.0),
]

KRR_5, KRR_300 = KRR(k=5, epsilon=1.0), KRR(k=300, epsilon=1.0)
HADAMARD = Hadamard(k=7, epsilon=2.0, blocks=3)
POINTS = ProjectiveGeometry(k=6, epsilon=1.0, q=2, t=3)
SIGNS = HadamardSketch(k=5, epsilon=1.0, rows=3, width=4)
SUE_8, OUE_5 = SUE(k=8, epsilon=1.0), OUE(k=5, epsilon=1.0)
RAPPOR = BasicRappor(k=12, f=0.5, p=0.25, q=0.75)
SET_AS_BITS, SET_AS_LIST = Subset(k=5, epsilon=1.0, w=2), Subset(k=17, epsilon=2.0, w=2)
LONG_LIST = Subset(k=1000, epsilon=5.0, w=3)
HASHED, WIDE_HASHED = LocalHashing(k=4, epsilon=1.0, g=3), LocalHashing(k=4, epsilon=6.0, g=300)
ROWS = CountMeanSketch(k=4, epsilon=1.0, rows=2, width=3)
MANY_ROWS = CountMeanSketch(k=4, epsilon=1.0, rows=300, width=8)

BAD: list[tuple[Mechanism[Any], str, str]] = [
    (KRR_5, "", "0 bytes are not reports of 1 bytes each"),
    (KRR_5, "0001", "2 bytes are not reports of 1 bytes each"),
    (KRR_5, "05", "5 is outside 0..4"),
    (KRR_5, "ff", "255 is outside 0..4"),
    (KRR_300, "00", "1 bytes are not reports of 2 bytes each"),
    (KRR_300, "2c01", "300 is outside 0..299"),
    (KRR_300, "ffff", "65535 is outside 0..299"),
    (HADAMARD, "0c", "12 is outside 0..11"),
    (POINTS, "07", "7 is outside 0..6"),
    (SIGNS, "18", "24 is outside 0..23"),
    (SUE_8, "", "0 bytes are not reports of 1 bytes each"),
    (SUE_8, "0000", "2 bytes are not reports of 1 bytes each"),
    (OUE_5, "20", "a bit after the first 5 is set"),
    (OUE_5, "80", "a bit after the first 5 is set"),
    (RAPPOR, "ff", "1 bytes are not reports of 2 bytes each"),
    (RAPPOR, "0010", "a bit after the first 12 is set"),
    (SET_AS_BITS, "", "0 bytes are not reports of 1 bytes each"),
    (SET_AS_BITS, "00", "it does not have 2 rising members below 5"),
    (SET_AS_BITS, "01", "it does not have 2 rising members below 5"),
    (SET_AS_BITS, "07", "it does not have 2 rising members below 5"),
    (SET_AS_BITS, "21", "a bit after the first 5 is set"),
    (SET_AS_LIST, "00", "1 bytes are not reports of 2 bytes each"),
    (SET_AS_LIST, "000102", "3 bytes are not reports of 2 bytes each"),
    (SET_AS_LIST, "0100", "it does not have 2 rising members below 17"),
    (SET_AS_LIST, "0303", "it does not have 2 rising members below 17"),
    (SET_AS_LIST, "0011", "it does not have 2 rising members below 17"),
    (LONG_LIST, "0000010000", "5 bytes are not reports of 6 bytes each"),
    (LONG_LIST, "00000100e803", "it does not have 3 rising members below 1000"),
    (LONG_LIST, "000001000001ff", "7 bytes are not reports of 6 bytes each"),
    (LONG_LIST, "010000010001", "it does not have 3 rising members below 1000"),
    (HASHED, "00000000", "4 bytes are not reports of 5 bytes each"),
    (HASHED, "ffffffff03", "value 3 is outside 0..2"),
    (HASHED, "00000000ff", "value 255 is outside 0..2"),
    (WIDE_HASHED, "0000000000", "5 bytes are not reports of 6 bytes each"),
    (WIDE_HASHED, "000000002c01", "value 300 is outside 0..299"),
    (ROWS, "00", "1 bytes are not reports of 2 bytes each"),
    (ROWS, "0201", "row 2 is outside 0..1"),
    (ROWS, "0108", "a bit after the first 3 is set"),
    (MANY_ROWS, "0001", "2 bytes are not reports of 3 bytes each"),
    (MANY_ROWS, "2c0100", "row 300 is outside 0..299"),
]
"""Mechanism, bytes that are none of its reports, and what the refusal must say."""


def hash_vectors() -> Iterator[Vector]:
    for key, seed in KEYS_AND_SEEDS:
        value = xxhash.xxh32_intdigest(key.to_bytes(8, "little"), seed)
        buckets = [[g, value * g >> 32] for g in RANGES]
        yield {"key": f"{key:016x}", "seed": seed, "hash": value, "buckets": buckets}


def report_vectors() -> Iterator[Vector]:
    for mechanism in CASES:
        draws = 4 if mechanism.k == 2 else 2 if mechanism.k < 50 else 1
        for answer in sorted({0, 1, mechanism.k // 2, mechanism.k - 1}):
            for draw in range(draws):
                yield report_vector(mechanism, answer, draw)


def report_vector(mechanism: Mechanism[Any], answer: int, draw: int) -> Vector:
    """Encode with the bytes of the label, as many as are needed."""
    label = f"murmurs {mechanism} answer {answer} draw {draw}"
    plenty = hashlib.shake_128(label.encode()).digest(64 * (mechanism.k + 64))
    random = Given(plenty)
    report = mechanism.encode(answer, random)
    used = plenty[: len(plenty) - random.left]
    return {
        "label": label,
        "mechanism": mechanism.to_document(),
        "answer": answer,
        "random": used.hex(),
        "left": 0,
        "report": in_json(report),
        "wire": mechanism.shape.pack(report).hex(),
    }


def bad_report_vectors() -> Iterator[Vector]:
    for mechanism, wire, error in BAD:
        yield {"mechanism": mechanism.to_document(), "wire": wire, "error": error}


def in_json(report: object) -> Any:
    """Return a report as JSON has it: bytes as hexadecimal digits, tuples as lists."""
    if isinstance(report, bytes):
        return report.hex()
    if isinstance(report, tuple):
        return [in_json(part) for part in report]
    return report


def text(vectors: Iterator[Vector]) -> str:
    """Return a JSON list with one vector a line."""
    return "[\n" + ",\n".join(json.dumps(vector) for vector in vectors) + "\n]\n"


FILES = {
    "hash.json": hash_vectors,
    "reports.json": report_vectors,
    "bad_reports.json": bad_report_vectors,
}


def main() -> None:
    for name, vectors in FILES.items():
        (FOLDER / name).write_text(text(vectors()), encoding="utf-8")


if __name__ == "__main__":
    main()
