"""The channels: the laws of the count cells of the mechanisms."""
