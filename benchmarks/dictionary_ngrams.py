"""Unknown dictionaries from n-grams, as published: what the method of Fanti et al. (2016) finds.

``python -m benchmarks.dictionary_ngrams`` repeats two experiments of the paper and writes
docs/results/dictionary_ngrams.json and .md. The first has 100 host names of at most 20 characters,
one million people and epsilon 4.39 for all reports of a person (section 5.2). The second has 10
random strings of 6 letters, with a power law, a geometric and a uniform distribution (figures 7, 17
and 18). ``--quick`` repeats each once.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import string
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from murmurs.dictionary.ngrams import discover_ngrams
from murmurs.mechanisms import NGrams, Rappor

RESULTS = Path(__file__).parent.parent / "docs" / "results"
EPSILON = 2 * math.log(9)
PEOPLE = 10**6
LETTERS = string.ascii_lowercase + string.digits + ".-"
COHORTS = 32
RIGHT_Q = 0.40946
HOSTS_TEXT = """
google.com youtube.com facebook.com baidu.com yahoo.com amazon.com wikipedia.org twitter.com
qq.com taobao.com live.com sina.com.cn linkedin.com weibo.com ebay.com yandex.ru hao123.com
vk.com bing.com msn.com instagram.com blogspot.com t.co apple.com aliexpress.com ask.com
pinterest.com tmall.com reddit.com wordpress.com mail.ru onclickads.net paypal.com tumblr.com
imgur.com microsoft.com sohu.com netflix.com stackoverflow.com archive.org imdb.com gmw.cn 360.cn
fc2.com go.com craigslist.org diply.com alibaba.com naver.com ok.ru google.co.in google.de
google.co.jp google.co.uk google.fr google.com.br google.ru google.it google.es google.ca
amazon.co.jp amazon.de amazon.co.uk nytimes.com bbc.co.uk cnn.com espn.go.com dropbox.com
github.com adobe.com booking.com wikia.com flipkart.com dailymotion.com rakuten.co.jp
soundcloud.com outbrain.com mozilla.org weather.com googleadservices.com cntv.cn xinhuanet.com
people.com.cn chinadaily.com.cn nicovideo.jp bankofamerica.com walmart.com etsy.com vimeo.com
theguardian.com huffingtonpost.com indiatimes.com buzzfeed.com dailymail.co.uk slideshare.net
python.org globo.com uol.com.br office.com zillow.com
"""
HOSTS = HOSTS_TEXT.split()


def rappor(q: float, longest: int) -> NGrams:
    """Return bigrams with RAPPOR of 128 bits underneath, with the paper's p, two hashes, this q."""
    part = Rappor(width=128, hashes=2, cohorts=COHORTS, f=0.0, p=0.25, q=q)
    return NGrams(longest, 2, whole=part, gram=part)


def q_for(epsilon: float) -> float:
    """Return the q that spends epsilon on one report, with p = 0.25 and two hashes."""
    odds = math.exp(epsilon / 2) / 3
    return odds / (1 + odds)


def calibrated() -> NDArray[np.float64]:
    """Return shares under which RAPPOR with a known list finds as many strings as in the paper."""
    rank = np.arange(1, len(HOSTS) + 1.0)
    weights = rank**-0.3 * 0.97**rank
    return np.asarray(weights / weights.sum())


SETTINGS: dict[str, tuple[NGrams, bool]] = {
    "RAPPOR, q = 0.32, edges as printed": (rappor(0.32, 20), True),
    "RAPPOR, q = 0.32, edges corrected": (rappor(0.32, 20), False),
    "RAPPOR, q = 0.4095, edges as printed": (rappor(RIGHT_Q, 20), True),
    "RAPPOR, q = 0.4095, edges corrected": (rappor(RIGHT_Q, 20), False),
    "O-RR, edges corrected": (NGrams.splitting(EPSILON, longest=20), False),
}


def found_in(
    asked: NGrams,
    texts: list[str],
    people: NDArray[np.int64],
    *,
    letters: str,
    as_printed: bool,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Draw one population's counts and return what is found in them."""
    start = time.process_time()
    counts = asked.over(texts, complete=True).simulate(people, rng)
    drawn = time.process_time()
    found = discover_ngrams(counts, alphabet=letters, as_printed=as_printed)
    true = [text for text in found.texts if text in texts]
    return {
        "true": len(true),
        "false": len(found.texts) - len(true),
        "grams": [len(own) for own in found.grams],
        "tested": found.tested,
        "all_tested": found.all_tested,
        "covered": sum(
            all(
                text.ljust(asked.positions * asked.size)[i * asked.size : (i + 1) * asked.size]
                in own
                for i, own in enumerate(found.grams)
            )
            for text in texts
        ),
        "delta": found.threshold,
        "draw_seconds": drawn - start,
        "seconds": time.process_time() - drawn,
    }


def hosts(repetitions: int) -> list[dict[str, Any]]:
    """Return what is found of the host names, in each setting and repetition."""
    out = []
    for number, (name, (asked, as_printed)) in enumerate(SETTINGS.items()):
        for repetition in range(repetitions):
            rng = np.random.default_rng([7, repetition, number])
            people = rng.multinomial(PEOPLE, calibrated())
            found = found_in(asked, HOSTS, people, letters=LETTERS, as_printed=as_printed, rng=rng)
            row = {"setting": name, "epsilon": asked.epsilon_realised, **found}
            print(json.dumps(row), file=sys.stderr, flush=True)
            out.append(row)
    return out


LAWS: dict[str, NDArray[np.float64]] = {
    "power law (figure 7)": np.arange(1, 11.0) ** -5,
    "geometric (figure 17)": 0.7 ** np.arange(1, 11.0),
    "uniform (figure 18)": np.ones(10),
}
EPSILONS = (1.0, 2.0, 3.0, 4.0, 6.0, 9.0)
SIZES = (10**4, 10**5, 10**6)


def strings(repetitions: int) -> list[dict[str, Any]]:
    """Return the fraction of 10 random strings that is found, by law, epsilon and people."""
    out = []
    cells = [(law, e, n, "O-RR") for law in LAWS for e in EPSILONS for n in SIZES]
    cells += [(law, e, 10**5, "RAPPOR") for law in LAWS for e in EPSILONS]
    for number, (law, epsilon, n, kind) in enumerate(cells):
        if kind == "RAPPOR":
            asked = rappor(q_for(epsilon / 3), 6)
        else:
            asked = NGrams.splitting(epsilon, longest=6)
        found = []
        for repetition in range(repetitions):
            rng = np.random.default_rng([11, repetition, number])
            letters = rng.choice(list(string.ascii_lowercase), (10, 6))
            texts = ["".join(row) for row in letters]
            people = rng.multinomial(n, LAWS[law] / LAWS[law].sum())
            found.append(
                found_in(
                    asked, texts, people, letters=string.ascii_lowercase, as_printed=False, rng=rng
                )
            )
        row = {
            "law": law,
            "epsilon": epsilon,
            "people": n,
            "mechanism": kind,
            "fraction": float(np.mean([own["true"] for own in found])) / 10,
            "false": float(np.mean([own["false"] for own in found])),
            "seconds": float(np.mean([own["seconds"] for own in found])),
        }
        print(json.dumps(row), file=sys.stderr, flush=True)
        out.append(row)
    return out


def page(result: dict[str, Any]) -> str:
    """Return the page of results."""
    lines = [
        "# Strings from n-grams",
        "",
        "*What the published method finds: Fanti, Pihur and Erlingsson (2016), sections 4 and 5. "
        f"Written by `python -m benchmarks.dictionary_ngrams`, {result['repetitions']} repetitions "
        "of each setting. How it works, and when not to use it: "
        "[strings from n-grams](../dictionary-ngrams.md).*",
        "",
        "## 100 host names, one million people, ε = 4.39 for all reports",
        "",
        "The paper reports 5 true strings and 1 false one. Its frequencies are not public; here "
        "they are proportional to r^−0.3 · 0.97^r. This law was chosen beforehand, not by this "
        "script, because under it RAPPOR with a known list finds 75 strings at ε = 4.39 and 23 at "
        "q = 0.32, as in the paper. *Covered* are the strings all of whose bigrams are significant "
        "at their positions, which is the most that any analysis of pairs could find; *bigrams* is "
        "their number at each position in the first repetition.",
        "",
        "| setting | ε of all reports | true | false | covered | candidates | bigrams | seconds |",
        "|---|---:|---:|---:|---:|---:|---|---:|",
    ]
    for name in SETTINGS:
        rows = [row for row in result["hosts"] if row["setting"] == name]
        true, false, covered, tested, seconds = (
            float(np.mean([row[key] for row in rows]))
            for key in ("true", "false", "covered", "tested", "seconds")
        )
        lines.append(
            f"| {name} | {rows[0]['epsilon']:.2f} | {true:.1f} | {false:.1f} | {covered:.1f} | "
            f"{tested:,.0f} | {', '.join(str(x) for x in rows[0]['grams'])} | {seconds:.1f} |"
        )
    lines += [
        "",
        "## 10 random strings of 6 letters",
        "",
        "The fraction of the strings that is found, with O-RR underneath, for 10^4 / 10^5 / 10^6 "
        "people, and in brackets with RAPPOR of 128 bits (p = 0.25, the right q) for 10^5. Edges "
        "are the corrected ones. String r of 10 has a share proportional to r^−5 (power law), to "
        "0.7^r (geometric) or to 1 (uniform). The paper shows its figures as pictures only.",
        "",
        "| ε of all reports | " + " | ".join(LAWS) + " |",
        "|---:|" + "---|" * len(LAWS),
    ]
    for epsilon in EPSILONS:
        line = [f"{epsilon:g}"]
        for law in LAWS:
            here = [
                row for row in result["strings"] if row["law"] == law and row["epsilon"] == epsilon
            ]
            own = " / ".join(f"{r['fraction']:.2f}" for r in here if r["mechanism"] == "O-RR")
            other = next(r["fraction"] for r in here if r["mechanism"] == "RAPPOR")
            line.append(f"{own} ({other:.2f})")
        lines.append("| " + " | ".join(line) + " |")
    repetitions = result["repetitions"]
    wrong = [row for row in result["strings"] if row["false"]]
    where = "; ".join(
        f"{row['false'] * repetitions:.0f} with {row['mechanism']}, {row['law']}, "
        f"ε = {row['epsilon']:g}"
        for row in wrong
    )
    total = sum(row["false"] for row in wrong) * repetitions
    runs = len(result["strings"]) * repetitions
    lines += [
        "",
        f"False strings in all {runs} runs of this table, of which 5 % may have one: {total:.0f}"
        + (f" ({where})." if where else "."),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="repeat each setting once")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args()
    file = RESULTS / "dictionary_ngrams.json"
    if options.page:
        result = json.loads(file.read_text(encoding="utf-8"))
    else:
        repetitions = 1 if options.quick else 3
        result = {
            "repetitions": repetitions,
            "hosts": hosts(repetitions),
            "strings": strings(repetitions),
        }
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "dictionary_ngrams.md").write_text(page(result), encoding="utf-8")


if __name__ == "__main__":
    main()
