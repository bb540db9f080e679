"""Colours and marks that readers with any colour vision can tell apart, also in grey print.

The colours of series are those of Okabe and Ito (2008, Color universal design), with wine of Tol
(2021) in place of yellow, which is hard to see on white. Each has a mark of its own, so that
nothing depends on colour alone.
"""

from __future__ import annotations

SERIES = (
    ("#0072b2", "o"),
    ("#d55e00", "s"),
    ("#009e73", "^"),
    ("#cc79a7", "D"),
    ("#56b4e9", "v"),
    ("#e69f00", "P"),
    ("#882255", "X"),
    ("#000000", "*"),
)
"""A colour and a mark for each of at most eight series."""

INK, QUIET, LINE = "#15181b", "#626970", "#e3e3dd"
"""Text and ticks; labels of less weight; lines in the background, which nothing depends on."""

DATA, STEM, SECOND = "#0072b2", "#cfe4f1", "#b84a00"
"""Data; the pale bar below an interval; a second series, such as the truth of a simulation."""

GREY = "#b9bec3"
"""What is left in the background."""

HEAT = ("#f0a873", "#fadcc5", "#f1f1ed", "#c9e1f0", "#86bde0", "#4a9bd0")
"""From surely below, below and as expected to above, surely above, and far above."""

ABOVE, BELOW = "#d55e00", "#0072b2"
"""More than expected, and less: both ends of a scale whose middle is white."""
