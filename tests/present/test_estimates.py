"""An estimate as text, HTML, CSV, JSON, data frame and picture; and the options of the command."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import shlex
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import murmurs as mm
from murmurs import estimators
from murmurs.cli import main
from murmurs.estimators.estimation import Estimate
from murmurs.files.counts import write_counts
from murmurs.inference.fit import Target
from murmurs.present.glyphs import drawable
from murmurs.present.layout import width
from murmurs.present.palette import STEM
from murmurs.present.plots import plot_shares
from murmurs.present.text import bar, percent, shown_digits, table
from tests.surveys import DRINK, coffee

mpl.use("Agg")

LABELS = ("tea, green", 'the "usual"', "two\nlines", "<b>mate & milk</b>", "緑茶")
NUMBERS = ["share", "low", "high", "unbiased", "unbiased_error"]


def make(k: int = 5, n: int = 4000, seed: int = 1, name: str = "unbiased") -> Estimate:
    mechanism = mm.OUE(k=k, epsilon=2.0)
    shares = np.arange(1, k + 1) ** -1.5
    people = np.rint(n * shares / shares.sum()).astype(np.int64)
    counts = mechanism.simulate(people, np.random.default_rng(seed))
    return estimators.BY_NAME[name](counts)


@pytest.fixture
def labelled() -> Estimate:
    return make().with_labels(LABELS)


# Text


def cells_of(text: str) -> list[list[str]]:
    """The cells of a table's lines, its header and rule left out."""
    lines = text.split("\n\n")[0].splitlines()[2:]
    return [re.split(r" {2,}", line.strip()) for line in lines]


def test_the_table_shows_every_answer_from_the_largest_share_down() -> None:
    estimate = make()
    rows = cells_of(str(estimate))
    order = np.argsort(-estimate.shares)
    assert [row[0] for row in rows] == [str(j) for j in order]
    assert [row[1] for row in rows] == [percent(float(estimate.shares[j])) for j in order]
    limits = estimate.interval().T[order]
    wanted = [f"{percent(float(low))} … {percent(float(high))}" for low, high in limits]
    assert [row[2] for row in rows] == wanted


def test_the_table_says_how_it_was_made() -> None:
    estimate = make()
    header, rule = str(estimate).splitlines()[:2]
    assert header.split("  ")[0] == "answer"
    assert "95 % interval" in header
    assert set(rule) == {"─", " "}
    assert str(estimate).endswith("Estimator: unbiased.")


def test_level_target_limit_and_truth_of_the_table_act() -> None:
    estimate = make(k=8)
    assert "80 % interval" in estimate.table(level=0.8)
    assert cells_of(estimate.table(level=0.8)) != cells_of(estimate.table())
    assert cells_of(estimate.table(target="respondents")) != cells_of(estimate.table())
    short = estimate.table(limit=3)
    assert short.splitlines()[-1] == "… and 5 more"
    assert len(short.splitlines()) == 2 + 3 + 1
    assert "more" not in estimate.table(limit=8)
    truth = np.linspace(0.01, 0.24, 8)
    with_truth = estimate.table(truth)
    assert with_truth.split()[:3] == ["answer", "truth", "estimate"]
    for row in cells_of(with_truth):
        assert row[1] == percent(float(truth[int(row[0])]))


def test_the_largest_bar_is_full_and_a_negative_share_has_none() -> None:
    estimate = make(k=30, n=300)
    assert estimate.shares.min() < 0
    rows = cells_of(estimate.table())
    assert rows[0][-1] == "█" * 30
    negative = [row for row in rows if row[1].startswith("-")]
    assert negative
    assert all("█" not in "".join(row) for row in negative)


@pytest.mark.parametrize(("n", "digits"), [(10**3, 1), (10**6, 2), (10**8, 3), (10**12, 5)])
def test_digits_follow_the_error(n: int, digits: int) -> None:
    """A percentage has as many decimals as its standard error has zeros before the first digit."""
    estimate = make(n=n)
    smallest = 100 * float(estimate.standard_errors().min())
    assert shown_digits(estimate.standard_errors()) == digits
    assert 10**-digits <= smallest
    assert smallest < 10 ** (1 - digits) or digits == 1
    for row in cells_of(estimate.table()):
        decimals = {len(number) for number in re.findall(r"\d+\.(\d+) %", " ".join(row))}
        assert decimals == {digits}


def test_columns_are_aligned_with_wide_and_combining_characters() -> None:
    rows = [["緑茶", "1 %"], ["café", "20 %"], ["cafe\u0301", "300 %"], ["x", "4 %"]]
    lines = table(["answer", "share"], rows).splitlines()
    assert {width(line) for line in lines[1:]} == {width(lines[0])}
    assert width("緑茶") == 4
    assert width("cafe\u0301") == 4
    assert all(line.endswith(" %") for line in lines[2:])


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [(0.5, 1, "50.0 %"), (-0.02, 1, "-2.0 %"), (-1e-9, 2, "0.00 %"), (1.0, 3, "100.000 %")],
)
def test_percentages(share: float, digits: int, text: str) -> None:
    assert percent(share, digits) == text


def test_bars_go_by_eighths() -> None:
    assert [bar(x / 16, 1, 2) for x in range(4)] == ["", "▏", "▎", "▍"]
    assert bar(2, 1, 3) == bar(1, 1, 3) == "███"
    assert bar(-1, 1, 3) == bar(1, 0, 3) == ""


# HTML


def tree(estimate: Estimate) -> ET.Element:
    return ET.fromstring(estimate._repr_html_())


def test_html_is_well_formed_and_shows_what_the_table_does(labelled: Estimate) -> None:
    order = np.argsort(-labelled.shares)
    rows = [[cell.text for cell in row] for row in tree(labelled).iter("tr")]
    assert rows[0] == ["answer", "estimate", "95 % interval", None]
    assert [row[0] for row in rows[1:]] == [LABELS[j] for j in order]
    assert [row[1] for row in rows[1:]] == [percent(float(labelled.shares[j])) for j in order]
    caption = tree(labelled).findtext("caption")
    assert caption == f"{labelled.n:,} reports. {labelled.explanation}"


def test_html_escapes_what_people_wrote(labelled: Estimate) -> None:
    text = labelled._repr_html_()
    assert "<b>" not in text
    assert "&lt;b&gt;mate &amp; milk&lt;/b&gt;" in text
    noted = dataclasses.replace(labelled, notes=("<script>x</script>",))
    spiteful = noted._repr_html_()
    assert "<script>" not in spiteful
    assert "&lt;script&gt;" in spiteful


def test_html_draws_the_interval_over_a_pale_bar(labelled: Estimate) -> None:
    both = labelled.interval().T
    scale = 200 / both[:, 1].max()
    order = np.argsort(-labelled.shares)
    drawings = list(tree(labelled).iter("svg"))
    assert len(drawings) == 5
    for j, drawing in zip(order, drawings, strict=True):
        stem, band, tick = drawing
        assert float(stem.attrib["width"]) == pytest.approx(scale * labelled.shares[j], abs=0.06)
        start, size = float(band.attrib["x"]), float(band.attrib["width"])
        np.testing.assert_allclose([start, start + size], scale * both[j], atol=0.11)
        assert float(tick.attrib["x1"]) == pytest.approx(scale * labelled.shares[j], abs=0.06)


def test_long_html_says_how_many_are_left_out() -> None:
    assert "… and 15 more" in make(k=55)._repr_html_()
    assert "more</td>" not in make(k=40)._repr_html_()


# CSV and JSON


def read_csv(text: str) -> dict[str, list[str]]:
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def test_csv_comes_back_to_the_last_bit(labelled: Estimate) -> None:
    columns = read_csv(labelled.to_csv())
    assert list(columns) == ["answer", *NUMBERS]
    assert tuple(columns["answer"]) == LABELS
    wanted = labelled.columns()
    for name in NUMBERS:
        assert [float(x) for x in columns[name]] == wanted[name].tolist()
    assert read_csv(make().to_csv())["answer"] == ["0", "1", "2", "3", "4"]


def test_json_comes_back_to_the_last_bit(labelled: Estimate) -> None:
    document = json.loads(labelled.to_json())
    assert document == labelled.to_document()
    assert document["labels"] == list(LABELS)
    assert document["shares"] == labelled.shares.tolist()
    assert document["n"] == labelled.n
    assert (document["level"], document["target"]) == (0.95, "population")
    assert "緑茶" in labelled.to_json()


def test_json_has_no_infinite_numbers() -> None:
    estimate = Estimate(make().counts, make().shares, "made up", "of a test", gap=np.inf)
    assert json.loads(estimate.to_json())["gap"] is None


FORMS: dict[str, Callable[..., Any]] = {
    "csv": lambda e, *how: {
        name: [float(x) for x in values]
        for name, values in read_csv(e.to_csv(*how)).items()
        if name != "answer"
    },
    "json": lambda e, *how: json.loads(e.to_json(*how)),
    "arrow": lambda e, *how: e.to_arrow(*how).to_pydict(),
    "pandas": lambda e, *how: e.to_pandas(*how).to_dict("list"),
    "polars": lambda e, *how: e.to_polars(*how).to_dict(as_series=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_level_and_target_act_in_every_form(form: str, labelled: Estimate) -> None:
    several: list[tuple[float, Target]]
    several = [(0.95, "respondents"), (0.5, "respondents"), (0.95, "population")]
    for how in several:
        low, high = labelled.interval(*how)
        found = FORMS[form](labelled, *how)
        assert (found["low"], found["high"]) == (low.tolist(), high.tolist())
        errors = found["unbiased_errors" if form == "json" else "unbiased_error"]
        assert errors == labelled.standard_errors(how[1]).tolist()
    assert FORMS[form](labelled) == FORMS[form](labelled, 0.95, "population")


# Data frames


def test_arrow_does_not_copy_the_shares(labelled: Estimate) -> None:
    arrow = labelled.to_arrow()
    assert isinstance(arrow, pa.Table)
    assert arrow.column_names == ["answer", *NUMBERS]
    chunk = arrow["share"].chunk(0)
    assert chunk.buffers()[1].address == labelled.shares.ctypes.data
    assert {arrow.schema.field(name).type for name in NUMBERS} == {pa.float64()}
    assert arrow["answer"].to_pylist() == list(LABELS)


def test_pandas_and_polars_have_the_same_table(labelled: Estimate) -> None:
    wanted = labelled.columns()
    frames = [labelled.to_pandas(), labelled.to_polars()]
    assert isinstance(frames[0], pd.DataFrame)
    assert isinstance(frames[1], pl.DataFrame)
    for frame in frames:
        assert list(frame.columns) == ["answer", *NUMBERS]
        assert list(frame["answer"]) == list(LABELS)
        for name in NUMBERS:
            np.testing.assert_array_equal(frame[name].to_numpy(), wanted[name])


def test_any_library_that_takes_arrow_streams_takes_an_estimate(labelled: Estimate) -> None:
    assert pl.DataFrame(labelled).equals(labelled.to_polars())
    assert pa.table(labelled).equals(labelled.to_arrow())


# Pictures


@pytest.fixture
def figure() -> Iterator[Figure]:
    yield Figure()
    plt.close("all")


def lines_of(axes: Any) -> Any:
    """The intervals that are drawn, as rows of low and high, from top to bottom."""
    stems = [patch for patch in axes.patches if to_hex(patch.get_facecolor()) == STEM]
    found = sorted((p for p in axes.patches if p not in stems), key=lambda patch: patch.get_y())
    return np.array([[p.get_x(), p.get_x() + p.get_width()] for p in found])


@pytest.mark.parametrize(("k", "bars"), [(5, 5), (30, 30), (45, 30)])
def test_a_picture_has_as_many_bars_as_answers(k: int, bars: int, figure: Figure) -> None:
    estimate = make(k=k)
    axes = estimate.plot(figure.add_subplot())
    order = np.argsort(-estimate.shares, kind="stable")[:bars]
    (ticks,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    places = [segment[0, 0] for segment in ticks.get_segments()]
    np.testing.assert_allclose(places, 100 * estimate.shares[order])
    labels = [tick.get_text().split("\n")[0] for tick in axes.get_yticklabels()]
    assert labels == [str(j) for j in order]
    np.testing.assert_allclose(lines_of(axes), 100 * estimate.interval().T[order])
    assert axes.yaxis_inverted()  # the largest on top
    assert f"{estimate.n:,} reports, unbiased" in axes.get_title(loc="left")


def test_a_picture_is_drawn_into_the_axes_given_or_into_new_ones(figure: Figure) -> None:
    axes = figure.add_subplot()
    assert make().plot(axes) is axes
    assert plt.get_fignums() == []
    fresh = make().plot()
    assert fresh.figure is plt.gcf()
    assert len(lines_of(fresh)) == 5


def test_the_level_of_a_picture_acts(labelled: Estimate, figure: Figure) -> None:
    axes = labelled.plot(figure.add_subplot(), level=0.5)
    order = np.argsort(-labelled.shares)
    np.testing.assert_allclose(lines_of(axes), 100 * labelled.interval(0.5).T[order])
    assert "50 % intervals" in axes.get_xlabel()
    drawn = [tick.get_text() for tick in axes.get_yticklabels()]
    assert drawn == [drawable(LABELS[j]) for j in order]


# Without the libraries


@pytest.mark.parametrize(
    ("module", "extra", "act"),
    [
        ("pyarrow", "frames", lambda e: e.to_arrow()),
        ("pyarrow", "frames", lambda e: e.__arrow_c_stream__()),
        ("pandas", "pandas", lambda e: e.to_pandas()),
        ("polars", "polars", lambda e: e.to_polars()),
        ("matplotlib.pyplot", "plot", lambda e: e.plot()),
    ],
)
def test_a_missing_library_is_named_with_the_way_to_get_it(
    module: str, extra: str, act: Callable[[Estimate], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate = make()
    monkeypatch.setitem(sys.modules, module, None)
    name = module.split(".")[0]
    with pytest.raises(ImportError, match=rf"needs? {name}: .*pip install 'murmurs\[{extra}\]'"):
        act(estimate)
    # Text, HTML, CSV and JSON need nothing.
    assert str(estimate)
    assert estimate._repr_html_()
    assert estimate.to_csv()
    assert estimate.to_json()


# The command

TOML = coffee(DRINK.replace("epsilon = 1.0", "epsilon = 2.0"))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with counts to work in, of people enough for every estimator."""
    monkeypatch.chdir(tmp_path)
    survey = mm.Survey.from_toml(TOML)
    question = survey.questions[0]
    counts = question.closed.simulate([6000, 3000, 990, 10], np.random.default_rng(1))
    write_counts(tmp_path / "counts.json", survey, question, counts)
    yield tmp_path
    plt.close("all")


def run(options: str = "") -> Result:
    return CliRunner().invoke(main, ["estimate", "counts.json", *shlex.split(options)])


def printed(options: str = "") -> str:
    result = run(options)
    assert result.exception is None, result.output
    assert result.exit_code == 0
    return result.stdout


def document(options: str = "") -> Any:
    return json.loads(printed(f"{options} --json"))


OTHERS = ("selection", "joint", "independence")  # for cohorts, and for several questions
FOR_ALL = [name for name in estimators.BY_NAME if name not in OTHERS]


@pytest.mark.parametrize("name", FOR_ALL)
def test_method_chooses_the_estimator(name: str, desk: Path) -> None:
    found = document(f"--estimator {name}")
    assert found["method"] == name
    assert f"Estimator: {name}.\n" in printed(f"--estimator {name}")


def test_methods_differ_and_the_default_says_why(desk: Path) -> None:
    several = {tuple(document(f"--estimator {name}")["shares"]) for name in FOR_ALL}
    assert len(several) > 3
    assert document()["method"] in estimators.BY_NAME
    assert document()["why"] != "it was asked for by name"


def test_level_widens_the_intervals(desk: Path) -> None:
    narrow, wide = document("--level 0.5"), document("--level 0.999")
    assert (narrow["level"], document()["level"], wide["level"]) == (0.5, 0.95, 0.999)
    assert all(a > b for a, b in zip(narrow["low"][:3], wide["low"][:3], strict=True))
    assert all(a < b for a, b in zip(narrow["high"], wide["high"], strict=True))
    assert "50 % interval" in printed("--level 0.5")
    assert narrow["shares"] == wide["shares"]


def test_target_adds_the_noise_of_sampling(desk: Path) -> None:
    respondents, population = document("--target respondents"), document("--target population")
    assert document() == population
    assert respondents["target"] == "respondents"
    errors = zip(respondents["unbiased_errors"], population["unbiased_errors"], strict=True)
    assert all(a < b for a, b in errors)
    assert all(a <= b for a, b in zip(respondents["high"], population["high"], strict=True))
    assert printed("--target respondents") != printed()


def test_csv_prints_the_table_for_spreadsheets(desk: Path) -> None:
    columns = read_csv(printed("--csv --level 0.9 --target population"))
    wanted = document("--level 0.9 --target population")
    assert columns["answer"] == ["espresso", "filter", "tea", "nothing"]
    for name in ("low", "high"):
        assert [float(x) for x in columns[name]] == wanted[name]
    assert [float(x) for x in columns["share"]] == wanted["shares"]


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")])
def test_plot_draws_a_picture_and_the_table_still_comes(
    name: str, start: bytes, desk: Path
) -> None:
    assert printed(f"--plot {name}") == printed()
    assert (desk / name).read_bytes().startswith(start)


def test_the_picture_shows_the_answers_the_level_and_the_method(desk: Path) -> None:
    with mpl.rc_context({"svg.fonttype": "none"}):  # letters as letters
        printed("--plot a.svg --level 0.8 --estimator simplex")
    text = (desk / "a.svg").read_text(encoding="utf-8")
    for part in ("espresso", "filter", "tea", "nothing", "80 % intervals", "10,000 reports"):
        assert part in text
    assert "simplex" in text


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The columns that are drawn."""
    columns: list[Any] = []

    def recording(shown: Any, *rest: Any) -> Any:
        columns.append(shown)
        return plot_shares(shown, *rest)

    monkeypatch.setattr("murmurs.estimators.estimation.plot_shares", recording)
    return columns


@pytest.mark.parametrize("options", ["", "--level 0.5", "--target respondents"])
def test_the_picture_has_the_intervals_of_the_table(
    options: str, desk: Path, drawn: list[Any]
) -> None:
    wanted = document(f"--plot a.png {options}")
    (columns,) = drawn
    np.testing.assert_array_equal(columns["low"], wanted["low"])
    np.testing.assert_array_equal(columns["high"], wanted["high"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--level 1", "1.0 is not in the range 0.5<=x<=0.999999999"),
        ("--level 95 --plot a.png", "95.0 is not in the range 0.5<=x<=0.999999999"),
        ("--target sample", "'sample' is not one of 'respondents', 'population'"),
        ("--estimator best", "'best' is not one of"),
        ("--plot a.xyz", "xyz"),
    ],
)
def test_a_wrong_option_ends_with_one_sentence_and_no_picture(
    options: str, sentence: str, desk: Path
) -> None:
    result = run(options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sentence in result.stderr.splitlines()[-1]
    assert [path.name for path in desk.iterdir()] == ["counts.json"]


def test_a_method_that_cannot_use_the_counts_tells_the_way_out(desk: Path) -> None:
    survey = mm.Survey.from_toml(TOML.replace("KRR", "OUE"))
    question = survey.questions[0]
    counts = question.closed.simulate([60, 30, 9, 1], np.random.default_rng(1))
    write_counts(desk / "counts.json", survey, question, counts)
    result = run("--estimator likelihood")
    assert result.exit_code == 2
    assert result.stderr.endswith("its reports: use --estimator composite\n")


def test_labels_are_a_list_not_one_text() -> None:
    with pytest.raises(TypeError, match="labels are a list, not 'abcd'"):
        make().with_labels("abcd")  # type: ignore[arg-type]


def test_a_picture_without_matplotlib_ends_with_the_way_to_get_it(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    result = run("--plot a.png")
    assert result.exit_code == 2, repr(result.exception)
    assert "pip install 'murmurs[plot]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_limits_unpack_into_low_and_high_also_of_two_answers() -> None:
    """With two answers, rows of answers would unpack without a word into something else."""
    several = [
        mm.estimate(mm.KRR(2, 1.0).simulate([n, 50], np.random.default_rng(1))) for n in (900, 700)
    ]
    low, high = several[0].interval()
    columns = several[0].columns()
    np.testing.assert_array_equal(low, columns["low"])
    np.testing.assert_array_equal(high, columns["high"])
    low, high = several[0].difference(several[1]).interval()
    assert (low < high).all()
    assert low.shape == (2,)
    low, high = mm.trend(several).interval()
    np.testing.assert_array_equal(low[:, 1], several[1].interval()[0])
