"""Pictures of shares and changes: what stands where, and that long texts fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

import murmurs as mm
from murmurs.present.axes import by_powers, wrapped
from murmurs.present.glyphs import drawable, fallback_families
from murmurs.present.palette import DATA, GREY, SERIES, STEM
from murmurs.present.periods import places_of, with_gaps

LABELS = ("never", "sometimes", "often", "always")
SCALE = mm.Question("how often", LABELS, epsilon=1.0, ordered=True, text="How often?")


def made(people: Any = (1000, 3000, 4000, 2000), seed: int = 1) -> mm.Estimate:
    return SCALE.estimate(SCALE.simulate(list(people), np.random.default_rng(seed)))


def fresh() -> Any:
    return Figure(figsize=(7, 3), layout="constrained").add_subplot()


def ticks(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


def answers(axes: Any) -> list[str]:
    """The labels, without what is said about them."""
    return [tick.split("\n")[0] for tick in ticks(axes)]


def test_order_title_and_truth_of_a_picture_act() -> None:
    estimate = made()
    assert ticks(estimate.plot(fresh())) == list(LABELS)
    by_share = [LABELS[j] for j in np.argsort(-estimate.shares)]
    assert ticks(estimate.plot(fresh(), order="share")) == by_share
    assert estimate.plot(fresh()).get_title(loc="left") == "How often?\n10,000 reports, smooth"
    assert estimate.plot(fresh(), title="Mine").get_title(loc="left") == "Mine"
    truth = np.array([0.1, 0.3, 0.4, 0.2])
    axes = estimate.plot(fresh(), truth=truth)
    (marks,) = [line for line in axes.lines if line.get_label() == "truth"]
    np.testing.assert_allclose(np.asarray(marks.get_xdata()), 100 * truth)
    assert axes.get_legend() is not None
    assert estimate.plot(fresh()).get_legend() is None
    with pytest.raises(ValueError, match="order must be 'share' or 'listed', not 'name'"):
        estimate.plot(fresh(), order="name")  # type: ignore[arg-type]


def test_long_labels_and_titles_are_wrapped_and_fit() -> None:
    labels = ("I would rather come by car or by train, depending on the weather " * 2, "No")
    question = mm.Question("way", labels, epsilon=1.0, text="Which statement is true? " * 6)
    axes = question.estimate(question.simulate([500, 500], np.random.default_rng(1))).plot()
    assert all(len(line) <= 35 for tick in ticks(axes) for line in tick.split("\n"))
    axes.figure.canvas.draw()
    renderer = axes.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    whole = axes.figure.bbox
    texts = [axes.title, *axes.get_yticklabels(), *axes.texts]
    for text in texts:
        box = text.get_window_extent(renderer)
        assert box.x0 >= whole.x0 - 1
        assert box.x1 <= whole.x1 + 1


def test_changes_of_a_scale_keep_its_order_and_others_do_not() -> None:
    change = made((2500, 1500, 4000, 2000), 2).difference(made())
    assert change.ordered
    assert answers(change.plot(fresh())) == list(LABELS)
    assert [line.split()[0] for line in change.table().splitlines()[2:]] == list(LABELS)
    plain = mm.estimate(made().counts, labels=LABELS)
    unordered = made((2500, 1500, 4000, 2000), 2).difference(plain)
    surest = [LABELS[j] for j in unordered.p_values.argsort()]
    assert answers(unordered.plot(fresh())) == surest
    title = change.plot(fresh()).get_title(loc="left")
    assert title == f"How often?\n{change.conclusion}"
    assert change.plot(fresh(), title="Mine").get_title(loc="left") == "Mine"


def bands(axes: Any) -> list[Any]:
    """The bands of intervals, from top to bottom."""
    rectangles = [bar for several in axes.containers for bar in several]
    edged = [bar for bar in rectangles if bar.get_linewidth() > 0 and bar.get_edgecolor()[3] > 0]
    found = [bar for bar in edged if to_hex(bar.get_edgecolor()) == DATA]
    return sorted(found, key=lambda bar: bar.get_y())


def test_changes_that_may_be_none_are_outlines_and_called_so() -> None:
    change = made((2500, 1500, 4000, 2000), 2).difference(made())
    axes = change.plot(fresh())
    low, high = change.interval()
    sure = (low > 0) | (high < 0)
    assert 0 < sure.sum() < 4
    drawn = bands(axes)
    np.testing.assert_allclose([bar.get_x() for bar in drawn], 100 * low)
    np.testing.assert_allclose([bar.get_width() for bar in drawn], 100 * (high - low))
    solid = [to_hex(bar.get_facecolor()) == DATA for bar in drawn]
    assert solid == sure.tolist()
    assert [tick.endswith("\nno clear change") for tick in ticks(axes)] == (~sure).tolist()


def test_answers_that_were_not_detected_are_outlines_and_called_so() -> None:
    estimate = made((6000, 3000, 1000, 0))
    seen = estimate.detected().present
    assert seen.tolist() == [True, True, True, False]
    axes = estimate.plot(fresh())
    assert ticks(axes) == [*LABELS[:3], "always\nnot detected"]
    assert [to_hex(bar.get_facecolor()) == DATA for bar in bands(axes)] == seen.tolist()
    stems = [bar for own in axes.containers for bar in own if to_hex(bar.get_facecolor()) == STEM]
    assert len(stems) == 3
    np.testing.assert_allclose([bar.get_width() for bar in stems], 100 * estimate.shares[:3])


def test_the_band_is_darker_than_the_stem_and_narrower() -> None:
    """The interval is the strongest mark of a share."""
    axes = made().plot(fresh())
    stem, band = axes.containers[0][0], bands(axes)[0]
    assert sum(to_rgb(band.get_facecolor())) < sum(to_rgb(stem.get_facecolor()))
    assert band.get_height() <= stem.get_height() / 2


def test_each_row_has_its_share_and_its_interval_beside_it() -> None:
    estimate = made()
    texts = [text.get_text() for text in estimate.plot(fresh()).texts]
    assert texts[::2] == [f"{100 * share:.1f} %" for share in estimate.shares]
    assert texts[1::2] == [f"{100 * a:.1f} … {100 * b:.1f} %" for a, b in estimate.interval().T]


def test_a_long_scale_is_one_line_with_a_band_that_fits_a_page() -> None:
    ages = [str(age) for age in range(18, 95)]
    question = mm.Question("age", ages, epsilon=2.0, ordered=True, text="How old?")
    estimate = question.estimate(question.simulate([500] * 77, np.random.default_rng(1)))
    axes = estimate.plot()
    assert estimate.plot_size is not None
    assert estimate.plot_size[1] < 6
    (line,) = axes.lines
    np.testing.assert_allclose(np.asarray(line.get_ydata()), 100 * estimate.shares)
    named = [tick.get_text() for tick in axes.get_xticklabels()]
    assert named[0] == "18"
    assert len(named) > 10
    plt.close("all")


def test_numbers_of_changes_do_not_touch_long_labels() -> None:
    labels = ["x" * 60, *LABELS]
    question = mm.Question("how often", labels, epsilon=2.0)
    rng = np.random.default_rng(1)
    sides = ([1000, 1000, 1000, 1000, 1000], [4000, 300, 300, 300, 100])
    one, two = (question.estimate(question.simulate(people, rng)) for people in sides)
    axes = one.difference(two).plot()
    axes.figure.canvas.draw()
    numbers = [text.get_window_extent() for text in axes.texts]
    assert len(numbers) == 2 * 5
    assert min(box.x0 for box in numbers) > axes.bbox.x0
    assert max(box.x1 for box in numbers) < axes.figure.bbox.x1
    plt.close("all")


def test_series_differ_in_colour_and_in_mark() -> None:
    assert len({colour for colour, _ in SERIES}) == len({mark for _, mark in SERIES}) == 8


WEEKS = tuple((1000 + 200 * week, 3000, 4000 - 200 * week, 2000) for week in range(5))


def test_a_trend_has_a_panel_for_each_answer_with_the_others_in_grey() -> None:
    trend = mm.trend([made(week, seed) for seed, week in enumerate(WEEKS)])
    axes: Any = trend.plot()
    assert [panel.get_title(loc="left") for panel in axes.child_axes] == list(LABELS)
    limits = {panel.get_ylim() for panel in axes.child_axes}
    assert len(limits) == 1
    for row, panel in enumerate(axes.child_axes):
        colours = [line.get_color() for line in panel.lines]
        assert colours.count(GREY) == 3
        own = next(line for line in panel.lines if line.get_color() == DATA)
        np.testing.assert_allclose(np.asarray(own.get_ydata()), 100 * trend.shares[row])
        texts = [text.get_text() for text in panel.texts]
        first, last = 100 * trend.shares[row][[0, -1]]
        assert texts[1:] == [f"{first:.1f} %", f"{last:.1f} %"]
        assert texts[0].startswith("p ")
    plt.close("all")


def test_a_period_that_is_missing_is_a_gap() -> None:
    names = ["week 1", "week 2", "week 4", "week 5", "week 7"]
    trend = mm.trend([made(week, seed) for seed, week in enumerate(WEEKS)], names)
    panel = trend.plot().child_axes[0]
    own = next(line for line in panel.lines if line.get_color() == DATA)
    gaps = np.flatnonzero(np.isnan(np.asarray(own.get_ydata(), np.float64)))
    assert gaps.tolist() == [2, 5]
    plt.close("all")


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["2026-10-05", "2026-10-06", "2026-10-09"], [0, 1, 4]),
        (["2026-11", "2026-12", "2027-02"], [24323, 24324, 24326]),
        (["2026-W45", "2026-W46"], [0, 1]),
        (["9", "10", "11"], [9, 10, 11]),
        (["week 2", "week 1"], [0, 1]),  # not in the order of time: no scale
        (["a1", "b2"], [0, 1]),
        (["north", "south"], [0, 1]),
    ],
)
def test_names_of_periods_say_where_they_are(names: list[str], places: list[int]) -> None:
    assert places_of(names).tolist() == places
    x, y = with_gaps(places_of(names), np.ones(len(names)))
    assert len(x) == len(y)


def test_groups_have_a_row_each_in_the_panel_of_an_answer() -> None:
    trend = mm.trend({"north": made(), "south": made(seed=2), "west": made(seed=3)})
    axes = trend.plot(joined=False)
    assert len(axes.child_axes) == 4
    assert ticks(axes.child_axes[0]) == ["north", "south", "west"]
    for row, panel in enumerate(axes.child_axes):
        low = [bar.get_x() for bar in bands(panel)]
        np.testing.assert_allclose(low, 100 * trend.interval()[0, row])
    plt.close("all")


def test_a_trend_of_many_answers_has_twelve_panels_and_says_so() -> None:
    question = mm.Question("q", [f"a{j}" for j in range(15)], epsilon=3.0)
    rng = np.random.default_rng(1)
    trend = mm.trend([question.estimate(question.simulate([400] * 15, rng)) for _ in range(2)])
    axes = trend.plot()
    assert len(axes.child_axes) == 12
    title = axes.get_title(loc="left").replace("\n", " ")
    assert title.endswith("3 more answers only in grey.")
    plt.close("all")


def test_titles_do_not_end_a_line_within_a_p_value() -> None:
    assert wrapped("The shares are the same: p = 0.0312.", 29) == (
        "The shares are the same:\np = 0.0312."
    )
    text = "Overall test: p < 1e-6 and p = 0.04, 95 % of all"
    for size in range(8, 60):
        for line in wrapped(text, size, 9).split("\n"):
            assert not line.endswith((" p", " =", " <"))
            assert not line.startswith(("%", "=", "<"))


def test_letters_that_no_font_has_are_named_so_that_labels_differ() -> None:
    """DejaVu Sans, the font of matplotlib, has neither bubble tea nor a teapot."""
    with mpl.rc_context({"font.family": ["DejaVu Sans"]}):
        if fallback_families():
            pytest.skip("a font with more letters is installed")
        assert drawable("\N{BUBBLE TEA}") == ":bubble tea:"
        assert drawable("\N{TEAPOT} or tea") == ":teapot: or tea"
        assert drawable("緑茶") == "U+7DD1 U+8336"
        assert drawable("café ▲ ❤\ufe0f") == "café ▲ ❤"
        labels = ["\N{BUBBLE TEA}", "\N{TEAPOT}", "tea"]
        question = mm.Question("drink", labels, epsilon=2.0)
        counts = question.simulate([500, 300, 200], np.random.default_rng(1))
        assert ticks(question.estimate(counts).plot(fresh())) == [":bubble tea:", ":teapot:", "tea"]


def test_control_characters_are_written_out_in_wrapped_texts() -> None:
    assert wrapped("a\x1b[2Jb", 30) == "a\\x1b[2Jb"


def test_marks_of_a_table_are_those_asked_for() -> None:
    estimate = made()
    table = estimate.table(marks=np.array([True, False, False, True]))
    marked = [line.split()[0] for line in table.splitlines()[2:] if line.split()[1] == "*"]
    assert marked == ["never", "always"]
    assert "*" not in estimate.table()


def test_a_detection_is_short_in_print() -> None:
    assert repr(made().detected()) == (
        "Detection(4 of 4 answers present, error_rate=0.05, control='bonferroni')"
    )


def test_marks_at_zero_are_whole() -> None:
    """The axis ends at zero, and a mark there is drawn across it."""
    estimate = made((0, 0, 0, 10_000))
    axes = estimate.plot(fresh(), truth=np.array([0, 0, 0, 1.0]))
    (marks,) = [line for line in axes.lines if line.get_label() == "truth"]
    assert not marks.get_clip_on()
    assert all(not bar.get_clip_on() for bar in bands(axes))
    for panel in mm.trend([estimate, made((0, 0, 0, 10_000), seed=2)]).plot(fresh()).child_axes:
        own = [line for line in panel.lines if line.get_color() == DATA]
        assert own
        assert all(not line.get_clip_on() for line in own)


def test_a_path_in_the_place_of_axes_is_refused_with_the_way_out() -> None:
    """Those who know pandas pass paths."""
    est = mm.estimate(mm.KRR(2, 1.0).simulate([600, 400], np.random.default_rng(1)))
    found = mm.study("KRR", answers=2, people=10, epsilons=[1, 2], repetitions=2, random=1)
    several: list[Any] = [est, est.difference(est), mm.trend([est, est])]
    for drawn in [*several, found]:
        with pytest.raises(
            TypeError, match=r"not into 'a\.png': to save .*savefig\('shares\.png'\)"
        ):
            drawn.plot("a.png")
    for told in several:
        with pytest.raises(TypeError, match=r"to_csv returns the text .* not take 'a\.csv': write"):
            told.to_csv("a.csv")
        with pytest.raises(TypeError, match="to_csv returns the text"):
            told.to_csv(Path("a.csv"))


@pytest.mark.parametrize("label", ["a", "high contrast", "a rather long label for an answer"])
def test_the_label_of_the_axis_of_changes_stays_within_the_picture(label: str) -> None:
    question = mm.Question("q", [label, "b"], epsilon=2.0)
    rng = np.random.default_rng(1)
    this, other = (question.estimate(question.simulate(n, rng)) for n in ([900, 100], [600, 400]))
    axes = this.difference(other, names=("week 45", "week 40")).plot()
    axes.figure.canvas.draw()
    extent = axes.xaxis.label.get_window_extent()
    assert axes.get_xlabel().replace("\n", " ").endswith("with 95 % intervals")
    assert 0 <= extent.x0 < extent.x1 <= axes.figure.bbox.width


@pytest.mark.parametrize(("low", "high"), [(0.03, 3.0), (0.97, 1.9), (0.31, 0.42), (1e-4, 9.0)])
def test_logarithmic_axes_have_plain_numbers_also_if_they_are_short(
    low: float, high: float
) -> None:
    axes = fresh()
    axes.plot([1, 2], [low, high])
    by_powers(axes)
    axes.figure.canvas.draw()
    bottom, top = axes.get_ylim()
    shown = [
        (place, float(text))  # no 2 × 10⁻¹
        for place, text in zip(axes.get_yticks(), ticks(axes), strict=True)
        if bottom <= place <= top
    ]
    assert len(shown) > 2
    assert [text for _, text in shown] == pytest.approx([place for place, _ in shown])
