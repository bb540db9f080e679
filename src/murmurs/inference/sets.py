"""The fit of reports about sets: tick all that apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from murmurs.channels.sets import OneOfSet, SetChannel, SetSupport
from murmurs.inference.fit import Fit, Target
from murmurs.inference.intervals import Scale, limits
from murmurs.inference.tails import Support, tail_limits
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.special import chi_square_tail

UNEVEN = 1e-6
"""The p-value below which devices did not draw their labels evenly."""


@dataclass(frozen=True, eq=False)
class SetFit(Fit):
    """The unbiased shares of labels of which people may tick several, with their noise."""

    @property
    def law(self) -> SetChannel:
        """The law of the cells."""
        return cast(SetChannel, self.channel)

    @property
    def asked(self) -> Integers:
        """How many reports say anything about each label."""
        return self.law.asked(self.counts.cells, self.n)

    @property
    def is_drawn(self) -> bool:
        """Whether each report is about one label, which was drawn."""
        return isinstance(self.channel, OneOfSet)

    def sampled(self, target: Target) -> float:
        """Return what drawing people adds to the variance of a share x, over x (1 - x).

        If each of them is asked for one label, those who are asked for it are drawn, too. The
        smallest such number is taken for all labels: `noise` has what the others have more.
        """
        drawn = self.counts.again / max(self.counts.people, 1) if target == "population" else 0.0
        if not self.is_drawn:
            return drawn
        return max(self.counts.again / max(int(self.asked.max()), 1) - 1 / self.n + drawn, 0.0)

    def limits(self, scale: Scale, level: float) -> Floats:
        """Return lower and upper limits of the shares, exact where few reports support a label."""
        if not self.is_drawn:
            return super().limits(scale, level)
        usual, asked = limits(self.unbiased, scale, level), self.asked
        support = self.law.supporting(self.counts.cells)
        for label, number in enumerate(asked.tolist()):
            if number == 0:
                usual[label] = 0.0, 1.0
                continue
            law = Support(number, self.law.hit, self.law.miss, sampled=True)
            own = slice(label, label + 1)
            usual[own] = tail_limits(support[own], law, level, usual[own])
        return usual

    @property
    def pair_table(self) -> Integers | None:
        """How many reports have both of two labels, if counts keep that."""
        channel = self.channel
        if not (isinstance(channel, SetSupport) and channel.pairs):
            return None
        return channel.pair_table(self.counts.cells)

    @property
    def has_covariance(self) -> bool:
        """Whether counts of pairs tell how the labels vary together."""
        return self.pair_table is not None and super().has_covariance

    def both(self) -> Floats:
        """Return the unbiased shares of people who ticked both of two labels."""
        table, channel = self.pair_table, self.channel
        if table is None or not isinstance(channel, SetSupport):
            raise TypeError(
                f"counts of {self.counts.mechanism} do not say which labels go together"
            )
        none, one, two = (float(chance) for chance in channel.together)
        either = self.unbiased[:, None] + self.unbiased[None, :]
        found = (table / self.n - none - (one - none) * either) / (two - 2 * one + none)
        np.fill_diagonal(found, self.unbiased)
        return np.asarray(found)

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the shares: their variances, with the correlation of reports."""
        table = self.pair_table
        if table is None:
            raise TypeError(
                f"counts of {self.counts.mechanism} do not say how the shares vary together: ask "
                "with pairs=True, or for each label by itself"
            )
        n, law = self.n, self.law
        part = np.diag(table) / n
        found = (table / n - np.multiply.outer(part, part)) / (n * float(law.hit - law.miss) ** 2)
        if target == "respondents":
            own = np.clip(self.unbiased, 0, 1)
            most = np.minimum.outer(own, own)
            least = np.maximum(np.add.outer(own, own) - 1, 0)
            found -= (np.clip(self.both(), least, most) - np.multiply.outer(own, own)) / n
            values, vectors = np.linalg.eigh(found)
            found = (vectors * np.maximum(values, 0)) @ vectors.T
        constant, slope = self.noise(shares)
        wanted = constant + slope * shares
        if target == "population":
            wanted = wanted + shares * (1 - shares) / n
        scale = np.sqrt(np.maximum(wanted, 0) / np.maximum(np.diag(found), 1e-300))
        return np.asarray(found * np.multiply.outer(scale, scale))

    def covariance_of(self, shares: Floats, target: Target) -> Floats:
        """Return the same for people who may have been asked again, with new noise each time."""
        once = self.covariance(shares, target)
        if target == "respondents" or self.counts.again == 1:
            return once
        return np.asarray(once * self.counts.again)  # more than enough: noise averages out

    @property
    def unevenness(self) -> float:
        """The p-value of the hypothesis that devices drew their labels evenly."""
        if not self.is_drawn or self.n == 0:
            return 1.0
        mean = self.n / self.law.k
        return chi_square_tail(float(((self.asked - mean) ** 2).sum()) / mean, self.law.k - 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the fit before using it."""
        if self.unevenness >= UNEVEN:
            return super().notes
        label = int(self.asked.argmax())
        return (
            *super().notes,
            f"devices did not draw labels evenly: {int(self.asked[label]):,} of {self.n:,} reports "
            f"are about label {label} (from 0), where {self.n / self.law.k:,.0f} are expected; "
            "whoever controls many devices may have chosen what they report about",
        )
