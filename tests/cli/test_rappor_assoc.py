"""``murmurs rappor assoc``: the table of two variables, and wrong files refused in a sentence."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from murmurs import Product, Rappor
from murmurs.mechanisms import BooleanRappor
from murmurs.rappor import association_table, read_map, read_pairs, read_params, write_map
from tests.cli.test_rappor import PARAMS, STRINGS, bad, good, write_pairs

PEOPLE = ["apple"] * 12_000 + ["banana"] * 4_800 + ["kiwi"] * 1_600
PEOPLE += [f"stranger {j}" for j in range(1_600)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of 20,000 people, written once."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "params.csv").write_text(PARAMS)
    (folder / "strings.txt").write_text("".join(f"{text}\n" for text in STRINGS), "utf-8")
    rappor = Rappor(width=16, hashes=2, cohorts=32, f=0.3, p=0.25, q=0.75, scheme="google")
    write_map(folder / "map.csv", rappor, STRINGS)
    write_pairs(folder, PEOPLE, rappor)
    return folder


@pytest.fixture
def desk(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files, to work in."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


ASSOC = "rappor assoc --schema vars.csv --reports two.csv --var1 food --var2 raw --map1 map.csv"
TRUTH = {"apple": (0.6, 0.9), "banana": (0.24, 0.2), "kiwi": (0.08, 0.2), "Other": (0.08, 0.2)}
"""The share of each food, and how many of them are raw."""


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_has_the_lines_of_google_rappor_and_limits(desk: Path) -> None:
    """Limits at level 1 - 1e-7 miss any of the eight shares with probability below 1e-6.

    A table that takes food and ripeness as independent would be 3 to 17 points off.
    """
    text = good(f"{ASSOC} -o table.csv --level 0.9999999")
    assert "20,000 reports of food and raw" in text
    assert "Estimator: report_likelihood" in text
    assert "The answers go together: p < 1e-6 (score test, 3 degrees of freedom)." in text
    lines = lines_of(desk / "table.csv")
    limits = list(lines[0])[3:]
    assert [(line["raw"], line["food"]) for line in lines] == [
        (raw, food) for food in TRUTH for raw in ("TRUE", "FALSE")
    ]
    assert sum(float(line["proportion"]) for line in lines) == pytest.approx(1)
    for line in lines:
        share, raw = TRUTH[line["food"]]
        own = share * (raw if line["raw"] == "TRUE" else 1 - raw)
        low, high = (float(line[name]) for name in limits)
        assert low <= own <= high
        assert low <= float(line["proportion"]) <= high
    independent = 0.6 * (0.6 * 0.9 + 0.4 * 0.2)
    assert not float(lines[0][limits[0]]) <= independent


def test_the_columns_are_named_after_the_variables_and_the_level(desk: Path) -> None:
    good(f"{ASSOC} -o table.csv --level 0.9")
    (first, *_) = lines_of(desk / "table.csv")
    assert list(first) == ["raw", "food", "proportion", "prop_low_90", "prop_high_90"]


def test_the_document_says_whether_the_ascent_arrived(desk: Path) -> None:
    document = json.loads(good(f"{ASSOC} --metric-name m --params-dir . --json"))
    assert document["n"] == 20_000
    assert document["variables"] == ["food", "raw"]
    assert document["answers"] == [["apple", "banana", "kiwi", "(other)"], ["false", "true"]]
    assert document["candidates"] == [5]
    assert document["converged"] is True
    assert document["test"]["p_value"] < 1e-6
    assert 0 <= document["gap"] <= 0.1
    assert document["table"][0].keys() == {"raw", "food", "proportion", "low", "high"}


def test_the_command_is_the_library_with_dashes(desk: Path) -> None:
    rappor = read_params(desk / "params.csv")
    parts = (read_map(desk / "map.csv", rappor), BooleanRappor(f=0.3, p=0.25, q=0.75))
    product = Product(parts)
    reports, left_out = read_pairs(desk / "two.csv", ("food", "raw"), product)
    found = association_table(("food", "raw"), product, reports)
    document = json.loads(good(f"{ASSOC} --json"))
    assert left_out == document["left_out"] == 0
    shares = [line["proportion"] for line in document["table"]]
    np.testing.assert_allclose([row[2] for row in found.rows(0.95)], shares)


def test_a_client_has_its_own_f(desk: Path) -> None:
    plain, cpp = (json.loads(good(f"{ASSOC} {x} --json"))["table"] for x in ("", "--client cpp"))
    assert plain[0]["proportion"] != cpp[0]["proportion"]
    assert plain[0]["proportion"] == pytest.approx(cpp[0]["proportion"], abs=0.02)


def test_either_variable_may_be_of_either_type(desk: Path) -> None:
    turned = ASSOC.replace("food", "x").replace("raw", "food").replace("x", "raw")
    lines = json.loads(good(turned.replace("--map1", "--map2") + " --json"))["table"]
    assert [line["raw"] for line in lines] == ["FALSE"] * 4 + ["TRUE"] * 4
    straight = json.loads(good(f"{ASSOC} --json"))["table"]
    wanted = {(line["food"], line["raw"]): line["proportion"] for line in straight}
    for line in lines:
        assert line["proportion"] == pytest.approx(wanted[line["food"], line["raw"]], abs=1e-3)


def test_two_strings_share_their_cohorts(desk: Path) -> None:
    rappor = Rappor(width=16, hashes=2, cohorts=32, f=0.0, p=0.2, q=0.8, scheme="google")
    (desk / "sharp.csv").write_text("k,h,m,p,q,f\n16,2,32,0.2,0.8,0\n")
    rng = np.random.default_rng(3)
    cohorts = rng.integers(0, 32, 4000)
    words = [("apple", "kiwi"), ("banana", "carrot")]
    texts = []
    for cohort in cohorts.tolist():
        bits = []
        for word in words[rng.integers(0, 2)]:
            ones = rappor.places(word, cohort)
            flags = rng.random(16) < np.where(np.isin(np.arange(16), ones), 0.8, 0.2)
            bits.append("".join("1" if flag else "0" for flag in flags[::-1]))
        texts.append(f"{cohort},{bits[0]},{bits[1]}\n")
    (desk / "two.csv").write_text("cohort,food,raw\n" + "".join(texts))
    (desk / "vars.csv").write_text(
        "metric,var,var_type,params\nm,food,string,sharp\nm,raw,string,sharp\n"
    )
    table = json.loads(good(f"{ASSOC} --map2 map.csv --json"))["table"]
    large = {(line["food"], line["raw"]) for line in table if line["proportion"] > 0.3}
    assert large == {("apple", "kiwi"), ("banana", "carrot")}


def test_lines_with_an_empty_value_are_refused_or_left_out(desk: Path) -> None:
    with (desk / "two.csv").open("a") as file:
        file.write("c0,0,1010101010101010,\nc0,0,,0\n")
    text = bad(ASSOC)
    assert "two.csv, line 20002: raw is empty: complete the line, or leave out such lines" in text
    document = json.loads(good(f"{ASSOC} --remove-bad-rows --json"))
    assert (document["n"], document["left_out"]) == (20_000, 2)
    assert "20,000 reports of food and raw, 2 lines left out" in good(f"{ASSOC} --remove-bad-rows")


SCHEMA = "metric,var,var_type,params\nm,food,string,params\nm,raw,boolean,params\n"
TWO = "cohort,food,raw\n0,1010101010101010,1\n"


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        (
            "two.csv",
            "cohort,food\n0,1010101010101010\n",
            "must have the columns cohort, food, raw",
        ),
        (
            "two.csv",
            "food,raw\n1010101010101010,1\n",
            "must have the columns cohort, food, raw",
        ),
        ("two.csv", "cohort,food,raw,raw\n0,1,1,1\n", "raw, each once"),
        ("two.csv", TWO + "1,1010101010101010\n", "line 3: there are 2 values under 3 columns"),
        ("two.csv", TWO + "32,1010101010101010,1\n", "line 3: cohort '32' is not a whole number"),
        ("two.csv", TWO + "1,101010,1\n", "line 3: food has 6 bits, but a report has 16"),
        ("two.csv", TWO + "1,1010101010101010,10\n", "line 3: raw has 2 bits, but a report has 1"),
        ("two.csv", TWO + "1,1010101010101x10,1\n", "line 3: food is not made of zeros and ones"),
        ("two.csv", "cohort,food,raw\n", "there are no reports to estimate from"),
        ("two.csv", TWO, "no string of the map of 'food' is detected in 1 report:"),
        ("vars.csv", "metric,var,params\n", "the header must have metric, var, var_type, params"),
        ("vars.csv", SCHEMA + "m,raw,boolean,params\n", "line 4: the variable 'raw' of this"),
        ("vars.csv", SCHEMA + "m,size,number,params\n", "line 4: var_type must be string or"),
        ("vars.csv", SCHEMA + "m,size\n", "line 4: there are 2 values under 4 columns"),
        ("vars.csv", SCHEMA + "m,size,string,../params\n", "params must be the name of a file"),
        ("vars.csv", SCHEMA + "other,size,string,params\n", "has several metrics, 'm', 'other'"),
        ("vars.csv", SCHEMA.replace("raw", "old"), "has no variable 'raw' of this metric"),
        (
            "vars.csv",
            SCHEMA.replace("string,params", "string,lost"),
            "'food' are not there: lost.csv",
        ),
        ("map.csv", "apple,1,2\n", "map.csv, line 1: there are 2 entries"),
        ("params.csv", "k,h,m,p,q,f\n16,2,32,0.75,0.25,0\n", "params.csv, line 2"),
    ],
)
def test_wrong_files_are_refused_with_the_rule(name: str, text: str, rule: str, desk: Path) -> None:
    (desk / name).write_text(text)
    assert rule in bad(ASSOC)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (ASSOC.replace("--var2 raw", "--var2 food --map2 map.csv"), "name two variables"),
        (ASSOC.replace(" --map1 map.csv", ""), "'food' is a string: give its map with --map1"),
        (ASSOC + " --map2 map.csv", "--map2 is for strings, and 'raw' is a boolean"),
        (ASSOC + " -o params.csv", "cannot write params.csv: it is params.csv, which is read"),
        (ASSOC + " --metric-name n", "has no metric 'n': it has 'm'"),
        (ASSOC.replace("map1 map.csv", "map1 lost.csv"), "'lost.csv' does not exist"),
    ],
)
def test_options_that_do_not_fit_are_refused(line: str, rule: str, desk: Path) -> None:
    assert rule in bad(line)


def test_variables_with_different_numbers_of_cohorts_are_refused(desk: Path) -> None:
    (desk / "few.csv").write_text("k,h,m,p,q,f\n16,2,16,0.25,0.75,0.3\n")
    (desk / "vars.csv").write_text(SCHEMA.replace("raw,boolean,params", "raw,string,few"))
    good("rappor map --params few.csv --candidates strings.txt -o few_map.csv")
    assert "mechanisms with 16 and with 32 cohorts cannot be asked together" in bad(
        f"{ASSOC} --map2 few_map.csv"
    )
