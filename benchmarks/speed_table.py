"""Join what peers.py and speed.py measured in one run: docs/results/speed.json and speed.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BARS = {
    "KRR privatise": 50,
    "SUE privatise": 30,
    "OUE privatise": 30,
    "Subset privatise": 13,
    "LocalHashing privatise": 100,
    "LocalHashing count": 1000,
    "Hadamard privatise": 100,
    "HadamardSketch privatise": 100,
    "KRR count": 20,
    "SUE count": 20,
    "OUE count": 20,
}
"""How many times as fast as the faster peer murmurs aims to be, at k = 128 and epsilon = 1."""

ESTIMATION_BARS = {
    "likelihood at k = 10^6, seconds": 0.5,
    "em at k = 10^4, milliseconds per evaluation": 0.1,
    "10^6 candidates in 1024 cohorts, seconds": 15,
}


def best_peers(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the fastest peer for each task."""
    best: dict[str, dict[str, Any]] = {}
    for row in rows:
        rate = row.get("reports_per_second", 0)
        if rate and rate > best.get(row["task"], {}).get("reports_per_second", 0):
            best[row["task"]] = row
    return best


def markdown(peers: dict[str, Any], ours: dict[str, Any]) -> str:
    """Return the page."""
    best = best_peers(peers["rows"])
    lines = [
        "# Speed",
        "",
        f"Written by `benchmarks/run` in one run on one core, with k = {ours['k']} and epsilon = "
        f"{ours['epsilon']:g}. Times are CPU times, the best of several. Python {ours['python']}; "
        f"NumPy {ours['numpy']} for murmurs, {peers['numpy']} for the peers. murmurs draws from "
        "system entropy through AES-256 in counter mode. Each peer is called in the fastest way "
        "found, which may be a compiled loop around its own function; `speed.json` says how. The "
        "bar is the ratio that murmurs aims for. On a shared machine ratios vary by about ten per "
        "cent.",
        "",
        "| task | murmurs, reports/s | fastest peer, reports/s | peer | ratio | bar |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for row in ours["rows"]:
        task, rate = row["task"], row["reports_per_second"]
        peer = best.get(task)
        other = f"{peer['reports_per_second']:.3g} | {peer['peer']}" if peer else "no peer has it |"
        ratio = f"{rate / peer['reports_per_second']:.1f}" if peer else ""
        bar = str(BARS[task]) if task in BARS else ""
        lines.append(f"| {task} | {rate:.3g} | {other} | {ratio} | {bar} |")
    lines += [
        "",
        "## Simulating 10^8 people, k = 1024",
        "",
        "| mechanism | milliseconds |",
        "|---|---:|",
        *(f"| {row['mechanism']} | {row['milliseconds']:.2f} |" for row in ours["simulate"]),
        "",
        "## Estimation",
        "",
        "| what | measured | bar |",
        "|---|---:|---:|",
        *(
            f"| {what} | {value:.3g} | {ESTIMATION_BARS.get(what, '')} |"
            for what, value in ours["estimation"].items()
        ),
        "",
        "## Small work",
        "",
        "CPU time of a whole new process, the best of several. NumPy does the work until loading "
        "numba pays off; with `MURMURS_KERNELS=compiled` numba is loaded at once.",
        "",
        "| what | seconds | numba at once |",
        "|---|---:|---:|",
        *(
            f"| {row['what']} | {row['seconds']:.2f} | {row['seconds_numba_at_once']:.2f} |"
            for row in ours["small_work"]
        ),
        "",
        "## Start and memory",
        "",
        "| what | measured | bar |",
        "|---|---:|---:|",
        f"| `import murmurs` in a new process | {ours['import_seconds']:.2f} s | 0.2 s |",
        f"| encoding and counting a stream of 10^8 people, peak memory | "
        f"{ours['stream_megabytes']:.0f} MB | 300 MB |",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Read both measurements, and write the results."""
    peers, ours = (json.loads(Path(name).read_text()) for name in sys.argv[1:3])
    results = Path(sys.argv[3])
    results.mkdir(parents=True, exist_ok=True)
    document = {"peers": peers, "murmurs": ours}
    (results / "speed.json").write_text(json.dumps(document, indent=1) + "\n")
    page = markdown(peers, ours)
    (results / "speed.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
