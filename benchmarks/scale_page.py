"""The page of results of `benchmarks.scale`, written from the measured numbers."""

from __future__ import annotations

from typing import Any

PRICE = 0.05
"""Dollars for a core and an hour: what a general machine costs at the large providers, about."""

STORE = 100e6
"""Bytes a second that one core reads from an object store: cautious, and not measured here."""

REQUEST = 8e6
"""Bytes of a request to an object store, and below the price of a million of them, in dollars."""

PER_MILLION = 0.4

INTRODUCTION = """\
# Counting at scale

Written by `python -m benchmarks.scale`. {cores} cores, Python {python}; files of Parquet on a local disk, in the memory of
the operating system. Seconds are the best of several runs after a first one, by the clock and of the processor. Those of
worker processes and of Spark's JVM are not in the processor time. Dask and Spark run on the same {cores} cores, so
that the table shows what they cost, not what more machines give.

## What was measured

| what | seconds | processor | compared with | seconds | processor | ratio | bar |
|---|---:|---:|---|---:|---:|---:|---:|
"""  # noqa: E501

LINEAR = """
A ratio is of the clock. Encoding was measured beside other programs, which took most of the machine: its seconds are too many, and
processor time says more. It misses its bar: with `KRR`, `encode_many` takes less than reading the answers and keys from the files does.

Before the first job, a Dask cluster takes {dask_start:.1f} s to start, and Spark {spark_start:.1f} s.

## From a million to a billion

`local` in a process of its own. The counts that travel are 128 numbers, however many reports there are.

| reports | seconds | reports a second | most memory, MB | size of the files, MB |
|---:|---:|---:|---:|---:|
"""  # noqa: E501

TRILLION = """
## A trillion reports, worked out

From the figures above; *extrapolated* numbers were not measured.

- **Processor time.** One core counts {per_core:.3g} reports a second, so 10¹² take {hours:.2g} core hours: {minutes:.1f}
  minutes on 100 cores. *Extrapolated* from {largest:,} reports, over which the time grew as their number.
- **Reading.** The files have {per_report:.2f} bytes a report, so 10¹² are {terabytes:.2g} TB. From an object store at
  {store:.0f} MB/s for each core, which is assumed, reading takes {reading:.2g} core hours: {bottleneck}
- **Shuffle.** None. Each task returns its counts, 1 kB for 128 answers; {tasks:,} tasks of four million rows send
  {travel:.2g} GB to the workers that add them up. With ids, of which each counts once, {ids:.0f} TB of hashes of ids are written to the
  scratch folder and read once.
- **Money.** At ${price:.2f} for a core hour, ${cores_cost:.2f} for cores and ${requests_cost:.2f} for requests of 8 MB to the
  store, at ${per_million:.2f} a million.
"""  # noqa: E501


def page(found: dict[str, Any]) -> str:
    """Return the page of what is there."""
    lines = [INTRODUCTION.format(**found["machine"]), *_rows(found)]
    if "linear" in found and "krr" in found:
        lines.append(LINEAR.format(**found["krr"]))
        lines += [_linear(row) for row in found["linear"]]
        lines.append(_trillion(found["linear"], found["machine"]["cores"]))
    return "".join(lines)


def _rows(found: dict[str, Any]) -> list[str]:
    """Return the rows of the table of bars."""
    out = []
    if "krr" in found:
        own, n = found["krr"], f"{found['krr']['n']:,} k-RR reports"
        out += [
            _row(f"{n}, `local`", own["local"], "DuckDB's group-by", own["DuckDB"], "1"),
            _row(f"{n}, `dask`", own["dask"], "`local`", own["local"], "1.3"),
            _row(f"{n}, `spark`", own["spark"], "Spark SQL's group-by", own["Spark SQL"], "1.5"),
            _row(
                f"{n}, `spark`, a data frame",
                own["spark, data frame"],
                "Spark SQL's group-by",
                own["Spark SQL"],
                "1.5",
            ),
        ]
    if "bits" in found:
        own, n = found["bits"], f"{found['bits']['n']:,} reports of 128 bits"
        out += [
            _row(f"{n}, `local`", own["local"], "decoding alone", own["decoding alone"], "2"),
            _row(f"{n}, `spark`", own["spark"], "decoding alone", own["decoding alone"], "3"),
        ]
    if "many" in found:
        own = found["many"]
        what = f"50 questions of {own['n']:,} people, one pass"
        out.append(_row(what, own["together"], "each alone, added up", own["alone"], "1.3"))
    if "encoding" in found:
        own = found["encoding"]
        for name in ("KRR", "OUE"):
            each = own[name]
            what = f"{each['n']:,} answers encoded by key with `{name}`, file to file, `local`"
            one = "`encode_many` of numbers in memory, one core"
            out.append(_row(what, each["local"], one, each["encode_many"], "2"))
        what = f"{own['KRR']['n']:,} answers encoded by key with `KRR`, file to file, `local`"
        out.append(_row(what, own["KRR"]["local"], "decoding alone", own["reading alone"], "–"))
    return out


def _row(what: str, own: dict[str, float], other: str, beside: dict[str, float], bar: str) -> str:
    return (
        f"| {what} | {own['wall']:.2f} | {own['cpu']:.2f} | {other} | {beside['wall']:.2f} "
        f"| {beside['cpu']:.2f} | {own['wall'] / beside['wall']:.2f} | {bar} |\n"
    )


def _linear(row: dict[str, Any]) -> str:
    rate = row["n"] / row["seconds"]
    return (
        f"| {row['n']:,} | {row['seconds']:.3g} | {rate:.3g} | {row['mb']} "
        f"| {row['bytes'] / 1e6:.3g} |\n"
    )


def _trillion(rows: list[dict[str, Any]], cores: int) -> str:
    """Return what 10^12 reports would take."""
    last, n = rows[-1], 10**12
    per_core = last["n"] / last["seconds"] / cores
    hours, size = n / per_core / 3600, n * last["bytes"] / last["n"]
    reading = size / STORE / 3600
    slower = (
        "more than counting, so the store is the bottleneck."
        if reading > hours
        else ("less than counting, so the cores are the bottleneck.")
    )
    tasks = n // 2**22
    return TRILLION.format(
        per_core=per_core,
        hours=hours,
        minutes=60 * max(hours, reading) / 100,
        largest=last["n"],
        per_report=last["bytes"] / last["n"],
        terabytes=size / 1e12,
        store=STORE / 1e6,
        reading=reading,
        bottleneck=slower,
        tasks=tasks,
        travel=tasks * 1024 / 1e9,
        ids=8 * n / 1e12,
        price=PRICE,
        cores_cost=PRICE * max(hours, reading),
        requests_cost=PER_MILLION * size / REQUEST / 1e6,
        per_million=PER_MILLION,
    )
