"""How fast the peers on PyPI privatise and count: reports per second of one core.

The peers need a world of their own, so this script is run with the interpreter of their own
environment, and does not import murmurs::

    python3.11 -m venv peers-env
    peers-env/bin/pip install -r requirements/peers.txt
    peers-env/bin/python benchmarks/peers.py --k 128 --epsilon 1 > peers.json

It prints one JSON document with a row for each peer and task. A figure is CPU time, not wall
time, of a single thread; the best of several repetitions after a warm-up, so that compiling is
not counted; with garbage collection off, as in `timeit`. Where a peer can be called in more than
one way the fastest is reported, and its `call` says which. What fails gives a row with an `error`.

To privatise is to make the reports of n answers. To count is to go from n reports in memory, in
the form that the peer reads fastest, to the peer's estimates of all k shares; for a sketch, whose
domain is open, to the finished sketch.
"""

import argparse
import gc
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

SECONDS = 0.4  # CPU time that one measurement should at least take
CELLS = 1 << 25  # numbers that the reports of one measurement may hold: 256 MB at 8 bytes

Run = Callable[[], object]
Row = dict[str, str | int]


@dataclass(frozen=True)
class Setting:
    """What is asked of every peer; `hashes` and `width` are the shape of the sketches."""

    k: int
    epsilon: float
    n: int
    repeat: int
    hashes: int
    width: int


@dataclass(frozen=True)
class Way:
    """One way to do a task: `prepare(answers)` returns the call that is timed."""

    task: str
    call: str
    prepare: Callable[[Any], Run]
    cells: int


@dataclass(frozen=True)
class Oracle:
    """A peer's mechanism: `make()` returns its client, for one answer, and its server, for all.

    `keep` turns a report of the client into the form that the server reads fastest, and often;
    `cells` is how many numbers a report holds.
    """

    mechanism: str
    client: str
    server: str
    make: Callable[[], tuple[Callable[[int], Any], Callable[[list[Any]], object]]]
    keep: Callable[[Any], Any] | None = None
    cells: int = 1

    def ways(self) -> list[Way]:
        """Return how it privatises, in a Python loop over the users, and how it counts."""
        privatise = f"[{self.client} for answer in answers]"
        return [
            Way(f"{self.mechanism} privatise", privatise, self.privatise, self.cells),
            Way(f"{self.mechanism} count", self.server, self.count, self.cells),
        ]

    def privatise(self, answers: Any) -> Run:
        """Return the call that makes the reports of these answers."""
        client, _ = self.make()
        users = answers.tolist()
        return lambda: [client(answer) for answer in users]

    def count(self, answers: Any) -> Run:
        """Return the call that counts reports of these answers, made beforehand."""
        client, server = self.make()
        reports = [client(answer) for answer in answers.tolist()]
        if self.keep:
            reports = [self.keep(report) for report in reports]
        return lambda: server(reports)


def multi_freq_ldpy(setting: Setting) -> list[Way]:
    """Return the ways of multi-freq-ldpy: compiled clients for one user, interpreted servers."""
    package = "multi_freq_ldpy.pure_frequency_oracles"
    grr, ue, ss, lh = (import_module(f"{package}.{name}") for name in ("GRR", "UE", "SS", "LH"))
    k, epsilon = setting.k, setting.epsilon
    size = len(ss.SS_Client(0, k, epsilon))

    def oracle(
        mechanism: str, client: Any, server: Any, given: Mapping[str, object], **form: Any
    ) -> Oracle:
        # The servers of unary encoding take the domain from the reports, all others ask for k.
        domain = {} if server is ue.UE_Aggregator_MI else {"k": k}
        return Oracle(
            mechanism,
            f"{client.__name__}(answer, k, epsilon{spelled(given)})",
            f"{server.__name__}(list of reports, {'k, ' if domain else ''}epsilon{spelled(given)})",
            lambda: (
                partial(client, k=k, epsilon=epsilon, **given),
                partial(server, epsilon=epsilon, **domain, **given),
            ),
            **form,
        )

    sue, oue = {"optimal": False}, {"optimal": True}
    oracles = [
        oracle("KRR", grr.GRR_Client, grr.GRR_Aggregator_MI, {}),
        oracle("SUE", ue.UE_Client, ue.UE_Aggregator_MI, sue, cells=k),
        oracle("OUE", ue.UE_Client, ue.UE_Aggregator_MI, oue, cells=k),
        oracle("Subset", ss.SS_Client, ss.SS_Aggregator_MI, {}, keep=np.ndarray.tolist, cells=size),
        oracle("LocalHashing", lh.LH_Client, lh.LH_Aggregator_MI, {"optimal": True}),
    ]
    return [way for each in oracles for way in each.ways()] + [
        compiled("KRR", grr.GRR_Client, (k, epsilon), np.int64, ()),
        compiled("SUE", ue.UE_Client, (k, epsilon, False), np.float64, (k,)),
        compiled("OUE", ue.UE_Client, (k, epsilon, True), np.float64, (k,)),
        compiled("Subset", ss.SS_Client, (k, epsilon), np.int64, (size,)),
    ]


def spelled(given: Mapping[str, object]) -> str:
    """Spell keyword arguments as they follow others in a call."""
    return "".join(f", {name}={value}" for name, value in given.items())


def compiled(
    mechanism: str, client: Any, given: tuple[object, ...], dtype: type, shape: tuple[int, ...]
) -> Way:
    """Return the best a user can do with a compiled client: compile the loop over users, too."""

    def loop(answers: Any, reports: Any, given: Any) -> None:
        for i in range(len(answers)):
            reports[i] = client(answers[i], *given)

    fast = import_module("numba").njit(loop)

    def prepare(answers: Any) -> Run:
        return lambda: fast(answers, np.empty((len(answers), *shape), dtype), given)

    call = f"{client.__name__}(answer, {', '.join(map(str, given))}) in a numba.njit loop"
    return Way(f"{mechanism} privatise", call, prepare, int(np.prod(shape)))


def pure_ldp(setting: Setting) -> list[Way]:
    """Return the ways of pure-ldp: a client and a server object, both for one user at a time."""
    peer = import_module("pure_ldp.frequency_oracles")
    d, epsilon, hashes, width = setting.k, setting.epsilon, setting.hashes, setting.width
    # The transform of HadamardMech is right only for a power of two.
    power = 1 << (d - 1).bit_length()
    same = {"index_mapper": lambda answer: answer}  # answers are 0..k-1 already

    def oracle(mechanism: str, name: str, given: str, pair: Any, **form: Any) -> Oracle:
        def make() -> tuple[Any, Any]:
            client, server = pair()
            return client.privatise, partial(pure_ldp_count, server)

        return Oracle(
            mechanism,
            f"{name}Client({given}).privatise(answer)",
            f"{name}Server({given}).aggregate_all(reports), then check_and_update_estimates()",
            make,
            **form,
        )

    def alike(name: str, *given: object, **named: object) -> Callable[[], tuple[Any, Any]]:
        client, server = getattr(peer, f"{name}Client"), getattr(peer, f"{name}Server")
        return lambda: (client(*given, **named, **same), server(*given, **named, **same))

    def hadamard_response() -> tuple[Any, Any]:
        server = peer.HadamardResponseServer(epsilon, d, **same)
        client = peer.HadamardResponseClient(epsilon, d, server.get_hash_funcs(), **same)
        return client, server

    def sketch(is_hadamard: bool) -> tuple[Any, Any]:
        server = peer.CMSServer(epsilon, hashes, width, is_hadamard)
        return peer.CMSClient(epsilon, server.get_hash_funcs(), width, is_hadamard), server

    cms = f"epsilon, {hashes} hashes, m={width}"
    oracles = [
        oracle("KRR", "DE", "epsilon, d", alike("DE", epsilon, d)),
        oracle("SUE", "UE", "epsilon, d", alike("UE", epsilon, d), cells=d),
        oracle(
            "OUE",
            "UE",
            "epsilon, d, use_oue=True",
            alike("UE", epsilon, d, use_oue=True),
            cells=d,
        ),
        oracle(
            "LocalHashing",
            "LH",
            "epsilon, d, use_olh=True",
            alike("LH", epsilon, d, use_olh=True),
        ),
        oracle("Hadamard", "HadamardResponse", "epsilon, d", hadamard_response),
        # A report of HadamardMech may be an iterator, which the first count would use up.
        oracle(
            "Hadamard",
            "HadamardMech",
            f"epsilon, d={power}, t=1",
            alike("HadamardMech", epsilon, power, 1),
            keep=list,
        ),
        oracle("CountMeanSketch", "CMS", cms, partial(sketch, False), cells=width),
        oracle("HadamardSketch", "CMS", f"{cms}, is_hadamard=True", partial(sketch, True)),
    ]
    return [way for each in oracles for way in each.ways()]


def pure_ldp_count(server: Any, reports: list[Any]) -> None:
    """Count with a server of pure-ldp as if it had seen no report before."""
    server.reset()
    server.aggregate_all(reports)
    server.check_and_update_estimates()


PEERS: dict[str, Callable[[Setting], list[Way]]] = {
    "multi-freq-ldpy": multi_freq_ldpy,
    "pure-ldp": pure_ldp,
}


def cpu_seconds(run: Run, loops: int = 1) -> float:
    """Return the CPU time of so many calls, with garbage collection off."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(loops):
            run()
        return time.process_time() - start
    finally:
        gc.enable()


def speed(way: Way, setting: Setting) -> tuple[float, int]:
    """Return reports per second, and the number of reports in a call that lasts long enough."""
    most = min(setting.n, max(1, CELLS // way.cells))
    answers = np.random.default_rng(7).integers(0, setting.k, most)
    n = min(1000, most)
    while True:
        run = way.prepare(answers[:n])
        run()  # warm-up: compiles on the first round, fills the caches on every one
        seconds = cpu_seconds(run)
        if seconds >= SECONDS or n == most:
            break
        n = min(most, int(n * min(10.0, 1 + SECONDS / seconds)))
    loops = max(1, round(SECONDS / seconds))
    best = min(cpu_seconds(run, loops) for _ in range(setting.repeat))
    return n * loops / best, n


def fastest(ways: list[Way], setting: Setting) -> Row:
    """Measure all ways to do a task and return what the row of the best one says."""
    rows: list[Row] = []
    errors: list[str] = []
    for way in ways:
        try:
            rate, n = speed(way, setting)
        except Exception as error:
            errors.append(f"{way.call}: {error!r}")
        else:
            rows.append({"reports_per_second": round(rate), "n": n, "call": way.call})
    if not rows:
        return {"error": "; ".join(errors)}
    return max(rows, key=lambda row: int(row["reports_per_second"]))


def measure(peer: str, setting: Setting) -> list[Row]:
    """Return a row for each task of a peer, or one row with the error if it cannot be loaded."""
    try:
        about: Row = {"peer": peer, "version": version(peer)}
        ways = PEERS[peer](setting)
    except Exception as error:
        return [{"peer": peer, "version": "", "task": "import", "error": repr(error)}]
    by_task: dict[str, list[Way]] = {}
    for way in ways:
        by_task.setdefault(way.task, []).append(way)
    return [about | {"task": task} | fastest(same, setting) for task, same in by_task.items()]


def main() -> None:
    """Measure all peers and print the document."""
    parser = argparse.ArgumentParser(description="Measure the speed of murmurs' peers on PyPI.")
    parser.add_argument("--k", type=int, default=128, help="number of possible answers")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--n", type=int, default=1_000_000, help="most reports of a measurement")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions, of which the best")
    parser.add_argument("--hashes", type=int, default=16, help="hash functions of a sketch")
    parser.add_argument("--width", type=int, default=256, help="cells of a sketch per hash")
    setting = Setting(**vars(parser.parse_args()))
    document = {
        "k": setting.k,
        "epsilon": setting.epsilon,
        "n": setting.n,
        "hashes": setting.hashes,
        "width": setting.width,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "rows": [row for peer in PEERS for row in measure(peer, setting)],
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
