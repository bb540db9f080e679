"""Base64 text: the one form of RFC 4648, section 4, with padding, and nothing else."""

from __future__ import annotations

import base64
import binascii


def to_text(data: bytes) -> str:
    r"""Return bytes as base64 text.

    >>> to_text(b"\x05\x02")
    'BQI='
    """
    return base64.b64encode(data).decode("ascii")


def from_text(text: str) -> bytes:
    r"""Return the bytes of base64 text; any other text is refused, without being quoted.

    Each row of bytes has one text: its padding is there, and its unused bits are zero.

    >>> from_text("BQI=")
    b'\x05\x02'
    >>> from_text("BQJ=")
    Traceback (most recent call last):
    ValueError: this text is not base64 with padding (RFC 4648, section 4)
    """
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # also for characters that are not ASCII
        data = None
    if data is None or to_text(data) != text:
        raise ValueError("this text is not base64 with padding (RFC 4648, section 4)")
    return data
