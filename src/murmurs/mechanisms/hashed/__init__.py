"""Mechanisms that hash answers to buckets, for strings and for long lists."""
