"""Every experiment runs small: it judges, draws, and finds what the papers print or what is exact.

Comparisons with published numbers allow six combined standard errors: a false alarm has a
probability of 2e-9 each, and of less than 1e-6 for all of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from murmurs.numerics.arrays import Floats, Integers
from murmurs.studies.errors import errors_of
from murmurs.studies.laws import geometric
from murmurs_papers import (
    EXPERIMENTS,
    chosen,
    kairouz2016_decoders,
    leaderboard,
    lezia2020_tables,
)
from murmurs_papers.findings import AGREEMENTS, STANDINGS, Finding
from murmurs_papers.histograms import histograms
from murmurs_papers.report import report
from murmurs_papers.reproducing import Reproduction, reproduce

Small = Callable[[str], Reproduction]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """Experiments on their smallest grids; figures of one grid share their rows.

    Searches for strings are narrow: what they find is no part of what is asked here.
    """
    rows = tmp_path_factory.mktemp("rows")

    @cache
    def run(name: str) -> Reproduction:
        [experiment] = chosen([name])
        return reproduce(experiment, "tiny", 1, folder=rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("murmurs.questions.dictionary.finding.BEAM", 500)
        yield run


def sigmas(finding: Finding, published_error: float = 0.0) -> float:
    """By how many combined standard errors a finding deviates; 0.001 is the last printed digit."""
    assert isinstance(finding.measured, float)
    assert isinstance(finding.published, float)
    assert finding.error is not None
    doubt = math.hypot(finding.error, published_error, 0.001 / math.sqrt(12))
    return abs(finding.measured - finding.published) / doubt


@pytest.mark.parametrize("name", [experiment.name for experiment in EXPERIMENTS])
def test_every_experiment_judges_and_draws(name: str, small: Small) -> None:
    found = small(name)
    assert found.findings
    document = json.loads(json.dumps(found.to_document()))
    assert document["name"] == name
    assert document["about"].endswith(".")
    about_ours = 0
    for finding in found.findings:
        if finding.about_ours:
            about_ours += 1
            assert finding.verdict in STANDINGS
            assert not (finding.verdict == "ahead" and finding.why)
        else:
            assert finding.verdict in AGREEMENTS
            assert (finding.verdict == "explained") == bool(finding.why)
            assert "nothing" not in str(finding.published)  # else there is nothing to agree with
    text = report(found)
    assert " ".join(text.split()).startswith(f"{name}: {found.experiment.title}")
    if about_ours < len(found.findings):
        assert f" of {len(found.findings) - about_ours} agree" in text
    assert ("our default: " in text) == bool(about_ours)
    figure = found.figure()
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    assert drawn
    assert all(axes.has_data() for axes in drawn)


def test_names_are_unique_and_begin_with_their_paper() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(set(names)) == len(names)
    assert {e.paper for e in EXPERIMENTS} >= {"kairouz2016", "lezia2020", "pinzon2026"}
    for number in (1, 2, 3, *range(5, 17)):
        assert f"kairouz2016-figure{number}" in names
    assert chosen(["all"]) == list(EXPERIMENTS)
    assert [e.name for e in chosen(["lezia2020"])] == [n for n in names if n.startswith("lezia")]
    with pytest.raises(ValueError, match="there is no experiment 'figure 1'"):
        chosen(["figure 1"])


@pytest.mark.parametrize("epsilon", lezia2020_tables.TABLES)
def test_the_tables_of_lezia2020_are_those_that_were_printed(epsilon: float, small: Small) -> None:
    """All means of four algorithms, as published. Rejected: Basic RAPPOR at the stated epsilon."""
    table = lezia2020_tables.TABLES[epsilon]
    rejected = compared = 0
    for finding in small(f"lezia2020-{table}").findings:
        column, _, algorithm = finding.what.partition(", ")
        if finding.about_ours or algorithm == "HR":
            continue
        place = lezia2020_tables.ALGORITHMS.index(algorithm)
        deviation = lezia2020_tables.PRINTED[epsilon][column][2 * place + 1]
        assert sigmas(finding, deviation / 10) < 6, finding.what
        compared += 1
        if algorithm == "bRAPPOR":
            fair = Finding(
                "", finding.published, finding.beside["at equal privacy"], "agrees", finding.error
            )
            rejected += sigmas(fair, deviation / 10) > 6
    assert compared == 24
    assert rejected >= (0 if epsilon == 1.0 else 4)


def test_the_default_is_nowhere_behind_the_best_printed_value_that_kept_to_epsilon(
    small: Small,
) -> None:
    """Allowed are three combined standard errors; the seed is fixed."""
    found = [
        finding
        for table in lezia2020_tables.TABLES.values()
        for finding in small(f"lezia2020-{table}").findings
        if finding.about_ours and "printed" in str(finding.published)
    ]
    assert len(found) == 18
    assert [finding.what for finding in found if finding.verdict == "behind"] == []
    assert sum(finding.verdict == "ahead" for finding in found) >= 12


def test_the_printed_grid_of_figure_1_is_that_of_a_point_mass(small: Small) -> None:
    """Rejected: the geometric law that the paper states."""
    numbers = [f for f in small("kairouz2016-figure1").findings if isinstance(f.measured, float)]
    assert len(numbers) == 18
    wrong = 0
    for finding in numbers:
        assert isinstance(finding.published, float)
        assert isinstance(finding.measured, float)
        assert finding.error is not None
        # Differences of three repetitions scatter more than their own errors say.
        allowed = kairouz2016_decoders.BAR + 12 * finding.error
        assert abs(finding.measured - finding.published) <= allowed, finding.what
        wrong += abs(finding.beside["geometric"] - finding.published) > allowed
    assert wrong >= 4


@pytest.mark.parametrize("number", [3, 4])
def test_propositions_3_and_4_hold(number: int, small: Small) -> None:
    for finding in small(f"kairouz2016-proposition{number}").findings:
        assert isinstance(finding.measured, float)
        assert isinstance(finding.published, float)
        assert finding.error is not None
        allowed = 6 * finding.error + 0.02 * finding.published
        assert abs(finding.measured - finding.published) < allowed, finding.what


def test_what_is_known_to_be_wrong_is_explained_and_the_rest_agrees(small: Small) -> None:
    verdicts = {f.what: f.verdict for f in small("kairouz2016-proposition5").findings}
    assert list(verdicts.values()) == ["agrees", "explained", "explained"]
    assert {f.verdict for f in small("kairouz2016-proposition6").findings} == {"agrees"}
    assert {f.verdict for f in small("kairouz2016-proposition7").findings} == {"explained"}
    slides = {f.what: f for f in small("kairouz2016-slides").findings}
    printed = slides["k-RAPPOR, k = 100, epsilon = 4.61: formula as printed"]
    assert printed.verdict == "explained"
    assert {f.verdict for f in small("pinzon2026-properties").findings} == {"agrees"}


def test_an_experiment_that_was_run_is_not_run_again(tmp_path: Path) -> None:
    [experiment] = chosen(["kairouz2016-proposition5"])
    said: list[tuple[int, int]] = []
    first = reproduce(experiment, "tiny", 1, folder=tmp_path)
    again = reproduce(experiment, "tiny", 1, folder=tmp_path, progress=lambda *x: said.append(x))
    assert said == [(1, 1)]
    assert first.findings == again.findings


def test_figures_are_saved_as_png_and_svg(tmp_path: Path, small: Small) -> None:
    found = small("kairouz2016-proposition5")
    assert isinstance(found.figure(), Figure)
    paths = found.save(tmp_path / "new")
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in paths[1].read_bytes()


def test_the_best_parameters_are_measured_again_with_other_samples(small: Small) -> None:
    rows = small("kairouz2016-figure7").rows
    search, final = rows.where(stage="search"), rows.where(stage="final")
    assert len(final) == 4  # two mechanisms at two epsilons
    for series in final:
        same = search.one(
            **{
                name: series[name]
                for name in ("mechanism", "width", "cohorts", "hashes", "epsilon")
            }
        )
        others = search.where(mechanism=series["mechanism"], epsilon=series["epsilon"])
        assert same.quantile("l1", 0.5) == min(s.quantile("l1", 0.5) for s in others)
        assert not np.isin(series.values["l1"], same.values["l1"]).any()


@pytest.mark.parametrize(
    ("mechanism", "known"),
    [
        ("k-RR", {1.0: 1.0, 4.0: 0.0703}),
        ("k-RAPPOR", {1.0: 0.3144, 4.0: 0.0819}),
        ("k-subset", {1.0: 0.305, 4.0: 0.0521}),
    ],
)
def test_closed_alphabets_have_the_errors_that_were_measured_before(
    mechanism: str, known: dict[float, float], small: Small
) -> None:
    """Medians of 50 samples in docs/results/open_alphabet.md; one sample varies by 5 %.

    A quarter is more than six standard errors. Rejected: half of the people, with 1.41 times the
    error.
    """
    for epsilon, error in known.items():
        rows = small("kairouz2016-figure8").rows
        series = rows.one(stage="final", mechanism=mechanism, epsilon=epsilon)
        assert series.mean("l1") == pytest.approx(error, rel=0.25)


def test_basic_rappor_as_published_does_not_depend_on_epsilon(small: Small) -> None:
    """With 500 values a mean varies by 3 %. Rejected: CMS, whose errors fall with epsilon."""
    rows = small("lezia2020-figure5").rows.where(form="as published")
    fixed, falling = (
        [s.mean("mae") for s in rows.where(algorithm=name)] for name in ("bRAPPOR", "CMS")
    )
    assert fixed[0] == pytest.approx(fixed[1], rel=0.2)
    assert fixed[0] == pytest.approx(fixed[2], rel=0.2)
    assert falling[0] > 1.5 * falling[2]


def test_a_steeper_law_makes_k_rr_best_at_epsilon_2_as_lezia2020_says() -> None:
    """Means of 80 runs vary by 2.5 %, and the next best errs by 30 % more: ten standard errors.

    Rejected: the law of the figures here, with its mean at a fifth of the values.
    """
    steep = 0.4 ** np.arange(100)
    errors, flat = (
        {
            name: errors_of(
                mechanism,
                partial(_drawn, law / law.sum()),
                {"its own": solve},
                80,
                np.random.default_rng(1),
            )[0].mean("l1")
            for name, (mechanism, solve) in lezia2020_tables.published(100, 2.0).items()
        }
        for law in (steep, geometric(100))
    )
    best = errors.pop("k-RR")
    assert best < min(errors.values())
    assert flat.pop("k-RR") > min(flat.values())


def _drawn(law: Floats, rng: np.random.Generator) -> Integers:
    return rng.multinomial(10_000, law)


def test_mle_is_never_the_worst(small: Small) -> None:
    for name in ("pinzon2026-grid", "pinzon2026-figure"):
        found = [f for f in small(name).findings if f.published == "MLE* is never the worst"]
        assert [f.verdict for f in found] == ["agrees", "agrees"]


def test_unbiased_shares_on_the_leaderboard_have_the_expected_errors(small: Small) -> None:
    """The mean of 56 ratios, which varies by 7 %. Rejected: a quarter of the people."""
    ratios = []
    for s in small("leaderboard-histograms").rows.where(estimator="unbiased"):
        people = histograms(str(s["source"]))[str(s["column"])]
        n = int(people.sum())
        made = leaderboard.MECHANISMS[str(s["mechanism"])](len(people), float(s["epsilon"]))
        ratios.append(s.mean("l1") / made.channel.expected_l1(n, people / n))
    assert len(ratios) == 28
    assert float(np.mean(ratios)) == pytest.approx(1, abs=0.45)
    assert 2 * float(np.mean(ratios)) > 1.45
