"""Asserts of tests that several files import say as much as those of the files themselves."""

import pytest

pytest.register_assert_rewrite(
    "tests.engines.every_engine", "tests.engines.every_encoding", "tests.engines.every_cluster"
)
