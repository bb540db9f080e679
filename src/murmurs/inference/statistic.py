"""Statistic: one number about the answers, such as their mean, with its limits."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from murmurs.inference.fit import Target
from murmurs.present.text import p_text
from murmurs.scales.scale import Scale
from murmurs.scales.values import value_text


@dataclass(frozen=True)
class Statistic:
    """A number with an interval that contains the truth with probability ``level``.

    ``unbiased`` is the value that the limits are about, whichever estimator was used, and ``error``
    its standard error; quantiles, whose limits are those of the distribution function, have none.
    ``scale`` says how numbers are shown; shares have none. A change or a slope has the ``p_value``
    of the hypothesis that it is zero, and says ``per`` what it is.

    >>> str(Statistic("median", 41.25, 40.5, 42.0, scale=Scale((0.0, 50.0, 100.0), unit="years")))
    'median 41.2 years (95 % interval 40.5 to 42.0)'
    >>> str(Statistic("share from 60 on", -0.021, -0.032, -0.01, p_value=0.0004, is_change=True))
    'share from 60 on -2.1 points (95 % interval -3.2 to -1.0), p = 4.0e-04'
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
    unbiased: float | None = None
    is_change: bool = False
    per: str = ""

    def __float__(self) -> float:
        return self.value

    @property
    def digits(self) -> int:
        """How many digits behind the point are worth showing: a tenth of the interval's half."""
        half = abs(self.high - self.low) / 2
        if not (math.isfinite(half) and half > 0):
            numbers = [self.value, self.low, self.high]
            near = (abs(one - round(one)) < 1e-6 for one in numbers if math.isfinite(one))
            return 0 if self.scale is not None and (half > 0 or all(near)) else 2
        return max(-9, min(9, -math.floor(math.log10(half / 2))))

    @property
    def unit(self) -> str:
        """What is counted: "%" or points for shares, the unit of the scale, or days for dates."""
        if self.scale is None:
            return "points" if self.is_change else "%"
        return "days" if self.is_change and self.scale.kind == "dates" else self.scale.unit

    def shown(self, number: float, digits: int | None = None) -> str:
        """Return a number as tables show it, without the unit."""
        own = self.digits if digits is None else digits
        sign = "+" if self.is_change and number > 0 else ""
        if math.isinf(number):
            if self.is_change or self.scale is None or not self.scale.is_open_ended:
                return f"{sign}{number}"
            return self.scale.at_end(number)
        if self.scale is None:
            text = f"{100 * number:.{max(0, own - 2)}f}"
        else:
            dates = self.is_change and self.scale.kind == "dates"
            text = value_text(number, "numbers", own) if dates else self.scale.grouped(number, own)
        if text.startswith("-") and not text.strip("-0.:"):
            text = text[1:]
        return text if not text.strip("0.:") else sign + text

    def __str__(self) -> str:
        told = " ".join(filter(None, [self.name, self.shown(self.value), self.unit, self.per]))
        told += (
            f" ({100 * self.level:g} % interval {self.shown(self.low)} to {self.shown(self.high)})"
        )
        if self.p_value is not None:
            told += f", {p_said(self.p_value)}"
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
        if self.scale is not None and self.unit:
            out["unit"] = self.unit
        if self.per:
            out["per"] = self.per
        return out | ({"notes": list(self.notes)} if self.notes else {})

    def to_json(self) -> str:
        """Return it as a JSON document."""
        return json.dumps(self.to_document(), ensure_ascii=False)


def p_said(p_value: float) -> str:
    """Return a p-value as a sentence has it.

    >>> p_said(0.2), p_said(1e-9)
    ('p = 0.20', 'p < 1e-6')
    """
    return f"p {'' if p_value < 1e-6 else '= '}{p_text(p_value)}"
