"""Kairouz, Bonawitz and Ramage (2016), figures 1, 2, 5 and 6: decoders of k-RR and k-RAPPOR.

Errors are relative to the shares of the respondents, who are drawn anew in each repetition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs import estimators
from murmurs.numerics.arrays import Floats, Integers
from murmurs.studies.errors import Solve, errors_of
from murmurs.studies.laws import geometric, point
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import number_grid
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.findings import Finding, claim, number
from murmurs_papers.kairouz2016_risks import mechanism_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POWERS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
"""The sizes k of the alphabets, and the values of e^epsilon."""

DECODERS: dict[str, dict[str, Solve]] = {
    "k-RR": {
        "simplex": estimators.simplex,
        "normalized": estimators.normalized,
        "likelihood": estimators.likelihood,
    },
    "k-RAPPOR": {
        "simplex": estimators.simplex,
        "normalized": estimators.normalized,
        "clipped": estimators.clipped,
    },
}
"""The paper's decoders: projected, normalised, and maximum likelihood or cut at zero."""

PRINTED_RR = {
    512: (-0.246, -0.312, -0.305, -0.278, -0.242, -0.202, -0.162, -0.124, -0.092),
    128: (-0.134, -0.132, -0.117, -0.098, -0.078, -0.060, -0.044, -0.032, -0.023),
    64: (-0.084, -0.077, -0.065, -0.052, -0.040, -0.030, -0.021, -0.015, -0.011),
    32: (-0.047, -0.041, -0.033, -0.026, -0.019, -0.014, -0.010, -0.007, -0.005),
    16: (-0.024, -0.020, -0.015, -0.011, -0.008, -0.006, -0.004, -0.003, -0.002),
    8: (-0.010, -0.008, -0.006, -0.004, -0.003, -0.002, -0.001, -0.001, -0.001),
    4: (-0.003, -0.002, -0.001, -0.001, -0.001, -0.001, -0.001, -0.001, -0.001),
    2: (0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000),
}
PRINTED_RAPPOR = {
    512: (-1.468, -1.211, -1.015, -0.770, -0.591, -0.467, -0.377, -0.308, -0.254),
    128: (-0.794, -0.390, -0.254, -0.184, -0.141, -0.111, -0.090, -0.074, -0.061),
    64: (-0.378, -0.185, -0.121, -0.087, -0.067, -0.053, -0.043, -0.035, -0.029),
    32: (-0.173, -0.086, -0.055, -0.040, -0.031, -0.025, -0.020, -0.016, -0.013),
    16: (-0.076, -0.038, -0.024, -0.018, -0.014, -0.011, -0.009, -0.007, -0.006),
    8: (-0.033, -0.016, -0.010, -0.007, -0.006, -0.005, -0.004, -0.003, -0.002),
    4: (-0.015, -0.007, -0.005, -0.003, -0.003, -0.002, -0.002, -0.001, -0.001),
    2: (-0.003, -0.002, -0.001, -0.001, -0.001, -0.001, -0.000, -0.000, -0.000),
}
PRINTED = {"k-RR": PRINTED_RR, "k-RAPPOR": PRINTED_RAPPOR}
"""Figure 1 as printed. The row of k = 256 cannot be read with certainty and is left out."""

VISIBLE = {"l1": 0.0005, "l2": 0.00005}
"""Differences up to which figures 1 and 5 show zero: half of the last digit."""

BAR = 0.01
"""How near the printed grid must be, for k up to 128."""

SETTINGS = (
    ("point", 30_000),
    ("geometric", 30_000),
    ("geometric", 100),
    ("Dirichlet", 30_000),
    ("Dirichlet", 100),
)
REPETITIONS: dict[Scale, int] = {"full": 2000, "quick": 100, "tiny": 3}


def cells(scale: Scale) -> list[Cell]:
    """Return all alphabets and epsilons for all laws and numbers of people."""
    powers = POWERS if scale != "tiny" else (2, 16, 128)
    return [
        Cell({"mechanism": name, "law": law, "people": n, "k": k, "odds": odds}, REPETITIONS[scale])
        for law, n in SETTINGS
        for name in DECODERS
        for k in powers
        for odds in powers
    ]


def drawn(law: str, k: int, n: int, rng: np.random.Generator) -> Integers:
    """Return respondents from a law; a Dirichlet law is itself drawn first."""
    if law == "Dirichlet":
        return rng.multinomial(n, rng.dirichlet(np.ones(k)))
    return rng.multinomial(n, geometric(k) if law == "geometric" else point(k))


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the errors of the decoders of a mechanism."""
    name, k = cell.text("mechanism"), cell.whole("k")
    people = partial(drawn, cell.text("law"), k, cell.whole("people"))
    mechanism = mechanism_of(name, k, math.log(cell.whole("odds")))
    found = errors_of(mechanism, people, DECODERS[name], cell.repetitions, rng)
    return [Series(s.labels, {"l1": s.values["l1"], "l2": s.values["l2"]}) for s in found]


def gains(rows: Table, loss: str) -> tuple[Floats, Floats]:
    """Return the error of the projected decoder minus that of the best of the others.

    ``rows`` are those of one mechanism, law and number of people. The second grid has the standard
    errors of these differences, of which both terms saw the same counts.
    """
    sizes, odds = rows.distinct("k"), rows.distinct("odds")
    out = np.empty((2, len(sizes), len(odds)))
    by_cell: dict[tuple[Any, Any], dict[str, Series]] = {}
    for series in rows:
        by_cell.setdefault((series["k"], series["odds"]), {})[str(series["estimator"])] = series
    for i, k in enumerate(sizes):
        for j, a in enumerate(odds):
            own = dict(by_cell[k, a])
            projected = own.pop("simplex").values[loss]
            other = min(own.values(), key=lambda s: s.mean(loss)).values[loss]
            away = projected - other
            out[:, i, j] = away.mean(), away.std(ddof=1) / math.sqrt(len(away))
    return out[0], out[1]


def best(rows: Table, loss: str) -> tuple[Floats, Floats]:
    """Return the error of the best decoder of one mechanism, and its standard error."""
    sizes, odds = rows.distinct("k"), rows.distinct("odds")
    found = np.full((2, len(sizes), len(odds)), np.inf)
    for series in rows:
        i, j = sizes.index(series["k"]), odds.index(series["odds"])
        if series.mean(loss) < found[0, i, j]:
            found[:, i, j] = series.mean(loss), series.error(loss)
    return found[0], found[1]


def judge_figure1(rows: Table) -> list[Finding]:
    """Set the printed grid beside that of a point mass and that of the stated geometric law."""
    found, largest = [], 0.0
    for name in DECODERS:
        grids = {
            law: gains(rows.where(mechanism=name, law=law, people=30_000), "l1")
            for law in ("point", "geometric")
        }
        sizes = [int(k) for k in rows.distinct("k")]
        odds = [int(a) for a in rows.distinct("odds")]
        for i, k in enumerate(sizes):
            for j, a in enumerate(odds):
                if k not in PRINTED[name]:
                    continue
                printed = PRINTED[name][k][POWERS.index(a)]
                value, error = (float(grid[i, j]) for grid in grids["point"])
                largest = max(largest, abs(printed - value) if k <= 128 else 0.0)
                found.append(
                    number(
                        f"{name}, k = {k}, epsilon = ln {a}",
                        printed,
                        value,
                        error,
                        tolerance=0.002,
                        beside={"geometric": float(grids["geometric"][0][i, j])},
                    )
                )
        worse, said = _worse(*grids["geometric"], "l1")
        found.append(
            claim(
                f"{name}, the stated geometric law",
                "the projected decoder is better for all k and epsilon",
                said,
                not worse,
                why=WHY_LAW,
            )
        )
    found.append(
        claim(
            "everybody holds one answer, k up to 128",
            "the printed numbers",
            f"they differ from ours by at most {largest:.4f}; {BAR} was the aim",
            largest <= BAR,
        )
    )
    return found


def _worse(grid: Floats, error: Floats, loss: str) -> tuple[int, str]:
    """Return in how many cells the projected decoder is clearly worse, as a number and in words."""
    worse = int((grid > np.maximum(3 * error, VISIBLE[loss])).sum())
    if not worse:
        return 0, f"it is worse in none of {grid.size} cells by {2 * VISIBLE[loss]:g} or more"
    return worse, f"it is worse in {worse} of {grid.size} cells, by up to {grid.max():.2g}"


def judge_figure5(rows: Table) -> list[Finding]:
    """Say where the projected decoder wins in squared l2."""
    found = []
    for name in DECODERS:
        for law in ("point", "geometric"):
            grid, error = gains(rows.where(mechanism=name, law=law, people=30_000), "l2")
            worse, said = _worse(grid, error, "l2")
            found.append(
                claim(
                    f"{name}, {law}",
                    "the projected decoder is better in l2 as well",
                    said,
                    not worse,
                    why=WHY_LAW if law == "geometric" else "",
                )
            )
    return found


def differences(rows: Table, law: str, n: int, loss: str) -> tuple[Floats, Floats]:
    """Return the error of the best k-RR minus that of the best k-RAPPOR, with its error."""
    rr, rappor = (best(rows.where(mechanism=m, law=law, people=n), loss) for m in DECODERS)
    return rr[0] - rappor[0], np.hypot(rr[1], rappor[1])


def judge_figure2(rows: Table, loss: str) -> list[Finding]:
    """Say whether k-RR wins where k < e^epsilon, and k-RAPPOR where k is large."""
    found = []
    k = np.array(rows.distinct("k"), float)[:, None]
    odds = np.array(rows.distinct("odds"), float)[None, :]
    for law, n in SETTINGS[1:]:
        away, error = differences(rows, law, n, loss)
        low = k < odds
        lost = int(((away > 3 * error) & low).sum())
        found.append(
            claim(
                f"{law}, {n:,} people",
                "k-RR is better wherever k < e^epsilon",
                f"k-RAPPOR is better in {lost} of {int(low.sum())} such cells",
                lost == 0,
                why=WHY_TWO,
            )
        )
        high = k >= 8 * odds
        lost = int(((away < -3 * error) & high).sum())
        found.append(
            claim(
                f"{law}, {n:,} people",
                "k-RAPPOR is better for relatively large k and low epsilon",
                f"k-RR is better in {lost} of {int(high.sum())} cells with k >= 8 e^epsilon",
                lost == 0,
                why=WHY_NOISE,
            )
        )
    return found


def _draw_grids(
    figure: Figure, rows: Table, grids: Sequence[tuple[str, Floats]], loss: str, title: str
) -> None:
    """Draw four grids of differences with their titles, two beside two."""
    panels = figure.subplots(2, 2, squeeze=False)
    for axes, (name, grid) in zip(panels.flat, grids, strict=True):
        number_grid(
            axes,
            grid,
            [str(k) for k in rows.distinct("k")],
            [f"ln {odds}" for odds in rows.distinct("odds")],
            name,
            decimals=3 if loss == "l1" else 4,
        )
    figure.suptitle(f"{loss} error {title}", fontsize=11)


def draw_gains(rows: Table, figure: Figure, loss: str) -> None:
    """Draw the grids of both mechanisms: of a point mass above, of the geometric law below."""
    laws = {"point": "everybody holds one answer", "geometric": "geometric (k/5)"}
    grids = [
        (
            f"{name}, {said}",
            gains(rows.where(mechanism=name, law=law, people=30_000), loss)[0],
        )
        for law, said in laws.items()
        for name in DECODERS
    ]
    title = "of the projected decoder minus that of the best other; 30,000 people"
    _draw_grids(figure, rows, grids, loss, title)


def draw_best(rows: Table, figure: Figure, loss: str) -> None:
    """Draw best k-RR minus best k-RAPPOR: few people on the left, many on the right."""
    grids = [
        (f"{law}, {n:,} people", differences(rows, law, n, loss)[0])
        for law in ("geometric", "Dirichlet")
        for n in (100, 30_000)
    ]
    title = "of the best k-RR decoder minus that of the best k-RAPPOR decoder"
    _draw_grids(figure, rows, grids, loss, title)


WHY_LAW = (
    "The printed grid of figure 1 is that of a point mass, where everybody holds one answer, and "
    "not that of the stated geometric law with mean k / 5. With the stated law projecting is worse "
    "than normalising where noise is high, because it sets to zero what most people hold."
)
WHY_TWO = (
    "For few people and k = 2 both mechanisms err by almost the same, and with the Dirichlet law "
    "and few people the noise of the sample decides which decoder looks best."
)
WHY_NOISE = (
    "With 100 people and large k all decoders have errors near those of guessing, and the "
    "differences between them say little about the mechanisms."
)
GRID = Grid("kairouz2016-decoders", cells, measure)


def _is_figure1(cell: Cell) -> bool:
    return cell["people"] == 30_000 and cell["law"] != "Dirichlet"


def _is_figure2(cell: Cell) -> bool:
    return cell["law"] != "point"


EXPERIMENTS = (
    Experiment(
        "kairouz2016-figure1",
        "Figure 1: what projecting gains over other decoders, l1",
        GRID,
        judge_figure1,
        partial(draw_gains, loss="l1"),
        "Error of the projected decoder minus that of the best of the others: normalised and "
        "maximum likelihood for k-RR, cut at zero and normalised for k-RAPPOR. Above, everybody "
        "holds one answer: this is the printed grid. Below, the geometric law that the paper "
        "states. The paper's 10,000 runs have noise too, and cells are printed with three digits: "
        "0.002 are allowed beyond three standard errors.",
        _is_figure1,
        (11.0, 8.0),
    ),
    Experiment(
        "kairouz2016-figure2",
        "Figure 2: the best k-RR against the best k-RAPPOR, l1",
        GRID,
        partial(judge_figure2, loss="l1"),
        partial(draw_best, loss="l1"),
        "Blue where k-RR is better. The paper prints a picture without numbers.",
        _is_figure2,
        (11.0, 8.0),
    ),
    Experiment(
        "kairouz2016-figure5",
        "Figure 5: what projecting gains over other decoders, l2",
        GRID,
        judge_figure5,
        partial(draw_gains, loss="l2"),
        "As figure 1, for the sum of squared errors.",
        _is_figure1,
        (11.0, 8.0),
    ),
    Experiment(
        "kairouz2016-figure6",
        "Figure 6: the best k-RR against the best k-RAPPOR, l2",
        GRID,
        partial(judge_figure2, loss="l2"),
        partial(draw_best, loss="l2"),
        "As figure 2, for the sum of squared errors.",
        _is_figure2,
        (11.0, 8.0),
    ),
)
