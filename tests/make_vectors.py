"""Write the files of ``vectors/``: ``python -m tests.make_vectors``.

The cases are listed here, the bytes of chance come from SHAKE-128 of each vector's label, hashes
from the xxhash package. ``tests/test_vectors.py`` holds the written files to this script, and the
library to the files; ``vectors/README.md`` says what they mean.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import struct
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

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
    Derived,
    Device,
    Given,
    Hadamard,
    HadamardSketch,
    LocalHashing,
    OneLabel,
    ORappor,
    PermutedRappor,
    PermutedRR,
    PrivSet,
    Product,
    ProjectiveGeometry,
    Rappor,
    SetMechanism,
    SquareWave,
    Subset,
    Survey,
)
from murmurs.boundary.documents import canonical
from murmurs.client import limits
from murmurs.devices.device import MEMORIES
from murmurs.mechanisms import Design, NGrams, OpenProduct, Prefixes
from murmurs.mechanisms.mechanism import AnyMechanism, Mechanism
from murmurs.survey.terms import period_number

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
    SquareWave(k=6, epsilon=1.0, b=2),
    SquareWave(k=300, epsilon=1.0),
    SquareWave(k=7, epsilon=1.5, b=1, circular=True),
    SquareWave(k=24, epsilon=1.0, circular=True),
    CountMeanSketch(k=4, epsilon=1.0, rows=2, width=3, salt=11),
    CountMeanSketch(k=1000, epsilon=2.0, rows=300, width=20, salt=2**32 - 1),
    HadamardSketch(k=5, epsilon=1.0, rows=2, width=4, salt=3),
    HadamardSketch(k=1000, epsilon=2.0, rows=16, width=64, salt=2**32 - 1),
    HadamardSketch(k=100_000, epsilon=2.0),
    LOSUE(k=5, epsilon=1.0, epsilon_permanent=2.0),
    LOSUE(k=51, epsilon=0.5, epsilon_permanent=3.0),
    LOLOHA(k=4, epsilon=1.0, epsilon_permanent=2.0, g=3),
    LOLOHA(k=1000, epsilon=2.0, epsilon_permanent=4.0),
    PermutedRR(k=5, epsilon=1.0, width=3, cohorts=4, salt=6),
    PermutedRR(k=1000, epsilon=2.0, width=8, cohorts=300, salt=2**32 - 1),
    Design([["3/4", "1/6"], ["1/4", "5/6"]]),
    Design([["1/2", "0", "1/7"], ["1/3", "1", "2/7"], ["1/6", "0", "4/7"]]),
    PermutedRappor(k=4, epsilon=1.0, width=3, cohorts=2, salt=2),
    PermutedRappor(k=1000, epsilon=2.0, width=20, cohorts=300, salt=2**32 - 1),
    Product((KRR(k=3, epsilon=1.0), OUE(k=10, epsilon=2.0))),
    Product((KRR(k=2, epsilon=1.0), Subset(k=4, epsilon=1.0, w=2), KRR(k=300, epsilon=5.0))),
    Product((PermutedRR(k=3, epsilon=1.0, width=3, cohorts=4), PermutedRappor(3, 1.0, 3, 4))),
]

OPEN_CASES: list[tuple[ORR | ORappor | Rappor | Prefixes | NGrams | OpenProduct, Sequence[Any]]] = [
    (ORR(epsilon=1.0, width=3, cohorts=4, salt=1), ["tea", "Z\u00fcrich", "Zu\u0308rich", "名"]),
    (ORR(epsilon=3.0, width=21, cohorts=5000, salt=2**32 - 1), ["tea", "https://example.org/"]),
    (
        Prefixes(epsilon=2.0, width=8, levels=((1, 3), (3, 40), (200, 5)), salt=11),
        ["t", "tea", "teapot", "Z\u00fcrich", "Zu\u0308rich", "名"],
    ),
    (ORappor(epsilon=1.0, width=3, cohorts=2, salt=5), ["tea", "Z\u00fcrich", "Zu\u0308rich"]),
    (ORappor(epsilon=4.0, width=20, cohorts=300, hashes=2, salt=2**32 - 1), ["tea", "名"]),
    (ORappor(epsilon=9.0, width=4, cohorts=8, hashes=3, salt=7), ["tea", "coffee", "mate"]),
    (Rappor(width=16, hashes=2, cohorts=8, f=0.5, p=0.25, q=0.75, salt=3), ["tea", "名"]),
    (Rappor(width=5, hashes=1, cohorts=300, f=0.25, p=0.4, q=0.9), ["tea", "Z\u00fcrich"]),
    (
        OpenProduct((ORR(2.0, width=8, cohorts=16), KRR(k=2, epsilon=1.0), ORappor(2.0, 4, 16))),
        [("tea", 0, "Z\u00fcrich"), ("mate", 1, "名")],
    ),
    (
        NGrams(5, 2, whole=ORR(1.0, width=4, cohorts=3), gram=ORR(1.0, width=3, cohorts=3, salt=4)),
        ["t", "tea", "teapot", "tea  ", "Z\u00fcri", "Zu\u0308ri", "名"],
    ),
    (
        NGrams(7, 2, ORR(2.0, width=8, cohorts=300), ORappor(1.0, 4, 300, salt=9), together=3),
        ["tea", "名"],
    ),
]

SET_CASES: list[tuple[SetMechanism[Any], Sequence[tuple[int, ...]]]] = [
    (PrivSet(k=6, most=2, epsilon=1.0), [(), (3,), (0, 5)]),
    (PrivSet(k=10, most=3, epsilon=4.0, w=2, overlap=2), [(), (0, 4, 9)]),
    (PrivSet(k=40, most=3, epsilon=1.0, w=4, pairs=True, more="sample"), [(1, 2), (0, 7, 8, 39)]),
    (PrivSet(k=300, most=5, epsilon=0.5, w=20), [(), (0, 1, 2, 298, 299)]),
    (OneLabel(k=3, epsilon=1.0), [(), (1,), (0, 1, 2)]),
    (OneLabel(k=200, epsilon=2.0), [(), tuple(range(100))]),
]

KRR_5, KRR_300 = KRR(k=5, epsilon=1.0), KRR(k=300, epsilon=1.0)
HADAMARD = Hadamard(k=7, epsilon=2.0, blocks=3)
WAVE, CIRCLE = SquareWave(k=6, epsilon=1.0, b=2), SquareWave(k=7, epsilon=1.5, b=1, circular=True)
POINTS = ProjectiveGeometry(k=6, epsilon=1.0, q=2, t=3)
SIGNS = HadamardSketch(k=5, epsilon=1.0, rows=3, width=4)
SUE_8, OUE_5 = SUE(k=8, epsilon=1.0), OUE(k=5, epsilon=1.0)
RAPPOR = BasicRappor(k=12, f=0.5, p=0.25, q=0.75)
SET_AS_BITS, SET_AS_LIST = Subset(k=5, epsilon=1.0, w=2), Subset(k=17, epsilon=2.0, w=2)
ITEMS, YES_OR_NO = PrivSet(k=3, most=2, epsilon=1.0, w=2), OneLabel(k=3, epsilon=1.0)
LONG_LIST = Subset(k=1000, epsilon=5.0, w=3)
HASHED, WIDE_HASHED = LocalHashing(k=4, epsilon=1.0, g=3), LocalHashing(k=4, epsilon=6.0, g=300)
ROWS = CountMeanSketch(k=4, epsilon=1.0, rows=2, width=3)
LOSUE_5 = LOSUE(k=5, epsilon=1.0, epsilon_permanent=2.0)
LOLOHA_3 = LOLOHA(k=4, epsilon=1.0, epsilon_permanent=2.0, g=3)
MANY_ROWS = CountMeanSketch(k=4, epsilon=1.0, rows=300, width=8)
PLACES, FILTERS = PermutedRR(k=5, epsilon=1.0, width=3, cohorts=4), PermutedRappor(4, 1.0, 3, 2)
OPEN_PLACES, OPEN_FILTERS = ORR(epsilon=1.0, width=3, cohorts=100), ORappor(1.0, 12, 300)

TOGETHER = Product((KRR_5, OUE_5))
GRAMS = NGrams(5, 2, whole=ORR(1.0, width=4, cohorts=3), gram=ORR(1.0, width=3, cohorts=3))
IN_COHORTS = OpenProduct((ORR(1.0, width=3, cohorts=4), ORappor(1.0, width=3, cohorts=4)))

BAD: list[tuple[AnyMechanism[Any], str, str]] = [
    (GRAMS, "000000", "3 bytes are not reports of 4 bytes each"),
    (GRAMS, "03000000", "a bad part for question 0: it is not a Category(count=3): 3 is outside"),
    (GRAMS, "000c0000", "a bad part for question 1: it is not a Category(count=12): 12 is outside"),
    (GRAMS, "00000300", "questions 1 and 2 are in cohorts 0 and 1, but one person is in one"),
    (TOGETHER, "00", "1 bytes are not reports of 2 bytes each"),
    (TOGETHER, "0500", "a bad part for question 0: it is not a Category(count=5): 5 is outside"),
    (TOGETHER, "0020", "a bad part for question 1"),
    (IN_COHORTS, "030002", "questions 0 and 1 are in cohorts 1 and 0, but one person is in one"),
    (KRR_5, "", "0 bytes are not reports of 1 bytes each"),
    (KRR_5, "0001", "2 bytes are not reports of 1 bytes each"),
    (KRR_5, "05", "5 is outside 0..4"),
    (KRR_5, "ff", "255 is outside 0..4"),
    (KRR_300, "00", "1 bytes are not reports of 2 bytes each"),
    (KRR_300, "2c01", "300 is outside 0..299"),
    (KRR_300, "ffff", "65535 is outside 0..299"),
    (HADAMARD, "0c", "12 is outside 0..11"),
    (POINTS, "07", "7 is outside 0..6"),
    (WAVE, "0a", "10 is outside 0..9"),
    (CIRCLE, "07", "7 is outside 0..6"),
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
    (ITEMS, "01", "it does not have 2 rising members below 5"),
    (ITEMS, "21", "a bit after the first 5 is set"),
    (YES_OR_NO, "06", "6 is outside 0..5"),
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
    (ROWS, "0201", "cohort 2 is outside 0..1"),
    (ROWS, "0108", "a bit after the first 3 is set"),
    (MANY_ROWS, "0001", "2 bytes are not reports of 3 bytes each"),
    (MANY_ROWS, "2c0100", "cohort 300 is outside 0..299"),
    (LOSUE_5, "20", "a bit after the first 5 is set"),
    (LOLOHA_3, "00000000", "4 bytes are not reports of 5 bytes each"),
    (LOLOHA_3, "0000000003", "value 3 is outside 0..2"),
    (PLACES, "0c", "12 is outside 0..11"),
    (FILTERS, "0201", "cohort 2 is outside 0..1"),
    (FILTERS, "0108", "a bit after the first 3 is set"),
    (OPEN_PLACES, "00", "1 bytes are not reports of 2 bytes each"),
    (OPEN_PLACES, "2c01", "300 is outside 0..299"),
    (OPEN_FILTERS, "00ff", "2 bytes are not reports of 4 bytes each"),
    (OPEN_FILTERS, "2c010000", "cohort 300 is outside 0..299"),
    (OPEN_FILTERS, "00000010", "a bit after the first 12 is set"),
]
"""Mechanism, bytes that are none of its reports, and what the refusal must say."""

NOT_BASE64 = "not base64 with padding"
BAD_JSON: list[tuple[Mechanism[Any] | ORR | ORappor | NGrams | OpenProduct, Any, str]] = [
    (GRAMS, [0, 0, 0], "a list of 4 reports, not this list"),
    (GRAMS, [0, 4, 0, 0], "are in cohorts 1 and 0, but one person is in one cohort"),
    (TOGETHER, 3, "a list of 2 reports, not int"),
    (TOGETHER, [3], "a list of 2 reports, not this list"),
    (TOGETHER, [5, "AQ=="], "from 0 to 4"),
    (IN_COHORTS, [3, [0, "Ag=="]], "are in cohorts 1 and 0, but one person is in one cohort"),
    (KRR_5, None, "a whole number, not null"),
    (KRR_5, "0", "a whole number, not text"),
    (KRR_5, True, "a whole number, not bool"),
    (KRR_5, [0], "a whole number, not this list"),
    (KRR_5, -1, "from 0 to 4"),
    (KRR_5, 5, "from 0 to 4"),
    (HADAMARD, 12, "from 0 to 11"),
    (OPEN_PLACES, 300, "from 0 to 299"),
    (OUE_5, 3, "base64 text, not int"),
    (OUE_5, [1, 0, 0, 0, 0], "base64 text, not this list"),
    (OUE_5, "", "0 bytes are not reports of 1 bytes each"),
    (OUE_5, "AQ", NOT_BASE64),  # no padding
    (OUE_5, "AR==", NOT_BASE64),  # an unused bit is set
    (OUE_5, "AQ==\n", NOT_BASE64),
    (OUE_5, " AQ==", NOT_BASE64),
    (OUE_5, "AQ====", NOT_BASE64),
    (OUE_5, "_w==", NOT_BASE64),  # the alphabet of URLs
    (OUE_5, "\u00e9Q==", NOT_BASE64),
    (OUE_5, "AQI=", "2 bytes are not reports of 1 bytes each"),
    (OUE_5, "IA==", "a bit after the first 5 is set"),
    (SET_AS_BITS, "AQ==", "a list of 2 rising numbers, not text"),
    (SET_AS_BITS, [0], "2 rising numbers"),
    (SET_AS_BITS, [0, 1, 2], "2 rising numbers"),
    (SET_AS_BITS, [1, 0], "2 rising numbers"),
    (SET_AS_LIST, [3, 3], "2 rising numbers"),
    (SET_AS_LIST, [0, 17], "from 0 to 16"),
    (SET_AS_LIST, [0, "1"], "a list of 2 rising numbers"),
    (HASHED, 0, "a list of seed and value, not int"),
    (HASHED, [0], "a list of seed and value"),
    (HASHED, [0, 0, 0], "a list of seed and value"),
    (HASHED, [0, 3], "value must be from 0 to 2"),
    (HASHED, [2**32, 0], "seed must be from 0 to 4294967295"),
    (HASHED, [-1, 0], "seed must be from 0 to 4294967295"),
    (ROWS, "AAE=", "a list of cohort and base64 text, not text"),
    (ROWS, [0], "a list of cohort and base64 text"),
    (ROWS, [0, 1], "base64 text, not int"),
    (ROWS, [2, "AQ=="], "cohort must be from 0 to 1"),
    (ROWS, [0, "CA=="], "a bit after the first 3 is set"),
    (OPEN_FILTERS, [0, "AQ=="], "1 bytes are not reports of 2 bytes each"),
]
"""Mechanism, a JSON value that is none of its reports, and what the refusal must say."""


SECRETS = [bytes(16), bytes(range(32)), bytes([255]) * 100]
CONTEXTS: list[tuple[str | bytes | int, ...]] = [
    (),
    ("",),
    (b"",),
    (0,),
    ("1",),
    (b"1",),
    (1,),
    (-1,),
    (2**64,),
    ("ab", "c"),
    ("a", "bc"),
    ("abc",),
    ("zürich", b"\x00\xff", 7),
]

DEVICES: list[tuple[BasicRappor | LOSUE | LOLOHA | Rappor, str, Sequence[int | str]]] = [
    (BasicRappor(k=12, f=0.5, p=0.25, q=0.75), "coffee", [0, 1, 11]),
    (LOSUE_5, "coffee", [0, 1, 4]),
    (LOSUE(k=51, epsilon=0.5, epsilon_permanent=3.0), "名", [0, 1, 50]),
    (LOLOHA_3, "coffee", [0, 1, 3]),
    (LOLOHA(k=1000, epsilon=2.0, epsilon_permanent=4.0), "", [0, 1, 999]),
    (Rappor(20, 2, 300, 0.5, 0.25, 0.75, salt=7), "drink", ["tea", "Zu\u0308rich", "名"]),
]
COURSE = ((0, 7), (0, 7), (1, 7), (0, 8), (2, 2**53 - 1))
"""Which of a device's answers are reported one after another, and in which periods."""


TEXTS = [
    "Z\u00fcrich",
    "Zu\u0308rich",  # the same, and has the same key
    "a",
    "tea",
    "https://example.org/?q=1&r=%20#x",
    " ",
    " tea",
    "\t\r\n",
    "\u00a0",
    "\0",
    "tea\0",
    "\x7f\x80",
    "名前",
    "\ud55c\uae00",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",  # the same in conjoining letters
    "\u05e9\u05dc\u05d5\u05dd",
    "\u0645\u0631\u062d\u0628\u0627 \u200fabc",
    "\U0001f600",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\ufe0f",
    "\U0001f1e8\U0001f1ed",
    "q\u0307\u0323",
    "q\u0323\u0307",  # the same, its marks in canonical order
    "s\u0323\u0307",
    "\u1e69",  # the same, composed
    "\u212b",  # the sign of the angstrom is a letter with a ring
    "\u00c5",
    "\ufb01",  # a ligature stays: only canonical equivalence is undone
    "fi",
    "\u0958",  # never composed
    "\u0915\u093c",
    "\u0308",
    "\ufeffTea",
    "\uffff",
    "\U0010ffff",
    "a" * 55,  # one block of SHA-256
    "a" * 56,  # two
    "\u00e4" * 32,
    "murmurs " * 1250,
]
BAD_TEXTS = [
    ("", "a string that is not empty"),
    ("\ud800", "half of a surrogate pair at place 0"),
    ("\udfff", "half of a surrogate pair at place 0"),
    ("tea\ud83d", "half of a surrogate pair at place 3"),
    ("\U0001f600\ude00 tea", "half of a surrogate pair at place 1"),
    ("\ude00\ud83d", "half of a surrogate pair at place 0"),
]
TABLES = [  # width, cohorts, hashes, salt
    (2, 1, 1, 0),
    (2, 4, 2, 0),
    (3, 5, 3, 2**32 - 4),  # seeds go on from 2**32 - 1 to 0
    (16, 64, 16, 7),
    (1000, 1000, 1, 2**31),
    (65535, 3, 2, 2**32 - 1),
    (256, 65536, 16, 2**32 - 1),
    (65536, 256, 16, 2**32 - 1),
]
PLACED = ["Z\u00fcrich", "Zu\u0308rich", "tea", "\U0001f600", "\0"]
PERMUTED = [  # k, cohorts, width, salt
    (2, 2, 2, 0),
    (5, 4, 5, 0),
    (7, 3, 3, 2**32 - 2),
    (10, 2, 2, 2**32 - 1),
    (257, 3, 16, 12345),
]


SUBMISSIONS: list[tuple[str, int, dict[str, list[Any]], str | None]] = [
    (
        """
        name = "coffee"
        [[questions]]
        name = "hot"
        labels = ["yes", "no"]
        epsilon = 1.0
        """,
        3,
        {"hot": [0, 1, 1]},
        None,
    ),
    (
        """
        name = "shapes"
        [[questions]]
        name = "bits"
        labels = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
        mechanism = {name = "OUE", epsilon = 1.0}
        [[questions]]
        name = "set"
        labels = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
        mechanism = {name = "Subset", epsilon = 1.0, w = 3}
        [[questions]]
        name = "hash"
        labels = ["a", "b", "c"]
        mechanism = {name = "LocalHashing", epsilon = 1.0}
        [[questions]]
        name = "Zürich"
        mechanism = {name = "ORappor", epsilon = 2.0, width = 12, cohorts = 300}
        """,
        2,
        {
            "bits": ["AQI=", "AAA="],
            "set": [[0, 4, 9], [1, 2, 3]],
            "hash": [[2**32 - 1, 1], [0, 0]],
            "Zürich": [[258, "AQg="], [299, "/w8="]],
        },
        None,
    ),
    (
        """
        name = "cafe"
        segments = ["beta", "release"]
        [[questions]]
        name = "drink"
        labels = ["espresso", "filter", "tea", "nothing"]
        mechanism = {name = "KRR", epsilon = 1.0}
        [[questions]]
        name = "size"
        labels = ["small", "large"]
        epsilon = 1.0
        [[questions]]
        name = "hot"
        labels = ["yes", "no"]
        epsilon = 1.0
        [[joint]]
        questions = ["size", "hot"]
        """,
        2,
        {"drink": [3, 0], "size+hot": [[0, 1], [1, 1]]},
        "release",
    ),
]
"""Surveys, the number of people, the JSON forms of their reports, and the segment."""


SURVEYS = [
    'name="plain"\n[[questions]]\nname="hot"\nlabels=["yes","no"]\nepsilon=1.0',
    """
name = "every term"
version = 3
title = "Tee \u00fcber alles \U0001f375"
purpose = "To order enough\\nof \\"everything\\"."
owner = "drinks@example.org"
every = "week"
questions_each = 2
lifetime_epsilon = 20
epsilon_per = {week = 1.5, month = 4, year = 1e6, day = 0.000001}
memory = "period"
period = 90
opens = 2026-12-01
closes = 2027-02-28
minimum_reports = 1000
segments = ["north", "s\u00fcd"]
[[questions]]
name = "drink"
text = "What do you drink?"
labels = ["tea", "mate", "\U0001f37a"]
ordered = true
mechanism = {name = "LOSUE", epsilon = 0.1, epsilon_permanent = 2.5}
[[questions]]
name = "pet"
mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}
[[questions]]
name = "size"
labels = ["s", "m", "l"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "hot"
labels = ["yes", "no"]
mechanism = {name = "Warner", p = "3/4"}
[[joint]]
questions = ["pet", "size"]
""",
    """
name = "once"
every = "year"
questions_each = 1
epsilon_per = {year = 2}
[[questions]]
name = "a"
labels = ["yes", "no"]
epsilon = 1.0
[[questions]]
name = "b"
labels = ["yes", "no"]
epsilon = 1.0
[[joint]]
name = "both"
questions = ["a", "b"]
once = true
[[questions]]
name = "c"
labels = ["yes", "no"]
epsilon = 1.0
""",
]
"""Surveys with every term, as people write them."""

BAD_TERMS = [
    ('{"every": "hour"}', "every must be"),
    ('{"every": 0}', "every, a number of days, must be from 1 to 3660"),
    ('{"every": 3661}', "every, a number of days, must be from 1 to 3660"),
    ('{"lifetime_epsilon": 0}', "lifetime_epsilon must be from 1e-06 to 1e+06"),
    ('{"lifetime_epsilon": 1000001}', "lifetime_epsilon must be from 1e-06 to 1e+06"),
    ('{"epsilon_per": {"hour": 1}}', "epsilon_per is for 'day', 'week', 'month', 'year'"),
    ('{"epsilon_per": {"day": 0}}', "epsilon_per of a day must be from 1e-06 to 1e+06"),
    ('{"epsilon_per": {}}', "epsilon_per names no period"),
    ('{"questions_each": 1}', "is for each period in which a device answers"),
    ('{"every": "week", "questions_each": 3}', "devices report to 3: draw fewer"),
    ('{"every": "week", "questions_each": 0}', "questions_each must be from 1 to 65535"),
    ('{"memory": "forever"}', "memory must be one of these"),
    ('{"memory": "period"}', 'memory = "period" needs a period'),
    ('{"memory": "value"}', "no question that is reported by itself has a permanent response"),
    ('{"opens": "2027-01-02", "closes": "2027-01-01"}', "before it opens"),
    ('{"opens": "soon"}', "Invalid RFC3339"),
    ('{"minimum_reports": 0}', "minimum_reports must be from 1"),
    ('{"segments": ["a", "a"]}', "has the segment 'a' twice"),
    ('{"title": "a\\u202eb"}', "has the control character U+202E"),
    ('{"budget": 3}', "has an unknown field 'budget'"),
]
"""Terms that must be refused, added to a survey of three questions, with a part of the reason."""

DRAWS: list[tuple[str, str | int, str, tuple[str, ...], int]] = [
    ("coffee", "week", "2027-03-31", ("drink", "late"), 1),
    ("coffee", "week", "2027-03-29", ("drink", "late"), 1),
    ("coffee", "week", "2027-04-05", ("drink", "late"), 1),
    ("coffee", "day", "2027-03-31", ("drink", "late", "cafe+hot"), 2),
    ("coffee", "month", "2027-03-31", ("drink", "late", "cafe+hot"), 2),
    ("coffee", "year", "2027-03-31", ("drink", "late", "cafe+hot"), 2),
    ("coffee", "once", "2027-03-31", ("drink", "late", "cafe+hot"), 2),
    ("coffee", 90, "2027-03-31", ("drink", "late", "cafe+hot"), 2),
    ("Caf\u00e9", 1, "1970-01-01", tuple(f"q{i}" for i in range(300)), 5),
]
"""What is drawn from: the survey, every, a day, what devices report to, and how many are drawn."""


def survey_vectors() -> Iterator[Vector]:
    for toml in SURVEYS:
        survey = Survey.from_toml(toml)
        document = survey.to_document()
        text = canonical(document)
        assert json.loads(text) == document
        fingerprint = hashlib.sha256(text.encode()).hexdigest()
        yield {"kind": "good", "survey": document, "canonical": text, "fingerprint": fingerprint}
    three = [
        {"name": name, "labels": ["yes", "no"], "mechanism": KRR(2, 1.0).to_document()}
        for name in "abc"
    ]
    for terms, error in BAD_TERMS:
        document = {"murmurs": 1, "name": "s", "version": 1, "questions": three}
        yield {"kind": "bad", "survey": document | json.loads(terms), "error": error}


def draw_vectors() -> Iterator[Vector]:
    for secret in SECRETS[1:]:
        for survey, every, date, names, each in DRAWS:
            period: Any = every
            number = period_number(period, datetime.date.fromisoformat(date))
            random = limits.chance_of_draw(secret, survey, period, number, names)
            yield {
                "secret": secret.hex(),
                "survey": survey,
                "every": every,
                "day": date,
                "period": number,
                "reported": list(names),
                "questions_each": each,
                "drawn": list(limits.draw(names, each, random)),
            }


NUMBERS: list[tuple[Vector, list[Any]]] = [
    ({"edges": [0, 10, 20, 30], "whole": True}, [0, 9, 10, 19.5, 29, 30, -1, 1e300]),
    ({"edges": [0, 0.1, 0.2, 0.3], "whole": False}, [0, 0.05, 0.1, 0.2, 0.30000000000000004, 0.3]),
    (
        {"edges": [-2.5, 0, 2.5], "whole": False, "outside": "clamp"},
        [-1e300, -2.5, -5e-324, 0, 2.5, 9],
    ),
    ({"edges": [None, 18, 65, None], "whole": True}, [-5, 17, 18, 64, 65, 120, 17.5]),
    (
        {"edges": [0, 6, 12, 18, 24], "whole": False, "circular": True},
        [0, 5.9, 6, 12, 18, 24, 24.5],
    ),
    ({"edges": [0, 60, 3600, None], "durations": True}, [0, 59.999, 60, 1e9, -1]),
    (
        {"edges": ["2027-01-01", "2027-02-01", "2028-01-01"]},
        ["2026-12-31", "2027-01-01", "2027-01-31", "2027-02-01", "2027-12-31", "2028-01-01"],
    ),
]
"""Scales as a survey writes them, and answers of which some are outside."""


def number_vectors() -> Iterator[Vector]:
    for number, (scale, answers) in enumerate(NUMBERS):
        mechanism = KRR(len(scale["edges"]) - 1, 1.0)
        question = {"name": f"q{number}", "mechanism": mechanism.to_document(), **scale}
        for answer in answers:
            bucket = bucket_of(scale, answer)
            vector = {"question": question, "answer": answer, "bucket": bucket}
            if bucket is not None:
                report = report_vector(mechanism, bucket, number)
                vector |= {name: report[name] for name in ("random", "report", "wire")}
            yield vector


def bucket_of(scale: Vector, answer: Any) -> int | None:
    """Return the bucket of an answer, in the words of docs/wire.md and with exact numbers."""
    edges = [None if edge is None else exact(edge) for edge in scale["edges"]]
    number, last = exact(answer), len(edges) - 2
    is_date = isinstance(answer, str)
    whole = is_date or scale.get("whole", False)
    if whole and number.denominator != 1:
        return None
    low, high = edges[0], edges[-1]
    if low is not None and number < low:
        return 0 if scale.get("outside") == "clamp" else None
    if not whole and number == high:
        return 0 if scale.get("circular") else last
    if high is not None and number >= high:
        return last if scale.get("outside") == "clamp" else None
    return sum(edge is not None and number >= edge for edge in edges[1:-1])


def exact(number: Any) -> Fraction:
    """Return a binary64 number, or the number of a day, as a fraction."""
    if isinstance(number, str):
        return Fraction(datetime.date.fromisoformat(number).toordinal())
    return Fraction(float(number))


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
    for open_mechanism, answers in OPEN_CASES:
        for text in answers:
            for draw in range(2):
                yield report_vector(open_mechanism, text, draw)
    for set_mechanism, sets in SET_CASES:
        for ticks in sets:
            for draw in range(2):
                yield report_vector(set_mechanism, ticks, draw)


def report_vector(mechanism: Any, answer: int | str | tuple[Any, ...], draw: int) -> Vector:
    """Encode with the bytes of the label, as many as are needed."""
    label = f"murmurs {mechanism} answer {answer} draw {draw}"
    size = getattr(mechanism, "k", 0) or getattr(mechanism, "width", 64)
    plenty = hashlib.shake_128(label.encode()).digest(64 * (size + 64))
    random = Given(plenty)
    report = mechanism.encode(answer, random)
    used = plenty[: len(plenty) - random.left]
    return {
        "label": label,
        "mechanism": mechanism.to_document(),
        "answer": in_json(answer),
        "random": used.hex(),
        "left": 0,
        "report": in_json(report),
        "wire": mechanism.shape.pack(report).hex(),
        "json": mechanism.shape.to_json(report),
    }


def bad_report_vectors() -> Iterator[Vector]:
    for mechanism, wire, error in BAD:
        yield {"mechanism": mechanism.to_document(), "wire": wire, "error": error}


def bad_json_vectors() -> Iterator[Vector]:
    for mechanism, value, error in BAD_JSON:
        yield {"mechanism": mechanism.to_document(), "json": value, "error": error}


def derived_vectors() -> Iterator[Vector]:
    for secret in SECRETS:
        for context in CONTEXTS:
            parts = [
                {type(part).__name__: part.hex() if isinstance(part, bytes) else str(part)}
                for part in context
            ]
            stream = Derived(secret, *context).take(70)
            yield {"secret": secret.hex(), "context": parts, "stream": stream.hex()}


def device_vectors() -> Iterator[Vector]:
    for mechanism, question, answers in DEVICES:
        for memory in MEMORIES.values():
            device: Device[Any] = Device(mechanism, SECRETS[1], question, memory=memory.name)  # type: ignore[arg-type]
            reports = []
            for which, period in COURSE:
                answer = answers[which]
                known: dict[str, Any] = {"period": period} if memory.name == "period" else {}
                value, kept = mechanism.check(answer), device._kept()
                permanent, _ = memory.recall(device, value, kept, period)
                device.report(answer, **known)
                report = {"answer": answer, **known, "permanent": in_json(permanent)}
                reports.append({**report, "state": dict(device.state)})
            yield {
                "mechanism": mechanism.to_document(),
                "secret": device.secret.hex(),
                "question": question,
                "memory": memory.name,
                "reports": reports,
            }


def submission_vectors() -> Iterator[Vector]:
    """One of each survey in both forms, packed here with the struct module alone."""
    for toml, people, reports, segment in SUBMISSIONS:
        survey = Survey.from_toml(toml)
        reported = {asked.name: asked.mechanism.shape for asked in survey.reported}
        identity = hashlib.shake_128(f"murmurs {toml} {reports}".encode()).digest(16)
        document = {"survey": survey.fingerprint, "id": identity.hex(), "reports": reports}
        if segment is not None:
            document["segment"] = segment
        numbers = [number for number, name in enumerate(reported) if name in reports]
        data = b"MRMS\x01" + bytes.fromhex(survey.fingerprint) + identity
        data += struct.pack("<H", 0 if segment is None else survey.segments.index(segment) + 1)
        data += struct.pack("<HI", len(numbers), people)
        data += struct.pack(f"<{len(numbers)}H", *numbers)
        for number in numbers:
            name = list(reported)[number]
            shape = reported[name]
            data += b"".join(shape.pack(shape.from_json(value)) for value in reports[name])
        yield {
            "kind": "good",
            "survey": survey.to_document(),
            "people": people,
            "json": document,
            "binary": data.hex(),
        }
    survey = Survey.from_toml(SUBMISSIONS[-1][0])
    for form, text, reason in bad_submissions(survey):
        yield {"kind": "bad", "survey": survey.to_document(), form: text, "reason": reason}


def bad_submissions(survey: Survey) -> Iterator[tuple[str, str, str]]:
    """Return submissions that must be refused: the form, the text, and one word for the reason."""
    good: dict[str, Any] = {
        "survey": survey.fingerprint,
        "id": "00" * 16,
        "reports": {"drink": [1, 2], "size+hot": [[0, 1], [1, 0]]},
        "segment": "beta",
    }
    changes: list[tuple[dict[str, Any], str]] = [
        ({"survey": "00" * 32}, "survey"),
        ({"survey": survey.fingerprint.upper()}, "survey"),
        ({"id": "00" * 15}, "form"),
        ({"id": "AB" * 16}, "form"),
        ({"id": "zz" * 16}, "form"),
        ({"reports": {}}, "form"),
        ({"reports": {"drink": []}}, "form"),
        ({"reports": {"drink": [1], "size+hot": []}}, "form"),
        ({"reports": {"drink": [1, 2], "size+hot": [[0, 1]]}}, "form"),
        ({"reports": {"size": [1]}}, "question"),
        ({"reports": {"drink": [4]}}, "report"),
        ({"reports": {"drink": [-1]}}, "report"),
        ({"reports": {"drink": [1.0]}}, "report"),
        ({"reports": {"drink": [True]}}, "report"),
        ({"reports": {"drink": ["AA=="]}}, "report"),
        ({"reports": {"drink": [[1]]}}, "report"),
        ({"reports": {"drink": [10**30]}}, "report"),
        ({"reports": {"drink": "AAE"}}, "report"),
        ({"reports": {"drink": 1}}, "form"),
        ({"reports": {"size": "AA=="}}, "question"),
        ({"segment": None}, "segment"),
        ({"segment": "gamma"}, "segment"),
        ({"people": 1}, "form"),
    ]
    for change, reason in changes:
        yield "text", json.dumps({**good, **change}), reason
    text = json.dumps(good)
    yield "text", text[:-1] + ', "segment": "beta"}', "form"
    yield "text", text.replace('"id"', '"\\u0069d": "", "id"'), "form"
    yield "text", text.replace('{"drink"', '{"drink": [3, 3], "drink"'), "form"
    yield "text", text + "]", "form"
    yield "text", "", "form"
    digest = bytes.fromhex(survey.fingerprint)

    def packed(
        magic: bytes = b"MRMS\x01",
        survey: bytes = digest,
        segment: int = 1,
        numbers: tuple[int, ...] = (0,),
        people: int = 2,
        rest: bytes = b"\x01\x02",
    ) -> str:
        head = struct.pack("<HHI", segment, len(numbers), people)
        return (magic + survey + bytes(16) + head + bytes(_numbers(numbers)) + rest).hex()

    yield "binary", packed(magic=b"MRMS\x02"), "form"
    yield "binary", packed(survey=bytes(32)), "survey"
    yield "binary", packed(segment=0), "segment"
    yield "binary", packed(segment=3), "segment"
    yield "binary", packed(numbers=(2,)), "question"
    yield "binary", packed(numbers=(0, 0), rest=b"\x01\x02\x01\x02"), "question"
    yield "binary", packed(numbers=(1, 0), rest=bytes(6)), "question"
    yield "binary", packed(numbers=(), rest=b""), "form"
    yield "binary", packed(people=0, rest=b""), "form"
    yield "binary", packed(people=3), "form"
    yield "binary", packed(people=2**32 - 1), "form"
    yield "binary", packed(people=1), "form"
    yield "binary", packed(rest=b"\x01\x04"), "report"
    yield "binary", packed(rest=b""), "form"
    yield "binary", packed()[:120], "form"
    yield "binary", "", "form"


def _numbers(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}H", *numbers)


def string_vectors() -> Iterator[Vector]:
    """With hashlib, unicodedata and xxhash alone."""
    for text in TEXTS:
        form = unicodedata.normalize("NFC", text)
        yield {
            "kind": "key",
            "text": text,
            "normal": form,
            "keys": [f"{key:016x}" for key in text_keys(text)],
        }
    for width, cohorts, hashes, salt in TABLES:
        for text in PLACED:
            places = [
                [cohort, list(dict.fromkeys(text_places(text, cohort, width, hashes, salt)))]
                for cohort in sorted({0, 1, cohorts // 2, cohorts - 1} & set(range(cohorts)))
            ]
            table = {"width": width, "cohorts": cohorts, "hashes": hashes, "salt": salt}
            yield {"kind": "places", "text": text, **table, "places": places}
    for k, cohorts, width, salt in PERMUTED:
        rows = [permuted_places(k, cohort, width, salt) for cohort in range(cohorts)]
        table = {"k": k, "cohorts": cohorts, "width": width, "salt": salt}
        yield {"kind": "permuted", **table, "places": rows}
    for text, error in BAD_TEXTS:
        yield {"kind": "bad", "text": text, "error": error}


def text_keys(text: str) -> list[int]:
    digest = hashlib.sha256(unicodedata.normalize("NFC", text).encode()).digest()
    return [int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16, 24)]


def text_places(text: str, cohort: int, width: int, hashes: int, salt: int) -> Iterator[int]:
    keys = text_keys(text)
    for number in range(cohort * hashes, (cohort + 1) * hashes):
        data = keys[number % 4].to_bytes(8, "little")
        yield xxhash.xxh32_intdigest(data, (salt + number) % 2**32) * width >> 32


def permuted_places(k: int, cohort: int, width: int, salt: int) -> list[int]:
    seed = (salt + cohort) % 2**32
    hashed = [(xxhash.xxh32_intdigest(x.to_bytes(8, "little"), seed), x) for x in range(k)]
    rank = {x: place for place, (_, x) in enumerate(sorted(hashed))}
    return [rank[x] % width for x in range(k)]


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
    "strings.json": string_vectors,
    "reports.json": report_vectors,
    "bad_reports.json": bad_report_vectors,
    "bad_json.json": bad_json_vectors,
    "derived.json": derived_vectors,
    "devices.json": device_vectors,
    "submissions.json": submission_vectors,
    "surveys.json": survey_vectors,
    "draws.json": draw_vectors,
    "numbers.json": number_vectors,
}


def main() -> None:
    for name, vectors in FILES.items():
        (FOLDER / name).write_text(text(vectors()), encoding="utf-8")


if __name__ == "__main__":
    main()
