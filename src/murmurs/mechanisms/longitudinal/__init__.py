"""Mechanisms for repeated questions: a permanent response, and reports made from it."""
