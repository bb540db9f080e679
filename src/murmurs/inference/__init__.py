"""Unbiased shares of counts with their noise, and intervals and tests."""

from murmurs.inference import hadamard, least_squares  # noqa: F401  # importing registers their fits
