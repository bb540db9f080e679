"""Chi-square tests of draws against exact laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import scipy.stats

FALSE_ALARM = 1e-7
"""Chance that one such test fails although the law is right."""


def p_value(draws: Iterable[Hashable], law: Mapping[Any, Any]) -> float:
    """Return the p-value of Pearson's test; outcomes expected fewer than 8 times are joined."""
    seen = Counter(draws)
    n = sum(seen.values())
    if any(outcome not in law for outcome in seen):
        return 0.0
    rare_seen, rare_expected, statistic, terms = 0, 0.0, 0.0, 0
    for outcome, weight in law.items():
        expected = n * float(weight)
        if expected < 8:
            rare_seen, rare_expected = rare_seen + seen[outcome], rare_expected + expected
        else:
            statistic += (seen[outcome] - expected) ** 2 / expected
            terms += 1
    if rare_expected >= 8:
        statistic += (rare_seen - rare_expected) ** 2 / rare_expected
        terms += 1
    if terms < 2:
        raise ValueError("too few draws to compare with this law")
    return float(scipy.stats.chi2.sf(statistic, terms - 1))
