"""Which of very many candidates are there: least squares on a few, each other tested beside."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from murmurs.channels.solving import MOST_SOLVED, Solver
from murmurs.channels.tables import Tables
from murmurs.checks import Booleans, Floats
from murmurs.counts import Counts
from murmurs.estimation import Estimate
from murmurs.estimators.learning import TINY, Stratum, learn
from murmurs.estimators.precondition import usable
from murmurs.special import normal_quantile

ROUNDS = 60
NEARLY = 0.7
CROWDED = 32
"""Candidates for each place, above which those that are not chosen get no share."""

FALSE_ENTRIES = 1.0
"""How many absent candidates enter by chance, on average; tests are made afterwards."""


def selection(
    counts: Counts,
    *,
    by: Literal["steps", "lasso"] = "steps",
    why: str = "it was asked for by name",
) -> Estimate:
    """Return the shares of the candidates of an open question that stand out of the noise.

    For any number of candidates, up to millions. The strong ones are chosen, stepwise or by a Lasso
    as the RAPPOR paper does, and solved for together by weighted least squares; every other
    candidate gets its own estimate beside them, and the unlisted mass its interval. Shares are near
    the posterior medians under the law of the candidates' shares, which is learned from all of them
    (see `murmurs.estimators.learning`); "(other)" is what they leave.

    Wins where candidates are many for the places, most of them absent. Loses to `shrinkage` where
    all candidates can be solved for together and most are there.

    >>> import murmurs as mm
    >>> rr = mm.ORR(epsilon=4.0, width=32, cohorts=32)
    >>> people = ["tea"] * 6000 + ["coffee"] * 3000 + ["qahwa"] * 1000
    >>> counts = rr.count(rr.encode_many(people, np.random.default_rng(1)))
    >>> found = selection(counts.over(["coffee", "milk", "tea"]))
    >>> dict(zip(found.labels, found.shares.round(2).tolist()))
    {'coffee': 0.3, 'milk': 0.0, 'tea': 0.6, '(other)': 0.1}
    """
    if by not in ("steps", "lasso"):
        raise ValueError(f"by must be 'steps' or 'lasso', not {by!r}")
    chosen = select(counts, _better if by == "steps" else None)
    channel = chosen.channel
    estimates = channel.invert(chosen.cells, chosen.n)
    assert isinstance(channel, Tables)
    assert channel.weighed_at is not None
    constant, slope = channel.noise(channel.weighed_at, chosen.n)
    shares = _decided(channel, estimates, constant, slope, chosen.n)
    return Estimate(
        chosen,
        shares,
        "selection",
        why,
        notes=_notes(channel, getattr(counts.mechanism, "labels", ())),
    )


def _notes(channel: Tables, labels: Sequence[str]) -> tuple[str, ...]:
    """Say what a reader must know of the unlisted mass, and of too many or equal candidates."""
    k, together = channel.layout.k, channel.rows * (channel.width - 1) + 1
    notes = []
    if channel.is_open:
        notes.append(
            "(other) holds what is in no list, and what is too rare to be told from it; its "
            "interval begins at 0 for that reason"
        )
    if k >= together:
        cohorts = -(-3 * k // (channel.width - 1))
        way = f"a new survey with {cohorts} cohorts" if cohorts <= 2**16 else "one with more places"
        notes.append(
            f"{k} candidates are more than the {together} that {channel.rows} cohorts of "
            f"{channel.width} places tell apart together: {way} would tell all"
        )
    notes += [
        f"{labels[group[0]]!r} has the same places in every cohort as "
        + " and ".join(repr(labels[i]) for i in group[1:])
        + ": nothing tells them apart, and the first stands for all"
        for group in channel.layout.alike()[:5]
        if labels
    ]
    return tuple(notes)


def _decided(channel: Tables, estimates: Floats, constant: Floats, slope: Floats, n: int) -> Floats:
    """Return the decision on each candidate's share, near its posterior median, and on the rest.

    Candidates that are not chosen hold at most what the chosen ones leave. Where they are far more
    than places, their estimates say the same few things again and again: then they get nothing,
    and in a complete list equal parts of it.
    """
    k, chosen = channel.layout.k, np.zeros(channel.layout.k, np.bool_)
    chosen[channel.chosen] = True
    rest = float(np.clip(1 - np.maximum(estimates[:k][chosen], 0).sum(), 0, 1))
    mean = min(max((1 - rest / 2) / k, 1e-9), 0.99)
    listed, noise, steepness = estimates[:k], constant[:k], float(slope[:k].mean())
    posterior = learn(Stratum(listed, noise, steepness, mean, float(n), fixed_sum=False))
    rows = posterior.rows
    shares = np.where(rows.alone, np.clip(listed, 0, 1), posterior.decisions(0.0)[rows.row_of])
    shares[chosen] /= max(1.0, float(shares[chosen].sum()))
    left = 1 - float(shares[chosen].sum())
    weak = np.where(chosen, 0.0, shares)
    if k > CROWDED * channel.rows * channel.width or not weak.any():
        weak = np.where(chosen | channel.is_open, 0.0, 1.0)
    total = float(weak.sum())
    if total > left or not channel.is_open:
        weak *= left / (total + TINY)
    shares = np.where(chosen, shares, weak)
    if channel.is_open:
        return np.append(shares, max(1 - float(shares.sum()), 0.0))
    return np.asarray(shares / shares.sum())


def select(counts: Counts, better: Better | None = None) -> Counts:
    """Return the counts with the candidates chosen that stand out of the noise.

    Stepwise: solve for the chosen candidates and the mass of all others; add those whose places
    hold significantly more than the solution tells, drop those that no longer do. What is not
    chosen has its own estimate, as if it were added to the chosen ones: a candidate too many or too
    few does no harm. The chi-square of what is left inflates the variances. Without steps the
    candidates are those that a Lasso leaves.
    """
    channel = usable(counts).channel
    if not (isinstance(channel, Tables) and channel.solves):
        raise ValueError(
            f"candidates are chosen among answers in cohorts, not for {counts.mechanism}: "
            "use shrinkage(counts)"
        )
    if channel.is_solved and not channel.is_open:
        raise ValueError(
            f"the answers of {counts.mechanism} can all be solved for together: "
            "use shrinkage(counts)"
        )
    k = channel.layout.k
    enter = -normal_quantile(min(FALSE_ENTRIES / max(k, 1), 0.1))
    most = k if channel.is_solved else min(MOST_SOLVED, channel.rows * (channel.width - 1) // 3)
    masses = channel.masses_of(counts.cells)
    shares = _on_simplex(np.zeros(channel.k), np.zeros(k, np.bool_))
    eligible = np.ones(k, np.bool_)
    for group in channel.layout.alike():
        eligible[group[1:]] = False
    chosen = np.zeros(k, np.bool_)
    if better is None:
        better = _kept
        chosen = _told_apart(
            channel, chosen, eligible & _lasso(channel, masses, counts.n, enter, most)
        )
    seen: set[bytes] = set()
    while len(seen) < ROUNDS:
        seen.add(np.packbits(chosen).tobytes())
        step = channel.choose(np.flatnonzero(chosen), shares, 1.0)
        estimates, scores = step.scores(masses, counts.n)
        scores /= np.sqrt(_inflation(step, masses, counts.n))
        shares = _on_simplex(estimates, chosen)
        following = better(chosen, np.where(eligible, scores, 0.0), enter, most)
        following = _told_apart(channel, chosen, following)
        if np.packbits(following).tobytes() in seen:
            break
        chosen = following
    at = np.flatnonzero(chosen)
    inflation = _inflation(channel.choose(at, shares, 1.0), masses, counts.n)
    return counts.through(channel.choose(at, shares, inflation))


def _told_apart(channel: Tables, chosen: Booleans, following: Booleans) -> Booleans:
    """Return the next chosen ones, fewer of the new ones if they cannot be told apart together."""
    while True:
        solver = channel.choose(np.flatnonzero(following), np.zeros(channel.k), 1.0).first_solver
        new = np.flatnonzero(following & ~chosen)
        if solver.inverse is not None or not len(new):
            return following
        following = following.copy()
        following[new[len(new) // 2 :]] = False


Better = Callable[[Booleans, Floats, float, int], Booleans]
"""From the chosen and all scores to the next chosen ones."""


def _better(chosen: Booleans, scores: Floats, enter: float, most: int) -> Booleans:
    """Drop what no longer stands out; add the strongest of what does.

    While strong candidates are missing, those that share places with them stand out as well: so
    only those come in that are nearly as strong as the strongest.
    """
    out = chosen & (scores > enter - 1)
    strongest = float(scores[~chosen].max(initial=0.0))
    new = np.flatnonzero(~chosen & (scores > max(enter, NEARLY * strongest)))
    room = min(most - int(out.sum()), max(5, int(chosen.sum())))
    out[new[np.argsort(-scores[new], kind="stable")][: max(room, 0)]] = True
    return out


def _kept(chosen: Booleans, scores: Floats, enter: float, _: int) -> Booleans:
    """Drop what does not stand out, and add nothing."""
    return np.asarray(chosen & (scores > enter - 1))


def _on_simplex(estimates: Floats, chosen: Booleans) -> Floats:
    """Return the shares of the chosen, and of all unlisted ones together if there are any."""
    k = len(chosen)
    shares = np.zeros(len(estimates))
    shares[:k][chosen] = np.maximum(estimates[:k][chosen], 0)
    shares /= max(1.0, float(shares.sum()))
    if len(shares) > k:
        shares[-1] = 1 - shares.sum()
    return shares


def _inflation(channel: Tables, masses: Floats, n: int) -> float:
    """Return the chi-square of the residuals over its degrees of freedom, if above one.

    Those who were chosen as the largest of many take more than a degree of freedom each.
    """
    assert channel.weighed_at is not None
    assert channel.chosen is not None
    square, freedom = channel.chi_square(channel.weighted_at(channel.weighed_at), masses, n)
    k, chosen = channel.layout.k, max(len(channel.chosen), 1)
    searched = len(channel.chosen) * math.log(max(k / chosen, 1.0))
    return max(1.0, square / max(freedom - searched, 0.5 * freedom, 1.0))


def _lasso(channel: Tables, masses: Floats, n: int, enter: float, most: int) -> Booleans:
    """Return the candidates with a positive coefficient in a Lasso, the largest ones."""
    k = channel.layout.k
    nobody = _on_simplex(np.zeros(channel.k), np.zeros(k, np.bool_))
    full = channel.choose(np.arange(k), nobody, 1.0).solver(nobody)
    own = full.own_weights
    # A coefficient is zero unless its evidence exceeds what chance gives the largest of all.
    coefficients = lasso(full, masses - full.filled, enter * np.sqrt(own / n))
    out = coefficients > 0
    if out.sum() > most:
        out &= coefficients >= np.sort(coefficients)[-most]
    return np.asarray(out)


def lasso(solver: Solver, masses: Floats, penalty: Floats, steps: int = 500) -> Floats:
    """Minimise half the weighted squares of masses - X x, plus penalty * x, over x >= 0.

    By an accelerated proximal gradient (Beck and Teboulle 2009), until no step moves by a
    millionth.
    """

    def normal(x: Floats) -> Floats:
        spread = solver.layout.masses(x) - solver.filled * x.sum()
        return solver.against(spread)

    goal = solver.against(masses)
    probe = np.random.default_rng(0).normal(size=solver.layout.k)
    for _ in range(20):
        probe = normal(probe / np.sqrt(probe @ probe))
    steepest = 1.05 * float(np.sqrt(probe @ probe))
    x = ahead = np.zeros(solver.layout.k)
    momentum = 1.0
    for _ in range(steps):
        new = np.maximum(ahead - (normal(ahead) - goal + penalty) / steepest, 0)
        if float(np.abs(new - x).max(initial=0.0)) <= 1e-6 * float(new.max(initial=0.0)):
            return np.asarray(new)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        if float((ahead - new) @ (new - x)) > 0:  # going uphill: forget the momentum
            following, ahead = 1.0, new
        else:
            ahead = new + (momentum - 1) / following * (new - x)
        x, momentum = new, following
    return np.asarray(x)
