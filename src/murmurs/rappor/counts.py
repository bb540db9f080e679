"""Files of counts: one line per cohort, with its reports and how often each bit was set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from murmurs.boundary.reading import LONGEST_LINE, named, refuse, rows
from murmurs.counts import Counts
from murmurs.mechanisms.longitudinal.mapped import Mapped
from murmurs.mechanisms.longitudinal.rappor import Rappor
from murmurs.rappor.csv_files import LARGEST, whole_cell, write_csv


def read_counts(path: Path, rappor: Rappor) -> Counts:
    """Return the counts of a file, checked against the parameters."""
    m, k = rappor.cohorts, rappor.width
    longest = LONGEST_LINE + 24 * k
    cells = np.zeros((m, 1 + k), np.int64)
    done = line = 0
    for line, row in rows(path, longest):
        if done == m:
            refuse(path, line, f"there are more lines than {m} cohorts")
        if len(row) != 1 + k:
            refuse(
                path,
                line,
                f"there are {len(row)} numbers, but a cohort has {1 + k}: its reports and {k} bits",
            )
        numbers = [whole_cell(path, line, f"number {j + 1}", text) for j, text in enumerate(row)]
        above = next((bit for bit, ones in enumerate(numbers[1:]) if ones > numbers[0]), None)
        if above is not None:
            refuse(
                path,
                line,
                f"bit {above} is set {numbers[1 + above]} times in {numbers[0]} reports",
            )
        cells[done] = numbers
        done += 1
    if done != m:
        refuse(path, max(line, 1), f"there are {done} lines, but {m} cohorts")
    if int(cells[:, 0].sum(dtype=object)) > LARGEST:
        raise ValueError(f"{named(path)}: there are more than 2**62 reports")
    return Counts(rappor, int(cells[:, 0].sum()), cells)


def write_counts(path: Path, counts: Counts) -> None:
    """Write counts of RAPPOR."""
    if not isinstance(counts.mechanism, Rappor | Mapped):
        raise TypeError(f"counts of {counts.mechanism} are not counts of Rappor")
    write_csv(path, counts.cells.tolist())
