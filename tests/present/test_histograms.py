"""Pictures of numbers: what is drawn is what the estimate says, on an axis of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from murmurs import KRR, Question, trend
from murmurs.estimators.numbers import NumberEstimate


def estimate(**scale: Any) -> NumberEstimate:
    asked = Question("pay", text="What is your pay?", epsilon=2.0, **scale)
    many = len(asked.labels)
    people = [1000 * (j + 1) for j in range(many)]
    found = asked.estimate(asked.simulate(people, np.random.default_rng(1)))
    assert isinstance(found, NumberEstimate)
    return found


def drawn_by(plot: Callable[..., Any], **options: Any) -> Any:
    """The axes that a plot has drawn into; matplotlib's own types are too wide to be of use."""
    return plot(Figure().add_subplot(), **options)


def bars(drawn: Any, number: int) -> list[tuple[float, float, float, float]]:
    """The left edge, width, bottom and height of each bar of one kind: shares, then intervals."""
    return [(*bar.get_xy(), bar.get_width(), bar.get_height()) for bar in drawn.containers[number]]


def test_bars_lie_on_their_buckets_and_have_their_shares() -> None:
    est = estimate(range=(0, 3000), width=1000, whole=False, unit="€")
    drawn = drawn_by(est.plot)
    for j, (left, bottom, width, height) in enumerate(bars(drawn, 0)):
        assert (left, bottom, width) == (1000 * j, 0, 1000)
        assert height == pytest.approx(100 * est.shares[j])
    low, high = est.interval()
    for j, (left, bottom, width, height) in enumerate(bars(drawn, 1)):
        assert left > 1000 * j
        assert left + width < 1000 * (j + 1)
        assert (bottom, bottom + height) == pytest.approx((100 * low[j], 100 * high[j]))
    assert drawn.get_xlabel() == "€"
    assert drawn.get_ylabel() == "share of answers in %, with 95 % intervals"
    assert drawn.get_title(loc="left").startswith("What is your pay?\n6,000 reports")


def test_areas_are_shares_where_buckets_differ_in_width() -> None:
    est = estimate(edges=[0, 10, 40, 100], unit="€")
    drawn = drawn_by(est.plot, level=0.9, truth=[0.2, 0.3, 0.5])
    areas = [width * height for _, _, width, height in bars(drawn, 0)]
    assert np.array(areas) / 10 == pytest.approx(100 * est.shares)
    assert drawn.get_ylabel() == "share of answers in % per 10 €, with 90 % intervals"
    assert drawn.lines[-1].get_ydata() == pytest.approx([20, 10, 50 / 6])


def test_an_open_ended_bucket_is_as_wide_as_its_neighbour() -> None:
    est = estimate(edges=[-np.inf, 0, 10, 30, np.inf])
    assert [left for left, *_ in bars(drawn_by(est.plot), 0)] == [-10, 0, 10, 30]
    clamped = estimate(range=(0, 30), width=10, outside="clamp")
    assert [width for _, _, width, _ in bars(drawn_by(clamped.plot), 0)] == [10] * 4


def test_dates_and_clock_times_are_written_below_without_overlap() -> None:
    years = drawn_by(estimate(range=("1940-01-01", "2009-12-31"), width="year").plot)
    names = [text.get_text() for text in years.get_xticklabels()]
    assert names[0] == "1940"
    assert 5 <= len(names) <= 10
    assert years.get_ylabel().startswith("share of answers in %, with")  # leap years are no matter
    months = drawn_by(estimate(range=("2027-01-01", "2027-06-30"), width="month").plot)
    assert months.get_xticklabels()[1].get_text() == "2027-02"
    delay = drawn_by(estimate(edges=[0, 1, 2, 1800, 3600], durations=True).plot)
    assert [text.get_text() for text in delay.get_xticklabels()] == [
        "0:00:00",
        "0:30:00",
        "1:00:00",
    ]


def test_the_distribution_function_is_drawn_with_its_band() -> None:
    est = estimate(range=(0, 3000), width=1000, whole=False)
    cdf = est.cdf(simultaneous=True)
    drawn = drawn_by(cdf.plot)
    [line] = drawn.lines
    assert line.get_xdata().tolist() == [0, 1000, 2000, 3000]
    assert line.get_ydata() == pytest.approx(100 * np.append(0, cdf.shares))
    band = drawn.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == 100
    assert "simultaneous 95 % intervals" in drawn.get_ylabel()
    assert drawn_by(cdf.plot, title="So many").get_title(loc="left") == "So many"


def test_scores_are_rows_and_their_distribution_has_steps_at_the_labels() -> None:
    asked = Question("meal", ["bad", "fair", "good"], KRR(3, 2.0), ordered=True, scores=[0, 1, 5])
    est = asked.estimate(asked.simulate([1000, 2000, 3000], np.random.default_rng(1)))
    assert isinstance(est, NumberEstimate)
    names = [text.get_text() for text in drawn_by(est.plot).get_yticklabels()]
    assert names == ["bad", "fair", "good"]
    drawn = drawn_by(est.cdf().plot)
    assert [text.get_text() for text in drawn.get_xticklabels()] == ["bad", "fair", "good"]
    assert drawn.get_xticks().tolist() == [0, 1, 5]


def test_numbers_may_be_drawn_in_rows_too() -> None:
    est = estimate(range=(0, 2999), width=1000)
    rows = drawn_by(est.plot, order="listed")
    assert [text.get_text() for text in rows.get_yticklabels()] == list(est.labels)
    assert est.plot_size is not None


def test_a_box_for_each_group_has_its_quantiles_and_the_band_of_its_median() -> None:
    asked = Question("pay", range=(0, 9999), width=1000, outside="clamp", epsilon=4.0, unit="€")
    rng = np.random.default_rng(1)
    sides = {
        "north": asked.estimate(asked.simulate({1500: 4000, 3500: 4000}, rng)),
        "south": asked.estimate(asked.simulate({3500: 4000, 99_999: 4000}, rng)),
    }
    found = trend(sides, groups=True)
    drawn = drawn_by(found.plot_boxes, level=0.9)
    boxes, bands = (
        [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in kind] for kind in drawn.containers
    )
    for name, box, band in zip(sides, boxes, bands, strict=True):
        est: Any = sides[name]
        median = est.median(0.9)
        wanted = np.clip([est.quantile(0.25).value, est.quantile(0.75).value], 0, 10_000)
        assert box == pytest.approx(wanted)
        assert band == pytest.approx(np.clip([median.low, median.high], 0, 10_000))
    assert boxes[1][1] == 10_000  # beyond the range: to the edge of the plot
    assert [text.get_text() for text in drawn.get_yticklabels()] == ["north", "south"]
    assert "band: its 90 % interval" in drawn.get_xlabel()
