"""Maps: the Bloom filter bits of every candidate in every cohort."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import LONGEST_LINE, is_digits, lines, refuse
from murmurs.hashing.layout import ListedPlaces, Places, listed
from murmurs.mechanisms.longitudinal.mapped import Mapped
from murmurs.mechanisms.longitudinal.rappor import Rappor
from murmurs.numerics.arrays import Booleans, Integers
from murmurs.rappor.csv_files import write_csv

_BLOCK = 2**12


def read_map(path: Path, rappor: Rappor) -> Mapped:
    """Return RAPPOR over the strings of a map, whichever hash made it.

    A line has an entry for each hash of each cohort. If two hashes of a cohort fall on one bit, the
    line has that entry twice, or once and an empty cell at the end, as in maps written by R. So the
    number of an entry determines its cohort, not its position in the line.
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
    layout = ListedPlaces(places, rappor.cohorts, rappor.width, rappor.hashes)
    return Mapped(rappor, tuple(labels), map=layout)


def _map_lines(path: Path, rappor: Rappor) -> Iterator[tuple[int, str, bytes]]:
    """Return line, string and entries; most lines need no CSV reader to be split."""
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
    """Return the cells of a record with a quoted string, which may span several lines."""
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
        refuse(path, line, "there is a quotation mark in a string that is not quoted")
    return records[0]


def _map_places(path: Path, block: list[tuple[int, bytes]], rappor: Rappor) -> Places:
    """Return the buckets of some lines, one row for each hash of each cohort."""
    entries = _map_entries(path, block, rappor)
    hashes, width = rappor.hashes, rappor.width
    first = np.repeat(np.arange(rappor.cohorts) * width, hashes) + 1
    bits = entries - first
    if ((bits < 0) | (bits >= width)).any():  # some entry is not in the column of its hash
        bits = _by_cohort(path, block, entries, rappor)
    return listed(bits.T, rappor.cohorts, width, hashes).places


def _map_entries(path: Path, block: list[tuple[int, bytes]], rappor: Rappor) -> Integers:
    """Return the numbers of some lines, one row per line; 0 is an empty cell at its end."""
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
    """Return which cells of some lines are empty cells at the end."""
    left = np.array([len(rest) - len(rest.rstrip(b",")) for _, rest in block])
    return np.arange(count)[::-1] < left[:, None]


def _by_cohort(
    path: Path, block: list[tuple[int, bytes]], entries: Integers, rappor: Rappor
) -> Integers:
    """Return bits in the columns of their cohorts; ``width`` fills the columns without a bit."""
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
            f"entry {numbers[row, column] + 1} occurs twice, but cells at the end are empty",
        )
    bits = np.full((len(block), m * h + 1), width)
    slots = np.where(cohorts < m, cohorts * h + rank, m * h)
    np.put_along_axis(bits, slots, numbers % width, axis=1)
    for row, cohort in np.argwhere(bits[:, :-1:h] == width)[:1].tolist():
        refuse(path, block[row][0], f"there is no entry in cohort {cohort} of {width} bits")
    return bits[:, :-1]


def map_rows(rappor: Rappor, candidates: Sequence[str]) -> Iterator[list[str]]:
    """Return the lines of the map of candidates, using the hashing scheme of ``rappor``."""
    first = np.repeat(np.arange(rappor.cohorts) * rappor.width, rappor.hashes) + 1
    for start in range(0, len(candidates), _BLOCK):
        part = candidates[start : start + _BLOCK]
        table = rappor.bit_numbers(part).T + first
        for label, entries in zip(part, table.tolist(), strict=True):
            yield [label, *map(str, entries)]


def write_map(path: Path, rappor: Rappor, candidates: Sequence[str]) -> None:
    """Write the map of checked candidates."""
    write_csv(path, map_rows(rappor, candidates))


def read_candidates(path: Path, rappor: Rappor) -> list[str]:
    """Return the strings of a file, one per line and without repeats, as the scheme takes them."""
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
