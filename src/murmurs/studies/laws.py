"""Laws of answers for studies: how common each of k answers is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import meant
from murmurs.numerics.arrays import Floats, Integers


def uniform(k: int) -> Floats:
    """Return equal shares."""
    return np.full(k, 1 / k)


def zipf(k: int, power: float = 1.0) -> Floats:
    """Return shares proportional to 1 / rank, or to another power of it."""
    return _scaled(np.arange(1.0, k + 1) ** -power)


def geometric(k: int) -> Floats:
    """Return shares that fall by the same factor from each to the next, with mean about k / 5."""
    return _scaled(np.exp(np.arange(k) * np.log1p(-1 / (1 + k / 5))))


def sparse(k: int) -> Floats:
    """Return equal shares of a tenth of the answers, at least one; nobody holds the others."""
    held = -(-k // 10)
    return np.where(np.arange(k) < held, 1 / held, 0.0)


def point(k: int) -> Floats:
    """Return the shares when everybody holds the first answer."""
    return np.where(np.arange(k) == 0, 1.0, 0.0)


LAWS: dict[str, Callable[[int], Floats]] = {
    law.__name__: law for law in (uniform, zipf, geometric, sparse, point)
}


def shares_of(law: object, k: int, name: str) -> Floats:
    """Return the shares of a law for k answers: one of `LAWS`, a function of k, or shares.

    >>> shares_of("sparse", 20, "sparse")[:3]
    array([0.5, 0.5, 0. ])
    """
    if isinstance(law, str):
        if law not in LAWS:
            raise ValueError(
                f"there is no law {shown(law)}; choose one of {', '.join(LAWS)}, or pass shares, "
                f"or a function k -> shares{meant(law, LAWS)}"
            )
        law = LAWS[law]
    given = law(k) if callable(law) else law
    shares = np.asarray(given, np.float64)
    if shares.shape != (k,):
        raise ValueError(
            f"law {shown(name)} has shape {shares.shape}, not one share for each of {k} answers"
        )
    if not (np.isfinite(shares).all() and shares.min() >= 0 and abs(shares.sum() - 1) < 1e-6):
        raise ValueError(
            f"law {shown(name)} must be shares that are not negative and sum to one: divide by "
            "their sum"
        )
    return _scaled(shares)


def people_of(shares: Floats, n: int) -> Integers:
    """Return n people with these shares, rounded such that they add up (largest remainders).

    >>> people_of(np.array([0.5, 0.25, 0.25]), 10)
    array([5, 3, 2])
    """
    exact = n * shares
    whole = np.floor(exact).astype(np.int64)
    left = n - int(whole.sum())  # negative only if floats cannot hold n exactly
    whole[np.argsort(whole - exact, kind="stable")[: max(left, 0)]] += 1
    whole[int(whole.argmax())] += n - int(whole.sum())
    return whole


def _scaled(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum())
