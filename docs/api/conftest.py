"""The examples of the reference are run where they stand, in the docstrings."""

collect_ignore_glob = ["*.md"]
