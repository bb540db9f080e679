"""The channels: the distributions of the count cells of the mechanisms."""
