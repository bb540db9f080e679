"""Tables for notebooks, as HTML."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from murmurs.present.palette import DATA, INK, STEM
from murmurs.present.text import Order, in_order, percent, printable, shown_digits


def shares_html(
    columns: Mapping[str, Any],
    heading: str,
    caption: str,
    limit: int = 40,
    order: Order = "share",
) -> str:
    """Return shares as an HTML table; the drawing is that of `murmurs.present.marks`."""
    shares, low, high = columns["share"], columns["low"], columns["high"]
    digits = shown_digits(columns["unbiased_error"])
    full = max(float(high.max()), 1e-12)
    lines = []
    for j in in_order(shares, order)[:limit]:
        share, below, above = (max(float(x[j]), 0.0) / full for x in (shares, low, high))
        drawing = (
            '<svg width="200" height="14" viewBox="0 0 200 14" role="img">'
            f'<rect x="0" y="2" width="{200 * share:.1f}" height="10" fill="{STEM}"/>'
            f'<rect x="{200 * below:.1f}" y="4.5" width="{200 * (above - below):.1f}" height="5" '
            f'fill="{DATA}"/><line x1="{200 * share:.1f}" x2="{200 * share:.1f}" y1="2" y2="12" '
            f'stroke="{INK}" stroke-width="2"/></svg>'
        )
        cells = [
            percent(float(shares[j]), digits),
            f"{percent(float(low[j]), digits)} … {percent(float(high[j]), digits)}",
        ]
        numbers = "".join(f'<td style="text-align:right">{cell}</td>' for cell in cells)
        answer = html.escape(printable(str(columns["answer"][j]), keep="\n"))
        left = f'<td style="text-align:left">{answer}</td>'
        lines.append(f'<tr>{left}{numbers}<td style="text-align:left">{drawing}</td></tr>')
    if len(shares) > limit:
        lines.append(f'<tr><td colspan="4">… and {len(shares) - limit} more</td></tr>')
    head = "".join(f"<th>{x}</th>" for x in ("answer", "estimate", heading, ""))
    title = html.escape(printable(caption, keep="\n"))
    return (
        f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
