"""Smooth: the default for ordered answers, a log-spline with heaps on it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from murmurs.boundary.checks import real
from murmurs.counts import Counts
from murmurs.estimators.default import single
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.heaps import heaps
from murmurs.estimators.precondition import UnfitCountsError, usable
from murmurs.estimators.seen import SeenCells, SeenShares
from murmurs.estimators.splines import Spline, Splines, bases, equal, rough
from murmurs.inference.fit import Fit
from murmurs.inference.fitting import fitted
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import weighted_projection
from murmurs.scales.scale import Scale

FEWEST = 4
"""The fewest answers whose order says anything."""

WINS = 2.0
"""By how many nats the order of the answers must explain the counts better to count for a half."""

FIRM = 2.0
"""How fast the odds of the order turn from there: they are squared, so that a draw costs little."""

GAIN = 0.5
"""A round that explains the counts by less than this many nats better is the last one."""

STANDS_OUT = 1.5
"""Standard errors by which a heap must exceed the smooth density to be taken out of it."""

AT_ONCE = 4.0
"""The same for the heaps that are taken out before anything is fitted."""

WINDOW = 3
"""Neighbours on either side whose median such a heap is compared with."""

NOISELESS = 1e-3
"""Noise variance, in people squared, below which there is nothing to smooth."""


def smooth(
    counts: Counts,
    *,
    widths: Sequence[float] | None = None,
    circular: bool = False,
    tolerance: float = 0.05,
    why: str = ASKED,
) -> Estimate:
    """Return shares of ordered answers, smoothed along their order as far as the counts demand.

    The logarithm of the density is a spline. How much it may bend is decided by the evidence, from
    a straight line (or a parabola) to any shape, and the result is an average over all degrees,
    weighted by evidence. What stands out of it, such as round numbers that people prefer, is added
    in single buckets, where its distribution is learned from all of them. All of this is compared
    with the same heaps on equal shares: if the order does not explain the counts better by two
    nats, most weight is given to the default estimator of unordered answers, and a note says so.

    The order of the answers is that of the scale. ``widths`` are the widths of buckets, if they
    differ: what is smooth is the density, not the share. Infinity stands for a bucket without an
    end, first or last. On a ``circular`` scale, as of hours or months, the first bucket follows the
    last.

    If single shares say much less about smooth shapes than the cells do, as with a mechanism that
    reports a number nearby, the spline is fitted to the cells themselves, without heaps. The order
    then counts as far as the evidence prefers it to splines that nothing makes smooth.

    Wins on smooth densities with many buckets, where it halves the error; gains little for a
    handful of answers, and nothing if most people give a few round numbers. Its intervals are those
    of the counts. ``gap`` is by how much the log-likelihoods of spline and heaps may still be below
    their maximum, for the spline to second order, and is at most the ``tolerance``.

    >>> import murmurs as mm
    >>> age = mm.Subset(k=50, epsilon=1.0)
    >>> people = (10_000 * np.exp(-((np.arange(50) - 20) ** 2) / 100)).astype(int)
    >>> counts = age.simulate(people, np.random.default_rng(1))
    >>> truth = people / people.sum()
    >>> for name in ("smooth", "shrinkage"):
    ...     print(round(float(abs(mm.estimate(counts, name).shares - truth).sum()), 2))
    0.05
    0.13
    """
    tolerance = real(tolerance, "tolerance", 0.0, 1e9)
    counts = _on_a_line(counts)
    wide = _checked(widths, counts.channel.k, circular)
    if counts.channel.k < FEWEST or counts.channel.is_crowded:
        return _without_order(single(counts), why)
    shapes = bases(wide, circular)
    cells = SeenCells.of(fitted(counts), circular)
    if cells is not None:
        splines = Splines(shapes, tolerance, rough(shapes[0]))
        found, fit = splines.fit(cells), cells.fit
        return _concluded(fit, found, fit.notes, splines.steps, found.gap <= 2 * tolerance, why)
    flat = single(counts)
    shares = SeenShares.of(flat)
    if float(shares.noise.max()) * float(counts.people) ** 2 < NOISELESS:
        return _without_order(flat, why)
    splines = Splines(shapes, tolerance / 2)
    found = _with_heaps(splines, shares, circular, tolerance / 2)
    level = Splines([equal(counts.channel.k)], tolerance / 2)
    wins = found.evidence - _with_heaps(level, shares, circular, tolerance / 2).evidence
    weight = 1 / (1 + math.exp(min(max(FIRM * (WINS - wins), -50.0), 50.0)))
    mixed = weight * found.shares + (1 - weight) * flat.shares
    found, notes = dataclasses.replace(found, shares=mixed / mixed.sum()), _notes(flat, weight)
    return _concluded(flat.fit, found, notes, splines.steps, found.gap <= 2 * tolerance, why)


def along(counts: Counts, scale: Scale) -> Estimate:
    """Return the estimate of answers on a scale, with the reason for which it is the default."""
    why = "answers have an order, and neighbouring ones are alike"
    found = smooth(counts, widths=scale.widths, circular=scale.circular, why=why)
    if any(note.startswith(NO_ORDER) for note in found.notes):
        why = "answers have an order, which it uses only as far as neighbouring ones are alike"
    return dataclasses.replace(found, why=why)


NO_ORDER = "the order of the answers explains little"
"""How the note begins that the shares are those of another estimator."""


def has_scale(counts: Counts) -> bool:
    """Return whether the answers may be on a scale: to one question, and not strings."""
    channel = counts.channel
    return not channel.factors and channel.other is None


def _on_a_line(counts: object) -> Counts:
    """Return counts whose answers may have an order; refuse others."""
    checked = usable(counts)
    if has_scale(checked):
        return checked
    if checked.channel.factors:
        raise UnfitCountsError(f"smooth is for one question, not {checked.mechanism}", "joint")
    rule = f"smooth needs answers in an order, and strings have none: {checked.mechanism}"
    raise UnfitCountsError(rule, "selection" if checked.channel.is_crowded else "shrinkage")


def _checked(widths: Sequence[float] | None, k: int, circular: bool) -> tuple[float, ...]:
    """Return the widths of all buckets; refuse what is no width."""
    if widths is None:
        return (1.0,) * k
    wide = tuple(float(width) for width in widths)
    if len(wide) != k:
        raise ValueError(f"{len(wide)} widths do not fit {k} answers")
    for place, width in enumerate(wide):
        is_end = place in (0, k - 1) and not circular
        if not (width > 0 and (math.isfinite(width) or is_end)):
            raise ValueError(
                f"width {place} is {width:g}: widths are positive, and only the first and the last "
                "one may be infinite, unless the scale is circular"
            )
    return wide


def _without_order(flat: Estimate, why: str) -> Estimate:
    """Return the shares that another estimator found, as the order can say nothing."""
    return _concluded(flat.fit, Spline(flat.shares, 0.0, 0.0, 0.0), _notes(flat, 0.0), 0, True, why)


def _notes(flat: Estimate, weight: float) -> tuple[str, ...]:
    """Return the notes, with one more if the order counts for less than a half."""
    if weight >= 0.5:
        return flat.fit.notes
    part = "" if weight < 0.005 else f" for {100 * (1 - weight):.0f} %"
    return (f"{NO_ORDER}, so that the shares are{part} those of {flat.estimator}", *flat.notes)


def _concluded(
    fit: Fit, found: Spline, notes: tuple[str, ...], steps: int, converged: bool, why: str
) -> Estimate:
    """Return the estimate, with a note if its spline has not converged."""
    late = f"not converged: the log-likelihood may be {found.gap:.3g} below its maximum"
    return Estimate(
        fit.counts,
        found.shares,
        "smooth",
        why,
        iterations=steps,
        gap=found.gap,
        converged=converged,
        notes=notes if converged else (*notes, late),
        fit=fit,
    )


def _with_heaps(splines: Splines, shares: SeenShares, circular: bool, tolerance: float) -> Spline:
    """Return the shares with heaps that the evidence prefers.

    Splines and heaps take turns: what stands out of the spline leaves the data of the next one.
    """
    best = Spline(shares.unbiased, -math.inf, 0.0, 0.0)
    for taken in _starts(shares, circular):
        last = -math.inf
        while True:
            now = dataclasses.replace(shares, heaped=taken)
            found, taken = _heaped(splines.fit(now), now, tolerance)
            best = max(best, found, key=lambda one: one.evidence)
            if found.evidence < last + GAIN or np.array_equal(taken, now.heaped):
                break
            last = found.evidence
    return best


def _heaped(spline: Spline, shares: SeenShares, tolerance: float) -> tuple[Spline, Floats]:
    """Return a spline with heaps on it, and what they take in the next round."""
    base, noise = shares.rest * spline.shares, shares.noise
    found = heaps(shares.unbiased - base, noise, tolerance)
    both = weighted_projection(base + found.means, found.variances + 1e-3 * noise)
    out = np.where(np.abs(found.means) > STANDS_OUT * np.sqrt(noise), found.means, 0.0)
    evidence = found.evidence + spline.occam
    return Spline(both, evidence, spline.occam, spline.gap + found.gap), _bounded(out)


def _bounded(taken: Floats) -> Floats:
    """Return what heaps take, at most 95 % of everything."""
    return np.asarray(taken * min(1.0, 0.95 / max(float(taken.sum()), 1e-9)))


def _starts(shares: SeenShares, circular: bool) -> list[Floats]:
    """Return where to begin: without heaps, and with those that exceed their neighbours by far."""
    k = len(shares.unbiased)
    none = np.zeros(k)
    if k <= 2 * WINDOW:
        return [none]
    around = np.pad(shares.unbiased, WINDOW, mode="wrap" if circular else "reflect")
    windows = np.lib.stride_tricks.sliding_window_view(around, 2 * WINDOW + 1)
    beyond = shares.unbiased - np.median(windows, axis=1)
    out = np.where(beyond > AT_ONCE * np.sqrt(shares.noise), beyond, 0.0)
    return [none, _bounded(out)] if out.any() else [none]
