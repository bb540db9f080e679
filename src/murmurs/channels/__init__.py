"""The channels: the distributions of the count cells of the mechanisms."""

from murmurs.channels.channel import Channel
from murmurs.channels.matrix import MatrixChannel

__all__ = ["Channel", "MatrixChannel"]
