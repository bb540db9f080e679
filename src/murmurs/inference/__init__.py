"""Unbiased shares of counts with their noise, and intervals and tests."""

from murmurs.inference import (  # noqa: F401  # importing registers their fits
    hadamard,
    least_squares,
    product,
)
