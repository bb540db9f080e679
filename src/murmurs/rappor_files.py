"""The files of google/rappor: parameters, maps, reports, counts and results, all of them CSV.

==============  ==============================  ==================================================
file            header                          lines
==============  ==============================  ==================================================
parameters      k,h,m,p,q,f in any order        one: bits, hashes, cohorts and three probabilities
map             none                            a string, and for every hash of every cohort c the
                                                number c * k + bit + 1; or every such number once,
                                                and empty cells at the end for those left out
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
from typing import IO, NamedTuple

import numpy as np

from murmurs.checks import Booleans, Integers, shown
from murmurs.comparison import Control
from murmurs.counts import Counts
from murmurs.estimation import Estimate
from murmurs.layout import Listed, Places
from murmurs.mechanisms.rappor import BY_MAP, Mapped, Rappor, listed
from murmurs.reading import LONGEST_LINE, is_digits, lines, named, refuse, rows
from murmurs.wire import Reports
from murmurs.writing import writing

PARAMETERS = ["k", "h", "m", "p", "q", "f"]
REPORT_COLUMNS = ("client", "cohort", "bloom", "prr", "irr")
_BLOCK = 2**12
_REPORTS, _BITS = 2**16, 2**24
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
    found = list(rows(path))
    header = found[0][1] if found else []
    if sorted(header) != sorted(PARAMETERS):
        wanted, given = ",".join(PARAMETERS), shown(",".join(header))
        refuse(path, 1, f"the header must be {wanted}, in any order, not {given}")
    if len(found) != 2:
        refuse(path, len(found), f"there must be one line of parameters, not {len(found) - 1}")
    line, cells = found[1]
    if len(cells) != len(PARAMETERS):
        refuse(path, line, f"there must be {len(PARAMETERS)} values, not {len(cells)}")
    values = dict(zip(header, cells, strict=True))
    k, h, m = (_whole(path, line, name, values[name]) for name in "khm")
    p, q, f = (_real(path, line, name, values[name]) for name in "pqf")
    try:
        return Rappor(width=k, hashes=h, cohorts=m, f=f, p=p, q=q, scheme=scheme)
    except ValueError as error:
        refuse(path, line, str(error))


def write_params(path: Path, rappor: Rappor) -> None:
    """Write the parameters of RAPPOR; its scheme has no place in the file."""
    values = (rappor.width, rappor.hashes, rappor.cohorts, rappor.p, rappor.q, rappor.f)
    _write(path, [PARAMETERS, [repr(value) for value in values]])


# Maps


def read_map(path: Path, rappor: Rappor) -> Mapped:
    """Return RAPPOR over the strings of a map, whatever hash made it.

    A line has an entry for each hash of each cohort. Where two hashes of a cohort fall on one bit,
    it has that entry twice, or once and an empty cell at its end, as in maps that R wrote. So it is
    the entry's number that says its cohort, not its place in the line.
    """
    labels: dict[str, int] = {}
    parts: list[Places] = []
    block: list[tuple[int, bytes]] = []
    for line, label, rest in _map_lines(path, rappor):
        if not label:
            refuse(path, line, "the string is empty: give it a name that no other string has")
        if label in labels:
            refuse(path, line, f"the string {shown(label)} is in line {labels[label]} already")
        labels[label] = line
        block.append((line, rest))
        if len(block) == _BLOCK:
            parts.append(_map_places(path, block, rappor))
            block = []
    if block:
        parts.append(_map_places(path, block, rappor))
    if not parts:
        refuse(path, 1, "there is no string in the map")
    places = np.concatenate(parts, axis=1)
    layout = Listed(places, rappor.cohorts, rappor.width, rappor.hashes)
    return Mapped(rappor, tuple(labels), map=layout)


def _map_lines(path: Path, rappor: Rappor) -> Iterator[tuple[int, str, bytes]]:
    """Return line, string and entries, which most lines have apart without reading them as CSV."""
    longest = LONGEST_LINE + 16 * rappor.cohorts * rappor.hashes
    more = lines(path, longest, as_they_are=True)
    for line, text in more:
        label, _, rest = text.removesuffix("\r").partition(",")
        if '"' in text:
            label, end, rest = text[1:].removesuffix("\r").partition('",')
            if text[0] != '"' or not end or '"' in label + rest:  # more than a string in quotes
                label, *entries = _quoted(path, line, text, more, longest)
                rest = ",".join(entries)
        yield line, label, rest.encode()


def _quoted(
    path: Path, line: int, text: str, more: Iterator[tuple[int, str]], longest: int
) -> list[str]:
    """Return the cells of a record with a quoted string, which may go on in the next lines."""
    while text.count('"') % 2:
        following = next(more, None)
        if following is None or len(text) > longest:
            refuse(path, line, "a quotation mark is opened and not closed")
        text += f"\n{following[1]}"
    try:
        records = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        refuse(path, line, f"this is not CSV: {error}")
    if len(records) != 1:
        refuse(path, line, "a quotation mark stands in a string that is not quoted")
    return records[0]


def _map_places(path: Path, block: list[tuple[int, bytes]], rappor: Rappor) -> Places:
    """Return the places of some lines, one row for each hash of each cohort."""
    entries = _map_entries(path, block, rappor)
    hashes, width = rappor.hashes, rappor.width
    first = np.repeat(np.arange(rappor.cohorts) * width, hashes) + 1
    bits = entries - first
    if ((bits < 0) | (bits >= width)).any():  # not every entry stands in the place of its hash
        bits = _by_cohort(path, block, entries, rappor)
    return listed(bits.T, rappor.cohorts, width, hashes).places


def _map_entries(path: Path, block: list[tuple[int, bytes]], rappor: Rappor) -> Integers:
    """Return the numbers of some lines, one row a line; 0 is an empty cell at its end."""
    count, most = rappor.cohorts * rappor.hashes, rappor.cohorts * rappor.width
    full: list[bytes] = []
    for line, rest in block:
        cells = rest.count(b",") + 1 if rest else 0
        if cells != count:
            refuse(
                path,
                line,
                f"there are {cells} entries, but {rappor.cohorts} cohorts with {rappor.hashes} "
                f"hashes have {count}",
            )
        if rest.translate(None, b"0123456789,"):
            bad = next(x for x in rest.decode().split(",") if x and not is_digits(x))
            refuse(path, line, f"entry {shown(bad)} is not a whole number")
        there = rest.rstrip(b",")
        if not there or there[:1] == b"," or b",," in there:
            refuse(path, line, "an entry is empty, and not at the end of the line")
        full.append(there + b",0" * (len(rest) - len(there)))
    table = np.fromstring(b",".join(full), np.int64, sep=",").reshape(-1, count)
    empty = table == 0
    wrong = np.argwhere((table < 0) | (table > most) | (empty & ~_at_end(block, count)))
    for row, column in wrong[:1].tolist():
        number = block[row][1].split(b",")[column].decode()
        refuse(
            path,
            block[row][0],
            f"entry {column + 1} is {shown(number)}: with {rappor.cohorts} cohorts of "
            f"{rappor.width} bits it must be from 1 to {most}",
        )
    return table


def _at_end(block: list[tuple[int, bytes]], count: int) -> Booleans:
    """Return which cells of some lines are empty ones at their end."""
    left = np.array([len(rest) - len(rest.rstrip(b",")) for _, rest in block])
    return np.arange(count)[::-1] < left[:, None]


def _by_cohort(
    path: Path, block: list[tuple[int, bytes]], entries: Integers, rappor: Rappor
) -> Integers:
    """Return bits in the places of their cohorts; ``width`` stands where a cohort has fewer."""
    m, h, width = rappor.cohorts, rappor.hashes, rappor.width
    padded = (entries == 0).any(axis=1)
    numbers = np.sort(np.where(entries == 0, m * width, entries - 1), axis=1)
    cohorts, index = numbers // width, np.arange(m * h)
    starts = np.ones(numbers.shape, bool)
    starts[:, 1:] = cohorts[:, 1:] != cohorts[:, :-1]
    rank = index - np.maximum.accumulate(np.where(starts, index, 0), axis=1)
    twice = padded[:, None] & (rank > 0) & (numbers < m * width)
    twice[:, 1:] &= numbers[:, 1:] == numbers[:, :-1]
    for row, column in np.argwhere((rank >= h) & (cohorts < m))[:1].tolist():
        refuse(
            path,
            block[row][0],
            f"more than {h} entries, {numbers[row, column] + 1} among them, are in cohort "
            f"{cohorts[row, column]} of {width} bits, but there are {h} hashes",
        )
    for row, column in np.argwhere(twice)[:1].tolist():
        refuse(
            path,
            block[row][0],
            f"entry {numbers[row, column] + 1} is there twice, and cells at the end are empty",
        )
    bits = np.full((len(block), m * h + 1), width)
    slots = np.where(cohorts < m, cohorts * h + rank, m * h)
    np.put_along_axis(bits, slots, numbers % width, axis=1)
    for row, cohort in np.argwhere(bits[:, :-1:h] == width)[:1].tolist():
        refuse(path, block[row][0], f"there is no entry in cohort {cohort} of {width} bits")
    return bits[:, :-1]


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
    for line, text in lines(path):
        try:
            label = rappor.check(text)
        except ValueError as error:
            refuse(path, line, str(error))
        if label in seen:
            refuse(path, line, f"the string {shown(label)} is in line {seen[label]} already")
        seen[label] = line
    if not seen:
        refuse(path, 1, "there is no string in the file")
    return list(seen)


# Reports


def read_reports(path: Path, rappor: Rappor) -> Iterator[Reports]:
    """Return the reports of a file, part by part."""
    found = rows(path)
    _, header = next(found, (1, []))
    unknown = [name for name in header if name not in REPORT_COLUMNS]
    if unknown or len(set(header)) != len(header) or not {"cohort", "irr"} <= set(header):
        refuse(
            path,
            1,
            f"the header must have cohort and irr, and else only client, bloom and prr, "
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
    out["row"] = [known[text] for text in cohorts]
    out["bits"] = np.packbits(flags[:, ::-1] & 1, axis=1, bitorder="little")
    return out


def write_reports(path: Path, rappor: Rappor, parts: Iterable[Reports]) -> int:
    """Write reports with the columns cohort and irr; return how many."""
    n = 0
    with writing(path) as file:
        file.write(b"cohort,irr\n")
        for part in parts:
            reports = rappor.shape.check(part)
            flags = np.unpackbits(reports["bits"], axis=1, count=rappor.width, bitorder="little")[
                :, ::-1
            ]
            texts = (flags + ord("0")).astype(np.uint8)
            pairs = zip(reports["row"].tolist(), texts, strict=True)
            file.writelines(b"%d,%s\n" % (cohort, text.tobytes()) for cohort, text in pairs)
            n += len(reports)
    return n


# Counts


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
        numbers = [_whole(path, line, f"number {j + 1}", text) for j, text in enumerate(row)]
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
    if int(cells[:, 0].sum(dtype=object)) > _LARGEST:
        raise ValueError(f"{named(path)}: there are more than 2**62 reports")
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
    values = ([x.string, round(x.estimate), round(x.std_error), *map(repr, x[3:])] for x in lines)
    _write(path, [header, *values])


def read_results(path: Path) -> list[Result]:
    """Return the lines of a file of results, of murmurs or of google/rappor."""
    found = rows(path)
    _, header = next(found, (1, []))
    fields = list(Result._fields)
    named = [name.rpartition("_")[0] if name[:5] == "prop_" else name for name in header[5:]]
    if header[:5] != fields[:5] or named != fields[5:]:
        wanted = ",".join([*fields[:5], "prop_low_95", "prop_high_95"])
        refuse(path, 1, f"the header must be {wanted}, not {shown(','.join(header))}")
    out = []
    for line, cells in found:
        if len(cells) != len(fields):
            refuse(path, line, f"there are {len(cells)} values under {len(fields)} columns")
        numbers = [_real(path, line, n, x) for n, x in zip(fields[1:], cells[1:], strict=True)]
        out.append(Result(cells[0], *numbers))
    return out


# What all of them share


def _write(path: Path, records: Iterable[Iterable[object]]) -> None:
    with writing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        try:
            write_rows(text, records)
        finally:
            text.detach()


def write_rows(file: IO[str], records: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV."""
    csv.writer(file, lineterminator="\n").writerows(records)


def csv_text(records: Iterable[Iterable[object]]) -> str:
    """Return rows as the text of a CSV file."""
    out = io.StringIO()
    write_rows(out, records)
    return out.getvalue()


def _whole(path: Path, line: int, name: str, text: str) -> int:
    if not is_digits(text):
        refuse(path, line, f"{name} must be a whole number, not {shown(text)}")
    if len(text) > 19 or int(text) > _LARGEST:
        refuse(path, line, f"{name} must be at most 2**62, not {shown(text)}")
    return int(text)


def _real(path: Path, line: int, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        refuse(path, line, f"{name} must be a number, not {shown(text)}")
