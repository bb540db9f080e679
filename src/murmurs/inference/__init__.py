"""Unbiased shares of counts with their noise, and intervals and tests."""
