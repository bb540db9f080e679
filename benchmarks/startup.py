"""What it takes to start: importing murmurs, its first question, its command; against NumPy.

Each is a new process; CPU time, the median of rounds in which all take turns. ``--before`` is the
``src`` of an older clone, which takes its turns too. Writes docs/results/startup.{json,md}:
``python -m benchmarks.startup``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent.parent / "docs" / "results"
SOURCE = Path(__file__).parent.parent / "src"

NUMPY = "import numpy"
QUESTION = 'mm.Question("drink", ["espresso", "filter", "tea", "nothing"], epsilon=1.0)'
COMMAND = "import sys; sys.argv = {!r}.split(); from murmurs.cli import main; main()"
STARTS = {
    "`import murmurs`": "import murmurs",
    "`import murmurs as mm; mm.KRR`": "import murmurs as mm; mm.KRR",
    "`mm.Question(...)`, the first": f"import murmurs as mm; {QUESTION}",
    "`import click`": "import click",
    "`murmurs --help`": COMMAND.format("murmurs --help"),
    "`murmurs estimate --help`": COMMAND.format("murmurs estimate --help"),
}

MAKING = f"""
import time, murmurs as mm
{QUESTION}
best = []
for _ in range(30):
    start = time.process_time()
    for _ in range(20):
        {QUESTION}
    best.append((time.process_time() - start) / 20)
print(min(best))
"""


def started(code: str, source: Path) -> float:
    """Return the CPU seconds of a new process that runs the code, with murmurs from there."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(code, source)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(code: str, source: Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # else an older clone is compiled each time
    return subprocess.run(
        [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True
    ).stdout


def measure(sources: dict[str, Path], rounds: int) -> dict[str, Any]:
    """Return the median seconds of each start, of NumPy, and to make another question."""
    tasks = {("numpy", NUMPY): SOURCE} | {
        (when, what): source for when, source in sources.items() for what in STARTS
    }
    times: dict[tuple[str, str], list[float]] = {task: [] for task in tasks}
    for place in range(rounds + 1):
        for (when, what), source in tasks.items():
            seconds = started(STARTS.get(what, what), source)
            if place:  # the first round compiles what was changed
                times[when, what].append(seconds)
    found = {task: statistics.median(seconds) for task, seconds in times.items()}
    return {
        "numpy": found["numpy", NUMPY],
        "starts": {what: {when: found[when, what] for when in sources} for what in STARTS},
        "another": {when: float(_run(MAKING, source)) for when, source in sources.items()},
    }


def markdown(found: dict[str, Any]) -> str:
    """Return the page."""
    whens = list(found["another"])
    heads = [f"{when}: {what}" for when in whens for what in ("seconds", "ratio")]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for what, seconds in found["starts"].items():
        cells = [f"{seconds[when]:.3f} | {seconds[when] / found['numpy']:.2f}" for when in whens]
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    another = ", ".join(f"{1000 * found['another'][when]:.3f} ms {when}" for when in whens)
    return "\n".join(
        [
            "# Starting",
            "",
            f"Written by `python -m benchmarks.startup`: CPU time of new processes, the median of "
            f"{found['rounds']} rounds in which all take turns. {found['cores']} cores, shared; "
            f"Python {found['python']}, NumPy {found['numpy_version']}. The ratio is to "
            f"`import numpy`, which takes {found['numpy']:.3f} s. Before: all public names were "
            "loaded by the import, and all commands by the command.",
            "",
            *lines,
            "",
            f"Making another question of four labels, with the mechanism chosen, takes {another}.",
            "",
        ]
    )


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    before = {"before": options.before} if options.before else {}
    found = {
        "rounds": options.rounds,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy_version": np.__version__,
        **measure({**before, "now": SOURCE}, options.rounds),
    }
    text = json.dumps(found, indent=1) + "\n"
    (options.folder / "startup.json").write_text(text, encoding="utf-8")
    page = markdown(found)
    (options.folder / "startup.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
