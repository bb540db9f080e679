"""The kernels of NumPy, replaced by compiled ones once there is enough work to pay for numba.

Importing numba takes as long as counting some hundred million reports in NumPy. It is delayed until
the work so far would have taken NumPy that long, so no program takes much more than twice the time
of the better choice (the ski rental problem). A single large call goes to the compiled kernels at
once.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from murmurs.kernels import Kernels

LOADING = 1.0
"""Approximate seconds to import numba and read what it compiled before."""

SECONDS: dict[str, Callable[..., float]] = {
    "bits": lambda words, threshold, spare, out: 5e-5 + 6e-8 * len(out),
    "lanes": lambda planes, digits, ones, places: 4e-5 + ones.size * (3e-9 + 3e-10 * len(digits)),
    "below": lambda words, bound, spare, out: (
        # Numbers are redrawn one by one.
        1e-5 + len(words) * (4e-9 + 1.5e-6 * (2**32 % bound / 2**32))
    ),
    "subsets": lambda own, k, w, words, spare, out: (
        1e-4 + 2e-5 * w + len(own) * (5e-7 + 1.6e-8 * k)
    ),
    "histogram": lambda values, size: 1e-5 + 2e-9 * (len(values) + size),
    "sharded": lambda hashes, count: 2e-5 + 2e-8 * len(hashes),
    "repeated": lambda hashes: 1e-5 + 5e-8 * len(hashes),
    "bit_totals": lambda packed, k: 1e-5 + len(packed) * (4e-8 + 1e-10 * k),
    "support_totals": lambda seeds, low, width, k: 4e-5 + 1.2e-8 * len(seeds) * k,
    "text_keys": lambda letters, sizes, table, widths: 2e-6 * len(sizes) + 1e-7 * letters.size,
    "places": lambda keys, salt, rows, width, hashes: rows * hashes * (3e-5 + 8e-9 * keys.shape[1]),
    "gather": lambda places, table: 2e-6 * len(places) + 3e-9 * places.size,
    "hashed_totals": lambda keys, salt, rows, width, hashes, tables: (
        rows * hashes * (4e-5 + (8e-9 + 3e-9 * len(tables)) * keys.shape[1])
    ),
    "scatter": lambda places, values, size: 3e-6 * len(places) + 3e-9 * places.size,
    "gram": lambda places, table, hashes: (
        2e-4 + 2e-8 * (places.size + places.size**2 / len(table))  # pairs of keys in a bucket
    ),
    "support_likelihood": lambda rows, shares, excess: 6e-5 + 6e-9 * rows.size,
    "pair_likelihood": lambda one, two, table, excess: (
        1e-4 + len(one) * (4e-9 * (len(table) + table.shape[1]) + 1e-10 * table.size)
    ),
}
"""Seconds that a call takes in NumPy, as measured; an error of a factor of two does no harm."""

ROUNDED = {"support_likelihood": 100, "pair_likelihood": 100}
"""Kernels whose two forms round differently, and about how often an estimate calls them.

Their form depends only on the size of the call, so the same call always gives the same result. All
other kernels give results equal to the last bit, so their form may change at any time.
"""


class Adaptive:
    """The kernels of NumPy or the compiled ones, whichever suits each call better."""

    def __init__(self) -> None:
        self._asked = 0.0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in SECONDS:
            raise AttributeError(f"there is no kernel {name!r}")

        def kernel(*arguments: Any) -> Any:
            return getattr(self.form(name, *arguments), name)(*arguments)

        setattr(self, name, kernel)  # the next lookup finds it directly
        return kernel

    def form(self, name: str, *arguments: Any) -> Kernels:
        """Return the form to use for this call, and add the call to the work so far."""
        asked = SECONDS[name](*arguments)
        if name in ROUNDED:
            return _load(ROUNDED[name] * asked >= LOADING)
        # Threads may overwrite each other's additions here, which only delays the change.
        self._asked += asked
        return _load(self._asked >= LOADING)


def _load(compiled: bool) -> Kernels:
    if not compiled:
        return cast(Kernels, import_module("murmurs.kernels.reference"))
    try:
        return cast(Kernels, import_module("murmurs.kernels.compiled"))
    except ImportError as error:
        raise ImportError(
            f"numba is installed but cannot be imported ({error}): repair it, or set "
            "MURMURS_KERNELS=reference to do without it"
        ) from error
