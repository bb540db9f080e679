"""Mechanisms that find strings which nobody listed: by prefixes, or by n-grams."""
