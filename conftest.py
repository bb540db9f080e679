"""What all tests share: one thread each, and examples that may differ in the last digits."""

from __future__ import annotations

import doctest
import os

# Before NumPy is imported: threads that wait for each other's work are busy, with small matrices
# most of the time, and each worker of pytest-xdist would have as many as there are processors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.printed import check_output

doctest.OutputChecker.check_output = check_output  # type: ignore[method-assign]
