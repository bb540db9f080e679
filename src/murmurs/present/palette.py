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

BAR, INK, MARK, CALM, GREY = "#77aadd", "#222222", "#d55e00", "#0072b2", "#999999"
"""Bars, lines and text; what stands out; what does not; what is left in the background."""

ABOVE, BELOW = "#d55e00", "#0072b2"
"""More than expected, and less: both ends of a scale whose middle is white."""
