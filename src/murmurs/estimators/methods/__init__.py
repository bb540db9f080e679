"""The estimators that have a name, one file each."""
