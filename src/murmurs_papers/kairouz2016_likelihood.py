"""Kairouz, Bonawitz and Ramage (2016), propositions 6 and 7: maximum likelihood."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from murmurs import estimators
from murmurs.estimators.methods.likelihood import water_filling
from murmurs.mechanisms import KRR, SUE
from murmurs.numerics.arrays import Floats
from murmurs.studies.laws import geometric
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.findings import Finding, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def mle_threshold(frequencies: Floats, p: float, q: float) -> Floats:
    """Return MLE* of Pinzón et al. as the poster writes it: a threshold, then the inverse."""
    for tau in [0.0, *np.sort(frequencies)]:
        kept = frequencies >= tau
        if not kept.any():
            continue
        c = (1 - q * (~kept).sum()) / frequencies[kept].sum()
        if (c * frequencies[kept] >= q * (1 - 1e-12)).all():
            return np.where(kept, (c * frequencies - q) / (p - q), 0.0)
    raise ArithmeticError("no threshold fits")


CASES_6 = [(k, e, n) for k in (3, 16, 200) for e in (0.5, 2.0) for n in (50, 5000)]
CASES_7 = [(k, e) for k in (4, 16) for e in (1.0, 2.0, 4.0)]
MLE_TIMES: dict[Scale, int] = {"full": 200, "quick": 30, "tiny": 3}
PEOPLE_7 = 2000
VISIBLE = 1e-3
"""Losses and distances below it are called none."""


def mle_cells(scale: Scale) -> list[Cell]:
    """Return cases of both propositions."""
    times = MLE_TIMES[scale]
    six = [
        Cell({"proposition": 6, "k": k, "epsilon": e, "people": n}, times) for k, e, n in CASES_6
    ]
    seven = [
        Cell({"proposition": 7, "k": k, "epsilon": e, "people": PEOPLE_7}, max(times // 3, 3))
        for k, e in CASES_7
    ]
    return six + (seven if scale != "tiny" else seven[:1])


def measure_mle(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return distances of estimates that should be one, and what the likelihood loses."""
    once = _six if cell["proposition"] == 6 else _seven
    k, epsilon, n = cell.whole("k"), cell.real("epsilon"), cell.whole("people")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)
        found = np.array([once(k, epsilon, n, rng) for _ in range(cell.repetitions)])
    return [Series({}, {"distance": found[:, 0], "loss": found[:, 1]})]


def _six(k: int, epsilon: float, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """Compare water filling with MLE* and with EM: distance, and log-likelihood lost to EM."""
    mechanism = KRR(k, epsilon)
    counts = mechanism.simulate(rng.multinomial(n, geometric(k)), rng)
    hit, miss = float(mechanism.channel.hit), float(mechanism.channel.miss)
    frequencies = counts.cells / n
    water = water_filling(frequencies, hit / miss - 1)
    star = mle_threshold(frequencies, hit, miss)
    climbed = estimators.em(counts, tolerance=1e-6).shares

    def height(shares: Floats) -> float:
        return float((counts.cells * np.log(miss + (hit - miss) * shares)).sum())

    return float(np.abs(water - star).max()), height(climbed) - height(water)


def _seven(k: int, epsilon: float, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """Compare proposition 7 with the likelihood of whole reports: distance, and what it loses."""
    mechanism = SUE(k, epsilon)
    answers = rng.choice(k, n, p=geometric(k))
    reports = mechanism.encode_many(answers, rng)
    bits = np.unpackbits(reports, axis=1, count=k, bitorder="little")
    odds = math.expm1(mechanism.epsilon_realised)

    def height(shares: Floats) -> float:
        return float(np.log1p(odds * (bits @ shares)).sum())

    stated = estimators.composite(mechanism.count(reports)).shares
    true = estimators.report_likelihood(mechanism, reports).shares
    return float(np.abs(stated - true).sum()), height(true) - height(stated)


def judge_six(rows: Table) -> list[Finding]:
    """Check that three ways to the most likely shares are one."""
    own = rows.where(proposition=6)
    apart = max(float(s.values["distance"].max()) for s in own)
    lost = max(float(s.values["loss"].max()) for s in own)
    return [
        claim(
            "water filling",
            "is the maximum likelihood estimate",
            f"EM finds {_at_most(lost, 1e-5)} units of log-likelihood more",
            lost < 1e-5,
        ),
        claim(
            "MLE* of the poster",
            "is the maximum likelihood estimate",
            f"it differs from water filling by {_at_most(apart, 1e-9)}",
            apart < 1e-9,
        ),
    ]


def _at_most(value: float, nothing: float) -> str:
    """Return a number for people; what is rounding on this computer is not shown."""
    return f"less than {nothing:g}" if value < nothing else f"up to {value:.1g}"


def judge_seven(rows: Table) -> list[Finding]:
    """Show that the stated estimate has a smaller likelihood than the true maximum."""
    found = []
    for s in rows.where(proposition=7):
        lost = s.values["loss"]
        found.append(
            claim(
                f"k = {s['k']}, epsilon = {s['epsilon']:g}",
                "the stated maximum is that of the likelihood",
                f"the likelihood of the reports is e^{lost.mean():.2f} times larger at its true "
                f"maximum, on average; the two estimates are {s.mean('distance'):.3f} apart in l1",
                bool((lost < VISIBLE).all()),
                why=WHY_SEVEN,
            )
        )
    return found


def draw_mle(rows: Table, figure: Figure, proposition: int) -> None:
    """Draw the log-likelihood that the stated estimate loses, and its distance."""
    own = rows.where(proposition=proposition)
    names = [f"{s['k']}, {s['epsilon']:g}, {s['people']:,}" for s in own]
    for axes, value in zip(figure.subplots(1, 2), ("loss", "distance"), strict=True):
        data = [np.maximum(s.values[value], 1e-17) for s in own]
        axes.boxplot(data, tick_labels=names)
        axes.set_yscale("log")
        if proposition == 7:
            axes.set_ylim(bottom=VISIBLE)  # where both are the same, the loss is rounding only
        axes.tick_params(axis="x", rotation=60, labelsize=8)
        what = {"loss": "log-likelihood lost", "distance": "distance of the estimates"}
        tidy(axes, what[value])
    figure.suptitle(f"Proposition {proposition}: k, ε and people of each case", fontsize=11)


WHY_SEVEN = (
    "The proof multiplies the likelihoods of the bits as if they were independent. Given the "
    "answer they are, but the answer is not known. The likelihood of a report with the set S of "
    "ones is proportional to 1 + (e^ε - 1) p(S), so counts of bits are not sufficient."
)
MLE = Grid("kairouz2016-likelihood", mle_cells, measure_mle)


def _is_proposition(cell: Cell, proposition: int) -> bool:
    return cell["proposition"] == proposition


EXPERIMENTS = (
    Experiment(
        "kairouz2016-proposition6",
        "Proposition 6: water filling is the maximum likelihood estimate under k-RR",
        MLE,
        judge_six,
        partial(draw_mle, proposition=6),
        "Water filling, the poster's MLE* and EM find the same shares.",
        partial(_is_proposition, proposition=6),
        (10.0, 4.6),
    ),
    Experiment(
        "kairouz2016-proposition7",
        "Proposition 7: what is called maximum likelihood under k-RAPPOR",
        MLE,
        judge_seven,
        partial(draw_mle, proposition=7),
        "The proposition states a composite likelihood, whose maximum is not that of the "
        "likelihood of the reports.",
        partial(_is_proposition, proposition=7),
        (10.0, 4.6),
    ),
)
