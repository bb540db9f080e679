"""The channels: the laws that the mechanisms' cells follow."""
