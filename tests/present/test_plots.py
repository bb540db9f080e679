"""Pictures of shares and changes: what stands where, and that long texts fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import murmurs as mm
from murmurs.present.axes import by_powers, wrapped
from murmurs.present.palette import SERIES
from murmurs.present.periods import spread

LABELS = ("never", "sometimes", "often", "always")
SCALE = mm.Question("how often", LABELS, epsilon=1.0, ordered=True, text="How often?")


def made(people: Any = (1000, 3000, 4000, 2000), seed: int = 1) -> mm.Estimate:
    return SCALE.estimate(SCALE.simulate(list(people), np.random.default_rng(seed)))


def fresh() -> Any:
    return Figure(figsize=(7, 3), layout="constrained").add_subplot()


def ticks(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


def test_order_title_and_truth_of_a_picture_act() -> None:
    estimate = made()
    assert ticks(estimate.plot(fresh())) == list(LABELS)
    by_share = [LABELS[j] for j in np.argsort(-estimate.shares)]
    assert ticks(estimate.plot(fresh(), order="share")) == by_share
    assert estimate.plot(fresh()).get_title(loc="left") == "How often?\n10,000 reports, shrinkage"
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
    assert ticks(change.plot(fresh())) == list(LABELS)
    assert [line.split()[0] for line in change.table().splitlines()[2:]] == list(LABELS)
    plain = mm.estimate(made().counts, labels=LABELS)
    unordered = made((2500, 1500, 4000, 2000), 2).difference(plain)
    surest = [LABELS[j] for j in unordered.p_values.argsort()]
    assert ticks(unordered.plot(fresh())) == surest
    title = change.plot(fresh()).get_title(loc="left")
    assert title == f"How often?\n{change.conclusion}"
    assert change.plot(fresh(), title="Mine").get_title(loc="left") == "Mine"


def test_sure_changes_differ_in_colour_and_in_shape() -> None:
    change = made((2500, 1500, 4000, 2000), 2).difference(made())
    axes = change.plot(fresh())
    marks = {line.get_marker(): line for line in axes.lines if line.get_marker() in ("D", "o")}
    low, high = change.interval()
    sure = (low > 0) | (high < 0)
    assert 0 < sure.sum() < 4
    np.testing.assert_allclose(np.asarray(marks["D"].get_xdata()), 100 * change.shares[sure])
    np.testing.assert_allclose(np.asarray(marks["o"].get_xdata()), 100 * change.shares[~sure])
    assert marks["D"].get_color() != marks["o"].get_color()


def test_numbers_of_changes_do_not_touch_long_labels() -> None:
    labels = ["x" * 60, *LABELS]
    question = mm.Question("how often", labels, epsilon=2.0)
    rng = np.random.default_rng(1)
    sides = ([1000, 1000, 1000, 1000, 1000], [4000, 300, 300, 300, 100])
    one, two = (question.estimate(question.simulate(people, rng)) for people in sides)
    axes = one.difference(two).plot()
    axes.figure.canvas.draw()
    numbers = [text.get_window_extent() for text in axes.texts]
    assert len(numbers) == 5
    assert min(box.x0 for box in numbers) > axes.bbox.x0
    assert max(box.x1 for box in numbers) < axes.figure.bbox.x1
    plt.close("all")


def test_series_differ_in_colour_and_in_mark() -> None:
    assert len({colour for colour, _ in SERIES}) == len({mark for _, mark in SERIES}) == 8


def test_labels_that_are_moved_apart_keep_their_order_and_do_not_overlap() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        wanted, heights = rng.random(8), rng.choice([0.05, 0.1], 8)
        places = spread(wanted, heights)
        order = np.argsort(-wanted)
        gaps = -np.diff(places[order]) - (heights[order][1:] + heights[order][:-1]) / 2
        assert gaps.min() > -1e-9


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
    assert all(not line.get_clip_on() for line in axes.lines)
    both = mm.trend([estimate, made((0, 0, 0, 10_000), seed=2)])
    for joined in (True, False):
        axes = both.plot(fresh(), joined=joined)
        assert all(not line.get_clip_on() for line in axes.lines)


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
    assert axes.get_xlabel().replace("\n", " ").endswith("intervals (filled: zero excluded)")
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
