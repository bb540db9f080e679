"""Small tables at strong noise: the default next to the better of EM and independence.

Here the better of the two is EM if answers are strongly associated and independence if they are
not, and the reports hardly say which. `limit` is the least loss that any rule has in a model of
this: the rest of a table beyond its margins is normal with known noise.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive
from scipy.stats import ncx2

import murmurs as mm
from murmurs.estimators.methods.em import em

Floats = NDArray[np.float64]

SHAPES = ((2, 3), (3, 3), (3, 5), (4, 4))
EPSILONS = (0.5, 0.7, 1.0)
PEOPLE = (10**3, 10**4, 10**5)
STRENGTHS = (0.0, 0.15, 0.3, 0.6, 1.2)
"""Standard deviations of the logarithms of the ratios to independence."""

NAMES = ("joint", "em", "independence")

TABLES = 4
"""Tables of each shape and strength, with margins and ratios of their own."""


def settings() -> list[dict[str, Any]]:
    """Return shapes, strengths, epsilons and numbers of people."""
    return [
        {"shape": list(shape), "strength": strength, "epsilon": epsilon, "n": n}
        for shape, strength, epsilon, n in itertools.product(SHAPES, STRENGTHS, EPSILONS, PEOPLE)
    ]


def associated(shape: tuple[int, ...], strength: float, rng: np.random.Generator) -> Floats:
    """Return a table with random margins and log-normal ratios to their product."""
    first, second = (rng.dirichlet(np.full(size, 3.0)) for size in shape)
    table = np.outer(first, second) * np.exp(strength * rng.normal(size=shape))
    return np.asarray(table / table.sum())


def compared(row: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the errors of the default, EM and independence, for each table of a setting."""
    shape, n = tuple(row["shape"]), row["n"]
    both = mm.Product(tuple(mm.KRR(k=k, epsilon=row["epsilon"]) for k in shape))
    l1, squares = np.zeros((2, TABLES, len(NAMES)))
    for at in range(TABLES):
        table = associated(shape, row["strength"], rng)
        for _ in range(row["repeat"]):
            people = rng.multinomial(n, table.ravel())
            counts = both.simulate(people, rng)
            found = [
                em(counts, tolerance=0.1, most=3000) if name == "em" else mm.estimate(counts, name)
                for name in NAMES
            ]
            away = np.array([estimate.shares for estimate in found]) - people / n
            l1[at] += np.abs(away).sum(axis=1) / row["repeat"]
            squares[at] += (away**2).sum(axis=1) / row["repeat"]
    l2 = np.sqrt(squares)
    return {
        "l1": {name: l1[:, i].tolist() for i, name in enumerate(NAMES)},
        "l2": {name: l2[:, i].tolist() for i, name in enumerate(NAMES)},
    }


def limit(freedom: int, share: float, rounds: int = 2000) -> float:
    """Return a bound below the worst l2 ratio to the better that any rule has.

    In the model, the rest has ``freedom`` normal coordinates with noise one around a mean of any
    length r; EM keeps what is observed, independence takes zero, and both have the error of the
    margins in common, which makes independence as good as ``share`` of EM at r = 0. For any
    distribution of r, the best rule's mean ratio is a bound, as no rule's worst is below its mean;
    the search makes lengths likelier at which that rule is worse.
    """
    margins = freedom * share**2 / (1 - share**2)
    lengths = np.concatenate([np.arange(0, 6, 0.25), np.arange(6, 12.1, 0.5)])
    ends = np.linspace(1e-3, 17, 1200)
    at = (ends[1:] + ends[:-1]) / 2
    seen = np.array([ncx2.pdf(at**2, freedom, max(r, 1e-6) ** 2) for r in lengths])
    seen *= np.diff(ends**2)
    x = lengths[:, None] * at + 1e-12
    along = x * ive(freedom / 2, x) / ive(freedom / 2 - 1, x)  # of the mean on what is observed
    better = margins + np.minimum(lengths**2, freedom)
    weights = np.full(len(lengths), 1 / len(lengths))
    best = 0.0
    for step in range(rounds):
        own = (weights / better)[:, None] * seen
        kept = (own * along).sum(axis=0) / np.maximum((own * at**2).sum(axis=0), 1e-300)
        risk = (seen * (kept**2 * at**2 - 2 * kept * along)).sum(axis=1) + lengths**2
        ratio = (margins + risk) / better
        best = max(best, float(weights @ ratio))
        weights = weights * np.exp(6 / math.sqrt(step + 10) * (ratio - ratio.max()))
        weights /= weights.sum()
    return math.sqrt(best)


def to_the_better(rows: list[dict[str, Any]], norm: str, together: bool = False) -> Floats:
    """Return the errors of the default relative to the better of EM and independence.

    The better is that of each table, or, with the errors of its tables together, of each setting.
    """
    joint, first, second = (
        np.concatenate([[sum(row[norm][name])] if together else row[norm][name] for row in rows])
        for name in NAMES
    )
    return np.asarray(joint / np.minimum(first, second))


def independence_to_em(rows: list[dict[str, Any]]) -> Floats:
    """Return the l2 errors of independence relative to those of EM."""
    return np.concatenate([np.divide(row["l2"]["independence"], row["l2"]["em"]) for row in rows])


def section(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of the page."""

    def mean(values: Floats) -> float:
        return math.exp(float(np.log(values).mean()))

    lines = [
        f"{len(rows) * TABLES} tables of {len(rows)} settings: ε from {EPSILONS[0]:g} to "
        f"{EPSILONS[-1]:g}, {PEOPLE[0]:,} to {PEOPLE[-1]:,} people, random margins, and logarithms "
        f"of the ratios to independence with the standard deviations {STRENGTHS[0]:g} (independent "
        f"answers) to {STRENGTHS[-1]:g}; {rows[0]['repeat']} collections each. Errors of `joint` "
        f"relative to the better of EM and independence, l1 / l2. With {rows[0]['repeat']} "
        "collections of a table chance has a say in which is the better, and makes it look better "
        f"than it is; a setting has {TABLES} tables.",
        "",
        "| strength | " + " | ".join(f"{m} x {k}" for m, k in SHAPES) + " | 3 x 3, ε = 0.7 |",
        "|---|" + "---:|" * (len(SHAPES) + 1),
    ]
    parts = [[row for row in rows if tuple(row["shape"]) == shape] for shape in SHAPES]
    parts.append([row for row in parts[SHAPES.index((3, 3))] if row["epsilon"] == 0.7])
    for strength in (*STRENGTHS, None):
        cells = ["all" if strength is None else f"{strength:g}"]
        for part in parts:
            own = [row for row in part if strength in (None, row["strength"])]
            cells.append(" / ".join(f"{mean(to_the_better(own, x)):.2f}" for x in ("l1", "l2")))
        lines.append("| " + " | ".join(cells) + " |")
    cells = ["all, the better of each setting"]
    for part in parts:
        found = [mean(to_the_better(part, norm, together=True)) for norm in ("l1", "l2")]
        cells.append(" / ".join(f"{x:.2f}" for x in found))
    lines.append("| " + " | ".join(cells) + " |")
    cells = ["the worst of any rule, at least (l2)"]
    for part in parts:
        freedom = math.prod(size - 1 for size in part[0]["shape"])
        share = mean(independence_to_em([row for row in part if row["strength"] == 0]))
        cells.append(f"{limit(freedom, share):.2f}")
    lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "Reports of independent answers and of weakly associated ones look alike, so no rule can "
        "always choose the better of the two: a rule that loses nothing where answers are "
        "independent loses where they are not. The last row is a bound below the worst ratio over "
        "all strengths that any rule has, if the rest of the table beyond its margins is normal "
        "with known noise.",
    ]
    return lines
