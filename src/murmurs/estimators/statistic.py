"""Statistic: one number about the answers, such as their mean, with its limits."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from murmurs.inference.fit import Target
from murmurs.present.text import p_text
from murmurs.scales.scale import Scale


@dataclass(frozen=True)
class Statistic:
    """A number with an interval that contains the truth with probability ``level``.

    ``error`` is the standard error of the unbiased value that the limits come from; quantiles,
    whose limits are those of the distribution function, have none. ``p_value`` is that of the
    hypothesis that a difference is zero. ``scale`` says how numbers are shown; shares have none.

    >>> str(Statistic("median", 41.25, 40.5, 42.0, scale=Scale((0.0, 50.0, 100.0), unit="years")))
    'median 41.2 years (95 % interval 40.5 to 42.0)'
    """

    name: str
    value: float
    low: float
    high: float
    level: float = 0.95
    target: Target = "population"
    error: float | None = None
    p_value: float | None = None
    scale: Scale | None = None
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value

    @property
    def digits(self) -> int:
        """How many digits behind the point are worth showing: a tenth of the interval's half."""
        half = (self.high - self.low) / 2
        if not (math.isfinite(half) and half > 0):
            return 2
        return max(-9, min(9, -math.floor(math.log10(half / 2))))

    def _shown(self, number: float) -> str:
        if self.scale is None:
            if math.isinf(number):
                return f"{number}"
            return f"{100 * number:.{max(0, self.digits - 2)}f}"
        return self.scale.text(number, self.digits).removesuffix(f" {self.scale.unit}")

    def __str__(self) -> str:
        unit = " %" if self.scale is None else f" {self.scale.unit}" if self.scale.unit else ""
        told = (
            f"{self.name} {self._shown(self.value)}{unit} ({100 * self.level:g} % interval "
            f"{self._shown(self.low)} to {self._shown(self.high)})"
        )
        if self.p_value is not None:
            told += f", p {'' if self.p_value < 1e-6 else '= '}{p_text(self.p_value)}"
        return told

    def to_document(self) -> dict[str, Any]:
        """Return it as plain values for JSON; a limit that is infinite is null."""
        out: dict[str, Any] = {"name": self.name}
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            out[name] = number if math.isfinite(number) else None
        out |= {"level": self.level, "target": self.target}
        if self.error is not None:
            out["error"] = self.error
        if self.p_value is not None:
            out["p_value"] = self.p_value
        if self.scale is not None and self.scale.unit:
            out["unit"] = self.scale.unit
        return out | ({"notes": list(self.notes)} if self.notes else {})

    def to_json(self) -> str:
        """Return it as a JSON document."""
        return json.dumps(self.to_document(), ensure_ascii=False)
