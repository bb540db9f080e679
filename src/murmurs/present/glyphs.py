"""Letters that the fonts of plots have, and words in place of those that they lack."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

FALLBACK = (
    "Noto Sans",
    "Noto Sans Symbols",
    "Noto Sans Symbols 2",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "WenQuanYi Zen Hei",
    "Hiragino Sans",
    "Arial Unicode MS",
    "Segoe UI",
    "Segoe UI Symbol",
    "Symbola",
    "Noto Emoji",
)
"""Fonts that are asked for letters which the font of the plot lacks, if they are installed.

Fonts of coloured emoji are not among them: matplotlib cannot draw these.
"""

_SILENT = "\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-15}\N{VARIATION SELECTOR-16}"


@lru_cache(maxsize=1)
def fallback_families() -> tuple[str, ...]:
    """Return the fonts of the list that are installed."""
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return tuple(name for name in FALLBACK if name in installed)


def families() -> list[str]:
    """Return the fonts of a text: those of matplotlib's settings first."""
    import matplotlib as mpl

    return [*mpl.rcParams["font.family"], *fallback_families()]


def drawable(text: str) -> str:
    """Return a text in which letters that no font has are named, so that labels differ.

    >>> drawable("tea"), drawable("I \N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16} tea")
    ('tea', 'I ❤ tea')
    >>> drawable("\N{HOT BEVERAGE} or \N{TEACUP WITHOUT HANDLE}")  # doctest: +SKIP
    '☕ or :teacup without handle:'
    """
    if text.isascii():
        return text
    try:
        return _named(text, tuple(families()))
    except ImportError:  # nothing is drawn without matplotlib
        return text


@lru_cache(maxsize=4096)
def _named(text: str, names: tuple[str, ...]) -> str:
    words: list[str] = []
    for letter in text:
        if letter in _SILENT:
            continue
        missing = not letter.isascii() and not _has(letter, names)
        words.append(_word(letter) if missing else letter)
    return "".join(words).strip()


def _word(letter: str) -> str:
    """Return the name of a letter between colons, or its number if the name has numbers."""
    name = unicodedata.name(letter, "").lower()
    if not name or any(c.isdigit() for c in name):
        return f"U+{ord(letter):04X} "
    return f":{name.removeprefix('regional indicator symbol letter ')}:"


def _has(letter: str, names: tuple[str, ...]) -> bool:
    return any(_font(name).get_char_index(ord(letter)) for name in names)


@lru_cache(maxsize=32)
def _font(family: str) -> FT2Font:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return get_font(findfont(FontProperties(family=[family])))
