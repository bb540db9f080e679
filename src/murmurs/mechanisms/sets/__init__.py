"""Mechanisms whose answers are sets: tick all that apply."""
