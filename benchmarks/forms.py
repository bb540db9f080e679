"""What other forms of reports and answers cost, against the arrays that murmurs works on.

Counts 10^7 KRR reports from a Parquet file and from columns in memory, against the NumPy array; and
encodes 10^7 labels of a pandas Categorical and of an Arrow dictionary array, against their codes.
All in one process, wall time, the best of several rounds in which the contestants take turns.
Writes docs/results/forms.{json,md}: ``python -m benchmarks.forms``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["MURMURS_KERNELS"] = "compiled"

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import murmurs as mm
from murmurs.files.columns import read_column

RESULTS = Path(__file__).parent.parent / "docs" / "results"
K, EPSILON = 128, 1.0
COUNTING_BAR, ENCODING_BAR = 0.5, 0.7


def best(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the smallest time of each, with all of them in every round."""
    for work in works.values():
        work()
    gc.disable()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    gc.enable()
    return {name: min(found) for name, found in times.items()}


def counting(n: int, rounds: int, folder: Path) -> dict[str, float]:
    """Return the seconds to count n reports from each form; the NumPy array comes first."""
    mechanism = mm.KRR(K, EPSILON)
    answers = np.random.default_rng(1).integers(0, K, n)
    reports = mechanism.encode_many(answers, np.random.default_rng(2))
    binary = pa.FixedSizeBinaryArray.from_buffers(pa.binary(1), n, [None, pa.py_buffer(reports)])
    integers, rows = folder / "integers.parquet", folder / "binary.parquet"
    pq.write_table(pa.table({"report": reports}), integers)
    pq.write_table(pa.table({"report": binary}), rows, use_dictionary=False, compression="none")
    column = pq.read_table(integers)["report"]

    def read(path: Path) -> None:
        for _ in read_column(path, "report"):
            pass

    def from_file(path: Path) -> mm.Counts:
        return mechanism.count(chunk.values for chunk in read_column(path, "report"))

    wanted = mechanism.count(reports)
    works: dict[str, Callable[[], object]] = {
        "NumPy array": lambda: mechanism.count(reports),
        "Parquet column of integers, read already": lambda: mechanism.count(column),
        "Arrow fixed-size binary": lambda: mechanism.count(binary),
        "pandas Series": lambda: mechanism.count(pd.Series(reports)),
        "polars Series": lambda: mechanism.count(pl.Series(reports)),
        "Parquet file, integers": lambda: from_file(integers),
        "Parquet file, fixed-size binary, plain": lambda: from_file(rows),
    }
    for name, work in works.items():
        assert work() == wanted, name
    floors: dict[str, Callable[[], object]] = {
        "(reading alone, integers)": lambda: read(integers),
        "(reading alone, fixed-size binary)": lambda: read(rows),
    }
    return best(works | floors, rounds)


def encoding(n: int, rounds: int) -> dict[str, float]:
    """Return the seconds to encode n labels from each form; the codes come first."""
    question = mm.Question("drink", tuple(f"drink {j}" for j in range(K)), mm.KRR(K, EPSILON))
    rng = np.random.default_rng(3)
    codes = rng.integers(0, K, n)
    values = list(rng.permutation(question.labels))  # a column has its own order of labels
    categorical = pd.Categorical.from_codes(codes, values)
    dictionary = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values))
    secure = mm.Secure()
    return best(
        {
            "codes": lambda: question.mechanism.encode_many(codes, secure),
            "pandas Categorical": lambda: question.encode_many(categorical, secure),
            "Arrow dictionary": lambda: question.encode_many(dictionary, secure),
        },
        rounds,
    )


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")


def table(times: dict[str, float], n: int, bar: float, with_bar: set[str]) -> list[str]:
    """Return the rows of a table: speed, and the ratio to the first."""
    first = next(iter(times.values()))
    lines = ["| from | per second | ratio | bar |", "|---|---:|---:|---:|"]
    for name, seconds in times.items():
        shown = f"{bar:g}" if name in with_bar else ""
        lines.append(f"| {name} | {n / seconds:.3g} | {first / seconds:.2f} | {shown} |")
    return lines


def below(times: dict[str, float], bar: float) -> str:
    """Return which forms miss the bar, as a sentence."""
    first = next(iter(times.values()))
    missed = [name for name, seconds in times.items() if first / seconds < bar and name[0] != "("]
    return f"Below the bar of {bar:g}: {'; '.join(missed)}." if missed else "None is below the bar."


def markdown(found: dict[str, Any]) -> str:
    """Return the page."""
    n = found["n"]
    return "\n".join(
        [
            "# Forms",
            "",
            f"Written by `python -m benchmarks.forms` in one run: {n:,} reports or labels of "
            f"KRR(k={K}, epsilon={EPSILON:g}), wall time, the best of {found['rounds']} rounds in "
            f"which all take turns. {found['processor']}, {found['cores']} cores, shared; Python "
            f"{found['python']}, NumPy {found['numpy']}, pyarrow {found['pyarrow']}, pandas "
            f"{found['pandas']}, polars {found['polars']}. The ratio is the speed against the "
            "first row of the table.",
            "",
            "## Counting",
            "",
            "The rows that say file include reading the file, from the page cache: pyarrow decodes "
            "it, at the speed of the last two rows, in which nothing is counted.",
            "",
            *table(found["counting"], n, COUNTING_BAR, set(list(found["counting"])[1:-2])),
            "",
            below(found["counting"], COUNTING_BAR),
            "",
            "## Encoding",
            "",
            *table(found["encoding"], n, ENCODING_BAR, set(list(found["encoding"])[1:])),
            "",
            below(found["encoding"], ENCODING_BAR),
            "",
        ]
    )


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10**7)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counted = counting(options.n, options.rounds, Path(folder))
    found = {
        "n": options.n,
        "rounds": options.rounds,
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "pandas": pd.__version__,
        "polars": pl.__version__,
        "counting": counted,
        "encoding": encoding(options.n, options.rounds),
    }
    (options.folder / "forms.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = markdown(found)
    (options.folder / "forms.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
