"""Files of results: one line per detected string."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import refuse, rows
from murmurs.estimators.estimation import Estimate
from murmurs.inference.detection import Control
from murmurs.rappor.csv_files import real_cell, write_csv


class ResultRow(NamedTuple):
    """A line of results: a string with its estimated number of reports and its share."""

    string: str
    estimate: float
    std_error: float
    proportion: float
    prop_std_error: float
    prop_low: float
    prop_high: float


def results(
    estimate: Estimate, level: float = 0.95, control: Control = "bonferroni"
) -> list[ResultRow]:
    """Return the detected strings with their intervals, the most frequent first.

    With probability ``level``, no string that nobody holds is among them; with the control "fdr",
    such strings are on average at most a fraction 1 - level of them. Strings that are not listed
    have a share in the estimate, but no line here.
    """
    present = estimate.detected(1 - level, control).present
    columns, n = estimate.columns(level), estimate.n
    order = np.argsort(-estimate.shares, kind="stable")
    found = [j for j in order.tolist() if present[j] and j != estimate.other]
    lines = []
    for j in found:
        share, error = float(estimate.shares[j]), float(columns["unbiased_error"][j])
        low, high = float(columns["low"][j]), float(columns["high"][j])
        label = columns["answer"][j]
        lines.append(ResultRow(label, share * n, error * n, share, error, low, high))
    return lines


def write_results(path: Path, lines: Iterable[ResultRow], level: float = 0.95) -> None:
    """Write results; numbers of reports are rounded to whole numbers, as in google/rappor."""
    header = [*ResultRow._fields[:5], f"prop_low_{100 * level:g}", f"prop_high_{100 * level:g}"]
    values = ([x.string, round(x.estimate), round(x.std_error), *map(repr, x[3:])] for x in lines)
    write_csv(path, [header, *values])


def read_results(path: Path) -> list[ResultRow]:
    """Return the lines of a file of results, from murmurs or from google/rappor."""
    found = rows(path)
    _, header = next(found, (1, []))
    fields = list(ResultRow._fields)
    named = [name.rpartition("_")[0] if name[:5] == "prop_" else name for name in header[5:]]
    if header[:5] != fields[:5] or named != fields[5:]:
        wanted = ",".join([*fields[:5], "prop_low_95", "prop_high_95"])
        refuse(path, 1, f"the header must be {wanted}, not {shown(','.join(header))}")
    out = []
    for line, cells in found:
        if len(cells) != len(fields):
            refuse(path, line, f"there are {len(cells)} values under {len(fields)} columns")
        numbers = [real_cell(path, line, n, x) for n, x in zip(fields[1:], cells[1:], strict=True)]
        out.append(ResultRow(cells[0], *numbers))
    return out
