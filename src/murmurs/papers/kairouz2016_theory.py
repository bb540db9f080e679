"""Kairouz, Bonawitz and Ramage (2016): propositions 3 to 7 and the slides' table, in numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs import estimators
from murmurs.estimators.likelihood import water_filling
from murmurs.mechanism import Mechanism
from murmurs.mechanisms import KRR, SUE
from murmurs.numerics.arrays import Floats
from murmurs.papers.drawing import level, line, tidy
from murmurs.papers.experiment import Experiment, Grid, Scale
from murmurs.papers.findings import Finding, claim, number
from murmurs.planning.laws import LAWS, geometric
from murmurs.planning.measured import Series, Table
from murmurs.planning.running import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Propositions 3 and 4: the risk of unbiased shares against the law that people were drawn from


def risk_l2(name: str, law: Floats, epsilon: float, n: int) -> float:
    """Return the expected squared error that propositions 3 and 4 state."""
    k, sample = len(law), (1 - float((law**2).sum())) / n
    if name == "k-RR":
        odds = math.expm1(epsilon)
        return sample + (k - 1) / n * (k + 2 * odds) / odds**2
    s = math.exp(epsilon / 2)
    return sample + k * s / (n * (s - 1) ** 2)


def risk_l1(name: str, law: Floats, epsilon: float, n: int) -> float:
    """Return the absolute error that propositions 3 and 4 state for large n."""
    k = len(law)
    odds, rest = (math.expm1(epsilon), k - 1) if name == "k-RR" else (math.expm1(epsilon / 2), 1)
    inside = 2 * (odds * law + 1) * (odds * (1 - law) + rest) / (math.pi * n * odds**2)
    return float(np.sqrt(inside).sum())


def mechanism_of(name: str, k: int, epsilon: float) -> Mechanism[Any]:
    """Return k-RR or k-RAPPOR."""
    return KRR(k, epsilon) if name == "k-RR" else SUE(k, epsilon)


RISK_CASES = [
    (k, epsilon, law)
    for k in (4, 16, 64)
    for epsilon in (0.5, 1.0, 3.0)
    for law in ("uniform", "geometric", "point")
]
PEOPLE = 20_000
TIMES: dict[Scale, int] = {"full": 5000, "quick": 500, "tiny": 60}


def risk_cells(scale: Scale) -> list[Cell]:
    """Return both mechanisms on several laws."""
    return [
        Cell({"mechanism": name, "law": law, "k": k, "epsilon": epsilon}, TIMES[scale])
        for name in ("k-RR", "k-RAPPOR")
        for k, epsilon, law in RISK_CASES
        if scale != "tiny" or k == 16
    ]


def measure_risk(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the errors of unbiased shares, relative to the law of the population."""
    k, epsilon = cell.whole("k"), cell.real("epsilon")
    law = LAWS[cell.text("law")](k)
    mechanism = mechanism_of(cell.text("mechanism"), k, epsilon)
    away = np.empty((cell.repetitions, k))
    for time in range(cell.repetitions):
        counts = mechanism.simulate(rng.multinomial(PEOPLE, law), rng)
        away[time] = estimators.unbiased(counts).shares - law
    return [Series({}, {"l1": np.abs(away).sum(axis=1), "l2": (away**2).sum(axis=1)})]


def judge_risk(rows: Table, name: str) -> list[Finding]:
    """Compare the formulas with the simulation: l2 exactly, l1 within 2 % as n is finite."""
    found = []
    for series in rows.where(mechanism=name):
        k, epsilon = int(series["k"]), float(series["epsilon"])
        law = LAWS[str(series["law"])](k)
        what = f"k = {k}, epsilon = {epsilon:g}, {series['law']}"
        for loss, formula in (("l2", risk_l2), ("l1", risk_l1)):
            expected = formula(name, law, epsilon, PEOPLE)
            found.append(
                number(
                    f"{what}: {loss}",
                    expected,
                    series.mean(loss),
                    series.error(loss),
                    decimals=12,
                    sigmas=4.5,
                    tolerance=0.0 if loss == "l2" else 0.02 * expected,
                )
            )
    return found


def draw_risk(rows: Table, figure: Figure, name: str) -> None:
    """Draw measured over stated for all cases, with two standard errors."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, loss, formula in zip(panels, ("l2", "l1"), (risk_l2, risk_l1), strict=True):
        own = rows.where(mechanism=name).series
        for place, series in enumerate(own):
            law = LAWS[str(series["law"])](int(series["k"]))
            stated = formula(name, law, float(series["epsilon"]), PEOPLE)
            axes.errorbar(
                [place],
                [series.mean(loss) / stated],
                [2 * series.error(loss) / stated],
                marker="o",
                markersize=4,
                color="#0072b2",
            )
        axes.axhline(1, color="#222222", linewidth=0.8)
        names = [f"{s['k']}, {s['epsilon']:g}, {s['law']}" for s in own]
        axes.set_xticks(range(len(own)), names, rotation=90, fontsize=7)
        tidy(axes, f"{loss}: measured / stated")
    figure.suptitle(f"{name}: k, ε and law of each case; {PEOPLE:,} people", fontsize=11)


# Proposition 5: k-RR is at least as good as k-RAPPOR for epsilon >= ln(k / 2)


def advantage(k: int, epsilon: float) -> float:
    """Return f(epsilon, k) of the proof: the noise of k-RAPPOR over that of k-RR."""
    a, s = math.exp(epsilon), math.exp(epsilon / 2)
    return k / (k - 1) * ((a - 1) / (s - 1)) ** 2 * s / (2 * a + k - 2)


SIZES: dict[Scale, int] = {"full": 20_000, "quick": 5000, "tiny": 500}


def advantage_cells(scale: Scale) -> list[Cell]:
    """Return one cell: all alphabets up to a size."""
    return [Cell({"largest": SIZES[scale]}, 1)]


def measure_advantage(cell: Cell, _rng: np.random.Generator) -> list[Series]:
    """Compute f at epsilon = ln(k / 2) and ln k."""
    found = []
    for k in range(2, cell.whole("largest") + 1):
        values = {
            "at ln(k/2)": advantage(k, math.log(k / 2)) if k > 2 else math.inf,
            "at ln k": advantage(k, math.log(k)),
        }
        found.append(Series({"k": k}, {name: np.array([x]) for name, x in values.items()}))
    return found


def crossover(k: int) -> float:
    """Return the epsilon from which k-RR has the smaller l2 risk; 0 if it always has."""
    low, high = 1e-6, math.log(k) + 1
    if advantage(k, low) >= 1:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if advantage(k, middle) < 1 else (low, middle)
    return high


def judge_advantage(rows: Table) -> list[Finding]:
    """Check the claim for all k, and the numbers of its proof."""
    half = np.array([s.values["at ln(k/2)"][0] for s in rows])
    whole = np.array([s.values["at ln k"][0] for s in rows])
    sizes = np.array(rows.distinct("k"), np.int64)
    rising = all(
        advantage(int(k), math.log(k / 2) + step) <= advantage(int(k), math.log(k / 2) + step + 0.1)
        for k in sizes[sizes > 2][:200]
        for step in np.arange(0.01, 5, 0.5)
    )
    least, at = float(half.min()), int(sizes[half.argmin()])
    return [
        claim(
            "k-RR has the smaller l2 risk",
            "for all epsilon >= ln(k / 2)",
            f"f is at least {least:.4f} at ln(k / 2), least at k = {at}, up to k = {sizes[-1]:,}, "
            f"and {'rises' if rising else 'does not always rise'} with epsilon",
            least >= 1 and rising,
        ),
        number(
            "f(ln 7, 7) in the proof",
            3.1559,
            float(whole[sizes == 7][0]),
            0.0,
            decimals=4,
            why="A slip in the proof: its formula gives 2.1593. The conclusion stands.",
        ),
        number(
            "the k with the least f(ln k, k)",
            7.0,
            float(sizes[whole.argmin()]),
            0.0,
            decimals=0,
            why="The least value of the proof's formula is 2.1536, at k = 8.",
        ),
    ]


def draw_advantage(rows: Table, figure: Figure) -> None:
    """Draw f against k at both epsilons, and the epsilon at which both mechanisms are equal."""
    left, right = figure.subplots(1, 2)
    sizes = [float(s["k"]) for s in rows][1:]
    for place, name in enumerate(("at ln(k/2)", "at ln k")):
        values = [float(s.values[name][0]) for s in rows][1:]
        left.loglog(sizes, values, label=f"ε {name}", color=("#0072b2", "#d55e00")[place])
    level(left, 1.0, "equal risks")
    left.set_xlabel("k")
    left.legend(frameon=False)
    tidy(left, "f: l2 noise of k-RAPPOR / k-RR")
    powers = [2.0**i for i in range(1, 13)]
    line(right, powers, [crossover(int(k)) for k in powers], 0, "equal l2 risk")
    line(right, powers, [math.log(k / 2) for k in powers], 1, "ln(k / 2)")
    right.set_xscale("log", base=2)
    right.set_xlabel("k")
    right.legend(frameon=False)
    tidy(right, "ε from which k-RR is better")


# Propositions 6 and 7: maximum likelihood


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
            f"EM finds at most {max(lost, 0):.1g} units of log-likelihood more",
            lost < 1e-5,
        ),
        claim(
            "MLE* of the poster",
            "is the maximum likelihood estimate",
            f"differs from water filling by at most {apart:.1g}",
            apart < 1e-9,
        ),
    ]


def judge_seven(rows: Table) -> list[Finding]:
    """Show that the stated estimate has a smaller likelihood than the true maximum."""
    found = []
    for s in rows.where(proposition=7):
        lost = s.values["loss"]
        found.append(
            claim(
                f"k = {s['k']}, epsilon = {s['epsilon']:g}",
                "the stated maximum is that of the likelihood",
                f"the likelihood of the reports is e^{lost.mean():.2f} times higher at its own "
                f"maximum; the two estimates are {s.mean('distance'):.3f} apart in l1",
                bool((lost < 1e-3).all()),
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
        axes.tick_params(axis="x", rotation=60, labelsize=8)
        what = {"loss": "log-likelihood lost", "distance": "distance of the estimates"}
        tidy(axes, what[value])
    figure.suptitle(f"Proposition {proposition}: k, ε and people of each case", fontsize=11)


# The slides' table of effective samples


def effective(name: str, k: int, epsilon: float) -> float:
    """Return the share of the people that remains, if they were asked without noise."""
    uniform = np.full(k, 1 / k)
    return (1 - 1 / k) / risk_l2(name, uniform, epsilon, 1)


def as_on_the_slide(name: str, k: int, epsilon: float) -> float:
    """Return the same as the slides print it: k-RAPPOR with e^epsilon in place of e^(epsilon/2)."""
    a, s = math.exp(epsilon), math.exp(epsilon / 2)
    if name == "k-RR":
        return ((a - 1) / (a + k - 1)) ** 2
    return (k - 1) * (s - 1) ** 2 / ((k - 1) * (s - 1) ** 2 + k * k * a)


LIMITS: dict[str, tuple[str, Callable[[int], float], str, Callable[[int, float], float]]] = {
    "k-RR": ("n/4", lambda _: 1 / 4, "n ε²/k²", lambda k, e: e * e / k**2),
    "k-RAPPOR": ("n/sqrt(k)", lambda k: k**-0.5, "n ε²/4k", lambda k, e: e * e / (4 * k)),
}
SLIDE_K, SMALL = 100, 0.05
SLIDE_TIMES: dict[Scale, int] = {"full": 20_000, "quick": 400, "tiny": 200}


def slide_cells(scale: Scale) -> list[Cell]:
    """Return both mechanisms at a low and a high privacy."""
    return [
        Cell({"mechanism": name, "regime": regime}, SLIDE_TIMES[scale])
        for name in LIMITS
        for regime in ("low privacy", "high privacy")
    ]


def measure_slide(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the squared errors of unbiased shares of a uniform law, times n."""
    epsilon = math.log(SLIDE_K) if cell["regime"] == "low privacy" else SMALL
    mechanism = mechanism_of(cell.text("mechanism"), SLIDE_K, epsilon)
    law, n = np.full(SLIDE_K, 1 / SLIDE_K), 10**6
    found = [
        (estimators.unbiased(mechanism.simulate(rng.multinomial(n, law), rng)).shares - law) ** 2
        for _ in range(cell.repetitions)
    ]
    return [Series({}, {"risk": n * np.array(found).sum(axis=1)})]


def judge_slide(rows: Table) -> list[Finding]:
    """Set the slide's formulas and limits beside the simulated shares of samples."""
    found = []
    for name, (low, at_low, high, at_high) in LIMITS.items():
        for regime, limit, stated in (
            ("low privacy", low, at_low(SLIDE_K)),
            ("high privacy", high, at_high(SLIDE_K, SMALL)),
        ):
            epsilon = math.log(SLIDE_K) if regime == "low privacy" else SMALL
            series = rows.one(mechanism=name, regime=regime)
            risk, error = series.mean("risk"), series.error("risk")
            share = (1 - 1 / SLIDE_K) / risk
            doubt = share * error / risk
            exact = effective(name, SLIDE_K, epsilon)
            where = f"{name}, k = {SLIDE_K}, epsilon = {epsilon:.3g}"
            found.append(number(f"{where}: corrected formula", exact, share, doubt, decimals=12))
            found.append(
                number(
                    f"{where}: formula as printed",
                    as_on_the_slide(name, SLIDE_K, epsilon),
                    share,
                    doubt,
                    decimals=12,
                    why="A misprint on the slide: k² e^ε must be k² e^(ε/2), as in equation (12).",
                )
            )
            found.append(
                number(
                    f"{where}: limit {limit}",
                    stated,
                    share,
                    doubt,
                    decimals=12,
                    why="The limit is the order of magnitude only.",
                )
            )
    return found


def draw_slide(rows: Table, figure: Figure) -> None:
    """Draw the share of samples that remains against epsilon, with the simulated points."""
    axes = figure.subplots()
    x = np.geomspace(0.03, 10, 60).tolist()
    for place, name in enumerate(LIMITS):
        colour = ("#0072b2", "#d55e00")[place]
        axes.loglog(x, [effective(name, SLIDE_K, e) for e in x], color=colour, label=name)
        if name == "k-RAPPOR":
            printed = [as_on_the_slide(name, SLIDE_K, e) for e in x]
            axes.loglog(x, printed, "--", color=colour, label="k-RAPPOR, as printed")
        for series in rows.where(mechanism=name):
            epsilon = math.log(SLIDE_K) if series["regime"] == "low privacy" else SMALL
            share = (1 - 1 / SLIDE_K) / series.mean("risk")
            label = "simulated" if not place and series["regime"] == "low privacy" else None
            axes.loglog([epsilon], [share], "o", color=colour, label=label)
    axes.set_xlabel("ε")
    axes.legend(frameon=False)
    tidy(axes, f"effective samples / samples, k = {SLIDE_K}, squared error, uniform law")


WHY_SEVEN = (
    "The proof multiplies the likelihoods of the bits as if they were independent. Given the "
    "answer they are, but the answer is not known. The likelihood of a report with the set S of "
    "ones is proportional to 1 + (e^ε - 1) p(S), so counts of bits are not sufficient."
)
RISKS = Grid("kairouz2016-risks", risk_cells, measure_risk)
MLE = Grid("kairouz2016-likelihood", mle_cells, measure_mle)


def _is_mechanism(cell: Cell, name: str) -> bool:
    return cell["mechanism"] == name


def _is_proposition(cell: Cell, proposition: int) -> bool:
    return cell["proposition"] == proposition


EXPERIMENTS = (
    *(
        Experiment(
            f"kairouz2016-proposition{place}",
            f"Proposition {place}: the risk of unbiased shares under {name}",
            RISKS,
            partial(judge_risk, name=name),
            partial(draw_risk, name=name),
            "The formula of the proposition stands in the column of what is published. The squared "
            "error is exact; the absolute one is the limit for many people, and 2 % are allowed.",
            partial(_is_mechanism, name=name),
            (11.0, 4.6),
        )
        for place, name in ((3, "k-RR"), (4, "k-RAPPOR"))
    ),
    Experiment(
        "kairouz2016-proposition5",
        "Proposition 5: k-RR is better than k-RAPPOR for epsilon >= ln(k / 2)",
        Grid("kairouz2016-advantage", advantage_cells, measure_advantage),
        judge_advantage,
        draw_advantage,
        "The statement holds. The proof shows it only for epsilon >= ln k, and two of its numbers "
        "are wrong. For k up to 5 k-RR is better at every epsilon.",
        size=(10.0, 4.2),
    ),
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
    Experiment(
        "kairouz2016-slides",
        "The slides' table of effective samples",
        Grid("kairouz2016-slides", slide_cells, measure_slide),
        judge_slide,
        draw_slide,
        "Samples without noise that would give the same squared error, over the samples that are "
        "there, for a uniform law: the corrected formula, the printed one, and the limits for low "
        "and high privacy.",
        size=(8.0, 4.6),
    ),
)
