"""CityHash64 version 1.0.3, as in Chromium's RAPPOR; later versions give other numbers.

The function is by Geoff Pike and Jyrki Alakuijala (2011). It only serves to find the bits that
deployed clients set; murmurs itself hashes with `murmurs.numerics.xxh32`. Known answers are in
``vectors/rappor.json``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_K0, _K1, _K2, _K3 = (
    0xC3A5C85C97CB3127,
    0xB492B66FBE98F273,
    0x9AE16A3B2F90404F,
    0xC949D7C7509E6557,
)

_MULTIPLIER = 0x9DDFEA08EB382D69
_MASK = 2**64 - 1


def hash64(data: bytes) -> int:
    """Return the hash of some bytes.

    >>> hash64(b"") == 0x9AE16A3B2F90404F
    True
    """
    size = len(data)
    if size <= 16:
        return _up_to_16(data)
    if size <= 32:
        return _up_to_32(data)
    if size <= 64:
        return _up_to_64(data)
    x = _word(data, size - 40)
    y = _word(data, size - 16) + _word(data, size - 56)
    z = _pair(_word(data, size - 48) + size, _word(data, size - 24))
    v = _weak(data, size - 64, size, z)
    w = _weak(data, size - 32, y + _K1, x)
    x = x * _K1 + _word(data, 0)
    for at in range(0, (size - 1) & ~63, 64):
        x = _turn(x + y + v[0] + _word(data, at + 8), 37) * _K1 ^ w[1]
        y = _turn(y + v[1] + _word(data, at + 48), 42) * _K1 + v[0] + _word(data, at + 40)
        z = _turn(z + w[0], 33) * _K1
        v = _weak(data, at, v[1] * _K1, x + w[0])
        w = _weak(data, at + 32, z + w[1], y + _word(data, at + 16))
        x, y, z = z & _MASK, y & _MASK, x & _MASK
    return _pair(_pair(v[0], w[0]) + _mix(y) * _K1 + z, _pair(v[1], w[1]) + x)


def hash64_with_seed(data: bytes, seed: int) -> int:
    """Return the hash of some bytes under a seed."""
    return _pair(hash64(data) - _K2, seed)


def seeded_many(hashed: int, seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hashes under many seeds, given the hash without a seed."""
    multiplier, shift = np.uint64(_MULTIPLIER), np.uint64(47)
    mixed = (seeds ^ np.uint64((hashed - _K2) & _MASK)) * multiplier
    mixed = (seeds ^ mixed ^ mixed >> shift) * multiplier
    return np.asarray((mixed ^ mixed >> shift) * multiplier)


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _turn(value: int, by: int) -> int:
    """Rotate 64 bits to the right."""
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _mix(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _pair(low: int, high: int) -> int:
    """Return a hash of two numbers."""
    high &= _MASK
    a = _mix((low & _MASK ^ high) * _MULTIPLIER)
    return _mix((high ^ a) * _MULTIPLIER) * _MULTIPLIER & _MASK


def _up_to_16(data: bytes) -> int:
    size = len(data)
    if size > 8:
        last = _word(data, size - 8)
        return _pair(_word(data, 0), _turn(last + size, size)) ^ last
    if size >= 4:
        return _pair(size + (_word(data, 0, 4) << 3), _word(data, size - 4, 4))
    if size > 0:
        y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _mix(y * _K2 ^ z * _K3) * _K2 & _MASK
    return _K2


def _up_to_32(data: bytes) -> int:
    size = len(data)
    a, b = _word(data, 0) * _K1, _word(data, 8)
    c, d = _word(data, size - 8) * _K2, _word(data, size - 16) * _K0
    return _pair(_turn(a - b, 43) + _turn(c, 30) + d, a + _turn(b ^ _K3, 20) - c + size)


def _up_to_64(data: bytes) -> int:
    size = len(data)
    start = _word(data, 0) + (size + _word(data, size - 16)) * _K0
    first = _half(start, _word(data, 24), _word(data, 8), _word(data, 16))
    start = _word(data, 16) + _word(data, size - 32)
    second = _half(start, _word(data, size - 8), _word(data, size - 24), _word(data, size - 16))
    r = _mix((first[0] + second[1]) * _K2 + (second[0] + first[1]) * _K0)
    return _mix(r * _K0 + first[1]) * _K2 & _MASK


def _half(a: int, z: int, second: int, third: int) -> tuple[int, int]:
    b, c = _turn(a + z, 52), _turn(a, 37)
    a += second
    c += _turn(a, 7)
    a += third
    return a + z, b + _turn(a, 31) + c


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Mix 32 bytes and two numbers into two numbers."""
    first, second, third, fourth = (_word(data, at + i) for i in (0, 8, 16, 24))
    a += first
    end = a + second + third
    b = _turn(b + a + fourth, 21) + _turn(end, 44)
    return (end + fourth) & _MASK, (b + a) & _MASK
