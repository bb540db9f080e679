"""Which mechanism a question with several answers gets when none is named, and why."""

from __future__ import annotations

import math
from typing import NamedTuple

from murmurs.mechanisms.sets.one_label import OneLabel
from murmurs.mechanisms.sets.privset import More, PrivSet
from murmurs.mechanisms.sets.sizes import best_sizes, usual_share


class ChosenForSets(NamedTuple):
    """A mechanism and the reason for it, as part of a sentence after "because"."""

    mechanism: PrivSet | OneLabel
    why: str


def one_label_variance(k: int, epsilon: float, share: float) -> float:
    """Return the variance of a share among the respondents, times n, if one label is drawn.

    >>> round(one_label_variance(4, 0.5, 0.25), 1)
    16.2
    """
    noise = math.exp(-epsilon) / math.expm1(-epsilon) ** 2
    return k * noise + (k - 1) * share * (1 - share)


def choose_for_sets(
    k: int, most: int, epsilon: float, *, pairs: bool = False, more: More = "refuse"
) -> ChosenForSets:
    """Return the mechanism with the smaller error, at the share that is usual.

    >>> choose_for_sets(30, 3, 1.0)
    ChosenForSets(mechanism=PrivSet(k=30, most=3, epsilon=1.0, w=3), why='drawing one label would
    have 1.70 times the error')
    >>> choose_for_sets(4, 3, 1.0)
    ChosenForSets(mechanism=OneLabel(k=4, epsilon=1.0), why='people may tick nearly all answers, and
    sets of items would have 1.13 times the error')
    """
    made = PrivSet(k=k, most=most, epsilon=epsilon, pairs=pairs, more=more)
    if pairs:
        return ChosenForSets(made, "only sets of items show which answers go together")
    if k == 1:
        return ChosenForSets(made, "there is one answer")
    one = one_label_variance(k, made.epsilon, usual_share(k, made.most))
    sets = best_sizes(k, made.most, made.epsilon).variance
    times = math.sqrt(max(one, sets) / min(one, sets))
    told = f"{times:.2f}" if times < 1.995 else f"{times:.1f}"
    if one < sets * (1 - 1e-9):
        return ChosenForSets(
            OneLabel(k=k, epsilon=epsilon),
            f"people may tick nearly all answers, and sets of items would have {told} times the "
            "error",
        )
    return ChosenForSets(made, f"drawing one label would have {told} times the error")
