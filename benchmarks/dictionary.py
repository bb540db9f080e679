"""Dictionaries: how many strings that nobody listed are found, and how many false ones.

``python -m benchmarks.dictionary --rows rows.jsonl [--data FOLDER]`` asks simulated people for
strings, searches for them with `murmurs.Dictionary`, and adds one line to the file of rows for each
run; runs that are there already are left out, and several processes may share the work by
``--only``. With ``--known``, the same people answer an open question, and the strings of the
known list are detected. With ``--fdr RATE``, a part of the strings found may be false. Rows of an
earlier version are made by running this file with its source on the path and ``--rule earlier``.
`benchmarks.dictionary_page` makes the page of results.

The first settings are that of section 5.2 of Fanti, Pihur and Erlingsson (2016): 100 domain names
of at most 20 characters, a million people and epsilon 4.39 in all, and the same with fewer people
or less epsilon. Real strings come from the folder, as CSV files of a string and its count. The
settings in `FRESH` check the noise floor on other alphabets, lengths, epsilons and numbers of
people.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.dictionary_strings import (
    LETTERS,
    UMLAUTS,
    WEB,
    domains,
    english,
    of_file,
    population,
    random_strings,
    table,
)

import murmurs as mm

PAPER = 2 * math.log(9)

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {},
    "paper, with a corpus": {"corpus": "top500_domains_linking_sites.csv"},
    "20,000 people": {"people": 20_000},
    "epsilon 1": {"epsilon": 1.0},
    "baby names": {"file": "us_baby_names_1990.csv.gz", "letters": LETTERS, "longest": 15},
    "English words": {
        "file": "english_words_subtlex.csv.gz",
        "letters": LETTERS + "'",
        "longest": 15,
    },
    "host names": {"file": "usagov_click_hosts.csv", "longest": 26},
    "domains": {"file": "top500_domains_linking_sites.csv"},
}

HEX = "0123456789abcdef"

KINDS: dict[str, dict[str, Any]] = {
    "words": {"letters": LETTERS, "longest": 15},
    "German words": {"letters": UMLAUTS, "longest": 14},
    "paths": {"letters": LETTERS + "0123456789/", "longest": 20},
    "identifiers": {"letters": HEX, "longest": 8},
}
"""Kinds of strings: 3,000 of them, with lognormal shares."""

POPULATIONS: dict[str, dict[str, Any]] = {
    **{kind: {**own, "kind": kind, "epsilon": 4.0} for kind, own in KINDS.items()},
    "identifiers, like identifiers": {
        **KINDS["identifiers"],
        "kind": "identifiers",
        "epsilon": 4.0,
        "like": "identifiers",
    },
    "words, with a corpus": {**KINDS["words"], "kind": "words", "epsilon": 4.0, "words": 30_000},
    **{
        f"{kind}, epsilon {epsilon:g}, 100,000 people": {
            **own,
            "kind": kind,
            "epsilon": epsilon,
            "people": 10**5,
        }
        for kind, own in KINDS.items()
        for epsilon in (1.0, 2.0)
    },
}
"""Populations of kinds of strings, which the known list and the earlier rule are compared on."""

FRESH: dict[str, dict[str, Any]] = {
    "DNA": {"letters": "acgt", "longest": 12, "epsilon": 2.0, "people": 10**5},
    "digits, epsilon 1": {"letters": "0123456789", "longest": 8, "epsilon": 1.0},
    "digits, 10,000 people": {
        "letters": "0123456789",
        "longest": 16,
        "epsilon": 4.0,
        "people": 10**4,
    },
    "hexadecimal, epsilon 6": {
        "letters": "0123456789abcdef",
        "longest": 12,
        "epsilon": 6.0,
        "people": 10**4,
    },
    "digits, epsilon 10": {
        "letters": "0123456789",
        "longest": 8,
        "epsilon": 10.0,
        "people": 5000,
    },
    "skewed letters, epsilon 3": {
        "letters": LETTERS,
        "longest": 10,
        "epsilon": 3.0,
        "skewed": True,
    },
    "skewed letters, 100,000 people": {
        "letters": LETTERS,
        "longest": 20,
        "epsilon": 5.0,
        "people": 10**5,
        "skewed": True,
    },
    "Greek, epsilon 0.5, 10 million people": {
        "letters": "αβγδεζηθικλμνξοπρστυφχψω",
        "longest": 10,
        "epsilon": 0.5,
        "people": 10**7,
    },
    "skewed letters, 30 letters long": {
        "letters": LETTERS,
        "longest": 30,
        "epsilon": 4.0,
        "skewed": True,
    },
    "64 letters": {
        "letters": LETTERS + LETTERS.upper() + "0123456789-_",
        "longest": 8,
        "epsilon": 4.0,
    },
    "web letters, epsilon 2, 10 million people": {
        "longest": 14,
        "epsilon": 2.0,
        "people": 10**7,
    },
    "short strings, epsilon 1": {
        "letters": LETTERS,
        "longest": 6,
        "epsilon": 1.0,
        "people": 10**5,
    },
    "baby names of 2016, epsilon 3": {
        "file": "us_baby_names_2016.csv.gz",
        "letters": LETTERS,
        "longest": 12,
        "epsilon": 3.0,
    },
    "time zones, 50,000 people": {
        "file": "usagov_click_timezones.csv",
        "letters": LETTERS + "/_-",
        "longest": 24,
        "epsilon": 3.0,
        "people": 50_000,
    },
    "airports, epsilon 1": {
        "file": "nycflights_dest.csv",
        "letters": LETTERS,
        "longest": 4,
        "epsilon": 1.0,
    },
}

ALL = {**SETTINGS, **POPULATIONS, **FRESH}

NEAR = 0.2
"""Strings that were not found are kept in the rows down to this part of the noise floor."""


def asked_in(name: str) -> mm.Dictionary:
    """Return the question of a setting."""
    setting = ALL[name]
    like = {"like": setting["like"]} if "like" in setting else {}
    return mm.Dictionary(
        setting.get("epsilon", PAPER),
        setting.get("longest", 20),
        setting.get("letters", WEB),
        people=setting.get("people", 10**6),
        **like,
    )


def law_of(name: str, repetition: int, data: Path | None) -> dict[str, float]:
    """Return the strings of a setting with their shares in the population."""
    setting, asked = ALL[name], asked_in(name)
    if "file" in setting:
        assert data is not None
        return of_file(data / setting["file"], asked.alphabet, asked.longest)
    if name in SETTINGS:
        return domains(asked.longest)
    rng = np.random.default_rng([repetition, *name.encode()])
    if "kind" in setting:
        return population(setting["kind"], np.random.default_rng([2, repetition]), data)
    return random_strings(
        rng, asked.alphabet, asked.longest, asked.floor, skewed=setting.get("skewed", False)
    )


def run(name: str, repetition: int, data: Path | None, fdr: float | None = None) -> dict[str, Any]:
    """Ask, count and search once; return what was found.

    ``strings`` has for each string its share, its length, and the limits of its share if it was
    found; also false ones, with a share of 0.
    """
    asked, law = asked_in(name), law_of(name, repetition, data)
    assert asked.people is not None
    rng = np.random.default_rng([1, repetition])
    held = rng.multinomial(asked.people, list(law.values()))
    counts = asked.simulate(dict(zip(law, held.tolist(), strict=True)), rng)
    corpus = corpus_of(name, law, data)
    forget_peak()
    start = time.process_time()
    if fdr is None:
        found = asked.discover(counts, corpus=corpus)
    else:
        found = asked.discover(counts, corpus=corpus, control="fdr", error_rate=fdr)
    seconds = time.process_time() - start
    limits: dict[str, list[float]] = {}
    if found.estimate is not None:
        pairs = found.estimate.interval(0.95).T[:-1].tolist()
        limits = dict(zip(found.labels, pairs, strict=True))
    kept = [text for text, share in law.items() if share > NEAR * asked.floor or text in limits]
    false = [text for text in limits if law.get(text, 0.0) == 0]
    strings = [[law.get(text, 0.0), len(text), *limits.get(text, [])] for text in kept + false]
    return {
        "setting": name,
        "repetition": repetition,
        "true": len(limits) - len(false),
        "false": len(false),
        "seconds": round(seconds, 2),
        "peak_mb": peak_mb(),
        "strings": [[float(f"{number:.6g}") for number in row] for row in strings],
    }


def forget_peak() -> None:
    """Begin again with the peak of memory, which earlier runs of the process have raised."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> int:
    """Return the most memory that the process has had, in MB."""
    status = Path("/proc/self/status").read_text()
    return round(int(status.split("VmHWM:")[1].split()[0]) / 1000)


def corpus_of(name: str, law: dict[str, float], data: Path | None) -> list[str]:
    """Return the corpus of a setting: other domain names, or words with those that are held."""
    setting = ALL[name]
    if "words" in setting:
        return english(data, setting["words"])
    if "corpus" not in setting:
        return []
    assert data is not None
    return [text for text, _ in table(data / setting["corpus"]) if text not in law]


def known(name: str, repetition: int, data: Path | None) -> dict[str, Any]:
    """Ask the same people with an open question, and detect the strings of the known list."""
    asked, law = asked_in(name), law_of(name, repetition, data)
    assert asked.people is not None
    rng = np.random.default_rng([1, repetition])
    held = rng.multinomial(asked.people, list(law.values()))
    width = min(max(2, round(math.exp(asked.epsilon)) + 1), 4096)
    question = mm.Question("known", mechanism=mm.ORR(asked.epsilon, width, 1024))
    counts = question.simulate(dict(zip(law, held.tolist(), strict=True)), rng)
    found = mm.estimate(counts.over(list(law))).detected()
    return {"setting": name, "repetition": repetition, "true": int(found.present[:-1].sum())}


def main() -> None:
    """Run all settings that the data allow, and add their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="file of rows, made or added to")
    parser.add_argument("--data", type=Path, help="folder of real strings")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    parser.add_argument("--only", nargs="*", default=list(ALL))
    parser.add_argument("--rule", default="now", help="a name for the rows, as of an older version")
    parser.add_argument("--known", action="store_true", help="detect the strings of a known list")
    parser.add_argument("--fdr", type=float, help="the part of the strings found that may be false")
    given = parser.parse_args()
    rule = "known" if given.known else f"fdr {given.fdr:g}" if given.fdr else given.rule
    lines = given.rows.read_text().splitlines() if given.rows.exists() else []
    done = {
        (row["setting"], row["repetition"]) for row in map(json.loads, lines) if row["rule"] == rule
    }
    for repetition in range(given.first, given.first + given.runs):
        for name in given.only:
            setting = ALL[name]
            if given.data is None and setting.keys() & {"file", "corpus", "kind"}:
                print(f"{name}: left out, needs --data", file=sys.stderr)
            elif (name, repetition) not in done:
                row = (
                    known(name, repetition, given.data)
                    if given.known
                    else run(name, repetition, given.data, given.fdr)
                )
                with given.rows.open("a") as file:
                    file.write(json.dumps({"rule": rule, **row}) + "\n")
                print(name, repetition, row["true"], row.get("false"), flush=True)


if __name__ == "__main__":
    main()
