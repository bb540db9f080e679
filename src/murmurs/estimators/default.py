"""The default estimator of a single question: which one suits its channel."""

from __future__ import annotations

import dataclasses
import warnings

from murmurs.channels.banded import Banded
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.methods.em import NoiseDominates, em
from murmurs.estimators.methods.regression import regression
from murmurs.estimators.methods.selection import Progress, selection
from murmurs.estimators.methods.shrinkage import shrink
from murmurs.inference.fitting import fitted
from murmurs.numerics.simplex import plausible


def single(counts: Counts, progress: Progress | None = None) -> Estimate:
    """Return the estimate of the estimator that suits the counts of one question."""
    channel = counts.channel
    if channel.is_crowded:
        why = "there are many candidates, and it picks out those that occur"
        return selection(counts, progress=progress, why=why)
    if isinstance(channel, Banded) and channel.b:
        return _most_likely(counts)
    fit = fitted(counts)
    if channel.collision_part(plausible(fit.unbiased), counts.n) > 0.5:
        return regression(
            counts,
            why="collisions in the sketch outweigh the noise, and its hash functions are known",
        )
    return shrink(fit, "it keeps what stands out from the noise and smooths the rest")


def _most_likely(counts: Counts) -> Estimate:
    """Return the most likely shares, without a warning: noise dominates single ones, not sums."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseDominates)
        found = em(counts, why="neighbouring answers have nearly the same reports")
    return dataclasses.replace(found, notes=found.fit.notes)
