"""What counts say: unbiased shares with their noise, and the intervals and tests made of them."""

from murmurs.inference import blocks, least_squares  # noqa: F401  # they register their fits
