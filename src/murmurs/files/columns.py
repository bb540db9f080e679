"""One or more columns of a file, in bounded memory: lines of text, CSV, Parquet or JSON lines.

Errors give the file, the line or row and the rule. They never quote a cell, nor the first line of
a CSV file, which may be somebody's answer where there is no header.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.answers import coded
from murmurs.boundary.checks import shown
from murmurs.boundary.documents import document
from murmurs.boundary.frames import MISSING, Coded
from murmurs.boundary.reading import blocks_of_lines, is_digits, lines, named, refuse, rows
from murmurs.boundary.texts import listed, meant
from murmurs.boundary.writing import STANDARD
from murmurs.files.headers import AnyPath

Format = Literal["text", "csv", "tsv", "parquet", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
MOST_ROWS, _MOST_CHARACTERS = 2**16, 2**24
_FIXED_ROWS = 2**18  # of a column whose values have one small size
_NOT_JSON: Any = object()
Column = str | int
Wanted = Column | tuple[Column, ...] | None
"""One column, or several, of which each row is a tuple; None for what has no columns.

An empty tuple is for segments alone.
"""


class Chunk(NamedTuple):
    """Some rows of a column, one after another.

    ``values`` are a list or an Arrow array; of several columns, a list of tuples. ``places`` are
    the lines or rows where they stand, from 1; ``unit`` says which of the two. ``segments`` has the
    column ``by``, coded; if there are several, a segment is a tuple of their values. ``absent`` is
    a field that no line had so far.
    """

    values: Any
    places: Sequence[int] | NDArray[np.int64]
    unit: str
    segments: Coded | None = None
    absent: str | None = None

    def refuse(self, path: Path, position: int, what: str) -> NoReturn:
        """Raise the error for one value."""
        place = f"{self.unit} {self.places[position]}"
        if self.absent is not None:
            what += f" (no line so far has a field called {shown(self.absent)})"
        raise ValueError(f"{named(path)}, {place}: {what}")

    def listed(self) -> list[Any]:
        """Return the values as a list."""
        if isinstance(self.values, list):
            return self.values
        found: list[Any] = self.values.to_pylist()
        return found

    def checked_segments(self, path: Path) -> Coded:
        """Return the segments of the rows; a row without a segment is refused."""
        assert self.segments is not None
        missing = self.segments.codes == MISSING
        if missing.any():
            what = "the segment is missing: write one there, such as unknown, or remove such rows"
            self.refuse(path, int(missing.argmax()), what)
        return self.segments

    def by_segment(self, path: Path) -> Iterator[tuple[Any, Chunk]]:
        """Return each segment with its rows; a row without a segment is refused."""
        if self.segments is None:
            yield None, self
            return
        codes, values = self.checked_segments(path)
        places = np.asarray(self.places)
        for code in np.unique(codes).tolist():
            rows_of = np.flatnonzero(codes == code)
            own = self.values
            own = [own[i] for i in rows_of] if isinstance(own, list) else own.take(rows_of)
            yield values[code], Chunk(own, places[rows_of], self.unit, absent=self.absent)


def format_of(path: AnyPath) -> Format:
    """Return the format that the suffix of a file stands for, before a .gz if there is one.

    >>> format_of("answers.csv.gz"), format_of("answers.txt")
    ('csv', 'text')
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return _SUFFIXES.get(suffixes[-1], "text") if suffixes else "text"


def read_column(
    path: AnyPath,
    column: Wanted = None,
    by: Column | Sequence[Column] | None = None,
    *,
    format: Format | None = None,  # noqa: A002
    delimiter: str | None = None,
    header: bool = True,
    is_value: Callable[[str], bool] | None = None,
    most: int = MOST_ROWS,
) -> Iterator[Chunk]:
    r"""Return one column of a file, or several, in chunks, in bounded memory.

    ``column`` is a name, or a number from 1, or a tuple of these; text has none, and without one
    each line of JSON lines is a value. ``by`` is a second column, or several, for segments. Empty
    cells and lines, nulls and absent fields are None. The suffix of the file gives the format,
    unless ``format`` does. ``is_value`` tells values from names: if the header has a value in a
    column that is given by its number, it is none, and is refused. Chunks of text have at most
    ``most`` rows.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     done = path.write_text("drink,region\ntea,north\n,south\n")
    ...     [chunk.values for chunk in read_column(path, "drink")]
    [['tea', None]]
    """
    file = Path(path)
    kind = format or format_of(file)
    others = _others(by)
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {shown(kind)}")
    if kind not in ("csv", "tsv") and (delimiter is not None or not header):
        raise ValueError(f"a delimiter and a missing header are for CSV, and {named(file)} is not")
    if kind == "text":
        if column is not None or others:
            raise ValueError(
                f"{named(file)} is read as text, one value per line, and has no columns: say "
                f"which format it has, one of {', '.join(FORMATS[1:])}"
            )
        yield from _of_text(file, most)
    elif kind == "jsonl":
        yield from _of_json_lines(file, column, others, most)
    elif column is None:
        raise ValueError(
            f"{named(file)} has columns: name one, or give its number; if it has one value per "
            "line, its format is text"
        )
    elif kind == "parquet":
        yield from _of_parquet(file, column, others, most)
    else:
        mark = _delimiter(delimiter, kind)
        yield from _of_csv(file, column, others, mark, header=header, is_value=is_value, most=most)


def _others(by: Column | Sequence[Column] | None) -> tuple[Column, ...]:
    """Return the columns of the segments, which must differ."""
    if by is None:
        return ()
    others = (by,) if isinstance(by, str | int) else tuple(by)
    for number, one in enumerate(others):
        if one in others[:number]:
            raise ValueError(f"segments by {shown(one)} twice: name each column once")
    return others


def _delimiter(given: str | None, kind: Format) -> str:
    if given is None:
        return "\t" if kind == "tsv" else ","
    mark = "\t" if given == "\\t" else given
    if len(mark) != 1 or mark in '"\r\n':
        raise ValueError(f"delimiter must be one character, such as ';', not {shown(given)}")
    return mark


def _of_text(path: Path, most: int) -> Iterator[Chunk]:
    texts = (text for _, block in blocks_of_lines(path) for text in block)
    yield from _chunks(((text or None, ()) for text in texts), most, by=0)


def _of_csv(
    path: Path,
    column: Wanted,
    by: tuple[Column, ...],
    delimiter: str,
    *,
    header: bool,
    is_value: Callable[[str], bool] | None,
    most: int,
) -> Iterator[Chunk]:
    source = rows(path, delimiter=delimiter, with_empty=True)
    start = next((found for found in source if found[1]), None)
    if start is None:
        raise ValueError(f"{named(path)} is empty")
    width = len(start[1])
    names = start[1] if header else None
    several = isinstance(column, tuple)
    wanted = [_index(path, one, names, width, by_name=several) for one in _each(column)]
    for one, place in zip(_each(column), wanted, strict=True):
        by_number = names is not None and one not in names
        if by_number and is_value is not None and is_value(start[1][place]):
            raise ValueError(
                f"{named(path)} has a value in column {one} of its first line, not a name: read it "
                "without a header (`header=False`), or give the column by its name"
            )
    others = [_index(path, one, names, width) for one in by]
    _refuse_same(wanted, others)
    where: list[int] = []

    def cells() -> Iterator[tuple[Any, tuple[str | None, ...]]]:
        before = ((line, list[str]()) for line in range(1, start[0]))  # these are empty
        for line, row in source if header else chain(before, [start], source):
            if not row and width == 1:  # so polars and Arrow write a column with missing values
                row = [""]
            elif not row:
                continue
            if len(row) != width:
                refuse(path, line, f"it has {len(row)} cells, and the first line has {width}")
            where.append(line)
            values = tuple(row[one] or None for one in wanted)
            yield values if several else values[0], tuple(row[one] or None for one in others)

    for chunk in _chunks(cells(), most, by=len(by)):
        n = len(chunk.values)
        yield chunk._replace(places=where[:n])
        del where[:n]


def _index(
    path: Path,
    column: Column,
    names: Sequence[str] | None,
    width: int,
    *,
    by_name: bool = False,
) -> int:
    """Return the position of a column, given by its name or its number.

    With ``by_name``, columns have the names of questions, and errors do not suggest a number.
    """
    named_so = [] if names is None else [i for i, name in enumerate(names) if name == column]
    if len(named_so) > 1:
        raise ValueError(
            f"{named(path)} has {len(named_so)} columns called {shown(column)}: give its number"
        )
    if named_so:
        return named_so[0]
    if isinstance(column, int) or is_digits(column):
        if 1 <= int(column) <= width:
            return int(column) - 1
        raise ValueError(f"{named(path)} has columns 1 to {width}, and no column {shown(column)}")
    if names is None:
        raise ValueError(
            f"{named(path)} is read without a header: give a column by its number, from 1 to "
            f"{width}, not as {shown(column)}"
        )
    also = ", check the delimiter," if width == 1 else ""
    alike = [i for i, name in enumerate(names, 1) if _plain(name) == _plain(column)]
    hint = f" (that of column {alike[0]} differs only in capitals or blanks)" if alike else ""
    way_out = f"correct the name{hint}{also} or give a number from 1"
    if by_name:
        way_out = f"correct the name, or name a column so{hint}{also.rstrip(',')}"
    raise ValueError(
        f"{named(path)} has no column called {shown(column)} among the {width} of its first line: "
        f"{way_out}"
    )


def _plain(name: str) -> str:
    """Return a name without blanks at its ends and without capitals."""
    return name.strip().casefold()


def _each(column: Wanted) -> tuple[Column, ...]:
    """Return the columns that are wanted."""
    if column is None:
        return ()
    return column if isinstance(column, tuple) else (column,)


def _refuse_same(wanted: Sequence[object], others: Sequence[object]) -> None:
    """Refuse segments by the column itself: the names of their files would be the answers."""
    if any(one in others for one in wanted):
        raise ValueError("segments must be by another column than the one that is read")


def _of_json_lines(
    path: Path, column: Wanted, by: tuple[Column, ...], most: int
) -> Iterator[Chunk]:
    wanted = [str(one) for one in _each(column)]
    unseen = {*wanted, *map(str, by)}
    _refuse_same(wanted, [str(one) for one in by])

    def found_values() -> Iterator[tuple[Any, tuple[Any, ...]]]:
        for line, text in lines(path):
            found = _NOT_JSON
            with contextlib.suppress(ValueError):  # which may quote the name of a field
                found = document(text)
            if found is _NOT_JSON:
                refuse(path, line, "this is not one JSON value")
            if column is None and not by:
                yield found, ()
                continue
            if not isinstance(found, dict):
                refuse(path, line, "this is not a JSON object with fields")
            unseen.difference_update(found)
            value: Any = found
            if column is not None:
                values = tuple(found.get(one) for one in wanted)
                value = values if isinstance(column, tuple) else values[0]
            yield value, tuple(found.get(str(other)) for other in by)

    for chunk in _chunks(found_values(), most, by=len(by)):
        yield chunk._replace(absent=min(unseen, default=None))
    if unseen:
        raise ValueError(
            f"{named(path)} has no field called {shown(sorted(unseen)[0])} in any line"
        )


def _chunks(pairs: Iterable[tuple[Any, tuple[Any, ...]]], most: int, *, by: int) -> Iterator[Chunk]:
    """Gather values and their segments; where a chunk ends depends only on the values."""
    values: list[Any] = []
    segments: list[list[Any]] = [[] for _ in range(by)]
    size, first = 0, 1

    def chunk() -> Chunk:
        places = range(first, first + len(values))
        return Chunk(values, places, "line", joined_segments([coded(own) for own in segments]))

    for value, others in pairs:
        values.append(value)
        for own, other in zip(segments, others, strict=True):
            own.append(other)
        size += sum(map(_length, value)) if isinstance(value, tuple) else _length(value)
        if size >= _MOST_CHARACTERS or len(values) >= most:
            yield chunk()
            first += len(values)
            values, segments, size = [], [[] for _ in range(by)], 0
    if values:
        yield chunk()


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else 1


def joined_segments(columns: list[Coded]) -> Coded | None:
    """Return the segments of several columns as one: missing where any of them is."""
    if len(columns) < 2:
        return columns[0] if columns else None
    codes = np.zeros(len(columns[0].codes), np.int64)
    missing = np.zeros(len(codes), np.bool_)
    for own, values in columns:
        missing |= own == MISSING
        codes = codes * max(len(values), 1) + own
    distinct, inverse = np.unique(codes[~missing], return_inverse=True)
    numbers = np.full(len(codes), MISSING, np.int64)
    numbers[~missing] = inverse.reshape(-1)
    found: list[Any] = []
    for code in distinct.tolist():
        segment: list[Any] = []
        for _, values in reversed(columns):
            code, own_code = divmod(code, len(values))
            segment.insert(0, values[own_code])
        found.append(tuple(segment))
    return Coded(numbers, found)


def _of_parquet(path: Path, column: Wanted, by: tuple[Column, ...], most: int) -> Iterator[Chunk]:
    try:
        from pyarrow import types
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("Parquet is read with pyarrow: pip install 'murmurs[frames]'") from error
    if path == STANDARD:
        raise ValueError("Parquet cannot be read from standard input: give a file")
    with _whole_parquet(path):
        schema = ParquetFile(path).schema_arrow
    wanted = [_parquet_name(path, one, schema.names) for one in _each(column)]
    others = [_parquet_name(path, one, schema.names) for one in by]
    _refuse_same(wanted, others)
    names = list(dict.fromkeys([*wanted, *others]))
    kinds = [schema.field(name).type for name in names]
    texts = [name for name, kind in zip(names, kinds, strict=True) if types.is_string(kind)]
    fixed = all(types.is_primitive(kind) or types.is_fixed_size_binary(kind) for kind in kinds)
    first = 1
    with _whole_parquet(path):
        file = ParquetFile(path, memory_map=True, read_dictionary=texts)
    batches = file.iter_batches(_FIXED_ROWS if fixed else most, columns=names, use_threads=False)
    while True:
        with _whole_parquet(path):
            batch = next(batches, None)
        if batch is None:
            return
        segments = joined_segments(
            [coded_segments(named(path), other, batch.column(other)) for other in others]
        )
        places = range(first, first + len(batch))
        if column == ():
            values: Any = [()] * len(batch)
        elif isinstance(column, tuple):
            values = list(zip(*(batch.column(one).to_pylist() for one in wanted), strict=True))
        else:
            values = batch.column(wanted[0])
        yield Chunk(values, places, "row", segments)
        first += len(batch)


def coded_segments(source: str, name: str, column: Any) -> Coded:
    """Return a column of segments: what labels are, and dates."""
    from pyarrow import DictionaryArray, types

    if types.is_date(column.type):
        days = column.dictionary_encode()  # a day has many rows
        column = DictionaryArray.from_arrays(days.indices, days.dictionary.cast("string"))
    try:
        return coded(column)
    except TypeError:
        kind = str(column.type).partition("<")[0]
        raise ValueError(
            f"{source}: column {shown(name)} must be text, whole numbers or dates, not of type "
            f"{kind}"
        ) from None


@contextlib.contextmanager
def _whole_parquet(path: Path) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError:
        raise
    except (ArrowException, OSError):
        raise ValueError(
            f"{named(path)} is not a whole Parquet file: it is cut off, damaged or of another kind"
        ) from None


def _parquet_name(path: Path, column: Column, names: list[str]) -> str:
    """Return the name of a column; those of a Parquet file are in its schema, and may be told."""
    name = str(column)
    if name not in names and (isinstance(column, int) or is_digits(column)):
        name = names[_index(path, column, None, len(names))]
    if names.count(name) > 1:
        raise ValueError(f"{named(path)} has several columns called {shown(name)}: rename them")
    if name in names:
        return name
    raise ValueError(
        f"{named(path)} has no column called {shown(column)}; it has {listed(tuple(names))}"
        f"{meant(column, names)}"
    )
