"""The check of its argument that every estimator starts with."""

from __future__ import annotations

from murmurs.channels.sets import SetChannel
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate


class UnfitCountsError(ValueError):
    """Counts that one estimator cannot use; ``on_command_line`` is the message with options."""

    def __init__(self, rule: str, method: str, also: str = "") -> None:
        super().__init__(f"{rule}: use {method}(counts){also}")
        self.on_command_line = f"{rule}: use --estimator {method}"


def usable(counts: object) -> Counts:
    """Return counts that shares can be estimated from; refuse others with what to do instead.

    >>> usable([1, 2, 2])
    Traceback (most recent call last):
    TypeError: an estimator takes Counts, not list: add reports up first, mechanism.count(reports)
    """
    if isinstance(counts, Estimate):
        raise TypeError("an estimator takes Counts, not Estimate: pass its .counts")
    if isinstance(counts, tuple) and any(isinstance(part, Counts) for part in counts):
        raise TypeError(
            "an estimator takes Counts, not tuple: read_counts returns (question, counts): pass "
            "the counts"
        )
    if not isinstance(counts, Counts):
        raise TypeError(
            f"an estimator takes Counts, not {type(counts).__name__}: add reports up first, "
            "mechanism.count(reports)"
        )
    if counts.n == 0:
        raise ValueError("there are no reports to estimate from")
    if isinstance(counts.channel, SetChannel):
        raise ValueError(
            f"{counts.mechanism} takes several answers, whose shares do not add up to one: use "
            "murmurs.estimate(counts), or estimate of the question"
        )
    if counts.channel.other == 0:
        raise ValueError(
            f"{counts.mechanism} asks an open question: say which strings to look for, with "
            "counts.over(candidates)"
        )
    return counts
