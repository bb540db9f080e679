"""What all tests share: one thread each, kept bytecode, and floats that may differ at the end."""

from __future__ import annotations

import doctest
import gc
import os
import sys
from collections.abc import Generator

# Before NumPy is imported: threads that wait for each other's work are busy, with small matrices
# most of the time, and each worker of pytest-xdist would have as many as there are processors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Else every worker would rewrite all asserts again, and every process of a command compile murmurs.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
from tests.printed import check_output

sys.dont_write_bytecode = False
doctest.OutputChecker.check_output = check_output  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Look for no garbage while tests are collected, nor later among them: they all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
