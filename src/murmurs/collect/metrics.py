"""Metrics: what a collector does, in numbers, as Prometheus reads them.

There is nothing about single people or surveys in them: no address, no key, no name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from murmurs.collect.refusals import REASONS

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper limits of the histogram of seconds."""

COUNTERS = {
    "murmurs_requests_total": "Requests that were answered, by route and status.",
    "murmurs_submissions_total": "Submissions by outcome: accepted, or duplicate.",
    "murmurs_people_total": "People whose reports were accepted.",
    "murmurs_refusals_total": "Requests that were refused, by reason.",
    "murmurs_cut_off_total": "Connections that were cut off because the client was too slow.",
    "murmurs_upkeep_failures_total": "Times that upkeep of the store failed.",
}

GAUGES = {
    "murmurs_ready": "Whether the store takes submissions: 1 or 0.",
    "murmurs_damaged": "Whether the store was found damaged when it was last read: 1 or 0.",
    "murmurs_store_bytes": "Bytes that the store takes.",
    "murmurs_waiting_bytes": "Bytes of reports that wait to be kept.",
    "murmurs_connections": "Connections that are open.",
    "murmurs_body_bytes": "Bytes of memory that are set aside for bodies.",
    "murmurs_jobs": "Computations of results that wait or run.",
    "process_resident_memory_bytes": "Memory that the process takes.",
}

SECONDS = "murmurs_request_seconds"

_STARTED: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "murmurs_submissions_total": ("outcome", ("accepted", "duplicate")),
    "murmurs_people_total": (None, ("",)),
    "murmurs_refusals_total": ("reason", tuple(REASONS)),
    "murmurs_cut_off_total": (None, ("",)),
    "murmurs_upkeep_failures_total": (None, ("",)),
}
"""Counters that begin at zero, with their label and its values. A counter that appears with its
first event has not grown in the eyes of Prometheus, and an alert would miss that event."""

_Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counters and one histogram.

    >>> metrics = Metrics()
    >>> metrics.count("murmurs_submissions_total", outcome="accepted", by=3)
    >>> metrics.observe("/submissions", 0.004)
    >>> lines = metrics.text({}).splitlines()
    >>> [line for line in lines if "outcome" in line or "0.001" in line][1:]
    ['murmurs_submissions_total{outcome="accepted"} 3',
     'murmurs_submissions_total{outcome="duplicate"} 0',
     'murmurs_request_seconds_bucket{route="/submissions",le="0.001"} 0']
    """

    def __init__(self) -> None:
        self._counts: dict[str, dict[_Labels, int]] = {name: {} for name in COUNTERS}
        for name, (label, values) in _STARTED.items():
            for value in values:
                self.count(name, 0, **({} if label is None else {label: value}))
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def count(self, name: str, by: int = 1, **labels: str) -> None:
        """Add to a counter."""
        found, key = self._counts[name], tuple(labels.items())
        found[key] = found.get(key, 0) + by

    def total(self, name: str, **labels: str) -> int:
        """Return the value of a counter."""
        return self._counts[name].get(tuple(labels.items()), 0)

    def observe(self, route: str, seconds: float) -> None:
        """Note how long a request took."""
        found = self._buckets.get(route)
        if found is None:
            found = self._buckets[route] = [0] * (len(BUCKETS) + 1)
            self._sums[route] = 0.0
        found[bisect_left(BUCKETS, seconds)] += 1
        self._sums[route] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return everything in the text format of Prometheus, with the present gauges."""
        lines = []
        for name, meaning in COUNTERS.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} counter"]
            lines += [f"{name}{_shown(key)} {n}" for key, n in self._counts[name].items()]
        for name, value in gauges.items():
            lines += [f"# HELP {name} {GAUGES[name]}", f"# TYPE {name} gauge"]
            lines.append(f"{name} {value:g}" if value < 1e6 else f"{name} {value:.0f}")
        lines.append(f"# HELP {SECONDS} Seconds from the head of a request to its answer.")
        lines.append(f"# TYPE {SECONDS} histogram")
        for route, numbers in self._buckets.items():
            below = 0
            for limit, n in zip((*map(str, BUCKETS), "+Inf"), numbers, strict=True):
                below += n
                lines.append(f'{SECONDS}_bucket{{route="{route}",le="{limit}"}} {below}')
            lines.append(f'{SECONDS}_sum{{route="{route}"}} {self._sums[route]:.6f}')
            lines.append(f'{SECONDS}_count{{route="{route}"}} {below}')
        return "\n".join(lines) + "\n"


def _shown(labels: _Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}"
