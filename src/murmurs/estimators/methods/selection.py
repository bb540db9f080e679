"""Find which of very many candidates occur: least squares on a few, a test of each other one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from murmurs.channels.solving import MOST_SOLVED, Solver
from murmurs.channels.tables import Tables
from murmurs.counts import Counts
from murmurs.estimators.empirical_bayes import Stratum, learn
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.precondition import UnfitCountsError, usable
from murmurs.inference.least_squares import Selected, SharedOut
from murmurs.numerics.arrays import ROUNDING, TINY, Booleans, Floats, Integers
from murmurs.numerics.gradient import accelerated, largest_eigenvalue
from murmurs.numerics.special import normal_quantile

Progress = Callable[[int, int], None]
"""Called with how many candidates are chosen, of how many."""

ROUNDS = 60
NEARLY = 0.7
CROWDED = 32
"""Candidates per bucket above which those that are not chosen get no share."""

LONG = 2**16
"""The most candidates that are all looked at in every step."""

SHORT = 2**14
"""How many of a longer list the steps look at: first the strongest, then whoever stands out."""

FALSE_ENTRIES = 1.0
"""How many absent candidates enter by chance, on average; they are tested afterwards."""


def selection(
    counts: Counts,
    *,
    by: Literal["steps", "lasso"] = "steps",
    progress: Progress | None = None,
    why: str = ASKED,
) -> Estimate:
    """Return the shares of the candidates of an open question that stand out from the noise.

    It takes any number of candidates, up to millions. The strong ones are chosen, stepwise or by a
    Lasso as in the RAPPOR paper, and solved for together by weighted least squares. Every other
    candidate gets its own estimate, as if it was added to the chosen ones, and the unlisted strings
    get an interval. Shares are near the posterior medians under the distribution of the shares,
    which is learned from all candidates; "(other)" is what they leave.

    The time is proportional to the number of candidates times that of cohorts: about ten seconds
    for a million candidates in 1024 cohorts. ``progress`` is called after each step.

    Wins if there are many candidates for the number of buckets, most of them absent. Loses to
    `shrinkage` if all candidates can be solved for together and most occur.

    >>> import murmurs as mm
    >>> rr = mm.ORR(epsilon=4.0, width=32, cohorts=32)
    >>> people = ["tea"] * 6000 + ["coffee"] * 3000 + ["qahwa"] * 1000
    >>> counts = rr.count(rr.encode_many(people, np.random.default_rng(1)))
    >>> found = selection(counts.over(["coffee", "milk", "tea"]))
    >>> dict(zip(found.labels, found.shares.round(2).tolist()))
    {'coffee': 0.29, 'milk': 0.0, 'tea': 0.6, '(other)': 0.1}
    """
    if by not in ("steps", "lasso"):
        raise ValueError(f"by must be 'steps' or 'lasso', not {by!r}")
    fit = select(counts, _better if by == "steps" else None, progress)
    first = fit.first if isinstance(fit, SharedOut) else fit
    shares = _decided(first)
    if isinstance(fit, SharedOut):
        shares = fit.share_out(shares, 1)
    channel = _chosen_among(counts)
    notes = _notes(channel, counts.mechanism.labels)
    return Estimate(counts, shares, "selection", why, notes=notes, fit=fit)


def _chosen_among(counts: Counts) -> Tables:
    """Return the channel of the counts; refuse one without candidates to choose from."""
    channel = usable(counts).channel
    if not (isinstance(channel, Tables) and channel.solvable):
        rule = f"selection is for answers in cohorts, not for {counts.mechanism}"
        raise UnfitCountsError(rule, "shrinkage")
    if channel.is_solved and not channel.is_open:
        rule = f"the answers of {counts.mechanism} can all be solved for together"
        raise UnfitCountsError(rule, "shrinkage")
    return channel


def select(
    counts: Counts, better: Better | None = None, progress: Progress | None = None
) -> Selected | SharedOut:
    """Return the fit that chooses the candidates that stand out from the noise.

    If nothing tells some candidates apart, the fit uses one of them and divides its share among
    them.
    """
    channel = _chosen_among(counts)
    groups = channel.layout.alike()
    if not groups:
        return _select(counts, channel, better, progress)
    first = np.ones(channel.layout.k, np.bool_)
    for group in groups:
        first[group[1:]] = False
    kept = np.flatnonzero(first)
    one_each = replace(channel, layout=channel.layout.select(kept))
    return SharedOut(counts, _select(counts, one_each, better, progress), kept, groups)


def _notes(channel: Tables, labels: Sequence[str]) -> tuple[str, ...]:
    """Return notes on the unlisted strings, and on candidates that are too many or alike."""
    k, together = channel.layout.k, channel.equations
    notes = []
    if channel.is_open:
        notes.append(
            "(other) includes strings that are not listed and candidates too rare to be told apart "
            "from them; for that reason its interval begins at 0"
        )
    if k >= together:
        cohorts = -(-3 * k // (channel.width - 1))
        way = f"{cohorts} cohorts" if cohorts <= 2**16 else "more buckets"
        notes.append(
            f"{k} candidates are more than the {together} that {channel.rows} cohorts of "
            f"{channel.width} buckets can separate: a new survey with {way} would separate them all"
        )
    notes += [
        f"{labels[group[0]]!r} has the same buckets in every cohort as "
        + " and ".join(repr(labels[i]) for i in group[1:])
        + ": nothing tells them apart, so each gets an equal part of their joint share"
        for group in channel.layout.alike()[:5]
        if labels
    ]
    return tuple(notes)


def _decided(fit: Selected) -> Floats:
    """Return the share of each candidate, near its posterior median, and of "(other)".

    Candidates that are not chosen hold at most what the chosen ones leave. If there are far more of
    them than buckets, their estimates repeat the same few numbers: then they get nothing, or equal
    parts of the rest if the list is complete.
    """
    channel, estimates, people = fit.channel, fit.unbiased, float(fit.counts.people)
    constant, slope = fit.noise(fit.weighed_at)
    k, chosen = channel.layout.k, np.zeros(channel.layout.k, np.bool_)
    chosen[fit.chosen] = True
    rest = float(np.clip(1 - np.maximum(estimates[:k][chosen], 0).sum(), 0, 1))
    mean = min(max((1 - rest / 2) / k, 1e-9), 0.99)
    listed = estimates[:k]
    posterior = learn(Stratum(listed, constant[:k], slope[:k], mean, people, fixed_sum=False))
    rows = posterior.rows
    shares = np.where(rows.alone, np.clip(listed, 0, 1), posterior.decisions(0.0)[rows.bin_of])
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


def _select(
    counts: Counts, channel: Tables, better: Better | None, progress: Progress | None
) -> Selected:
    """Return the fit that chooses the candidates that stand out; no two have the same buckets.

    Stepwise: solve for the chosen candidates and the mass of all others; add those whose buckets
    hold significantly more than the solution predicts, and drop those whose buckets no longer do.
    Each candidate that is not chosen gets its own estimate, as if it was added to the chosen ones:
    one candidate too many or too few does no harm. The chi-square of the residuals inflates the
    variances. Without steps, a Lasso chooses the candidates.

    If the list is long, the steps look at its strongest candidates only. Once they have settled,
    all are looked at again, and the steps go on with any other that now stands out.
    """
    k = channel.layout.k
    enter = -normal_quantile(min(FALSE_ENTRIES / max(k, 1), 0.1))
    most = k if channel.is_solved else min(MOST_SOLVED, max(1, (channel.equations - 1) // 3))
    chosen = np.zeros(k, np.bool_)
    nobody = np.zeros(channel.k)
    if channel.is_open:
        nobody[-1] = 1.0
    fit = Selected(counts, np.flatnonzero(chosen), nobody, law=channel)
    if better is None:
        better, coefficients = _kept, _lasso(fit, enter)
        strongest = _strongest(coefficients > 0, coefficients, most, most)
        chosen = _told_apart(fit, chosen, strongest, coefficients)
        fit = fit.choose(np.flatnonzero(chosen), nobody)
    rule = _Rule(better, enter, most, progress)
    if k <= LONG:
        return _settled(fit, None, rule)
    reach = np.sort(np.argpartition(-fit.scores(), SHORT)[:SHORT])
    while True:
        fit = _settled(fit, reach, rule)
        missed = fit.scores() > enter * np.sqrt(fit.inflation)
        missed[reach] = False
        if not missed.any():
            return fit
        reach = np.union1d(reach, np.flatnonzero(missed))


@dataclass(frozen=True)
class _Rule:
    """How steps are taken: the next choice, the score to enter with, and the most candidates."""

    better: Better
    enter: float
    most: int
    progress: Progress | None


def _settled(fit: Selected, reach: Integers | None, rule: _Rule) -> Selected:
    """Take steps among the candidates within reach (None: all) until a choice returns."""
    chosen = np.zeros(fit.channel.layout.k, np.bool_)
    chosen[fit.chosen] = True
    seen: set[bytes] = set()
    while len(seen) < ROUNDS:
        seen.add(np.packbits(chosen).tobytes())
        scores = fit.scores(reach) / np.sqrt(fit.inflation)
        shares = _on_simplex(fit)
        following = rule.better(chosen, scores, rule.enter, rule.most)
        following = _told_apart(fit, chosen, following, scores)
        again = np.packbits(following).tobytes() in seen
        chosen = chosen if again else following
        fit = fit.choose(np.flatnonzero(chosen), shares)
        if rule.progress is not None:
            rule.progress(len(fit.chosen), fit.channel.layout.k)
        if again:
            break
    return fit


def _told_apart(fit: Selected, chosen: Booleans, following: Booleans, scores: Floats) -> Booleans:
    """Return the next choice; if it cannot be solved, only with the stronger new candidates."""
    while True:
        solver = fit.choose(np.flatnonzero(following), fit.weighed_at).equal_solver
        new = following & ~chosen
        if solver.inverse is not None or not new.any():
            return following
        half = int(new.sum()) // 2
        following = (following & chosen) | _strongest(new, scores, half, half)


def _strongest(among: Booleans, scores: Floats, wanted: int, room: int) -> Booleans:
    """Return the wanted number of the strongest candidates, keeping ties together.

    All that tie with the last one wanted are included if there is room, and otherwise none of them.
    """
    if among.sum() <= wanted:
        return among
    if wanted <= 0:
        return np.zeros_like(among)
    last = float(np.sort(scores[among])[-wanted])
    out = among & (scores >= last * (1 - ROUNDING))
    return out if out.sum() <= room else among & (scores > last * (1 + ROUNDING))


Better = Callable[[Booleans, Floats, float, int], Booleans]
"""From the chosen candidates and all scores to the next choice."""


def _better(chosen: Booleans, scores: Floats, enter: float, most: int) -> Booleans:
    """Drop candidates that no longer stand out, and add the strongest of those that do.

    While strong candidates are missing, those that share buckets with them stand out too, so only
    those nearly as strong as the strongest are added.
    """
    out = chosen & (scores > enter - 1)
    strongest = float(scores[~chosen].max(initial=0.0))
    new = ~chosen & (scores > max(enter, NEARLY * strongest))
    room = most - int(out.sum())
    return out | _strongest(new, scores, min(room, max(5, int(chosen.sum()))), room)


def _kept(chosen: Booleans, scores: Floats, enter: float, _: int) -> Booleans:
    """Drop candidates that do not stand out, and add none."""
    return np.asarray(chosen & (scores > enter - 1))


def _on_simplex(fit: Selected) -> Floats:
    """Return the shares of the chosen candidates, and of "(other)" if there is one."""
    shares = np.zeros(fit.channel.k)
    shares[fit.chosen] = np.maximum(fit.solved, 0)
    shares /= max(1.0, float(shares.sum()))
    if fit.channel.is_open:
        shares[-1] = 1 - shares.sum()
    return shares


def _lasso(fit: Selected, enter: float) -> Floats:
    """Return the coefficients of a Lasso over all candidates."""
    full = fit.channel.solver(fit.weighed_at, fit.channel.layout)
    own = full.own_weights(full.on)
    # A coefficient is zero unless its evidence exceeds the largest that noise alone gives.
    return lasso(full, fit.masses - full.filled, enter * np.sqrt(own / fit.n))


def lasso(solver: Solver, masses: Floats, penalty: Floats, steps: int = 500) -> Floats:
    """Minimise half the weighted squares of masses - X x, plus penalty * x, over x >= 0.

    The iteration ends when a step moves by at most a millionth of the largest x.
    """

    def normal(x: Floats) -> Floats:
        return solver.against(solver.layout.masses(x) - solver.filled * x.sum())

    goal = solver.against(masses)
    # The steeper a direction is, the more of it is in the noise of the masses.
    steepest = 1.05 * largest_eigenvalue(normal, goal, 20)

    def gradient(x: Floats) -> Floats:
        return normal(x) - goal + penalty

    def done(new: Floats, before: Floats) -> bool:
        moved = float(np.abs(new - before).max(initial=0.0))
        return moved <= 1e-6 * float(new.max(initial=0.0))

    start = np.zeros(solver.layout.k)
    x, _ = accelerated(gradient, lambda x: np.maximum(x, 0), start, steepest, done, steps)
    return np.asarray(x)
