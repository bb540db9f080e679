"""From counts to unbiased shares with their noise, and to intervals and tests."""

from murmurs.inference import hadamard, least_squares  # noqa: F401  # they register their fits
