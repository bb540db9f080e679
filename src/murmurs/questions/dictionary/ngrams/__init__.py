"""Dictionaries by n-grams: the published method, kept to be compared with."""
