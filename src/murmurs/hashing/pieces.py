"""What is reported of a string at one length: its first letters, or all of it if it is shorter.

A piece begins with a mark, so that the piece of a string that ends is different from that of one
that goes on, whatever letters strings have. Letters are the characters of normal form C, which is
never cut inside one.
"""

from __future__ import annotations

WHOLE, GOES_ON = ".", "+"
"""The marks of a string that ends within the length, and of one that goes on."""


def piece(text: str, length: int) -> str:
    """Return what is hashed of a normalised string where ``length`` letters are looked at.

    A string of exactly this length counts as going on: that it ends shows one letter later.

    >>> piece("tea", 3), piece("tea", 4), piece("teapot", 3), piece("teapot", 4)
    ('+tea', '.tea', '+tea', '+teap')
    """
    return WHOLE + text if len(text) < length else GOES_ON + text[:length]
