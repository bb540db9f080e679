"""The parts of the experiments, exactly: formulas, decoders, histograms, states."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs import estimators
from murmurs.estimators.methods.likelihood import water_filling
from murmurs.studies.laws import LAWS
from murmurs.studies.measured import Series, Table
from murmurs_papers import (
    chosen,
    kairouz2016_likelihood,
    kairouz2016_open,
    kairouz2016_risks,
    kairouz2016_slides,
    lezia2020_tables,
    pinzon2026,
)
from murmurs_papers.census import CENSUS, RAW, read_census
from murmurs_papers.histograms import SOURCES, histograms
from murmurs_papers.reproducing import reproduce, rows_of, state


@pytest.mark.parametrize("name", ["k-RR", "k-RAPPOR"])
@pytest.mark.parametrize("law", LAWS)
def test_the_stated_risks_are_those_of_the_channel(name: str, law: str) -> None:
    """Propositions 3 and 4 have the sampling error as well, which the channel leaves out."""
    shares = LAWS[law](16)
    for epsilon in (0.5, 1.0, 3.0):
        channel = kairouz2016_risks.mechanism_of(name, 16, epsilon).channel
        sampling = (1 - (shares**2).sum()) / 1000
        stated = kairouz2016_risks.risk_l2(name, shares, epsilon, 1000)
        assert stated == pytest.approx(channel.expected_l2(1000, shares) + sampling, rel=1e-6)


def test_the_numbers_of_proposition_5() -> None:
    f = kairouz2016_risks.advantage
    assert f(7, math.log(7)) == pytest.approx(2.159316, abs=1e-6)
    assert min(range(2, 1000), key=lambda k: f(k, math.log(k))) == 8
    assert f(8, math.log(8)) == pytest.approx(2.1536, abs=1e-4)
    assert min(f(k, math.log(k / 2)) for k in range(3, 5000)) == pytest.approx(1.443, abs=1e-3)
    for k, epsilon in ((16, 1.558), (256, 3.671), (4096, 5.542)):
        assert kairouz2016_risks.crossover(k) == pytest.approx(epsilon, abs=1e-3)
    assert kairouz2016_risks.crossover(5) == 0


def test_effective_samples_with_and_without_the_misprint() -> None:
    epsilon = math.log(100)
    assert kairouz2016_slides.effective("k-RAPPOR", 100, epsilon) == pytest.approx(
        0.074237, rel=1e-4
    )
    assert kairouz2016_slides.as_on_the_slide("k-RAPPOR", 100, epsilon) == pytest.approx(
        0.00796, rel=1e-3
    )
    for k in (2, 30, 100):
        assert kairouz2016_slides.effective("k-RR", k, 1.5) == pytest.approx(
            kairouz2016_slides.as_on_the_slide("k-RR", k, 1.5)
        )


def test_the_thresholds_of_the_poster_are_water_filling() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        k, epsilon = int(rng.integers(2, 30)), float(rng.uniform(0.1, 5))
        channel = mm.KRR(k, epsilon).channel
        hit, miss = float(channel.hit), float(channel.miss)
        frequencies = rng.multinomial(100, rng.dirichlet(np.ones(k))) / 100
        star = kairouz2016_likelihood.mle_threshold(frequencies, hit, miss)
        assert star == pytest.approx(water_filling(frequencies, hit / miss - 1), abs=1e-12)


def test_the_iterative_update_arrives_at_the_maximum_of_the_likelihood() -> None:
    counts = mm.KRR(4, 1.0).simulate([400, 300, 200, 100], np.random.default_rng(1))
    found = pinzon2026.bayesian_update(counts, steps=5000).shares
    assert found == pytest.approx(estimators.likelihood(counts).shares, abs=1e-4)
    assert pinzon2026.bayesian_update(counts, steps=1).shares != pytest.approx(found, abs=1e-2)


@pytest.mark.parametrize(
    "mechanism",
    [
        mm.ORR(2.0, 8, 16).over([f"s{i}" for i in range(20)], complete=True),
        mm.ORR(2.0, 4, 3).over([f"s{i}" for i in range(20)], complete=True),  # too few equations
        mm.ORappor(2.0, 32, 4, 2).over([f"s{i}" for i in range(20)], complete=True),
        mm.PermutedRR(20, 2.0, width=5, cohorts=10),
    ],
)
def test_equation_18_is_solved_with_the_smallest_norm(mechanism: Any) -> None:
    counts = mechanism.simulate(np.full(20, 500), np.random.default_rng(1))
    channel = counts.channel
    matrix = np.array([channel.layout.masses(row).ravel() for row in np.eye(20)]).T
    wanted = np.linalg.lstsq(matrix, channel.masses_of(counts.cells).ravel())[0]
    found = kairouz2016_open.least_squares(counts, 10_000, 1e-12)
    assert found == pytest.approx(wanted, abs=1e-6)


def test_the_histograms_are_those_of_the_papers_table() -> None:
    sizes = {
        name: len(histograms(*where[:1])[where[1]])
        for name, where in lezia2020_tables.COLUMNS.items()
    }
    assert sizes == {"A4": 3, "A6": 8, "A5": 14, "Race": 5, "Occ": 15, "Country": 42}
    assert {int(people.sum()) for people in histograms("statlog").values()} == {690}
    assert {int(people.sum()) for people in histograms("adult").values()} == {32_561}
    for source in SOURCES:
        for people in histograms(source).values():
            assert people.min() > 0
            assert len(people) >= 2


def test_as_published_basic_rappor_has_an_epsilon_of_its_own() -> None:
    for epsilon in lezia2020_tables.TABLES:
        made = lezia2020_tables.published(8, epsilon)
        assert made["bRAPPOR"][0].epsilon_realised == pytest.approx(math.log(3))
        for name in set(made) - {"bRAPPOR"}:
            assert made[name][0].epsilon_realised <= epsilon
        for mechanism, _ in lezia2020_tables.equal(8, epsilon).values():
            assert mechanism.epsilon_realised <= epsilon


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_the_census_is_read_by_the_names_of_its_columns(delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "census.txt"
    rows = [["caseid", "pob", "MILITARY", "race", "Rvetserv"]]
    rows += [[str(i), str(i % 7), str(i % 2), str(i % 3), str(i % 5)] for i in range(30)]
    path.write_text("\n".join(delimiter.join(row) for row in rows), encoding="utf-8")
    found = read_census(path)
    assert list(found) == list(CENSUS)
    assert {name: len(people) for name, people in found.items()} == {
        "Military": 2,
        "Rvetserv": 5,
        "Race": 3,
        "PoB": 7,
    }
    assert all(people.sum() == 30 for people in found.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", f"line 1: there is no column Military: give {RAW} of the UCI archive"),
        ("caseid,dAge,iMilitary\n1,2,3\n", "line 1: this is the coded file, which has no race"),
        ("1\t2\t3\n", "line 1: there is no column Military"),
        ("Military,Rvetserv,Race,PoB\n1,2,3\n", "line 2: there are 3 cells, and PoB is number 4"),
        ("Military,Rvetserv,Race,PoB\n1,2,3,4\n", "column Military has 1 values, where USC"),
        (
            "Military,Rvetserv,Race,PoB\n" + "".join(f"{i},{i % 2},1,1\n" for i in range(6)),
            "column Military has 6 values, where USCensus1990 has 5: give",
        ),
    ],
)
def test_a_census_without_its_columns_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "census.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_census(path)


@pytest.mark.parametrize("name", [RAW, f"{RAW}.gz"])
def test_the_raw_file_of_the_census_is_read_as_it_is(name: str, tmp_path: Path) -> None:
    """125 cells between tabs, without names, MILITARY being number 84 of the alphabet of names."""
    people = []
    for i in range(60):
        cells = ["0"] * 125
        cells[83], cells[89], cells[94], cells[108] = str(i % 5), str(i), str(i % 4), str(i % 3)
        people.append("\t".join(cells) + "\r\n")
    opened = gzip.open if name.endswith("gz") else open
    with opened(tmp_path / name, "wb") as file:
        file.write("".join(people).encode())
    found = read_census(tmp_path / name)
    assert {name: len(own) for name, own in found.items()} == {
        "Military": 5,
        "Rvetserv": 3,
        "Race": 4,
        "PoB": 60,
    }
    assert all(own.sum() == 60 for own in found.values())


def test_another_file_of_the_census_has_other_rows() -> None:
    one, other = (
        {cell.identity(1) for cell in lezia2020_tables.cells("tiny", dict.fromkeys(CENSUS, people))}
        for people in (np.array([60, 40]), np.array([61, 40]))
    )
    assert len(one - other) == len(one) * 4 // 10  # Statlog and Adult have the same


def test_the_tables_take_the_census_in() -> None:
    census = {name: np.array([60, 40]) for name in CENSUS}
    [table, *_] = lezia2020_tables.tables(census)
    found = reproduce(table, "tiny", 1)
    census_findings = [f for f in found.findings if "1990" in f.what]
    assert len(census_findings) == 4 * 7
    assert sum(axes.get_visible() for axes in found.figure().axes) == 10


def test_the_state_tells_what_was_run(tmp_path: Path) -> None:
    [experiment] = chosen(["kairouz2016-proposition5"])
    assert state(experiment, tmp_path, 1) == "not run"
    reproduce(experiment, "quick", 1, folder=tmp_path)
    assert state(experiment, tmp_path, 1) == "run quickly"
    assert state(experiment, tmp_path, 2) == "not run"


def test_rows_of_an_older_version_of_a_grid_are_not_taken(tmp_path: Path) -> None:
    [experiment] = chosen(["kairouz2016-proposition5"])
    reproduce(experiment, "tiny", 1, folder=tmp_path)
    newer = replace(experiment, grid=replace(experiment.grid, version=2))
    said: list[tuple[int, int]] = []
    reproduce(newer, "tiny", 1, folder=tmp_path, progress=lambda *x: said.append(x))
    assert said[0] == (0, 1)
    reproduce(newer, "tiny", 1, folder=tmp_path, progress=lambda *x: said.append(x))
    assert said[-1] == (1, 1)


def test_the_state_tells_what_was_begun(tmp_path: Path) -> None:
    [experiment] = chosen(["kairouz2016-slides"])
    full, quick = experiment.cells("full"), experiment.cells("quick")
    rows = rows_of(experiment, tmp_path)
    none = [Series({"mechanism": "k-RR"}, {"risk": np.ones(1)})]
    rows.add({quick[0].identity(1): none})
    assert state(experiment, tmp_path, 1) == "begun"
    rows.add({full[0].identity(1): none})
    assert state(experiment, tmp_path, 1) == "1 of 4 cells"
    rows.add({cell.identity(1): none for cell in quick})
    assert state(experiment, tmp_path, 1) == "run quickly, 1 of 4 cells in full"
    rows.add({cell.identity(1): none for cell in full})
    assert state(experiment, tmp_path, 1) == "run"


def test_series_are_found_by_their_labels() -> None:
    rows = Table(Series({"k": k, "law": law}, {"l1": np.ones(2)}) for k in (1, 2) for law in "ab")
    assert rows.distinct("law") == ["a", "b"]
    assert len(rows.where(k=1)) == 2
    with pytest.raises(LookupError, match="there are 2 series"):
        rows.one(k=1)
