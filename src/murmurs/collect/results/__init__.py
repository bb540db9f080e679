"""Results: which reports they may use, how they are computed, and whose turn it is."""
