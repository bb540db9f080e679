"""How fast murmurs is: reports a second per core, simulation, start, memory; one JSON document.

Run by ``benchmarks/run`` with the project's interpreter, after `peers.py` with the peers'. CPU time
of one thread, the best of several repetitions, garbage collection off, as for the peers. Reports a
second are those of the compiled kernels, which take over after a second of work.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["MURMURS_KERNELS"] = "compiled"

import numpy as np

import murmurs as mm
from murmurs.mechanisms.mechanism import Mechanism


def best_seconds(work: Callable[[], object], repeat: int) -> float:
    """Return the smallest CPU time of ``work`` over several runs, a second of them at least."""
    work()
    gc.disable()
    times: list[float] = []
    while len(times) < repeat or sum(times) < 1:
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    gc.enable()
    return min(times)


def closed(k: int, epsilon: float) -> list[tuple[str, Mechanism[Any], int]]:
    """Return the mechanisms under the names of the peers' tasks, with people enough to time."""
    return [
        ("KRR", mm.KRR(k, epsilon), 4_000_000),
        ("SUE", mm.SUE(k, epsilon), 1_000_000),
        ("OUE", mm.OUE(k, epsilon), 1_000_000),
        ("Subset", mm.Subset(k, epsilon), 400_000),
        ("LocalHashing", mm.LocalHashing(k, epsilon), 1_000_000),
        ("Hadamard", mm.Hadamard(k, epsilon), 2_000_000),
        ("ProjectiveGeometry", mm.ProjectiveGeometry(k, epsilon), 1_000_000),
        ("CountMeanSketch", mm.CountMeanSketch(k, epsilon, rows=16, width=256), 400_000),
        ("HadamardSketch", mm.HadamardSketch(k, epsilon, rows=16, width=256), 1_000_000),
    ]


def throughput(k: int, epsilon: float, repeat: int) -> list[dict[str, Any]]:
    """Return reports a second for encoding (system randomness) and counting."""
    rows = []
    for name, mechanism, n in closed(k, epsilon):
        answers = np.random.default_rng(1).integers(0, k, n)
        secure = mm.Secure()
        encode = best_seconds(lambda: mechanism.encode_many(answers, secure), repeat)  # noqa: B023
        reports = mechanism.encode_many(answers, secure)
        count = best_seconds(lambda: mechanism.count(reports), repeat)  # noqa: B023
        rows.append({"task": f"{name} privatise", "reports_per_second": n / encode, "n": n})
        rows.append({"task": f"{name} count", "reports_per_second": n / count, "n": n})
    return rows


def simulation(n: int, k: int, epsilon: float, repeat: int) -> list[dict[str, Any]]:
    """Return the milliseconds to simulate n people."""
    rng = np.random.default_rng(2)
    people = rng.multinomial(n, np.full(k, 1 / k))
    rows = []
    for name, mechanism, _ in closed(k, epsilon):
        seconds = best_seconds(lambda: mechanism.simulate(people, rng), repeat)  # noqa: B023
        rows.append({"mechanism": name, "milliseconds": 1000 * seconds})
    return rows


def estimation(repeat: int) -> dict[str, float]:
    """Return the time of maximum likelihood at a million answers, and of EM at ten thousand."""
    rng = np.random.default_rng(3)
    large = mm.KRR(k=10**6, epsilon=4.0)
    counts = large.simulate(rng.multinomial(10**8, rng.dirichlet(np.full(10**6, 0.1))), rng)
    likelihood = best_seconds(lambda: mm.estimators.likelihood(counts), repeat)
    medium = mm.KRR(k=10**4, epsilon=4.0)
    law = np.arange(1.0, 10**4 + 1) ** -1.3
    few = medium.simulate(rng.multinomial(10**6, law / law.sum()), rng)
    em = best_seconds(lambda: mm.estimators.em(few), repeat)
    found = mm.estimators.em(few)
    shrink = best_seconds(lambda: mm.estimators.shrinkage(few), repeat)
    return {
        "likelihood at k = 10^6, seconds": likelihood,
        "em at k = 10^4, milliseconds per evaluation": 1000 * em / found.iterations,
        "em at k = 10^4, evaluations": found.iterations,
        "em at k = 10^4, certified gap": found.gap,
        "shrinkage at k = 10^4, seconds": shrink,
        **many_answers(rng),
    }


def many_answers(rng: np.random.Generator) -> dict[str, float]:
    """Return what took long: lists of candidates, and projective spaces; once each."""
    out = {}
    words = 1 / np.arange(1.0, 2001) ** 1.1
    held = (200_000 * words / words.sum()).astype(int).tolist()
    rr = mm.ORR(epsilon=3.0, width=18, cohorts=1024)
    reported = rr.simulate_strings([(f"word {i}", n) for i, n in enumerate(held)], rng)
    for power in (4, 5, 6):
        listed = [f"word {i}" for i in range(10**power)]
        seconds = best_seconds(lambda: mm.estimate(reported.over(listed)), 1)  # noqa: B023
        out[f"10^{power} candidates in 1024 cohorts, seconds"] = seconds
    for k, epsilon, n in ((50, 1.0, 10**5), (200, 1.0, 10**5), (3000, 3.7, 10**6)):
        law = 1 / np.arange(1.0, k + 1)
        pgr = mm.ProjectiveGeometry(k, epsilon)
        asked = [
            mm.estimate(pgr.simulate(rng.multinomial(n, law / law.sum()), rng)) for _ in range(6)
        ]
        if k < 1000:
            trend = best_seconds(lambda: mm.trend(asked).p_value, 3)  # noqa: B023
            out[f"trend of six, ProjectiveGeometry, k = {k}, milliseconds"] = 1000 * trend
        else:
            em = best_seconds(lambda: mm.estimators.em(asked[0].counts, most=50), 1)  # noqa: B023
            what = f"em, ProjectiveGeometry, k = {k}, epsilon = {epsilon}"
            out[f"{what}, milliseconds per evaluation"] = 1000 * em / 50
    return out


def in_new_process(code: str, repeat: int) -> float:
    """Return what the code prints, the smallest of several new processes."""
    command, free = [sys.executable, "-c", code], with_kernels("")
    return min(
        float(subprocess.run(command, env=free, capture_output=True, check=True).stdout)
        for _ in range(repeat)
    )


def with_kernels(form: str) -> dict[str, str]:
    """Return the environment of a new process with these kernels, or with a free choice."""
    return {**os.environ, "MURMURS_KERNELS": form}


def cpu_seconds(command: list[str], form: str, repeat: int) -> float:
    """Return the smallest processor time of a command in several new processes."""
    times = []
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=with_kernels(form), stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


SURVEY = """
name = "speed"

[[questions]]
name = "drink"
labels = ["espresso", "filter", "tea", "nothing"]
mechanism = {name = "KRR", epsilon = 1.0}
"""


def small_work(repeat: int) -> list[dict[str, Any]]:
    """Return the processor seconds of new processes with little to do, for all forms of kernels."""
    python, murmurs = [sys.executable, "-c"], [sys.executable, "-m", "murmurs"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        survey, labels = str(place / "survey.toml"), place / "labels.txt"
        Path(survey).write_text(SURVEY)
        one, ten = str(place / "one.bin"), str(place / "ten.bin")
        for count, out in ((1, one), (10, ten)):
            labels.write_text("tea\n" * (count * 10**6))
            encode = [*murmurs, "encode", survey, str(labels), "-o", out]
            subprocess.run(encode, stdout=subprocess.DEVNULL, check=True)
        counts = str(place / "counts.json")
        tasks = {
            "`KRR(k=4, epsilon=1.0).count([1, 2, 3])`": [
                *python,
                "import murmurs as mm; mm.KRR(k=4, epsilon=1.0).count([1, 2, 3])",
            ],
            "`murmurs mechanisms`": [*murmurs, "mechanisms"],
            "`murmurs count` of 10^6 reports": [*murmurs, "count", survey, one, "-o", counts],
            "`murmurs count` of 10^7 reports": [*murmurs, "count", survey, ten, "-o", counts],
        }
        return [
            {
                "what": what,
                "seconds": cpu_seconds(command, "", repeat),
                "seconds_numba_at_once": cpu_seconds(command, "compiled", repeat),
            }
            for what, command in tasks.items()
        ]


IMPORT = """
import time; start = time.process_time()
import murmurs
print(time.process_time() - start)
"""

STREAM = """
import numpy as np, murmurs
rr = murmurs.KRR(k=128, epsilon=1.0)
answers = np.random.default_rng(1).integers(0, 128, 2**20, dtype=np.uint8)
n = 100_000_000
parts = (rr.encode_many(answers[: min(len(answers), n - at)]) for at in range(0, n, len(answers)))
assert rr.count(parts).n == n
# getrusage would tell the largest size of the parent too, from before this program was loaded.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) / 1024)
"""


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", type=int, default=128)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    document = {
        "k": options.k,
        "epsilon": options.epsilon,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "rows": throughput(options.k, options.epsilon, options.repeat),
        "simulate": simulation(10**8, 1024, options.epsilon, options.repeat),
        "estimation": estimation(options.repeat),
        "small_work": small_work(options.repeat),
        "import_seconds": in_new_process(IMPORT, 10),
        "stream_megabytes": in_new_process(STREAM, 1),
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main()
