"""The default estimator of a single question: which one suits its channel."""

from __future__ import annotations

from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
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
    fit = fitted(counts)
    if channel.collision_part(plausible(fit.unbiased), counts.n) > 0.5:
        return regression(
            counts,
            why="collisions in the sketch outweigh the noise, and its hash functions are known",
        )
    return shrink(fit, "it keeps what stands out from the noise and smooths the rest")
