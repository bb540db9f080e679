"""Files of google/rappor are read as it wrote them, and refused by file, line, value and rule."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from murmurs import KRR, Counts, Rappor, estimate
from murmurs.hashing.layout import ListedPlaces
from murmurs.mechanisms import Mapped
from murmurs.rappor import csv_files
from murmurs.rappor.counts import read_counts, write_counts
from murmurs.rappor.maps import map_rows, read_candidates, read_map, write_map
from murmurs.rappor.params import read_params, write_params
from murmurs.rappor.reports import read_reports, write_reports
from murmurs.rappor.result_rows import ResultRow, read_results, results, write_results
from murmurs.wire import Reports

PARAMS = "k,h,m,p,q,f\n16,2,4,0.5,0.75,0.5\n"
FRUIT = Rappor(width=16, hashes=2, cohorts=4, f=0.5, p=0.5, q=0.75, scheme="google")
BLIND = Rappor(width=16, hashes=2, cohorts=4, f=0.5, p=0.5, q=0.75, scheme="map")
MAP = "apple,5,1,26,26,38,34,63,62\nbanana,12,14,28,24,37,34,62,49\ncarrot,4,12,25,21,48,38,61,54\n"
TINY = Rappor(width=3, hashes=1, cohorts=2, f=0.5, p=0.5, q=0.75, scheme="map")
COUNTS = "10,1,2,3\n7,7,0,1\n"
REPORTS = "client,cohort,bloom,prr,irr\n1,0,000,110,011\n2,1,100,000,100\n3,0,010,101,001\n"


def written(folder: Path, text: str | bytes, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(read: Callable[[Path], object], path: Path, line: int, words: str) -> None:
    """The refusal names the file and the line, and says what is wrong in these words."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its words are looked at
        read(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert words in str(caught.value)


# Parameters


def test_parameters_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, PARAMS)
    assert read_params(path) == BLIND
    assert read_params(path, "google") == FRUIT
    assert read_params(written(tmp_path, PARAMS.replace("\n", "\r\n"))) == BLIND


def test_parameters_are_read_as_written(tmp_path: Path) -> None:
    rappor = Rappor(width=128, hashes=2, cohorts=64, f=0.1, p=1 / 3, q=0.7, scheme="map")
    write_params(tmp_path / "params.csv", rappor)
    assert read_params(tmp_path / "params.csv") == rappor
    write_params(tmp_path / "params.csv", FRUIT)
    assert (tmp_path / "params.csv").read_text() == PARAMS


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "the header must be k,h,m,p,q,f, in any order, not ''"),
        ("k,h,m,p,q\n16,2,4,0.5,0.75\n", 1, "must be k,h,m,p,q,f, in any order, not 'k,h,m,p,q'"),
        ("k,h,m,f,p,p\n16,2,4,0.5,0.5,0.75\n", 1, "not 'k,h,m,f,p,p'"),
        ("k,h,m,f,p,q,f\n16,2,4,0.5,0.5,0.75,0.5\n", 1, "not 'k,h,m,f,p,q,f'"),
        ("k,h,m,p,q,f\n", 1, "there must be one line of parameters, not 0"),
        (PARAMS + "16,2,4,0.5,0.75,0.5\n", 3, "there must be one line of parameters, not 2"),
        ("k,h,m,p,q,f\n16,2,4,0.5,0.75\n", 2, "there must be 6 values, not 5"),
        ("k,h,m,p,q,f\n16.0,2,4,0.5,0.75,0.5\n", 2, "k must be a whole number, not '16.0'"),
        ("k,h,m,p,q,f\n16,-2,4,0.5,0.75,0.5\n", 2, "h must be a whole number, not '-2'"),
        ("k,h,m,p,q,f\n16,2,4,half,0.75,0.5\n", 2, "p must be a number, not 'half'"),
        ("k,h,m,p,q,f\n16,2,4,0.5,0.75,1.5\n", 2, "f must be from 0 to 1, not 1.5"),
        ("k,h,m,p,q,f\n16,2,4,nan,0.75,0.5\n", 2, "p must be from 0 to 1, not nan"),
        ("k,h,m,p,q,f\n16,2,4,0.75,0.5,0.5\n", 2, "reveals nothing"),
        ("k,h,m,p,q,f\n16,17,4,0.5,0.75,0.5\n", 2, "hashes must be from 1 to 16, not 17"),
        (
            b"k,h,m,p,q,f\n16,2,4,0.5,0.75,\xff\n",
            2,
            "it is not UTF-8 (invalid start byte at byte 17)",
        ),
        ('k,h,m,p,q,f\n16,2,4,0.5,0.75,"0.5\n', 2, "this is not CSV"),
    ],
)
def test_parameters_that_are_wrong_are_refused(
    text: str | bytes, line: int, words: str, tmp_path: Path
) -> None:
    refused(read_params, written(tmp_path, text), line, words)


def test_parameters_that_a_scheme_cannot_have_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "k,h,m,p,q,f\n1024,2,4,0.5,0.75,0.5\n")
    refused(lambda p: read_params(p, "google"), path, 2, "'google' has width up to 256, not 1024")
    assert read_params(path).width == 1024


# Maps


def test_a_map_is_written_as_google_writes_it(tmp_path: Path) -> None:
    write_map(tmp_path / "map.csv", FRUIT, ["apple", "banana", "carrot"])
    assert (tmp_path / "map.csv").read_text() == MAP


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_map_is_read_into_the_places_of_its_hash(ending: str, tmp_path: Path) -> None:
    over = read_map(written(tmp_path, MAP.replace("\n", ending)), BLIND)
    assert over.candidates == ("apple", "banana", "carrot")
    wanted = FRUIT.layout_of(over.candidates)
    [(_, places)] = wanted.blocks()
    assert over.map is not None
    assert np.array_equal(over.map.places, places)
    assert over.map.places[3, 0] == 4 * 16  # apple has one bit in cohort 1, and nowhere another
    np.testing.assert_array_equal(
        over.channel.matrix(), FRUIT.over(over.candidates).channel.matrix()
    )


STRANGE = ['a "quoted" word', "with, a comma", "two\nlines", "Zürich", "Zu\u0308rich", " spaced "]


@pytest.mark.parametrize("scheme", ["murmurs", "google", "java", "chromium", "mozilla"])
def test_maps_are_read_as_written(scheme: str, tmp_path: Path) -> None:
    rappor = Rappor(width=32, hashes=3, cohorts=4, f=0.5, p=0.5, q=0.75, scheme=scheme)
    texts = list(dict.fromkeys(rappor.check(text) for text in STRANGE))
    path = tmp_path / "map.csv"
    write_map(path, rappor, texts)
    with path.open(newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)] == texts
    over = read_map(path, rappor)
    assert over.candidates == tuple(texts)
    np.testing.assert_array_equal(over.channel.matrix(), rappor.over(texts).channel.matrix())


def test_a_long_map_is_read_in_blocks(tmp_path: Path) -> None:
    texts = [f"string {j}" for j in range(9000)]
    write_map(tmp_path / "map.csv", FRUIT, texts)
    over = read_map(tmp_path / "map.csv", BLIND)
    assert over.candidates == tuple(texts)
    assert over.map is not None
    for part in (slice(0, 10), slice(4090, 4100), slice(8990, 9000)):
        [(_, places)] = FRUIT.layout_of(texts[part]).blocks()
        assert np.array_equal(over.map.places[:, part], places)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "there is no string in the map"),
        (MAP + "apple,5,1,26,26,38,34,63,62\n", 4, "the string 'apple' is in line 1 already"),
        (MAP + ",5,1,26,26,38,34,63,62\n", 4, "the string is empty: give it a name"),
        (MAP + "\n", 4, "the string is empty"),
        (
            MAP + "kiwi,5,1,26,26,38,34\n",
            4,
            "there are 6 entries, but 4 cohorts with 2 hashes have 8",
        ),
        (MAP + "kiwi\n", 4, "there are 0 entries"),
        (MAP + "kiwi,5,1,26,26,38,34,63,x\n", 4, "entry 'x' is not a whole number"),
        (MAP + "kiwi,5,1,26,-26,38,34,63,62\n", 4, "entry '-26' is not a whole number"),
        (MAP + "kiwi,5,1,26,,38,34,63,62\n", 4, "an entry is empty, and not at the end"),
        (MAP + "kiwi,5,1,26,,38,34,63,\n", 4, "an entry is empty, and not at the end"),
        (MAP + "kiwi,,1,26,26,38,34,63,62\n", 4, "an entry is empty, and not at the end"),
        (MAP + "kiwi,,,,,,,,\n", 4, "an entry is empty"),
        (
            MAP + "kiwi,5,17,26,26,38,34,63,62\n",
            4,
            "more than 2 entries, 26 among them, are in cohort 1 of 16 bits, but there are 2 hash",
        ),
        (MAP + "kiwi,5,1,26,26,38,34,48,62\n", 4, "more than 2 entries, 48 among them, are in coh"),
        (
            MAP + "kiwi,5,1,2,26,38,34,63,\n",
            4,
            "more than 2 entries, 5 among them, are in cohort 0",
        ),
        (
            MAP + "kiwi,0,1,26,26,38,34,63,62\n",
            4,
            "entry 1 is '0': with 4 cohorts of 16 bits it must be from 1 to 64",
        ),
        (MAP + "kiwi,5,1,26,26,38,34,63,65\n", 4, "entry 8 is '65': with 4 cohorts of 16 bits it"),
        (
            MAP + f"kiwi,{10**30},1,26,26,38,34,63,62\n",
            4,
            "entry 1 is '1000000000000000000000000000",
        ),
        (MAP + "kiwi,5,1,26,38,34,0,63,\n", 4, "entry 6 is '0': with 4 cohorts"),
        (
            MAP + "kiwi,5,1,26,26,38,63,62,\n",
            4,
            "entry 26 occurs twice, but cells at the end are",
        ),
        (MAP + "kiwi,5,1,38,34,63,62,,\n", 4, "there is no entry in cohort 1 of 16 bits"),
        (
            MAP.encode() + b"ki\xe9wi,5,1,26,26,38,34,63,62\n",
            4,
            "it is not UTF-8 (invalid continuation byte at byte 3)",
        ),
        (MAP + '"kiwi,5,1,26,26,38,34,63,62\n', 4, "a quotation mark is opened and not closed"),
        (MAP + '5" disk,5,1,26,26,38,34,63,62\n6" disk,5,1,2,6,3,3,6,6\n', 4, "is not quoted"),
        (MAP + '"ki"wi",5,1,26,26,38,34,63,"62"\n' + '"', 4, "this is not CSV"),
    ],
)
def test_maps_that_are_wrong_are_refused(
    text: str | bytes, line: int, words: str, tmp_path: Path
) -> None:
    refused(lambda path: read_map(path, BLIND), written(tmp_path, text), line, words)


def test_a_map_of_other_parameters_is_refused(tmp_path: Path) -> None:
    wider = Rappor(width=32, hashes=2, cohorts=4, f=0.5, p=0.5, q=0.75, scheme="google")
    write_map(tmp_path / "map.csv", wider, ["apple", "banana"])
    refused(
        lambda path: read_map(path, BLIND),
        tmp_path / "map.csv",
        1,
        "16 bits it must be from 1 to 64",
    )
    fewer = Rappor(width=16, hashes=2, cohorts=2, f=0.5, p=0.5, q=0.75, scheme="google")
    write_map(tmp_path / "map.csv", fewer, ["apple", "banana"])
    refused(lambda path: read_map(path, BLIND), tmp_path / "map.csv", 1, "there are 4 entries")


def test_a_quotation_mark_that_swallows_the_file_is_told_early(tmp_path: Path) -> None:
    path = written(tmp_path, '"kiwi,1\n' + "x" * 2**20 + "\n" + "y\n" * 10)
    refused(lambda p: read_map(p, BLIND), path, 1, "opened and not closed")


# Candidates


def test_candidates_are_read_one_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, "apple\r\nZu\u0308rich\n a b ")
    assert read_candidates(path, FRUIT) == ["apple", "Zu\u0308rich", " a b "]
    own = Rappor(width=16, hashes=2, cohorts=4, f=0.5, p=0.5, q=0.75)
    assert read_candidates(path, own) == ["apple", "Zürich", " a b "]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "there is no string in the file"),
        ("apple\n\nbanana\n", 2, "not empty"),
        ("apple\nbanana\napple\n", 3, "the string 'apple' is in line 1 already"),
        (b"apple\n\xc3\n", 2, "it is not UTF-8 (unexpected end of data at byte 1)"),
    ],
)
def test_candidates_that_are_wrong_are_refused(
    text: str | bytes, line: int, words: str, tmp_path: Path
) -> None:
    refused(lambda path: read_candidates(path, FRUIT), written(tmp_path, text), line, words)


# Reports


def test_reports_are_read_and_added_up(tmp_path: Path) -> None:
    counts = TINY.count(read_reports(written(tmp_path, REPORTS), TINY))
    assert counts.n == 3
    assert counts.cells.tolist() == [[2, 2, 1, 0], [1, 0, 0, 1]]  # bit 0 is the last character


@pytest.mark.parametrize(
    "text",
    [
        "cohort,irr\n0,011\n1,100\n0,001\n",
        "irr,cohort\n011,0\n100,1\n001,0\n",
        'client,cohort,irr\n"a, b",0,011\n"two\nlines",1,100\n,0,001\n',
        "cohort,irr\n0,011\n\n1,100\n0,001\n\n",
        "client,cohort,bloom,prr,irr\r\n1,0,,,011\r\n2,1,,,100\r\n3,0,what,ever,001\r\n",
    ],
)
def test_private_columns_are_not_demanded_and_not_looked_at(text: str, tmp_path: Path) -> None:
    counts = TINY.count(read_reports(written(tmp_path, text), TINY))
    assert counts.cells.tolist() == [[2, 2, 1, 0], [1, 0, 0, 1]]


@pytest.mark.parametrize("width", [3, 8, 16, 33])
def test_reports_are_read_as_written(width: int, tmp_path: Path) -> None:
    rappor = Rappor(width=width, hashes=2, cohorts=300, f=0.5, p=0.5, q=0.75)
    reports = rappor.encode_many(["tea", "mate"] * 300, np.random.default_rng(1))
    path = tmp_path / "reports.csv"
    assert write_reports(path, rappor, np.array_split(reports, 3)) == 600
    assert np.array_equal(np.concatenate(list(read_reports(path, rappor))), reports)


def test_a_long_file_of_reports_comes_in_parts(tmp_path: Path) -> None:
    path = written(tmp_path, "cohort,irr\n" + "1,101\n" * 70_000)
    parts = list(read_reports(path, TINY))
    assert [len(part) for part in parts] == [65_536, 4_464]
    assert TINY.count(parts).cells.tolist() == [[0, 0, 0, 0], [70_000, 70_000, 0, 70_000]]


def test_a_file_without_reports_is_a_file(tmp_path: Path) -> None:
    assert TINY.count(read_reports(written(tmp_path, "cohort,irr\n"), TINY)).n == 0


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "the header must have cohort and irr"),
        ("cohort,prr\n0,011\n", 1, "not 'cohort,prr'"),
        ("cohort,irr,secret\n0,011,1\n", 1, "not 'cohort,irr,secret'"),
        ("cohort,irr,irr\n0,011,011\n", 1, "not 'cohort,irr,irr'"),
        ("0,011\n", 1, "the header must have cohort and irr"),
        (REPORTS + "4,2,000,000,000\n", 5, "cohort '2' is not a whole number from 0 to 1"),
        (REPORTS + "4,-1,000,000,000\n", 5, "cohort '-1' is not"),
        (REPORTS + "4,,000,000,000\n", 5, "cohort '' is not"),
        (REPORTS + "4,1,000,000,0000\n", 5, "irr '0000' has 4 bits, but reports have 3"),
        (REPORTS + "4,1,000,000,\n", 5, "irr '' has 0 bits"),
        (REPORTS + "4,1,000,000,021\n", 5, "irr '021' is not made of zeros and ones"),
        (REPORTS + "4,1,000,000,0é1\n", 5, "irr '0é1' is not made of"),
        (REPORTS + "4,1,000\n", 5, "there are 3 values under 5 columns"),
        (
            REPORTS.encode() + b"\xfe,1,000,000,000\n",
            5,
            "it is not UTF-8 (invalid start byte at byte 1)",
        ),
        (REPORTS + '"4,1,000,000,000\n', 5, "this is not CSV"),
    ],
)
def test_reports_that_are_wrong_are_refused(
    text: str | bytes, line: int, words: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    refused(lambda p: TINY.count(read_reports(p, TINY)), path, line, words)


# Counts


def test_counts_are_read_and_written(tmp_path: Path) -> None:
    counts = read_counts(written(tmp_path, COUNTS), TINY)
    assert (counts.n, counts.cells.tolist()) == (17, [[10, 1, 2, 3], [7, 7, 0, 1]])
    write_counts(tmp_path / "again.csv", counts)
    assert (tmp_path / "again.csv").read_text() == COUNTS
    places = np.array([[0], [3]], np.uint32)
    over = Counts(Mapped(TINY, ("tea",), map=ListedPlaces(places, 2, 3)), counts.n, counts.cells)
    write_counts(tmp_path / "again.csv", over)
    assert (tmp_path / "again.csv").read_text() == COUNTS


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "there are 0 lines, but 2 cohorts"),
        ("10,1,2,3\n", 1, "there are 1 lines, but 2 cohorts"),
        (COUNTS + "1,0,0,0\n", 3, "there are more lines than 2 cohorts"),
        ("10,1,2,3\n7,7,0\n", 2, "there are 3 numbers, but a cohort has 4: its reports and 3 bits"),
        ("10,1,2,3\n7,8,0,1\n", 2, "bit 0 is set 8 times in 7 reports"),
        ("10,1,2,3\n7,7,0,-1\n", 2, "number 4 must be a whole number, not '-1'"),
        ("10,1,2,3\n7,7,0,1.5\n", 2, "number 4 must be a whole number, not '1.5'"),
        (f"10,1,2,3\n{10**25},7,0,1\n", 2, "number 1 must be at most 2**62, not '1000"),
        ("n,a,b,c\n10,1,2,3\n", 1, "number 1 must be a whole number, not 'n'"),
        (b"10,1,2,3\n7,7,0,\xb2\n", 2, "it is not UTF-8 (invalid start byte at byte 7)"),
        ("10,1,2,3\n7,7,0,²\n", 2, "must be a whole number, not '²'"),
    ],
)
def test_counts_that_do_not_fit_are_refused(
    text: str | bytes, line: int, words: str, tmp_path: Path
) -> None:
    refused(lambda path: read_counts(path, TINY), written(tmp_path, text), line, words)


def test_more_reports_than_can_be_counted_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"{2**62},0,0,0\n{2**62},0,0,0\n")
    with pytest.raises(ValueError, match=r"more than 2\*\*62 reports"):
        read_counts(path, TINY)


def test_counts_of_another_mechanism_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"KRR\(k=2, epsilon=1.0\) are not counts of Rappor"):
        write_counts(tmp_path / "counts.csv", KRR(k=2, epsilon=1.0).count([0, 1]))
    assert list(tmp_path.iterdir()) == []


# Results


LINES = [
    ResultRow("tea, green", 120.0, 11.0, 0.6, 0.05, 0.5, 0.7),
    ResultRow("mate", 80.0, 11.0, 0.4, 0.05, 0.3, 0.5),
]


def test_results_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    write_results(path, LINES)
    header, first, _ = path.read_text().splitlines()
    names = "string,estimate,std_error,proportion,prop_std_error,prop_low_95,prop_high_95"
    assert header == names
    assert first == '"tea, green",120,11,0.6,0.05,0.5,0.7'
    assert read_results(path) == LINES


def test_the_columns_of_limits_say_their_level(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    write_results(path, LINES, 0.9)
    assert path.read_text().splitlines()[0].endswith(",prop_low_90,prop_high_90")
    assert read_results(path) == LINES


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "the header must be string,estimate"),
        ("string,estimate\ntea,1\n", 1, "not 'string,estimate'"),
        ("A" + ",".join(["x"] * 7), 1, "the header must be"),
    ],
)
def test_results_with_another_header_are_refused(
    text: str, line: int, words: str, tmp_path: Path
) -> None:
    refused(read_results, written(tmp_path, text), line, words)


def test_results_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    write_results(tmp_path / "results.csv", LINES)
    text = (tmp_path / "results.csv").read_text()
    bad = written(tmp_path, text.replace("80", "many"))
    refused(read_results, bad, 3, "estimate must be a number, not 'many'")
    bad = written(tmp_path, text + "kiwi,1\n")
    refused(read_results, bad, 4, "there are 2 values under 7 columns")


def decoded(**options: Any) -> list[ResultRow]:
    rappor = Rappor(width=32, hashes=2, cohorts=16, f=0.25, p=0.25, q=0.75, scheme="google")
    over = rappor.over(["tea", "mate", "nobody's", "coffee"])
    counts = over.simulate([50_000, 30_000, 0, 15_000, 5_000], np.random.default_rng(1))
    return results(estimate(counts).with_labels(over.labels), **options)


def test_results_are_the_strings_that_are_there() -> None:
    found = decoded()
    assert [line.string for line in found] == ["tea", "mate", "coffee"]
    for line, share in zip(found, (0.5, 0.3, 0.15), strict=True):
        assert line.proportion == pytest.approx(share, abs=0.05)
        assert line.prop_low < share < line.prop_high
        assert line.estimate == pytest.approx(100_000 * line.proportion)
        assert line.std_error == pytest.approx(100_000 * line.prop_std_error)


def test_the_level_and_the_control_act() -> None:
    [narrow, wide] = (decoded(level=level)[0] for level in (0.8, 0.99))
    assert wide.prop_low < narrow.prop_low < narrow.prop_high < wide.prop_high
    rappor = Rappor(width=16, hashes=2, cohorts=16, f=0.25, p=0.25, q=0.75, scheme="google")
    over = rappor.over([f"string {j}" for j in range(40)])
    people = np.append(np.arange(40)[::-1] * 30, 0)
    counts = over.simulate(people, np.random.default_rng(1))
    estimated = estimate(counts).with_labels(over.labels)
    few, many = (results(estimated, 0.9, control) for control in ("bonferroni", "fdr"))
    assert {line.string for line in few} < {line.string for line in many}
    assert len(results(estimated, 0.999)) < len(few)


# Writing


WRITERS: dict[str, Callable[[Path], object]] = {
    "params": lambda path: write_params(path, FRUIT),
    "map": lambda path: write_map(path, FRUIT, ["apple"]),
    "counts": lambda path: write_counts(path, TINY.count([])),
    "results": lambda path: write_results(path, LINES),
}


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_left_half_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(file: IO[str], rows: object) -> None:
        file.write("half a line")
        raise RuntimeError("power is gone")

    path = written(tmp_path, "as it was")
    monkeypatch.setattr(csv_files, "write_rows", broken)
    with pytest.raises(RuntimeError, match="power is gone"):
        WRITERS[name](path)
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


def test_reports_are_not_left_half_written(tmp_path: Path) -> None:
    def broken() -> Iterator[Reports]:
        yield TINY.shape.empty(0)
        raise RuntimeError("power is gone")

    path = written(tmp_path, "as it was")
    with pytest.raises(RuntimeError, match="power is gone"):
        write_reports(path, TINY, broken())
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


def test_rows_of_a_map_come_one_by_one() -> None:
    rows = map_rows(FRUIT, ["apple", "banana"])
    assert next(rows) == MAP.splitlines()[0].split(",")


# Maps as R writes them


PADDED = '"apple",1,5,26,34,38,62,63,\n"banana",12,14,24,28,34,37,49,62\n"carrot",3,17,33,49,,,,\n'


def filters(over: Mapped) -> list[list[tuple[int, ...]]]:
    """The bits that each string of a map sets in each cohort."""
    found: list[list[tuple[int, ...]]] = []
    for string in range(over.k - 1):
        rows = []
        for cohort in range(over.layout.rows):
            bits = over.layout.places_in(cohort)[:, string]
            rows.append(tuple(sorted(int(bit) for bit in bits if bit < over.layout.width)))
        found.append(rows)
    return found


def test_a_map_whose_lines_are_padded_is_read_by_the_numbers_of_its_entries(
    tmp_path: Path,
) -> None:
    """Where two hashes fall on one bit R lists it once; empty cells at the end make up for it."""
    over = read_map(written(tmp_path, PADDED), BLIND)
    assert over.candidates == ("apple", "banana", "carrot")
    assert filters(over) == [
        [(0, 4), (9,), (1, 5), (13, 14)],
        [(11, 13), (7, 11), (1, 4), (0, 13)],
        [(2,), (0,), (0,), (0,)],
    ]


def test_both_forms_of_a_map_have_one_law(tmp_path: Path) -> None:
    """Hundreds of strings with 4 hashes on 8 bits, so that nearly every cohort has a bit twice."""
    rappor = Rappor(width=8, hashes=4, cohorts=6, f=0.5, p=0.5, q=0.75, scheme="google")
    texts = [f"string {j}" for j in range(300)] + [
        'quo"ted',
        "two\nlines",
        "two\r\nlines",
        "a,b",
        '",',
    ]
    full, padded = tmp_path / "full.csv", tmp_path / "padded.csv"
    write_map(full, rappor, texts)
    with padded.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        for label, *entries in map_rows(rappor, texts):
            once = sorted({int(entry) for entry in entries})
            left_out = ",".join([""] * (1 + len(entries) - len(once)))
            writer.writerow([label, *once])
            file.seek(file.tell() - 1)
            file.write(f"{left_out}\n")
    blind = Rappor(width=8, hashes=4, cohorts=6, f=0.5, p=0.5, q=0.75, scheme="map")
    one, other = read_map(full, blind), read_map(padded, blind)
    assert one.candidates == other.candidates == tuple(texts)
    assert filters(one) == filters(other)
    np.testing.assert_array_equal(one.channel.matrix(), other.channel.matrix())


def test_the_entries_of_a_line_may_come_in_any_order(tmp_path: Path) -> None:
    lines = [line.split(",") for line in MAP.splitlines()]
    turned = "".join(f"{label},{','.join(reversed(rest))}\n" for label, *rest in lines)
    assert filters(read_map(written(tmp_path, turned), BLIND)) == filters(
        read_map(written(tmp_path, MAP), BLIND)
    )


def test_counts_are_decoded_through_a_padded_map(tmp_path: Path) -> None:
    """Shares within five standard errors: a false alarm in 6e5 draws, for each of three."""
    over = read_map(written(tmp_path, PADDED), BLIND)
    people = np.array([60_000, 30_000, 0, 10_000])
    found = estimate(over.simulate(people, np.random.default_rng(1))).with_labels(over.labels)
    for share, true, error in zip(found.shares, people / 1e5, found.standard_errors(), strict=True):
        assert abs(share - true) < 5 * error
        assert error < 0.03


# Columns and marks


def test_parameters_come_in_any_order_of_columns(tmp_path: Path) -> None:
    for header, values in (
        ("f,q,p,m,h,k", "0.5,0.75,0.5,4,2,16"),
        ('"h","k","f","m","p","q"', "2,16,0.5,4,0.5,0.75"),
    ):
        assert read_params(written(tmp_path, f"{header}\n{values}\n")) == BLIND


def test_every_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    mark = "\ufeff"
    assert read_params(written(tmp_path, mark + PARAMS)) == BLIND
    assert read_map(written(tmp_path, mark + MAP), BLIND).candidates[0] == "apple"
    assert read_map(written(tmp_path, mark + PADDED), BLIND).candidates[0] == "apple"
    assert TINY.count(read_reports(written(tmp_path, mark + REPORTS), TINY)).n == 3
    assert read_counts(written(tmp_path, mark + COUNTS), TINY).n == 17
    assert read_candidates(written(tmp_path, mark + "apple\n"), FRUIT) == ["apple"]
    write_results(tmp_path / "results.csv", LINES)
    text = (tmp_path / "results.csv").read_text("utf-8")
    assert read_results(written(tmp_path, mark + text)) == LINES


def test_a_long_line_is_not_repeated(tmp_path: Path) -> None:
    long = "x" * 100_000
    for read, text in (
        (lambda p: read_params(p), f"{long}\n"),
        (lambda p: read_params(p), f"k,h,m,p,q,f\n{long},2,4,0.5,0.75,0.5\n"),
        (lambda p: read_map(p, BLIND), MAP + f"{long},1\n"),
        (lambda p: read_map(p, BLIND), f"a,{long}" + ",1" * 7 + "\n"),
        (lambda p: read_map(p, BLIND), f"{MAP}{long}{MAP[5:28]}" * 2),
        (lambda p: list(read_reports(p, TINY)), f"cohort,{long}\n"),
        (lambda p: list(read_reports(p, TINY)), f"cohort,irr\n{long},000\n"),
        (lambda p: list(read_reports(p, TINY)), f"cohort,irr\n0,{long}\n"),
        (lambda p: read_counts(p, TINY), f"{long},1,2,3\n"),
        (read_results, f"{long}\n"),
        (lambda p: read_candidates(p, FRUIT), f"{long}\n{long}\n"),
    ):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - its length is looked at
            read(written(tmp_path, text, "f"))
        assert len(str(error.value)) < 300 + len(str(tmp_path))


def test_long_reports_come_in_parts_by_their_bits(tmp_path: Path) -> None:
    rappor = Rappor(width=4096, hashes=2, cohorts=2, f=0.5, p=0.5, q=0.75, scheme="map")
    path = written(tmp_path, "cohort,irr\n" + f"1,{'01' * 2048}\n" * 5000)
    assert [len(part) for part in read_reports(path, rappor)] == [4096, 904]
