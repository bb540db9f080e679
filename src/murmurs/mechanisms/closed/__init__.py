"""Mechanisms for a fixed list of answers, without hash functions."""
