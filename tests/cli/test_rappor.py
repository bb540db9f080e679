"""``murmurs rappor``: examples run, options act, and wrong files end with one sentence."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from murmurs import Counts, Rappor, estimate
from murmurs.cli import main
from murmurs.cli.rappor import command as group
from murmurs.mechanisms import BooleanRappor
from murmurs.rappor.clients import to_text
from murmurs.rappor.counts import read_counts, write_counts
from murmurs.rappor.maps import read_map
from murmurs.rappor.params import read_params
from murmurs.rappor.reports import write_reports
from murmurs.rappor.result_rows import read_results
from murmurs.wire import CohortBits
from tests.pages import DOCS, commands, type_in, write_files
from tests.printed import same

PARAMS = "k,h,m,p,q,f\n16,2,32,0.25,0.75,0.3\n"
STRINGS = ["apple", "banana", "carrot", "kiwi", "Zürich"]
PEOPLE = {"apple": 30_000, "banana": 12_000, "kiwi": 4_000}
COMMANDS = ["map", "sum", "decode", "assoc", "schemes"]


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each kind, made once and only to be copied."""
    folder = tmp_path_factory.mktemp("laid")
    (folder / "params.csv").write_text(PARAMS)
    (folder / "strings.txt").write_text("".join(f"{text}\n" for text in STRINGS), "utf-8")
    rappor = Rappor(width=16, hashes=2, cohorts=32, f=0.3, p=0.25, q=0.75, scheme="google")
    people = [text for text, n in PEOPLE.items() for _ in range(n)]
    people += [f"stranger {j}" for j in range(4000)]
    reports = rappor.encode_many(people, np.random.default_rng(1))
    write_reports(folder / "reports.csv", rappor, [reports])
    write_reports(folder / "half.csv", rappor, [reports[::2]])
    write_pairs(folder, people[::10], rappor)
    with contextlib.chdir(folder):
        good("rappor map --params params.csv --candidates strings.txt -o map.csv")
        good("rappor sum --params params.csv reports.csv -o counts.csv")
    return folder


@pytest.fixture
def desk(laid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file of each kind, to work in."""
    shutil.copytree(laid, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_pairs(folder: Path, people: list[str], rappor: Rappor) -> None:
    """Write a schema and reports of two variables: most apples are raw, few others are."""
    rng = np.random.default_rng(2)
    raw = rng.random(len(people)) < np.where(np.array(people) == "apple", 0.9, 0.2)
    fruits = rappor.encode_many(people, rng)
    flags = BooleanRappor(f=0.3, p=0.25, q=0.75).encode_many(raw.astype(int), rng)
    lines = [
        f"c{i},{cohort},{to_text(CohortBits(cohort, bits.tobytes()), rappor.shape)},{flag}\n"
        for i, (cohort, bits, flag) in enumerate(
            zip(fruits["cohort"].tolist(), fruits["bits"], flags.tolist(), strict=True)
        )
    ]
    (folder / "two.csv").write_text("client,cohort,food,raw\n" + "".join(lines))
    (folder / "vars.csv").write_text(
        "metric, var, var_type, params\nm,food,string,params\nm,raw,boolean,params\n"
    )


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line))


def good(line: str) -> str:
    result = run(line)
    assert result.exception is None, result.output
    assert result.exit_code == 0
    return result.stdout


def bad(line: str) -> str:
    """What is said about wrong input: one sentence, with status 2."""
    result = run(line)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


DECODE = "rappor decode --params params.csv --counts counts.csv --map map.csv"


def decoded(options: str = "") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(good(f"{DECODE} {options} --json"))
    return document


# What runs


def test_the_commands_are_listed_in_the_order_of_the_path_of_the_data() -> None:
    assert group.list_commands(click.Context(group)) == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_the_help_runs(name: str, desk: Path) -> None:
    text = good(f"rappor {name} --help")
    [example] = re.findall(r"^ +murmurs (rappor .*)$", text, re.MULTILINE)
    assert example.startswith(f"rappor {name}")
    assert "\\b" not in text
    assert good(example).strip()


def test_from_reports_to_strings(desk: Path) -> None:
    assert "50,000 reports in 32 cohorts counted" in good(
        "rappor sum --params params.csv reports.csv -o again.csv"
    )
    text = good(f"{DECODE} -o results.csv")
    assert "50,000 reports in 32 cohorts, f = 0.3" in text
    assert "3 of 5 strings detected (bonferroni, 0.05)." in text
    limits = r"\d+\.\d %, \d+\.\d % … \d+\.\d %\.$"
    assert re.search(rf"^\(other\), strings that are not in the map: {limits}", text, re.MULTILINE)
    lines = read_results(desk / "results.csv")
    assert [line.string for line in lines] == ["apple", "banana", "kiwi"]
    for line in lines:
        share = PEOPLE[line.string] / 50_000
        assert line.proportion == pytest.approx(share, abs=5 * line.prop_std_error)
    document = decoded()
    assert [line["string"] for line in document["detected"]] == ["apple", "banana", "kiwi"]
    assert document["candidates"] == 5
    assert document["other"]["share"] == pytest.approx(0.08, abs=0.06)
    assert document["other"]["low"] <= document["other"]["share"] <= document["other"]["high"]


def test_decoding_is_the_library_with_dashes(desk: Path) -> None:
    rappor = read_params(desk / "params.csv")
    over = read_map(desk / "map.csv", rappor)
    counts = read_counts(desk / "counts.csv", rappor)
    found = estimate(Counts(over, counts.n, counts.cells))
    document = decoded()
    assert document["method"] == found.estimator
    assert document["other"]["share"] == pytest.approx(float(found.shares[-1]))
    assert document["detected"][0]["proportion"] == pytest.approx(float(found.shares[0]))


def test_several_files_of_reports_are_added_up(desk: Path) -> None:
    line = "rappor sum --params params.csv reports.csv half.csv -o both.csv --json"
    document = json.loads(good(line))
    assert document["n"] == sum(document["cohorts"]) == 75_000


def test_a_map_without_a_file_is_printed(desk: Path) -> None:
    printed = good("rappor map --params params.csv --candidates strings.txt")
    assert printed == (desk / "map.csv").read_text("utf-8")
    assert [row[0] for row in csv.reader(io.StringIO(printed))] == STRINGS


def test_schemes_are_listed_for_people_and_programs() -> None:
    text = good("rappor schemes")
    names = [scheme["name"] for scheme in json.loads(good("rappor schemes --json"))]
    rows = text.partition("─\n")[2].splitlines()
    assert names == [line.split()[0] for line in rows if not line.startswith(" ")]


# Options act


def test_the_scheme_acts(desk: Path) -> None:
    found = {
        scheme: good(f"rappor map --params params.csv --candidates strings.txt --scheme {scheme}")
        for scheme in ("google", "java", "chromium", "mozilla", "mozilla-sha256", "murmurs")
    }
    assert len(set(found.values())) == len(found)


def test_the_level_acts(desk: Path) -> None:
    [one, other] = (decoded(f"--level {level}")["detected"][0] for level in (0.8, 0.99))
    assert other["prop_low"] < one["prop_low"] < one["prop_high"] < other["prop_high"]
    assert "80 % interval" in good(f"{DECODE} --level 0.8")
    good(f"{DECODE} --level 0.8 -o results.csv")
    assert "prop_low_80" in (desk / "results.csv").read_text("utf-8").splitlines()[0]


def test_the_control_acts(desk: Path) -> None:
    (desk / "strings.txt").write_text("".join(f"string {j}\n" for j in range(40)))
    good("rappor map --params params.csv --candidates strings.txt -o map.csv")
    over = read_map(desk / "map.csv", read_params(desk / "params.csv"))
    people = np.append(np.arange(40)[::-1] * 30, 0)
    write_counts(desk / "counts.csv", over.simulate(people, np.random.default_rng(1)))
    few, many = (len(decoded(f"--control {c}")["detected"]) for c in ("bonferroni", "fdr"))
    assert few < many


@pytest.mark.parametrize(
    ("client", "f"), [("python", 39), ("cpp", 38), ("java", 38), ("mozilla", 39)]
)
def test_the_client_acts(client: str, f: int, desk: Path) -> None:
    stated, used = decoded(), decoded(f"--client {client}")
    assert (stated["f"], used["f"]) == (0.3, f / 128)
    assert used["detected"][0]["proportion"] != stated["detected"][0]["proportion"]


def test_when_nothing_is_detected_it_is_said(desk: Path) -> None:
    (desk / "counts.csv").write_text("10" + ",4" * 16 + "\n" + ("0" + ",0" * 16 + "\n") * 31)
    text = good(DECODE)
    assert "0 of 5 strings detected" in text
    assert "interval" not in text


# What is refused


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("params.csv", "k,h,m\n16,2,32\n", "params.csv, line 1: the header must be k,h,m,p,q,f"),
        ("params.csv", PARAMS.replace("32", "16"), "map.csv, line 1: there are 64 entries, but 16"),
        ("counts.csv", "1,2\n", "counts.csv, line 1: there are 2 numbers, but a cohort has 17"),
        ("map.csv", "", "map.csv, line 1: there is no string in the map"),
        ("counts.csv", ("0" + ",0" * 16 + "\n") * 32, "there are no reports"),
    ],
)
def test_wrong_files_end_with_one_sentence(file: str, content: str, words: str, desk: Path) -> None:
    (desk / file).write_text(content)
    assert words in bad(f"{DECODE} -o results.csv")
    assert not (desk / "results.csv").exists()


def test_wrong_reports_leave_no_counts(desk: Path) -> None:
    (desk / "bad.csv").write_text("cohort,irr\n32,0000000000000000\n")
    said = bad("rappor sum --params params.csv reports.csv bad.csv -o new.csv")
    assert "bad.csv, line 2: cohort '32' is not a whole number from 0 to 31" in said
    assert not (desk / "new.csv").exists()


def test_wrong_candidates_leave_no_map(desk: Path) -> None:
    (desk / "strings.txt").write_text("apple\napple\n")
    said = bad("rappor map --params params.csv --candidates strings.txt -o new.csv")
    assert "strings.txt, line 2: the string 'apple' is in line 1 already" in said
    said = bad("rappor map --params params.csv --candidates strings.txt")
    assert not (desk / "new.csv").exists()


def test_a_scheme_that_does_not_fit_is_refused(desk: Path) -> None:
    (desk / "params.csv").write_text(PARAMS.replace("16,2", "20,2"))
    line = "rappor map --params params.csv --candidates strings.txt --scheme chromium"
    assert "params.csv, line 2: scheme 'chromium' has a width of whole bytes" in bad(line)


@pytest.mark.parametrize("option", ["--level 0.4", "--level 1", "--control none", "--client go"])
def test_options_outside_their_range_are_refused(option: str, desk: Path) -> None:
    assert "Invalid value" in bad(f"{DECODE} {option}")


# The page


def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    text = (DOCS / "google-rappor.md").read_text(encoding="utf-8")
    assert write_files(text, tmp_path) == ["params.csv", "strings.txt", "reports.csv", "counts.csv"]
    typed = commands(text)
    assert len(typed) == 4
    for command, shown in typed:
        printed = type_in(command, tmp_path)
        assert same(shown, printed), f"{command}:\n{printed}"


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_decoded_strings_are_drawn(kind: str, desk: Path) -> None:
    document = good(f"{DECODE} --plot strings.{kind} --json")
    assert json.loads(document)["detected"]
    data = (desk / f"strings.{kind}").read_bytes()
    assert data.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])
    if kind == "svg":
        drawn = data.decode()
        assert all(f"<!-- {text} -->" in drawn for text in ("apple", "banana", "kiwi", "(other)"))
        assert "<!-- 50,000 reports, 3 of 5 strings detected -->" in drawn


def test_a_picture_of_another_kind_is_refused_before_the_work(desk: Path) -> None:
    assert "the name must end with .png, .svg, .pdf" in bad(f"{DECODE} --plot strings.gif")
