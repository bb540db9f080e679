"""Another processor's rounding on this one: ``python -m tests.other_processor COMMAND ...``.

Logarithms, sums and products of matrices differ in their last digits between processors, because
libraries choose other instructions on each. They can be told not to use those that came with
wider registers and fused multiplication, which gives the results of a processor without them.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
from importlib import import_module

import numpy as np


def environment() -> dict[str, str]:
    """Return variables under which NumPy, OpenBLAS, the C library and numba round otherwise."""
    # Their names differ between versions of NumPy, which tells them nowhere else but in print.
    core = import_module("numpy._core._multiarray_umath")
    used = [feature for feature in core.__cpu_dispatch__ if core.__cpu_features__[feature]]
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(used),
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4",
        "NUMBA_CPU_NAME": "generic",
    }


def rounding() -> str:
    """Return a digest of results whose last digits depend on the processor."""
    numbers = np.random.default_rng(0).random((200, 200))
    results = [numbers @ numbers, np.array([math.log(x) for x in numbers.ravel()])]
    return hashlib.sha256(b"".join(part.tobytes() for part in results)).hexdigest()


def main() -> None:
    """Run a command under another rounding."""
    os.execvpe(sys.argv[1], sys.argv[1:], {**os.environ, **environment()})


if __name__ == "__main__":
    main()
