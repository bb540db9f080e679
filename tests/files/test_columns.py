"""A column is read from a file of any kind, in bounded memory; errors give place and rule."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from murmurs.files.columns import Chunk, format_of, read_column
from murmurs.files.segments import MOST_SEGMENTS, Segments, segment_name

VALUES = ["tea", "mate", "a, b", 'with "quotes"', "two\nlines", "Zürich", None, "tea"]
REGIONS = ["north", "south", "north", "east", "north", "south", "south", "north"]


def quoted(cell: str | None) -> str:
    return '"' + (cell or "").replace('"', '""') + '"'


def csv_text(mark: str = ",", end: str = "\n", *, header: bool = True) -> bytes:
    rows = [("drink", "region")] if header else []
    rows += zip(VALUES, REGIONS, strict=True)  # type: ignore[arg-type]
    return "".join(f"{quoted(a)}{mark}{b}{end}" for a, b in rows).encode()


def json_lines() -> bytes:
    rows = [
        {"drink": value, "region": region} for value, region in zip(VALUES, REGIONS, strict=True)
    ]
    del rows[6]["drink"]  # an absent field is as good as null
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(values: Any = VALUES, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"drink": values, "region": REGIONS}), out, **options)
    return out.getvalue()


FILES: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "CSV": ("a.csv", csv_text(), {}),
    "CSV with a mark": ("a.csv", b"\xef\xbb\xbf" + csv_text(), {}),
    "CSV of Windows": ("a.csv", csv_text(end="\r\n"), {}),
    "CSV with semicolons": ("a.csv", csv_text(";"), {"delimiter": ";"}),
    "CSV without a header": ("a.csv", csv_text(header=False), {"header": False}),
    "CSV without an end": ("a.csv", csv_text()[:-1], {}),
    "CSV with empty lines": ("a.csv", csv_text() + b"\n\n", {}),
    "CSV, packed": ("a.csv.gz", gzip.compress(csv_text()), {}),
    "CSV of another name": ("a.txt", csv_text(), {"format": "csv"}),
    "TSV": ("a.TSV", csv_text("\t"), {}),
    "CSV with tabs": ("a.csv", csv_text("\t"), {"delimiter": "\\t"}),
    "JSON lines": ("a.jsonl", json_lines(), {}),
    "JSON lines, packed, with a mark": (
        "a.ndjson.gz",
        gzip.compress(b"\xef\xbb\xbf" + json_lines()),
        {},
    ),
    "JSON lines of Windows": ("a.jsonl", json_lines().replace(b"\n", b"\r\n"), {}),
    "Parquet": ("a.parquet", parquet(), {}),
    "Parquet without dictionaries": ("a.pq", parquet(use_dictionary=False), {}),
    "Parquet in row groups": ("a.parquet", parquet(row_group_size=3), {}),
    "Parquet of categories": (
        "a.parquet",
        parquet(pa.array(VALUES).dictionary_encode()),
        {},
    ),
}


def flat(chunks: Any) -> list[Any]:
    return [value for chunk in chunks for value in chunk.listed()]


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_same_column(name: str, tmp_path: Path) -> None:
    file, data, options = FILES[name]
    path = tmp_path / file
    path.write_bytes(data)
    wanted = ["drink"] if options.get("header", True) else []
    wanted += [] if "JSON" in name else ["1"]
    columns: list[str | int] = [*wanted, *map(int, wanted[1:])]
    for column in columns:
        found = flat(read_column(path, column, **options))
        assert found == VALUES
    by = "region" if options.get("header", True) else "2"
    segments: dict[str, list[Any]] = {}
    for chunk in read_column(path, wanted[0], by, **options):
        for segment, part in chunk.by_segment(path):
            segments.setdefault(segment, []).extend(part.listed())
    assert segments == {
        region: [v for v, r in zip(VALUES, REGIONS, strict=True) if r == region]
        for region in set(REGIONS)
    }


def test_text_has_one_value_per_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.txt"
    path.write_bytes(b"\xef\xbb\xbftea\r\n\r\na,b\n")
    (chunk,) = read_column(path)
    assert chunk.values == ["tea", None, "a,b"]
    packed = tmp_path / "answers.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert flat(read_column(packed)) == chunk.values


def test_json_lines_without_a_column_are_values(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('1\n"tea"\n[1, "AQ=="]\nnull\ntrue\n')
    assert flat(read_column(path)) == [1, "tea", [1, "AQ=="], None, True]


def test_a_column_with_a_number_for_a_name_is_found_by_its_name_first(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("2,1\na,b\n")
    assert flat(read_column(path, "2")) == ["a"]
    assert flat(read_column(path, 2)) == ["b"]


def test_values_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": "1"}\n{"a": true}\n{"a": 1.5}\n{"a": [1]}\n')
    assert flat(read_column(path, "a")) == [1, "1", True, 1.5, [1]]


def test_lines_are_counted_where_rows_begin(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('drink,n\n"two\nlines",1\n\ntea,2\n')
    (chunk,) = read_column(path, "drink")
    assert list(chunk.places) == [2, 5]
    with pytest.raises(ValueError, match=r"a.csv, line 5: so it is$"):
        chunk.refuse(path, 1, "so it is")


def test_chunks_end_by_rows_and_by_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("drink\n" + "tea\n" * 10)
    chunks = list(read_column(path, "drink", most=4))
    assert [len(chunk.values) for chunk in chunks] == [4, 4, 2]
    assert [chunk.places[0] for chunk in chunks] == [2, 6, 10]
    path.write_text("drink\n" + ("x" * 100_000 + "\n") * 200)
    assert [len(chunk.values) for chunk in read_column(path, "drink")] == [168, 32]


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


BAD: dict[str, tuple[str, bytes, Any, dict[str, Any], str]] = {
    "no column": ("a.csv", b"a,b\n1,2\n", "c", {}, "has no column called 'c' among the 2 of its"),
    "other delimiter": ("a.csv", b"a;b\n1;2\n", "a", {}, "check the delimiter, or give a number"),
    "no such number": ("a.csv", b"a,b\n1,2\n", "3", {}, "has columns 1 to 2, and no column '3'"),
    "number zero": ("a.csv", b"a,b\n1,2\n", 0, {}, "has columns 1 to 2, and no column 0"),
    "twice": ("a.csv", b"a,a\n1,2\n", "a", {}, "has 2 columns called 'a': give its number"),
    "name, no header": (
        "a.csv",
        b"a\n",
        "a",
        {"header": False},
        "is read without a header: give a",
    ),
    "short row": ("a.csv", b"a,b\n1,2\n3\n", "a", {}, "line 3: it has 1 cells, and the first line"),
    "open quote": (
        "a.csv",
        b'a\n"1\n2\n',
        "a",
        {},
        "line 2: this is not CSV: unexpected end of da",
    ),
    "not UTF-8": ("a.csv", b"a\n\xff\n", "a", {}, "line 2: it is not UTF-8"),
    "empty": ("a.csv", b"", "a", {}, "a.csv is empty"),
    "no name": ("a.csv", b"a\n", None, {}, "has columns: name one, or give its number"),
    "long mark": ("a.csv", b"a\n", "a", {"delimiter": "::"}, "delimiter must be one character"),
    "quote as mark": ("a.csv", b"a\n", "a", {"delimiter": '"'}, "delimiter must be one character"),
    "cut gzip": (
        "a.csv.gz",
        cut(gzip.compress(b"a\n" + np.random.default_rng(1).bytes(9999).hex().encode())),
        "a",
        {},
        "is not a whole gzip file: it is cut off or damaged, copy it again",
    ),
    "cut at the check": (
        "a.csv.gz",
        gzip.compress(b"a\n1\n")[:-4],
        "a",
        {},
        "is not a whole gzip file",
    ),
    "damaged gzip": (
        "a.txt.gz",
        gzip.compress(b"tea\n" * 9)[:12] + b"\xff" * 20,
        None,
        {},
        "is not a whole gzip file",
    ),
    "no gzip": ("a.csv.gz", b"a\n1\n", "a", {}, "is not a whole gzip file"),
    "text with a column": ("a.txt", b"a\n", "a", {}, "is read as text, one value per line"),
    "text with a mark": ("a.txt", b"a\n", None, {"delimiter": ";"}, "are for CSV, and"),
    "JSON without a header": ("a.jsonl", b"1\n", None, {"header": False}, "are for CSV, and"),
    "format": ("a.txt", b"", None, {"format": "xls"}, "format must be one of text, csv, tsv, parq"),
    "no JSON": ("a.jsonl", b'{"a": 1}\n{"a": secret\n', "a", {}, "line 2: this is not one JSON"),
    "an empty line": (
        "a.jsonl",
        b'{"a": 1}\n\n{"a": 2}\n',
        "a",
        {},
        "line 2: this is not one JSON",
    ),
    "no object": ("a.jsonl", b'{"a": 1}\n[1]\n', "a", {}, "line 2: this is not a JSON object with"),
    "no field": ("a.jsonl", b'{"a": 1}\n', "b", {}, "has no field called 'b' in any line"),
    "a key twice": (
        "a.jsonl",
        b'{"a": 1, "a": 2}\n',
        "a",
        {},
        "line 1: this is not one JSON value",
    ),
    "no Parquet column": ("a.pq", parquet(), "cups", {}, "'cups'; it has 'drink', 'region'"),
    "Parquet number": ("a.pq", parquet(), 3, {}, "has columns 1 to 2, and no column 3"),
    "cut Parquet": ("a.pq", cut(parquet()), "drink", {}, "is not a whole Parquet file"),
    "no Parquet": ("a.pq", b"tea\nmate\n", "drink", {}, "is not a whole Parquet file"),
    "damaged Parquet": (
        "a.pq",
        parquet(compression="none")[:4] + b"\xff" * 60 + parquet(compression="none")[64:],
        "drink",
        {},
        "is not a whole Parquet file",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_place_and_rule(name: str, tmp_path: Path) -> None:
    file, data, column, options, said = BAD[name]
    path = tmp_path / file
    path.write_bytes(data)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the reason is looked for below
        flat(read_column(path, column, **options))
    assert said in str(error.value)
    assert "secret" not in str(error.value)


def test_parquet_is_not_read_from_standard_input() -> None:
    with pytest.raises(ValueError, match="cannot be read from standard input: give a file"):
        next(read_column("-", "a", format="parquet"))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    for name in ("a.csv", "a.csv.gz", "a.parquet", "a.jsonl", "a.txt"):
        with pytest.raises(FileNotFoundError):
            flat(read_column(tmp_path / name, None if name == "a.txt" else "a"))


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet())
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'murmurs\[frames\]'"):
        next(read_column(tmp_path / "a.parquet", "drink"))


def write_rows(path: Path, n: int) -> None:
    """Write a file of different answers and one region, in the kind that its name says."""
    values = [f"answer {i % 977} {i} {'x' * 50}" for i in range(n)]
    kind = path.name.partition(".")[2]
    if kind == "parquet":
        table = pa.table({"drink": values, "region": ["north"] * n})
        pq.write_table(table, path, row_group_size=1000)
        return
    if kind == "jsonl":
        text = "".join(f'{{"drink": "{value}", "region": "north"}}\n' for value in values)
    elif kind == "txt":
        text = "".join(f"{value}\n" for value in values)
    else:
        text = "drink,region\n" + "".join(f"{value},north\n" for value in values)
    path.write_bytes(gzip.compress(text.encode(), 1) if kind == "csv.gz" else text.encode())


def peak(work: Callable[[], object]) -> int:
    """The most bytes that Python, NumPy and Arrow had at once during some work."""
    usual, own = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(own)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] + int(own.max_memory())
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet", "txt"])
def test_many_rows_are_read_in_bounded_memory(kind: str, tmp_path: Path) -> None:
    """Five times as many rows take hardly more; all kept together they would."""
    few, many = tmp_path / f"few.{kind}", tmp_path / f"many.{kind}"
    write_rows(few, 4000)
    write_rows(many, 20_000)

    def chunks(path: Path) -> Iterator[Chunk]:
        names = (None, None) if kind == "txt" else ("drink", "region")
        return read_column(path, *names, most=1000)

    def counted(path: Path) -> int:
        return sum(len(chunk.values) for chunk in chunks(path))

    assert (counted(few), counted(many)) == (4000, 20_000)
    most = 1.4 * peak(lambda: counted(few))
    assert peak(lambda: counted(many)) < most < peak(lambda: list(chunks(many)))


# Segments


def test_the_suffix_gives_the_format() -> None:
    names = ["a.csv", "a.CSV.GZ", "a.tab", "a.pq", "a.ndjson", "a", "a.gz", "a.csv.txt", ".csv"]
    assert [format_of(name) for name in names] == (
        ["csv", "csv", "tsv", "parquet", "jsonl", "text", "text", "text", "text"]
    )


def test_a_row_without_a_segment_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("drink,region\ntea,north\ntea,\n")
    (chunk,) = read_column(path, "drink", "region")
    with pytest.raises(ValueError, match=r"a.csv, line 3: the segment is missing"):
        list(chunk.by_segment(path))
    assert list(Chunk(["tea"], [1], "line").by_segment(path)) == [
        (None, Chunk(["tea"], [1], "line"))
    ]


@pytest.mark.parametrize(
    ("segment", "said"),
    [
        ("../up", "has '/' in it"),
        ("a\\b", r"has '\\\\' in it"),
        ("c:", "has ':' in it"),
        ("a*", r"has '\*' in it"),
        ("a\0", "has a control character in it"),
        ("a\n", "has a control character in it"),
        ("\ud800", "has a control character in it"),
        ("..", "begins or ends with a blank or a dot"),
        (" a", "begins or ends with a blank or a dot"),
        ("", "begins or ends with a blank or a dot"),
        ("a" * 101, "is longer than 100 bytes"),
        (1.5, "must be text, a whole number or a date, not float"),
        ([1], "must be text, a whole number or a date, not list"),
    ],
)
def test_an_unsafe_segment_is_refused(segment: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        segment_name(segment)


def test_segments_that_a_file_system_may_confuse_are_refused() -> None:
    for first, second in (("North", "north"), ("Z\u00fcrich", "Zu\u0308rich")):
        segments = Segments(Path("counts.json"))
        assert segments.path(first) == segments.path(first) == Path(f"counts-{first}.json")
        with pytest.raises(ValueError, match="would have the same file on some computers"):
            segments.path(second)


def test_there_are_not_too_many_segments() -> None:
    segments = Segments(Path("counts.json"))
    for number in range(MOST_SEGMENTS):
        segments.path(number)
    with pytest.raises(ValueError, match="there are more than 200 segments: is this the column"):
        segments.path("one more")


def test_segments_are_not_written_to_standard_output() -> None:
    with pytest.raises(ValueError, match="not to standard output"):
        Segments(Path("-"))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_segments_by_the_column_itself_are_refused(kind: str, tmp_path: Path) -> None:
    """The names of their files would be the answers."""
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"drink": ["tea"], "region": ["north"]}), path)
    elif kind == "csv":
        path.write_text("drink,region\ntea,north\n")
    else:
        path.write_text('{"drink": "tea", "region": "north"}\n')
    for by in ("drink", 1) if kind == "csv" else ("drink",):
        with pytest.raises(ValueError, match="segments must be by another column"):
            list(read_column(path, "drink", by))
    assert sum(len(chunk.values) for chunk in read_column(path, "drink", "region")) == 1


def test_columns_of_one_name_are_refused_by_number_too(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table([pa.array(["tea"]), pa.array(["mate"])], names=["d", "d"]), path)
    for column in ("d", 1, "2"):
        with pytest.raises(ValueError, match="has several columns called 'd': rename them"):
            list(read_column(path, column))


@pytest.mark.parametrize("header", [True, False])
def test_an_empty_line_of_a_single_column_is_a_missing_value(tmp_path: Path, header: bool) -> None:
    """So polars and Arrow write missing values; with more columns there is a delimiter."""
    path = tmp_path / "a.csv"
    column = pl.DataFrame({"drink": ["tea", None, "mate"]})
    path.write_text(column.write_csv(include_header=header))
    chunk = next(read_column(path, 1, header=header))
    assert chunk.values == ["tea", None, "mate"]
    assert list(chunk.places) == ([2, 3, 4] if header else [1, 2, 3])
    column.with_columns(region=pl.lit("north")).write_csv(path)
    assert next(read_column(path, 1)).values == ["tea", None, "mate"]
    path.write_text("\ntea\n")
    assert next(read_column(path, 1, header=False)).values == [None, "tea"]


def test_dates_are_segments_and_times_are_not(tmp_path: Path) -> None:
    path, days = tmp_path / "a.parquet", [datetime.date(2026, 5, 1), datetime.date(2026, 6, 1)]
    for kind in (pa.date32(), pa.date64()):
        table = {"drink": ["tea", "mate"], "day": pa.array(days, kind)}
        pq.write_table(pa.table(table), path)
        (chunk,) = read_column(path, "drink", "day")
        found = [segment_name(segment) for segment, _ in chunk.by_segment(path)]
        assert found == ["2026-05-01", "2026-06-01"]
    pq.write_table(pa.table({**table, "day": pa.array([1, 2], pa.timestamp("ms"))}), path)
    with pytest.raises(ValueError, match=r"must be text, whole numbers or dates, not of type"):
        next(read_column(path, "drink", "day"))
