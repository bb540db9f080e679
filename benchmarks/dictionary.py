"""Dictionaries: how many strings that nobody listed are found, and how many false ones.

``python -m benchmarks.dictionary [--data FOLDER]`` asks simulated people for strings, searches for
them with `murmurs.Dictionary`, and writes docs/results/dictionary.json and .md. The first settings
are that of section 5.2 of Fanti, Pihur and Erlingsson (2016): 100 domain names of at most 20
characters, a million people and epsilon 4.39 in all, and the same with fewer people or less
epsilon. The frequencies of the paper are not public: the law r^-0.3 0.97^r lets the paper's decoder
of a known list find as many strings as the paper reports. With a folder of real strings, given as
CSV files of a string and its count, they are searched, too.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import murmurs as mm

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WEB = LETTERS + "0123456789.-"
PAPER = 2 * math.log(9)

DOMAINS = """
    google.com youtube.com facebook.com baidu.com yahoo.com amazon.com wikipedia.org twitter.com
    qq.com taobao.com live.com sina.com.cn linkedin.com weibo.com ebay.com yandex.ru hao123.com
    vk.com bing.com msn.com instagram.com blogspot.com t.co apple.com aliexpress.com ask.com
    pinterest.com tmall.com reddit.com wordpress.com mail.ru onclickads.net paypal.com tumblr.com
    imgur.com microsoft.com sohu.com netflix.com stackoverflow.com archive.org imdb.com gmw.cn
    360.cn fc2.com go.com craigslist.org diply.com alibaba.com naver.com ok.ru google.co.in
    google.de google.co.jp google.co.uk google.fr google.com.br google.ru google.it google.es
    google.ca amazon.co.jp amazon.de amazon.co.uk nytimes.com bbc.co.uk cnn.com espn.go.com
    dropbox.com github.com adobe.com booking.com wikia.com flipkart.com dailymotion.com
    rakuten.co.jp soundcloud.com outbrain.com mozilla.org weather.com googleadservices.com cntv.cn
    xinhuanet.com people.com.cn chinadaily.com.cn nicovideo.jp bankofamerica.com walmart.com
    etsy.com vimeo.com theguardian.com huffingtonpost.com indiatimes.com buzzfeed.com
    dailymail.co.uk slideshare.net python.org globo.com uol.com.br office.com zillow.com
""".split()  # noqa: SIM905

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"epsilon": PAPER, "people": 10**6},
    "paper, with a corpus": {"epsilon": PAPER, "people": 10**6, "corpus": True},
    "20,000 people": {"epsilon": PAPER, "people": 20_000},
    "epsilon 1": {"epsilon": 1.0, "people": 10**6},
    "baby names": {"file": "us_baby_names_1990.csv.gz", "letters": LETTERS, "longest": 15},
    "English words": {"file": "english_words_subtlex.csv.gz", "letters": LETTERS + "'"},
    "host names": {"file": "usagov_click_hosts.csv", "letters": WEB, "longest": 26},
}


def table(path: Path) -> list[tuple[str, int]]:
    """Return the strings of a file with their counts."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [(row[0], int(row[1])) for row in csv.reader(lines) if row[1] != "count"]


def strings_of(setting: dict[str, Any], data: Path | None) -> dict[str, float]:
    """Return the strings of a setting with their shares in the population."""
    if "file" not in setting:
        rank = np.arange(1, len(DOMAINS) + 1)
        weights = rank**-0.3 * 0.97**rank
        cut = [name[:20] for name in DOMAINS]
        return dict(zip(cut, (weights / weights.sum()).tolist(), strict=True))
    assert data is not None
    letters, longest = setting["letters"], setting.get("longest", 15)
    sums: dict[str, float] = {}
    for text, count in table(data / setting["file"]):
        kept = "".join(letter for letter in text.lower() if letter in letters)[:longest]
        if kept:
            sums[kept] = sums.get(kept, 0) + count
    total = sum(sums.values())
    return {text: count / total for text, count in sums.items()}


def run(name: str, repetition: int, data: Path | None) -> dict[str, Any]:
    """Ask, count and search once; return what was found."""
    setting = SETTINGS[name]
    law = strings_of(setting, data)
    letters = setting.get("letters", WEB)
    people, epsilon = setting.get("people", 10**6), setting.get("epsilon", PAPER)
    asked = mm.Dictionary(
        epsilon, setting.get("longest", 15 if "file" in setting else 20), letters, people=people
    )
    rng = np.random.default_rng(1000 + repetition)
    held = rng.multinomial(people, list(law.values()))
    counts = asked.simulate(dict(zip(law, held.tolist(), strict=True)), rng)
    corpus: list[str] = []
    if setting.get("corpus"):
        assert data is not None
        others = (text for text, _ in table(data / "top500_domains_linking_sites.csv"))
        corpus = [text for text in others if text not in law]
    start = time.process_time()
    found = asked.discover(counts, corpus=corpus)
    seconds = time.process_time() - start
    true = [text for text in found.labels if law.get(text, 0.0) > 0]
    limits = found.estimate.interval(0.95) if found.estimate is not None else np.zeros((0, 2))
    covered = [
        bool(low <= law.get(text, 0.0) <= high)
        for text, (low, high) in zip(found.labels, limits, strict=False)
    ]
    above = [text for text, share in law.items() if share > asked.floor]
    return {
        "setting": name,
        "repetition": repetition,
        "true": len(true),
        "false": len(found.labels) - len(true),
        "above": len(above),
        "above_found": len(set(above) & set(found.labels)),
        "covered": sum(covered),
        "seconds": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


HEAD = """# Dictionaries

Written by `benchmarks.dictionary`: simulated people are asked for strings that nobody listed, each
person once, and [`murmurs.Dictionary`](../dictionary.md) searches for them. *true* and *false* are
the strings found that somebody could hold and that nobody could, as means over the repetitions.
*above the floor* are the strings with a share above the predicted noise floor. *covered* is the
part of the 95 % intervals of the strings found that contain the share in the population. The search
time is processor time on one core; memory is the peak of the process.

The constant of the noise floor, 3.5 standard errors of an average level, was chosen on domain
names, baby names, words and host names after seeing which strings were found. So the column *above
the floor* is no independent check of it. The search was developed on these settings, with the seeds
of the first runs.

The first four settings are that of section 5.2 of Fanti, Pihur and Erlingsson (2016), whose method
found 5 strings and one false one with a million people.

"""


def write(rows: list[dict[str, Any]], folder: Path) -> None:
    """Write the page of the results."""
    lines = [
        "| setting | runs | true | false | above the floor found | covered | seconds | MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in dict.fromkeys(row["setting"] for row in rows):
        own = [row for row in rows if row["setting"] == name]
        found = sum(row["true"] + row["false"] for row in own)
        lines.append(
            f"| {name} | {len(own)} | {np.mean([r['true'] for r in own]):.1f} "
            f"| {np.mean([r['false'] for r in own]):.2f} "
            f"| {sum(r['above_found'] for r in own)} of {sum(r['above'] for r in own)} "
            f"| {100 * sum(r['covered'] for r in own) / max(found, 1):.1f} % "
            f"| {np.mean([r['seconds'] for r in own]):.1f} "
            f"| {max(r['peak_mb'] for r in own):.0f} |"
        )
    (folder / "dictionary.md").write_text(HEAD + "\n".join(lines) + "\n")


def main() -> None:
    """Run all settings that the data allow, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of real strings")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=list(SETTINGS))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in arguments.only:
        setting = SETTINGS[name]
        if arguments.data is None and ("file" in setting or "corpus" in setting):
            print(f"{name}: left out, needs --data", file=sys.stderr)
            continue
        for repetition in range(arguments.runs):
            rows.append(run(name, repetition, arguments.data))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    (arguments.out / "dictionary.json").write_text(json.dumps(rows, indent=1) + "\n")
    write(rows, arguments.out)


if __name__ == "__main__":
    main()
