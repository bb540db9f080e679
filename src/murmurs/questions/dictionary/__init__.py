"""Dictionaries of strings that nobody listed: found by growing the prefixes that people report."""
