"""Files of reports: a cohort and the bits of a report per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import refuse, rows
from murmurs.boundary.writing import writing
from murmurs.mechanisms.longitudinal.rappor import Rappor
from murmurs.wire import Reports

REPORT_COLUMNS = ("client", "cohort", "bloom", "prr", "irr")
_REPORTS, _BITS = 2**16, 2**24


def read_reports(path: Path, rappor: Rappor) -> Iterator[Reports]:
    """Return the reports of a file, part by part."""
    found = rows(path)
    _, header = next(found, (1, []))
    unknown = [name for name in header if name not in REPORT_COLUMNS]
    if unknown or len(set(header)) != len(header) or not {"cohort", "irr"} <= set(header):
        refuse(
            path,
            1,
            f"the header must have cohort and irr, and may have client, bloom and prr, "
            f"not {shown(','.join(header))}",
        )
    most = max(1, min(_REPORTS, _BITS // rappor.width))
    cohort, irr, columns = header.index("cohort"), header.index("irr"), len(header)
    numbers: list[int] = []
    cohorts: list[str] = []
    bits: list[str] = []
    for line, cells in found:
        if len(cells) != columns:
            refuse(path, line, f"there are {len(cells)} values under {columns} columns")
        numbers.append(line)
        cohorts.append(cells[cohort])
        bits.append(cells[irr])
        if len(numbers) == most:
            yield _reports(path, rappor, numbers, cohorts, bits)
            numbers, cohorts, bits = [], [], []
    yield _reports(path, rappor, numbers, cohorts, bits)


def _reports(
    path: Path, rappor: Rappor, numbers: list[int], cohorts: list[str], bits: list[str]
) -> Reports:
    width, out = rappor.width, rappor.shape.empty(len(numbers))
    known = {str(cohort): cohort for cohort in range(rappor.cohorts)}
    for line, text, irr in zip(numbers, cohorts, bits, strict=True):
        if text not in known:
            most = rappor.cohorts - 1
            refuse(path, line, f"cohort {shown(text)} is not a whole number from 0 to {most}")
        if len(irr) != width:
            refuse(path, line, f"irr {shown(irr)} has {len(irr)} bits, but reports have {width}")
    joined = "".join(bits)
    if joined.strip("01"):
        line, irr = next((n, x) for n, x in zip(numbers, bits, strict=True) if x.strip("01"))
        refuse(path, line, f"irr {shown(irr)} is not made of zeros and ones")
    flags = np.frombuffer(joined.encode("latin-1", "replace"), np.uint8).reshape(-1, width)
    out["cohort"] = [known[text] for text in cohorts]
    out["bits"] = np.packbits(flags[:, ::-1] & 1, axis=1, bitorder="little")
    return out


def write_reports(path: Path, rappor: Rappor, parts: Iterable[Reports]) -> int:
    """Write reports with the columns cohort and irr; return the number of reports."""
    n = 0
    with writing(path) as file:
        file.write(b"cohort,irr\n")
        for part in parts:
            reports = rappor.shape.check(part)
            flags = np.unpackbits(reports["bits"], axis=1, count=rappor.width, bitorder="little")[
                :, ::-1
            ]
            texts = (flags + ord("0")).astype(np.uint8)
            pairs = zip(reports["cohort"].tolist(), texts, strict=True)
            file.writelines(b"%d,%s\n" % (cohort, text.tobytes()) for cohort, text in pairs)
            n += len(reports)
    return n
