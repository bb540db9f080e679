"""The estimators: plain functions from counts to an estimate, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed, meant
from murmurs.channels.sets import SetChannel
from murmurs.counts import Counts
from murmurs.estimators.default import single
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.methods.composite import composite
from murmurs.estimators.methods.cutting import base_cut, clipped, norm_cut, normalized
from murmurs.estimators.methods.em import NoiseDominates, em
from murmurs.estimators.methods.ems import ems
from murmurs.estimators.methods.joint import independence, joint
from murmurs.estimators.methods.likelihood import likelihood
from murmurs.estimators.methods.regression import regression
from murmurs.estimators.methods.report_likelihood import report_likelihood
from murmurs.estimators.methods.selection import selection
from murmurs.estimators.methods.shrinkage import shrinkage
from murmurs.estimators.methods.simplex import simplex
from murmurs.estimators.methods.smooth import along, has_scale, smooth
from murmurs.estimators.methods.unbiased import unbiased
from murmurs.estimators.numbers import NumberEstimate
from murmurs.estimators.precondition import UnfitCountsError, usable
from murmurs.estimators.ticks import estimate_ticks
from murmurs.estimators.uncertainty import information, likelihood_covariance
from murmurs.scales.scale import Scale

__all__ = [
    "BY_NAME",
    "Estimate",
    "Estimator",
    "NoiseDominates",
    "UnfitCountsError",
    "base_cut",
    "clipped",
    "composite",
    "em",
    "ems",
    "estimate",
    "independence",
    "information",
    "joint",
    "likelihood",
    "likelihood_covariance",
    "norm_cut",
    "normalized",
    "regression",
    "report_likelihood",
    "selection",
    "shrinkage",
    "simplex",
    "single",
    "smooth",
    "unbiased",
]

BY_NAME: dict[str, Callable[[Counts], Estimate]] = {
    "shrinkage": shrinkage,
    "smooth": smooth,
    "joint": joint,
    "independence": independence,
    "unbiased": unbiased,
    "normalized": normalized,
    "simplex": simplex,
    "likelihood": likelihood,
    "composite": composite,
    "em": em,
    "ems": ems,
    "regression": regression,
    "selection": selection,
    "clipped": clipped,
    "base_cut": base_cut,
    "norm_cut": norm_cut,
}
"""All estimators of counts, by name; tests/estimators/test_every_estimator.py tests each."""


Estimator = str | Callable[[Counts], Estimate]
"""An estimator, by its name in `BY_NAME` or itself."""


def estimate(
    counts: Counts,
    estimator: Estimator | None = None,
    *,
    labels: Sequence[str] = (),
    scale: Scale | None = None,
) -> Estimate:
    """Estimate the shares, with the default estimator or the one that ``estimator`` names.

    ``labels`` name the answers in tables and plots. ``scale`` says that they have an order, as
    ``question.scale`` does; then the estimate also has their mean, quantiles and shares of ranges.

    The default for several questions is `joint`, which shrinks a table towards independence as far
    as the noise demands. For one question whose answers have an order it is `smooth`, which learns
    from neighbouring answers as far as they are alike. For any other question it is `shrinkage`,
    which is mostly better than all others; it loses where people give few of the answers and noise
    is strong. There are two exceptions, both for hashed answers. If answers in cohorts are too many
    to solve for together, or an open question has more than 50 candidates and fewer than five
    equations for each, it is `selection`, which picks those that stand out. For a mean sketch with
    more entries than answers, whose collisions add more to the error than the noise does, it is
    `regression` on the simplex, which solves for the collisions.

    >>> import murmurs as mm
    >>> rr = mm.KRR(k=2, epsilon=1.0)
    >>> estimate(rr.count([0, 0, 0, 1])).estimator
    'shrinkage'
    >>> estimate(rr.count([0, 0, 0, 1]), "simplex", labels=["tea", "mate"])
    Estimate(n=4, estimator='simplex', {tea: 1, mate: 0})
    """
    if isinstance(getattr(counts, "channel", None), SetChannel):
        return estimate_ticks(counts, estimator, tuple(labels))
    known = usable(counts).mechanism.labels
    if known and len(labels) and tuple(labels) != known:
        raise ValueError(
            f"counts of {counts.mechanism} have the labels {listed(known)}: leave labels out"
        )
    if estimator is None:
        found = _default(counts, scale)
    elif scale is not None and estimator in ("smooth", smooth):
        found = smooth(counts, widths=scale.widths, circular=scale.circular)
    else:
        found = _named(estimator)(counts)
    found = found.with_labels(tuple(labels)) if len(labels) else found
    return found if scale is None else NumberEstimate.of(found, scale)


def _named(estimator: object) -> Callable[[Counts], Estimate]:
    if callable(estimator):
        return estimator
    if not isinstance(estimator, str) or estimator not in BY_NAME:
        raise ValueError(
            f"there is no estimator {shown(estimator)}; choose one of {', '.join(BY_NAME)}"
            f"{meant(estimator, BY_NAME)}"
        )
    return BY_NAME[estimator]


def _default(counts: Counts, scale: Scale | None) -> Estimate:
    if scale is not None and has_scale(counts):
        return along(counts, scale)
    if counts.channel.factors:
        return joint(counts, why="it keeps the association that stands out from the noise")
    return single(counts)
