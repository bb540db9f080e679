"""The files of google/rappor: parameters, maps, reports, counts and results, all of them CSV.

==============  ==============================  ==================================================
file            header                          lines
==============  ==============================  ==================================================
parameters      k,h,m,p,q,f                     one: bits, hashes, cohorts and three probabilities
map             none                            a string, and for every hash of every cohort c the
                                                number c * k + bit + 1
reports         cohort and irr, perhaps         a report; irr is zeros and ones, the highest bit
                client, bloom and prr           first, and what is private is not looked at
counts          none                            a cohort: its reports, then how often bit 0, bit 1,
                                                ... was set
results         string,estimate,std_error, ...  a string that was detected
==============  ==============================  ==================================================

Reports and maps are read line after line. What does not fit is refused with file, line, value and
rule; what is written is written whole or not at all.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

import numpy as np

from murmurs.comparison import Control
from murmurs.counts import Counts
from murmurs.estimation import Estimate
from murmurs.files import replacing
from murmurs.layout import Listed, Places
from murmurs.mechanisms.rappor import BY_MAP, Mapped, Rappor, listed
from murmurs.wire import Reports

PARAMETERS = ["k", "h", "m", "p", "q", "f"]
REPORT_COLUMNS = ("client", "cohort", "bloom", "prr", "irr")
_BLOCK = 2**12
_REPORTS = 2**16
_LONGEST_RECORD = 2**20
_LARGEST = 2**62


class Result(NamedTuple):
    """A line of results: a string with its estimated number of reports and its share."""

    string: str
    estimate: float
    std_error: float
    proportion: float
    prop_std_error: float
    prop_low: float
    prop_high: float


# Parameters


def read_params(path: Path, scheme: str = BY_MAP) -> Rappor:
    """Return RAPPOR with the parameters of a file; it does not say how strings are hashed."""
    rows = list(_rows(path))
    if not rows or rows[0][1] != PARAMETERS:
        _refuse(path, 1, f"the header must be {','.join(PARAMETERS)}, not {_shown(rows)!r}")
    if len(rows) != 2:
        _refuse(path, len(rows), f"there must be one line of parameters, not {len(rows) - 1}")
    line, cells = rows[1]
    if len(cells) != len(PARAMETERS):
        _refuse(path, line, f"there must be {len(PARAMETERS)} values, not {len(cells)}")
    k, h, m = (_whole(path, line, n, x) for n, x in zip("khm", cells[:3], strict=True))
    p, q, f = (_real(path, line, n, x) for n, x in zip("pqf", cells[3:], strict=True))
    try:
        return Rappor(width=k, hashes=h, cohorts=m, f=f, p=p, q=q, scheme=scheme)
    except ValueError as error:
        _refuse(path, line, str(error))


def write_params(path: Path, rappor: Rappor) -> None:
    """Write the parameters of RAPPOR; its scheme has no place in the file."""
    values = (rappor.width, rappor.hashes, rappor.cohorts, rappor.p, rappor.q, rappor.f)
    _write(path, [PARAMETERS, [repr(value) for value in values]])


# Maps


def read_map(path: Path, rappor: Rappor) -> Mapped:
    """Return RAPPOR over the strings of a map, whatever hash made it."""
    labels: dict[str, int] = {}
    parts: list[Places] = []
    block: list[tuple[int, bytes]] = []
    for line, label, rest in _map_lines(path):
        if not label:
            _refuse(path, line, "the string is empty: give it a name that no other string has")
        if label in labels:
            _refuse(path, line, f"the string {label!r} is in line {labels[label]} already")
        labels[label] = line
        block.append((line, rest))
        if len(block) == _BLOCK:
            parts.append(_map_places(path, block, rappor))
            block = []
    if block:
        parts.append(_map_places(path, block, rappor))
    if not parts:
        _refuse(path, 1, "there is no string in the map")
    places = np.concatenate(parts, axis=1)
    layout = Listed(places, rappor.cohorts, rappor.width, rappor.hashes)
    return Mapped(rappor, tuple(labels), map=layout)


def _map_lines(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Return line, string and entries, which most lines have apart without reading them as CSV."""
    lines = _lines(path)
    for line, text in lines:
        if '"' in text:
            label, *entries = _quoted(path, line, text, lines)
            yield line, label, ",".join(entries).encode()
        else:
            label, _, rest = text.rstrip("\r\n").partition(",")
            yield line, label, rest.encode()


def _quoted(path: Path, line: int, text: str, more: Iterator[tuple[int, str]]) -> list[str]:
    """Return the cells of a record with a quoted string, which may go on in the next lines."""
    while text.count('"') % 2:
        following = next(more, None)
        if following is None or len(text) > _LONGEST_RECORD:
            _refuse(path, line, "a quotation mark is opened and not closed")
        text += following[1]
    try:
        records = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        _refuse(path, line, f"this is not CSV: {error}")
    if len(records) != 1:
        _refuse(path, line, "a quotation mark stands in a string that is not quoted")
    return records[0]


def _map_places(path: Path, block: list[tuple[int, bytes]], rappor: Rappor) -> Places:
    """Return the places of some lines, one row for each hash of each cohort."""
    entries = rappor.cohorts * rappor.hashes
    for line, rest in block:
        count = rest.count(b",") + 1 if rest else 0
        if count != entries:
            _refuse(
                path,
                line,
                f"there are {count} entries, but {rappor.cohorts} cohorts with {rappor.hashes} "
                f"hashes have {entries}",
            )
        if rest.translate(None, b"0123456789,"):
            bad = next(x for x in rest.decode().split(",") if not _is_digits(x))
            _refuse(path, line, f"entry {bad!r} is not a whole number")
    joined = b",".join(rest for _, rest in block)
    if b",," in joined or joined[:1] == b"," or joined[-1:] == b",":
        line = next(n for n, rest in block if b",," in b"," + rest + b",")
        _refuse(path, line, "an entry is empty")
    table = np.fromstring(joined, np.int64, sep=",").reshape(-1, entries)
    first = np.repeat(np.arange(rappor.cohorts) * rappor.width, rappor.hashes)
    bits = table - 1 - first
    wrong = np.argwhere((bits < 0) | (bits >= rappor.width))
    if len(wrong):
        row, column = (int(x) for x in wrong[0])
        low = int(first[column]) + 1
        _refuse(
            path,
            block[row][0],
            f"entry {column + 1} is {table[row, column]}: in cohort {column // rappor.hashes} of "
            f"{rappor.width} bits it must be from {low} to {low + rappor.width - 1}",
        )
    return listed(bits.T, rappor.cohorts, rappor.width, rappor.hashes).places


def map_rows(rappor: Rappor, candidates: Sequence[str]) -> Iterator[list[str]]:
    """Return the lines of the map of candidates, by the scheme of RAPPOR."""
    first = np.repeat(np.arange(rappor.cohorts) * rappor.width, rappor.hashes) + 1
    for start in range(0, len(candidates), _BLOCK):
        part = candidates[start : start + _BLOCK]
        table = rappor.bit_numbers(part).T + first
        for label, entries in zip(part, table.tolist(), strict=True):
            yield [label, *map(str, entries)]


def write_map(path: Path, rappor: Rappor, candidates: Sequence[str]) -> None:
    """Write the map of checked candidates."""
    _write(path, map_rows(rappor, candidates))


def read_candidates(path: Path, rappor: Rappor) -> list[str]:
    """Return the strings of a file, one a line, each once, as RAPPOR's scheme takes them."""
    seen: dict[str, int] = {}
    for line, text in _lines(path):
        try:
            label = rappor.check(text.rstrip("\r\n"))
        except ValueError as error:
            _refuse(path, line, str(error))
        if label in seen:
            _refuse(path, line, f"the string {label!r} is in line {seen[label]} already")
        seen[label] = line
    if not seen:
        _refuse(path, 1, "there is no string in the file")
    return list(seen)


# Reports


def read_reports(path: Path, rappor: Rappor) -> Iterator[Reports]:
    """Return the reports of a file, part by part."""
    rows = _rows(path)
    _, header = next(rows, (1, []))
    unknown = [name for name in header if name not in REPORT_COLUMNS]
    if unknown or len(set(header)) != len(header) or not {"cohort", "irr"} <= set(header):
        _refuse(
            path,
            1,
            f"the header must have cohort and irr, and else only client, bloom and prr, "
            f"not {','.join(header)!r}",
        )
    cohort, irr, columns = header.index("cohort"), header.index("irr"), len(header)
    lines: list[int] = []
    cohorts: list[str] = []
    bits: list[str] = []
    for line, cells in rows:
        if len(cells) != columns:
            _refuse(path, line, f"there are {len(cells)} values under {columns} columns")
        lines.append(line)
        cohorts.append(cells[cohort])
        bits.append(cells[irr])
        if len(lines) == _REPORTS:
            yield _reports(path, rappor, lines, cohorts, bits)
            lines, cohorts, bits = [], [], []
    yield _reports(path, rappor, lines, cohorts, bits)


def _reports(
    path: Path, rappor: Rappor, lines: list[int], cohorts: list[str], bits: list[str]
) -> Reports:
    width, out = rappor.width, rappor.shape.empty(len(lines))
    known = {str(cohort): cohort for cohort in range(rappor.cohorts)}
    for line, text, irr in zip(lines, cohorts, bits, strict=True):
        if text not in known:
            most = rappor.cohorts - 1
            _refuse(path, line, f"cohort {text!r} is not a whole number from 0 to {most}")
        if len(irr) != width:
            _refuse(path, line, f"irr {irr!r} has {len(irr)} bits, but reports have {width}")
    joined = "".join(bits)
    if joined.strip("01"):
        line, irr = next((n, x) for n, x in zip(lines, bits, strict=True) if x.strip("01"))
        _refuse(path, line, f"irr {irr!r} is not made of zeros and ones")
    flags = np.frombuffer(joined.encode("latin-1", "replace"), np.uint8).reshape(-1, width)
    out["row"] = [known[text] for text in cohorts]
    out["bits"] = np.packbits(flags[:, ::-1] & 1, axis=1, bitorder="little")
    return out


def write_reports(path: Path, rappor: Rappor, parts: Iterable[Reports]) -> int:
    """Write reports with the columns cohort and irr; return how many."""
    n = 0
    with replacing(path) as file:
        file.write(b"cohort,irr\n")
        for part in parts:
            reports = rappor.shape.check(part)
            flags = np.unpackbits(reports["bits"], axis=1, count=rappor.width, bitorder="little")[
                :, ::-1
            ]
            texts = (flags + ord("0")).astype(np.uint8)
            rows = zip(reports["row"].tolist(), texts, strict=True)
            file.writelines(b"%d,%s\n" % (cohort, text.tobytes()) for cohort, text in rows)
            n += len(reports)
    return n


# Counts


def read_counts(path: Path, rappor: Rappor) -> Counts:
    """Return the counts of a file, checked against the parameters."""
    m, k = rappor.cohorts, rappor.width
    cells = np.zeros((m, 1 + k), np.int64)
    done = line = 0
    for line, row in _rows(path):
        if done == m:
            _refuse(path, line, f"there are more lines than {m} cohorts")
        if len(row) != 1 + k:
            _refuse(
                path,
                line,
                f"there are {len(row)} numbers, but a cohort has {1 + k}: its reports and {k} bits",
            )
        numbers = [_whole(path, line, f"number {j + 1}", text) for j, text in enumerate(row)]
        above = next((bit for bit, ones in enumerate(numbers[1:]) if ones > numbers[0]), None)
        if above is not None:
            _refuse(
                path,
                line,
                f"bit {above} is set {numbers[1 + above]} times in {numbers[0]} reports",
            )
        cells[done] = numbers
        done += 1
    if done != m:
        _refuse(path, max(line, 1), f"there are {done} lines, but {m} cohorts")
    if int(cells[:, 0].sum(dtype=object)) > _LARGEST:
        raise ValueError(f"{path}: there are more than 2**62 reports")
    return Counts(rappor, int(cells[:, 0].sum()), cells)


def write_counts(path: Path, counts: Counts) -> None:
    """Write counts of RAPPOR."""
    if not isinstance(counts.mechanism, Rappor | Mapped):
        raise TypeError(f"counts of {counts.mechanism} are not counts of Rappor")
    _write(path, counts.cells.tolist())


# Results


def results(
    estimate: Estimate, level: float = 0.95, control: Control = "bonferroni"
) -> list[Result]:
    """Return the strings that are there, the most frequent first, with their intervals.

    Of strings that nobody holds none is among them with the probability ``level``, or with the
    control "fdr" they are at most a part 1 - level of them on average. What is in no list has its
    share in the estimate, and no line here.
    """
    present = estimate.detected(1 - level, control).present
    columns, n = estimate.columns(level), estimate.n
    order = np.argsort(-estimate.shares, kind="stable")
    found = [j for j in order.tolist() if present[j] and j < len(estimate.shares) - 1]
    lines = []
    for j in found:
        share, error = float(estimate.shares[j]), float(columns["standard_error"][j])
        low, high = float(columns["low"][j]), float(columns["high"][j])
        label = columns["answer"][j]
        lines.append(Result(label, share * n, error * n, share, error, low, high))
    return lines


def write_results(path: Path, lines: Iterable[Result], level: float = 0.95) -> None:
    """Write results; numbers of reports are rounded to whole ones, as google/rappor has them."""
    header = [*Result._fields[:5], f"prop_low_{100 * level:g}", f"prop_high_{100 * level:g}"]
    rows = ([x.string, round(x.estimate), round(x.std_error), *map(repr, x[3:])] for x in lines)
    _write(path, [header, *rows])


def read_results(path: Path) -> list[Result]:
    """Return the lines of a file of results, of murmurs or of google/rappor."""
    rows = _rows(path)
    _, header = next(rows, (1, []))
    fields = list(Result._fields)
    named = [name.rpartition("_")[0] if name[:5] == "prop_" else name for name in header[5:]]
    if header[:5] != fields[:5] or named != fields[5:]:
        wanted = ",".join([*fields[:5], "prop_low_95", "prop_high_95"])
        _refuse(path, 1, f"the header must be {wanted}, not {','.join(header)!r}")
    out = []
    for line, cells in rows:
        if len(cells) != len(fields):
            _refuse(path, line, f"there are {len(cells)} values under {len(fields)} columns")
        numbers = [_real(path, line, n, x) for n, x in zip(fields[1:], cells[1:], strict=True)]
        out.append(Result(cells[0], *numbers))
    return out


# What all of them share


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines of a file with their numbers; each must be UTF-8."""
    with path.open("rb") as file:
        for line, data in enumerate(file, 1):
            try:
                yield line, data.decode()
            except UnicodeDecodeError as error:
                bad = data[error.start]
                _refuse(path, line, f"byte {error.start + 1} is {bad:#04x}, which is not UTF-8")


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Return the rows of a CSV file with the lines on which they begin; empty ones are left out."""
    reader = csv.reader((text for _, text in _lines(path)), strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        _refuse(path, line, f"this is not CSV: {error}")


def _write(path: Path, rows: Iterable[Iterable[object]]) -> None:
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        write_rows(text, rows)
        text.detach()


def write_rows(file: IO[str], rows: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV."""
    csv.writer(file, lineterminator="\n").writerows(rows)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _whole(path: Path, line: int, name: str, text: str) -> int:
    if not _is_digits(text) or len(text) > 19 or int(text) > _LARGEST:
        _refuse(path, line, f"{name} must be a whole number, not {text!r}")
    return int(text)


def _real(path: Path, line: int, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        _refuse(path, line, f"{name} must be a number, not {text!r}")


def _shown(rows: list[tuple[int, list[str]]]) -> str:
    return ",".join(rows[0][1]) if rows else ""


def _refuse(path: Path, line: int, what: str) -> NoReturn:
    raise ValueError(f"{path}, line {line}: {what}")
