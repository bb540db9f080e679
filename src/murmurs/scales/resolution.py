"""How wide buckets should be if nothing is said: as wide as the mean is uncertain."""

from __future__ import annotations

import math

from murmurs.boundary.texts import numbered

ASSUMED_PEOPLE = 10_000
"""The people that buckets are made for if nobody says how many will answer."""

FEWEST, MOST = 12, 200
"""Buckets that are chosen at least and at most."""


def chosen_width(
    size: float, whole: bool, epsilon: float | None, people: int | None
) -> tuple[float, str]:
    """Return the width of buckets for a range of this size, and why.

    Narrower buckets cost no accuracy of means and quantiles, but each bucket by itself is known
    less; buckets that are wider than the mean is uncertain blur it. The standard error of the mean
    is that of `SquareWave` for answers that are spread evenly.

    >>> chosen_width(100.0, whole=False, epsilon=1.0, people=10_000)
    (1.0, 'that is how uncertain the mean of 10,000 people will be')
    """
    n = people or ASSUMED_PEOPLE
    error = mean_error(1.0 if epsilon is None else epsilon) / math.sqrt(n)
    wanted = size * min(max(error, 1 / MOST), 1 / FEWEST)
    width = _round(wanted, whole)
    assumed = (
        "" if people else f" (people=... is not given, so {numbered(n, 'person')} are assumed)"
    )
    if 1 / MOST <= error <= 1 / FEWEST:
        why = f"that is how uncertain the mean of {numbered(n, 'person')} will be"
    elif error < 1 / MOST:
        why = f"more than {MOST} buckets are rarely wanted"
    else:
        why = f"fewer than {FEWEST} buckets would hide the shape"
    return width, why + assumed


def mean_error(epsilon: float) -> float:
    """Return the standard error of the mean of one report, in units of the range, about."""
    a, far = math.exp(min(epsilon, 30.0)), reach(epsilon)
    truth = 2 * far * (a - 1) / (2 * far * a + 1)
    # The report is uniform on the window with probability `truth`, else on the whole line.
    spread = truth * (1 / 12 + far**2 / 3) + (1 - truth) * (1 + 2 * far) ** 2 / 12
    return math.sqrt(spread) / max(truth, 1e-9)


def reach(epsilon: float) -> float:
    """Return how far a window of `SquareWave` reaches to each side, as a part of the range."""
    return min(0.5, 0.56 * math.exp(-epsilon / 2))


def _round(width: float, whole: bool) -> float:
    """Return the nearest of 1, 2, 2.5 and 5 times a power of ten; a whole one if it must be."""
    power = 10.0 ** math.floor(math.log10(width))
    found = power * min((1.0, 2.0, 2.5, 5.0, 10.0), key=lambda step: abs(step - width / power))
    if whole:
        return float(max(1, math.ceil(found)))
    return float(f"{found:.12g}")
