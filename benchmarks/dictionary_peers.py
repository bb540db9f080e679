"""What the heavy hitters of pure-ldp find, on the strings of `benchmarks.dictionary`.

It is run with the interpreter of the peers' own environment, and does not import murmurs::

    python3.11 -m venv peers-env
    peers-env/bin/pip install -r requirements/peers.txt
    peers-env/bin/python -m benchmarks.dictionary_peers > peers.json

pure-ldp has the prefix extending method (PEM) and sequence fragment puzzles (SFP). Each is called
in the best way that was found:

- Its default oracle, optimal local hashing, goes through the whole domain for every report: 40^20
  strings here. So the oracle is pure-ldp's sketch response over direct encoding, in 82 buckets at
  epsilon 4.39, which has the same noise, with as many hash functions as time allows.
- Strings have different lengths, but extensions of pure-ldp's padding sign are taken for the string
  without it, so one string would fill the list. Here strings are padded with "_", an ordinary
  letter.
- It is told how many strings there are (``k``), and returns that many. As it does not say which of
  them to trust, the strings are counted in two ways: all of them, and in hindsight those that rank
  above the first false one.
"""

import argparse
import json
import math
import random
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from benchmarks.dictionary_strings import WEB, domains

PAD = "_"
Method = Callable[[float, int, int, int], tuple[Any, Any]]


def oracles(epsilon: float, hashes: int, total: float) -> tuple[Any, Any]:
    """Return a client and a server of sketch response over direct encoding."""
    sketch = import_module("pure_ldp.frequency_oracles.sketch_response")
    direct = import_module("pure_ldp.frequency_oracles.direct_encoding")
    width = round(math.exp(epsilon)) + 1
    server = sketch.SketchResponseServer(
        total, hashes, width, fo_server=direct.DEServer(epsilon, width), sketch_method=3
    )
    client = sketch.SketchResponseClient(
        total,
        width,
        server.get_hash_funcs(),
        index_mapper=str,
        fo_client=direct.DEClient(epsilon, width),
    )
    return client, server


def prefixes(epsilon: float, longest: int, step: int, hashes: int) -> tuple[Any, Any]:
    """Return client and server of PEM: each person reports one prefix with all of epsilon."""
    hitters = import_module("pure_ldp.heavy_hitters")
    client, server = oracles(epsilon, hashes, epsilon)
    given = {"alphabet": [*WEB, PAD], "index_mapper": str}
    return (
        hitters.PEMClient(epsilon, 3 - step, longest, step, fo_client=client, **given),
        hitters.PEMServer(epsilon, 3 - step, longest, step, fo_server=server, **given),
    )


def puzzles(epsilon: float, longest: int, step: int, hashes: int) -> tuple[Any, Any]:
    """Return client and server of SFP: a fragment with a hash of the string, and the string."""
    hitters = import_module("pure_ldp.heavy_hitters")
    client, server = oracles(epsilon / 2, hashes, epsilon)
    given = {"alphabet": {*WEB, PAD}, "index_mapper": str}
    return (
        hitters.SFPClient(epsilon, step, longest, fo_client=client, **given),
        hitters.SFPServer(epsilon, step, longest, fo_server=server, **given),
    )


METHODS: dict[str, Method] = {"PEM": prefixes, "SFP": puzzles}


def run(
    name: str, people: int, epsilon: float, longest: int, step: int, hashes: int, seed: int
) -> dict[str, Any]:
    """Ask, count and search once; return what was found."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - pure-ldp draws from the global generators
    law = domains(longest)
    texts = list(law)
    held = np.random.default_rng(seed).choice(len(law), people, p=list(law.values()))
    client, server = METHODS[name](epsilon, longest, step, hashes)
    start = time.process_time()
    for number in held.tolist():
        server.aggregate(client.privatise(texts[number].ljust(longest, PAD)))
    asked = time.process_time()
    found, frequencies = server.find_heavy_hitters(k=len(law))
    done = time.process_time()
    ranked = [str(found[i]).rstrip(PAD) for i in np.argsort(-np.asarray(frequencies))]
    is_true = [text in law for text in ranked]
    return {
        "method": name,
        "people": people,
        "epsilon": epsilon,
        "longest": longest,
        "step": step,
        "hashes": hashes,
        "seed": seed,
        "true": len({text for text in ranked if text in law}),
        "false": len({text for text in ranked if text not in law}),
        "before_false": is_true.index(False) if False in is_true else len(is_true),
        "seconds_to_report": asked - start,
        "seconds_to_search": done - asked,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


def main() -> None:
    """Run one method repeatedly and print its rows, one JSON document per line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", choices=list(METHODS), default="PEM")
    parser.add_argument("--people", type=int, default=10**6)
    parser.add_argument("--epsilon", type=float, default=2 * math.log(9))
    parser.add_argument("--longest", type=int, default=20)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--hashes", type=int, default=256)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    for seed in range(given.runs):
        row = run(
            given.method,
            given.people,
            given.epsilon,
            given.longest,
            given.step,
            given.hashes,
            seed,
        )
        print(json.dumps(row), flush=True)
        print(json.dumps(row), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
