"""The fit of a joint table: covariances of shares that are products along the axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from murmurs.channels.product import ProductChannel
from murmurs.inference.fit import Fit, Target
from murmurs.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class ProductFit(Fit):
    """The unbiased table of combinations, with the noise of a product of mechanisms."""

    @property
    def channel(self) -> ProductChannel:
        """The law of the table."""
        return cast(ProductChannel, self.counts.channel)

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the unbiased shares if these shares are true."""
        mean = np.diag(shares) if target == "respondents" else np.outer(shares, shares)
        return np.asarray((self.channel.second_moments(shares) - mean) / self.n)
