"""What it costs to read submissions, and what a client costs a device.

Reads requests in all forms, with one submission of 100 people, 100 submissions of one person, one
submission of one person, and 10,000 people, for a report of each shape; and lets clients answer.
One process, processor time, the best of several rounds. Writes docs/results/submissions.{json,md}:
``python -m benchmarks.submissions``.
"""

from __future__ import annotations

import argparse
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

import numpy as np
from benchmarks.forms import processor

import murmurs as mm
from murmurs.client import Client
from murmurs.submission import SubmissionForm, batches_in_bytes, batches_in_json

RESULTS = Path(__file__).parent.parent / "docs" / "results"
MECHANISMS: list[Any] = [
    mm.KRR(k=10, epsilon=1.0),
    mm.OUE(k=100, epsilon=1.0),
    mm.Subset(k=20, epsilon=1.0),
    mm.LocalHashing(k=100, epsilon=2.0),
    mm.CountMeanSketch(k=100, epsilon=1.0, rows=16, width=64),
]


def best(work: Callable[[], object], rounds: int, seconds: float = 0.05) -> float:
    """Return the smallest processor time of one call, over rounds of several calls each."""
    work()
    start = time.process_time()
    work()
    calls = max(1, int(seconds / max(time.process_time() - start, 1e-6)))
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            work()
        times.append((time.process_time() - start) / calls)
    return min(times)


def reading(mechanism: Any, rounds: int) -> dict[str, float]:
    """Return how many reports per second are read from each kind of request."""
    question = mm.Question("drink", [f"answer {i}" for i in range(mechanism.k)], mechanism)
    form = SubmissionForm(mm.Survey("coffee", (question,)))
    rng = np.random.default_rng(1)
    reports = mechanism.encode_many(rng.integers(0, mechanism.k, 10_000), rng)
    singles = [form.make({"drink": reports[i : i + 1]}) for i in range(100)]
    hundred, many = form.make({"drink": reports[:100]}), form.make({"drink": reports})
    of = {form.fingerprint: form}.__getitem__
    text, data = form.to_json(hundred), form.to_bytes(hundred)
    texts = b"[" + b",".join(map(form.to_json, singles)) + b"]"
    datas = b"".join(map(form.to_bytes, singles))
    one, one_data, large = form.to_json(singles[0]), form.to_bytes(singles[0]), form.to_bytes(many)
    works: dict[str, tuple[int, Callable[[], object]]] = {
        "JSON, 100 people in one": (100, lambda: batches_in_json(text, of)),
        "JSON, 100 submissions": (100, lambda: batches_in_json(texts, of)),
        "JSON, one": (1, lambda: batches_in_json(one, of)),
        "bytes, 10,000 people in one": (10_000, lambda: batches_in_bytes(large, of)),
        "bytes, 100 people in one": (100, lambda: batches_in_bytes(data, of)),
        "bytes, 100 submissions": (100, lambda: batches_in_bytes(datas, of)),
        "bytes, one": (1, lambda: batches_in_bytes(one_data, of)),
    }
    return {name: n / best(work, rounds) for name, (n, work) in works.items()}


def answering(rounds: int, folder: Path) -> dict[str, float]:
    """Return the seconds that an answer takes a client, by where its state is."""
    survey = mm.Survey.from_toml("""
        name = "coffee"
        [[questions]]
        name = "drink"
        labels = ["espresso", "filter", "tea", "nothing"]
        epsilon = 1.0
    """)
    answer = {"drink": "tea"}
    return {
        "a mapping": best(lambda: Client(survey, {}).answer(answer), rounds),
        "a file": best(lambda: _in_file(survey, answer, folder / "me.json"), rounds),
    }


def _in_file(survey: mm.Survey, answer: dict[str, str], path: Path) -> None:
    Client(survey, path).answer(answer)
    path.unlink()


def page(found: dict[str, Any]) -> str:
    """Return the page of results."""
    kinds = list(next(iter(found["reading"].values())))
    lines = [
        "# Submissions",
        "",
        "Written by `python -m benchmarks.submissions`: processor time of one process, the best "
        f"of {found['rounds']} rounds. {found['machine']}.",
        "",
        "## Reading",
        "",
        "Reports per second that are read from requests and checked against the survey, for a "
        "report of each shape:",
        "",
        f"| request | {' | '.join(found['reading'])} |",
        f"|---|{'---:|' * len(found['reading'])}",
    ]
    for kind in kinds:
        numbers = (f"{speeds[kind]:,.0f}" for speeds in found["reading"].values())
        lines.append(f"| {kind} | {' | '.join(numbers)} |")
    lines += [
        "",
        "## Answering",
        "",
        "Processor time of a new client that answers one question: reading the state, making the "
        "report, sealing and saving it. A file also waits for the disk.",
        "",
        "| state in | milliseconds |",
        "|---|---:|",
    ]
    lines += [f"| {name} | {1000 * time:.2f} |" for name, time in found["answering"].items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "rounds": rounds,
            "machine": f"{processor()}, {os.cpu_count()} cores, shared; Python "
            f"{platform.python_version()}, NumPy {np.__version__}",
            "reading": {type(m).__name__: reading(m, rounds) for m in MECHANISMS},
            "answering": answering(rounds, Path(folder)),
        }
    (RESULTS / "submissions.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "submissions.md").write_text(page(found), encoding="utf-8")
    print(page(found))


if __name__ == "__main__":
    main()
