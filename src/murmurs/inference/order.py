"""Whether the people of one estimate tend to have larger numbers than those of another.

One distribution lies above another if, for every number, at least as many people exceed it. Two
tests decide (Barrett and Donald 2003): whether somewhere more people exceed a number here, and
whether somewhere fewer do. Each takes the largest difference of the two distribution functions in
its standard errors, with the law that it has if the two are equal. If only one of them stands out,
one distribution lies above the other as far as the data tell; if both do, the distributions cross.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurs.inference.comparable import Comparable, common_shares
from murmurs.inference.fit import Target
from murmurs.inference.linear import corrected, exceedances
from murmurs.inference.statistic import p_said
from murmurs.scales.figures import up_to_each
from murmurs.scales.scale import Scale

LEVEL = 0.05
"""The p-value up to which a difference is said to stand out."""


@dataclass(frozen=True)
class Order:
    """Whether one distribution of numbers lies above another.

    ``p_larger`` is the p-value of the hypothesis that nowhere do more people of the first exceed a
    number, ``p_smaller`` that nowhere do fewer, and ``p_value`` that neither happens.
    """

    p_larger: float
    p_smaller: float
    target: Target = "population"
    names: tuple[str, str] = ("this", "the other")

    @property
    def p_value(self) -> float:
        """The p-value of the hypothesis that the two distributions are equal (Bonferroni)."""
        return min(1.0, 2 * min(self.p_larger, self.p_smaller))

    @property
    def sentence(self) -> str:
        """What the tests say, in one sentence."""
        one, other = self.names
        tests = f"larger somewhere: {p_said(self.p_larger)}; smaller: {p_said(self.p_smaller)}"
        half = LEVEL / 2
        if self.p_larger <= half and self.p_smaller <= half:
            return f"The distributions of {one} and {other} cross ({tests})."
        if min(self.p_larger, self.p_smaller) > half:
            return f"Neither {one} nor {other} stands out as the larger one ({tests})."
        above, below = (one, other) if self.p_larger <= half else (other, one)
        return f"Numbers of {above} tend to be larger than those of {below} ({tests})."

    def to_document(self) -> dict[str, Any]:
        """Return the tests as plain values for JSON."""
        names = ("p_larger", "p_smaller", "p_value", "target", "sentence")
        return {name: getattr(self, name) for name in names}

    def to_json(self) -> str:
        """Return the tests as a JSON document."""
        return json.dumps(self.to_document(), ensure_ascii=False)

    def __str__(self) -> str:
        return self.sentence


def order_of(
    sides: Sequence[Comparable], scale: Scale, target: Target, names: tuple[str, str]
) -> Order:
    """Test whether the distribution of the first of two estimates lies above that of the second."""
    common, groups = common_shares(sides), up_to_each(scale)
    one, other = (
        corrected(side.fit, groups, side.plausible).sums(common, target) for side in sides
    )
    noise = one.covariance + other.covariance
    error = np.sqrt(np.maximum(np.diag(noise), 0.0))
    kept = error > 1e-6 * float(error.max(initial=1e-300))
    if not kept.any():
        raise ValueError("there is no noise and no sampling to compare the distributions with")
    # Fewer people up to a number are more people that exceed it.
    exceeding = (other.values - one.values)[kept] / error[kept]
    found = exceedances(noise[np.ix_(kept, kept)], [exceeding.max(), (-exceeding).max()])
    return Order(found[0], found[1], target, names)
