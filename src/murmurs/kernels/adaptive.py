"""The kernels of NumPy, until their work would have paid for loading the compiled ones.

Importing numba takes as long as counting some hundred million reports in NumPy. It is put off until
the work asked for so far would have taken NumPy that long, so that no program takes much more than
twice the time of the better choice (the rule for renting skis or buying them). A single large call
goes to the compiled kernels at once.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from murmurs.kernels import Kernels

LOADING = 1.0
"""Seconds that it takes to import numba and to read what it compiled before, about."""

SECONDS: dict[str, Callable[..., float]] = {
    "bits": lambda words, threshold, spare, out: 5e-5 + 6e-8 * len(out),
    "below": lambda words, bound, spare, out: (
        # What is redrawn is redrawn one by one.
        1e-5 + len(words) * (4e-9 + 1.5e-6 * (2**32 % bound / 2**32))
    ),
    "subsets": lambda own, k, w, words, spare, out: (
        1e-4 + 2e-5 * w + len(own) * (5e-7 + 1.6e-8 * k)
    ),
    "histogram": lambda values, size: 1e-5 + 2e-9 * (len(values) + size),
    "bit_totals": lambda packed, k: 1e-5 + len(packed) * (4e-8 + 1e-10 * k),
    "support_totals": lambda seeds, low, width, k: 4e-5 + 1.2e-8 * len(seeds) * k,
    "places": lambda keys, salt, rows, width, hashes: rows * hashes * (3e-5 + 8e-9 * keys.shape[1]),
    "gather": lambda places, table: 2e-6 * len(places) + 3e-9 * places.size,
    "scatter": lambda places, values, size: 3e-6 * len(places) + 3e-9 * places.size,
    "gram": lambda places, table, hashes: (
        2e-4 + 2e-8 * (places.size + places.size**2 / len(table))  # by pairs in a place
    ),
    "support_likelihood": lambda rows, shares, excess: 6e-5 + 6e-9 * rows.size,
}
"""What a call takes in NumPy, as measured; half or twice as much does no harm."""

ROUNDED = {"support_likelihood": 100}
"""Kernels whose two forms round differently, and about how often an estimate calls them.

Their form depends on the size of the call alone: the same call gives the same result whatever was
done before. The results of all others are equal to the last bit, so their form may change anytime.
"""


class Adaptive:
    """Kernels that are those of NumPy or the compiled ones, whichever a call is better done by."""

    def __init__(self) -> None:
        self._asked = 0.0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in SECONDS:
            raise AttributeError(f"there is no kernel {name!r}")

        def kernel(*arguments: Any) -> Any:
            return getattr(self.form(name, *arguments), name)(*arguments)

        setattr(self, name, kernel)  # the next look-up finds it
        return kernel

    def form(self, name: str, *arguments: Any) -> Kernels:
        """Return the form that does this call, and remember that it was asked for."""
        asked = SECONDS[name](*arguments)
        if name in ROUNDED:
            return _load(ROUNDED[name] * asked >= LOADING)
        # Two threads may lose a little of each other's work here, which only delays the change.
        self._asked += asked
        return _load(self._asked >= LOADING)


def _load(compiled: bool) -> Kernels:
    if not compiled:
        return cast(Kernels, import_module("murmurs.kernels.reference"))
    try:
        return cast(Kernels, import_module("murmurs.kernels.compiled"))
    except ImportError as error:
        raise ImportError(
            f"numba is installed but cannot be imported ({error}): mend it, or set "
            "MURMURS_KERNELS=reference to do without"
        ) from error
