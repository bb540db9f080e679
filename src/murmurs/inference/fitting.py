"""Which fit suits which channel."""

from __future__ import annotations

from murmurs.channels.banded import Banded
from murmurs.channels.blocks import HadamardBlocks
from murmurs.channels.hashed import Sketch
from murmurs.channels.histogram import Histogram
from murmurs.channels.ngrams import NGramsChannel
from murmurs.channels.product import ProductChannel
from murmurs.channels.sets import SetChannel
from murmurs.channels.symmetric import Symmetric
from murmurs.counts import Counts
from murmurs.inference.direct import BandedFit, DirectFit
from murmurs.inference.fit import Fit
from murmurs.inference.hadamard import BlockFit
from murmurs.inference.least_squares import hashed_fit
from murmurs.inference.product import ProductFit
from murmurs.inference.sets import SetFit


def fitted(counts: Counts) -> Fit:
    """Return the unbiased shares of counts with their noise, as suits their channel.

    >>> from murmurs import KRR, Hadamard
    >>> [type(fitted(kind(k=4, epsilon=1.0).count([0, 1]))).__name__ for kind in (KRR, Hadamard)]
    ['DirectFit', 'BlockFit']
    """
    match counts.channel:
        case ProductChannel():
            return ProductFit(counts)
        case HadamardBlocks():
            return BlockFit(counts)
        case Sketch() | NGramsChannel():
            return hashed_fit(counts)
        case SetChannel():
            return SetFit(counts)
        case Banded() as channel if channel.b:
            return BandedFit(counts)
        case Symmetric() | Histogram():
            return DirectFit(counts)
        case _:
            return Fit(counts)
