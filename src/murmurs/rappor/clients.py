"""What deployed RAPPOR clients do apart from hashing: the bytes of reports and permanent noise.

All of them draw permanent noise from seven bits of a digest, so that f becomes a multiple of 1/128:
`effective_f`. Their reports differ in the order of bits; the functions here return reports in the
order of murmurs, with bit b at bit b % 8 of byte b // 8.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from murmurs.boundary.checks import index, real, shown, whole
from murmurs.wire import BitsByCohort, CohortBits

__all__ = [
    "CLIENTS",
    "effective_f",
    "from_bytes",
    "from_mozilla",
    "from_text",
    "from_vector",
    "python_permanent",
    "to_text",
]

_STEPS: dict[str, Callable[[float], int]] = {
    "python": lambda f: math.ceil(f * 128),
    "cpp": lambda f: math.floor(np.float32(f) * np.float32(128)),  # it holds f as a float
    "java": lambda f: math.floor(f * 128 + 0.5),
    "mozilla": lambda f: math.ceil(f * 128),
}

CLIENTS = tuple(_STEPS)
"""Clients that round f, each in its own way; Chromium uses multiples of 1/4, not rounded."""


def effective_f(f: float, client: str) -> float:
    """Return the f that a client really uses when it is given f.

    >>> [effective_f(0.3, client) * 128 for client in ("python", "cpp", "java")]
    [39.0, 38.0, 38.0]
    """
    if client not in _STEPS:
        raise ValueError(f"there is no client {shown(client)}; choose one of {', '.join(CLIENTS)}")
    return _STEPS[client](real(f, "f", 0.0, 1.0)) / 128


def python_permanent(secret: bytes, bloom: int, width: int, f: float) -> int:
    """Return the permanent response of google/rappor's Python client to a Bloom filter.

    Byte i of HMAC-SHA256(secret, filter in four bytes, big-endian) decides on bit i: if its upper
    seven bits are below 128 f, the bit is its lowest one, otherwise the filter's.
    """
    width = whole(width, "width", 1, 32)
    if index(bloom) is None or not 0 <= bloom < 2**width:  # the message must not reveal it
        raise ValueError(f"bloom must be a whole number of {width} bits")
    digest = hmac.digest(secret, bloom.to_bytes(4, "big"), hashlib.sha256)
    below = effective_f(f, "python") * 128
    bits = (
        byte & 1 if byte >> 1 < below else bloom >> i & 1 for i, byte in enumerate(digest[:width])
    )
    return sum(bit << i for i, bit in enumerate(bits))


def from_text(cohort: int, text: str, shape: BitsByCohort) -> CohortBits:
    r"""Return the report of a string of zeros and ones, the highest bit first (google/rappor).

    >>> from_text(2, "0011", BitsByCohort(cohorts=4, count=4))
    CohortBits(cohort=2, bits=b'\x03')
    """
    if len(text) != shape.count or set(text) - {"0", "1"}:
        raise ValueError(f"{shown(text)} is not a report of {shape.count} bits, each 0 or 1")
    return _checked(cohort, int(text, 2).to_bytes(-(-shape.count // 8), "little"), shape)


def to_text(report: CohortBits, shape: BitsByCohort) -> str:
    """Return a report as a string of zeros and ones, the highest bit first (google/rappor)."""
    shape.pack(report)
    return f"{int.from_bytes(report.bits, 'little'):0{shape.count}b}"


def from_bytes(cohort: int, data: bytes, shape: BitsByCohort) -> CohortBits:
    """Return the report of a Java client or of Chromium: bits are in the order of murmurs."""
    return _checked(cohort, data, shape)


def from_vector(cohort: int, data: bytes, shape: BitsByCohort) -> CohortBits:
    """Return the report of a C++ client with a long filter: the highest byte comes first."""
    return _checked(cohort, bytes(reversed(data)), shape)


def from_mozilla(attributes: Mapping[str, Any], shape: BitsByCohort) -> CohortBits:
    r"""Return the report in a ping of Mozilla's study: a cohort, and bytes in hexadecimal.

    >>> from_mozilla({"cohort": 3, "report": "0180"}, BitsByCohort(cohorts=4, count=16))
    CohortBits(cohort=3, bits=b'\x01\x80')
    """
    missing = {"cohort", "report"} - set(attributes)
    if missing:
        raise ValueError(f"a ping has cohort and report: {min(missing)} is missing")
    report = attributes["report"]
    try:
        data = bytes.fromhex(report)
    except (TypeError, ValueError):
        raise ValueError(f"{shown(report)} is not a report in hexadecimal digits") from None
    return _checked(attributes["cohort"], data, shape)


def _checked(cohort: object, data: bytes, shape: BitsByCohort) -> CohortBits:
    row = CohortBits(whole(cohort, "cohort", 0, shape.cohorts - 1), data)
    shape.pack(row)
    return row
