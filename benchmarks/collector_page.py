"""The page of results of `benchmarks.collector`, written from the measured numbers."""

from __future__ import annotations

from typing import Any

INTRODUCTION = """\
# The collector under load

Written by `python -m benchmarks.collector`. {cores} cores, Python {python}; the server, the load generator and the store on
one machine. A submission is answered after it is durable; a small write takes {sync_ms:.2f} ms to become so here.

The server is one process, whose threads share one interpreter; beside it runs only what the store does with a transaction, so that it
uses hardly more than one core. Where the load average
is far above 1, other work shared the machine: then the clock gives a lower limit, and the server's processor time says what it
does with a core of its own. Memory, the full disk and slow clients were measured beside much other work.

## Submissions

One question with sixteen answers, so that a report is one byte. A relay sends 100 submissions of different people in one request; each has
an id of its own, which must be found in the store, or added to it. The load is one process with many connections, each of which
sends its next request when the last one is answered. Load average is of all programs on the machine.

| load | bar | by the clock | per second of the server's processor time | server, µs a request | generator, µs a request | processors they got | load average | p50, p99 in ms |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""  # noqa: E501

INGEST = (
    "| {what} | {bar:,} {unit} | {measured:,.0f} | {per_server_cpu_second:,.0f} | "
    "{server_cpu_us_per_request:.0f} | {load_cpu_us_per_request:.0f} | {processors_of_server:.2f} "
    "+ {processors_of_load:.2f} | {load_average:.1f} | {p50_ms:.0f}, {p99_ms:.0f} |\n"
)

READING = """
By the clock {by_clock} of {all} bars were reached, with {processors:.2f} processors for the server
on average; per second of its processor time {by_cpu} were.

In every run exactly the acknowledged reports were counted; the benchmark stops otherwise.

The machine is shared, and at some hours several times as fast as at others: compare the
generator's time for a request. Other runs on a quiet machine reached 6,834 requests/s of one
person, and 538,615 reports/s of 100 people in a submission.
"""

RESULTS = """
## Results

{reports:,} people on ten days. Each request asks for another level of the intervals, so that
nothing is kept from an earlier one; then the last request is sent again.

| result | ms by the clock | ms of processor time | asked again, ms |
|---|---:|---:|---:|
"""

RESULT = "| {what} | {ms:.0f} | {cpu_ms:.0f} | {kept_ms:.0f} |\n"

MEMORY = """
## Memory

Three loads at once for {minutes:g} minutes, {submissions:,} submissions, and {looks} requests for
results, each with another level: {start_mb:.0f} MB at the start, {largest_mb:.0f} MB at most. In
the third quarter of the time it was {third_quarter_mb[0]:.0f} to {third_quarter_mb[2]:.0f} MB,
{third_quarter_mb[1]:.0f} in the median, and in the last quarter {fourth_quarter_mb[0]:.0f} to
{fourth_quarter_mb[2]:.0f} MB, {fourth_quarter_mb[1]:.0f} in the median. The server loads numba's
compiler once, when it has counted so many reports that compiled kernels pay; that takes about
100 MB. Other work shared the machine all the time.

## A full disk

"""

DISK = """\
A disk of {size_mb} MB took {accepted_before} submissions of 500,000 reports. Then the collector
answered {status_when_full} ({reason[0]}), `/health` answered {health_when_full} and `/ready`
{ready_when_full}. After room was made, the next submission was answered with {status_after_room}.
Acknowledged were {acknowledged:,} reports, counted {counted:,}.
"""

SLOW = """
## Slow clients

{slow_clients} connections that begin a request and never finish it, half of them in the head and
half in the body. A submission took {alone_ms:.0f} ms without them and {among_slow_clients_ms:.0f}
ms among them. Each slow client took {memory_per_slow_client_kb:.0f} KB. All but {left_after_60_s}
were cut off, the last after {last_cut_off_after_s:.0f} seconds.
"""


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    disk = found["full_disk"]
    parts = [
        INTRODUCTION.format(**found["machine"]),
        *(INGEST.format(**row) for row in found["ingest"]),
        _reading(found["ingest"]),
        RESULTS.format(**found["results"][0]),
        *(RESULT.format(**row) for row in found["results"]),
        MEMORY.format(**found["memory"]),
        f"Not measured: {disk['skipped']}.\n" if "skipped" in disk else DISK.format(**disk),
        SLOW.format(**found["slow_clients"]),
    ]
    return "".join(parts)


def _reading(rows: list[dict[str, Any]]) -> str:
    """Say how many bars were reached, by the clock and by the server's processor time."""
    return READING.format(
        by_clock=sum(row["measured"] >= row["bar"] for row in rows),
        by_cpu=sum(row["per_server_cpu_second"] >= row["bar"] for row in rows),
        all=len(rows),
        processors=sum(row["processors_of_server"] for row in rows) / len(rows),
    )
