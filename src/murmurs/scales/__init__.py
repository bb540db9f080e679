"""Scales: numbers, dates, durations and scores as answers, in buckets that have an order."""
