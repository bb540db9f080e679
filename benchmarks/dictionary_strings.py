"""The strings that dictionaries are searched for in benchmarks, with their shares.

Without a folder of data there are the 100 domain names of the setting of Fanti, Pihur and
Erlingsson (2016), section 5.2. Real strings are CSV files of a string and its count. This file
needs only NumPy, so that peers can be run on the same strings in their own environment.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WEB = LETTERS + "0123456789.-"

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


def domains(longest: int = 20) -> dict[str, float]:
    """Return 100 domain names with shares proportional to r^-0.3 0.97^r.

    The frequencies of the paper are not public. This law lets its decoder of a known list find as
    many strings as it reports.
    """
    rank = np.arange(1, len(DOMAINS) + 1)
    weights = rank**-0.3 * 0.97**rank
    cut = [name[:longest] for name in DOMAINS]
    return dict(zip(cut, (weights / weights.sum()).tolist(), strict=True))


def table(path: Path) -> list[tuple[str, float]]:
    """Return the strings of a file with their counts."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    return [(row[0], float(row[1])) for row in rows if row[1] != "count"]


def of_file(path: Path, letters: str, longest: int) -> dict[str, float]:
    """Return the strings of a file, in lower case and cut, with their shares in all counts."""
    sums: dict[str, float] = {}
    for text, count in table(path):
        kept = "".join(letter for letter in text.lower() if letter in letters)[:longest]
        if kept:
            sums[kept] = sums.get(kept, 0) + count
    total = sum(sums.values())
    return {text: count / total for text, count in sums.items()}


PARTS = """
    home user settings privacy search cart account help login profile images news sport video music
    shop item list edit view new api static docs blog tag page admin report data upload photo group
    event map mail inbox draft send test main about contact terms legal team jobs
""".split()  # noqa: SIM905

GERMAN = Path("/usr/share/dict/ngerman")
"""German words, of Debian's package wngerman."""


def population(kind: str, rng: np.random.Generator, data: Path | None) -> dict[str, float]:
    """Return 3,000 strings of a kind whose shares are lognormal, with a deviation of 1.5.

    "words" are drawn from the 6,000 most common English ones, "German words" from a spelling
    dictionary; "identifiers" are eight random hexadecimal digits, "paths" one to three of 52 names,
    some with a number. Strings, shares and counts are drawn anew for each run.
    """
    many = 3000
    if kind == "words":
        texts = rng.choice(english(data, 6000), many, replace=False).tolist()
    elif kind == "German words":
        lines = [line.strip().lower() for line in GERMAN.read_text(encoding="utf-8").splitlines()]
        usable = [text for text in lines if 3 <= len(text) <= 14 and set(text) <= set(UMLAUTS)]
        texts = rng.choice(list(dict.fromkeys(usable)), many, replace=False).tolist()
    elif kind == "identifiers":
        texts = ["".join(row) for row in rng.choice(list("0123456789abcdef"), (many, 8))]
    else:
        drawn: dict[str, None] = {}
        while len(drawn) < many:
            text = "/" + "/".join(rng.choice(PARTS, rng.integers(1, 4)).tolist())
            text += f"/{rng.integers(1, 400)}" if rng.random() < 0.4 else ""
            if len(text) <= 20:
                drawn[text] = None
        texts = list(drawn)
    texts = list(dict.fromkeys(texts))
    weights = np.exp(1.5 * rng.normal(size=len(texts)))
    return dict(zip(texts, (weights / weights.sum()).tolist(), strict=True))


UMLAUTS = LETTERS + "äöüß"


def english(data: Path | None, many: int) -> list[str]:
    """Return the most common English words of 3 to 15 letters."""
    assert data is not None
    rows = (text.lower() for text, _ in table(data / "english_words_subtlex.csv.gz"))
    words = dict.fromkeys(
        text for text in rows if 3 <= len(text) <= 15 and set(text) <= set(LETTERS)
    )
    return list(words)[:many]


def random_strings(
    rng: np.random.Generator, letters: str, longest: int, floor: float, *, skewed: bool
) -> dict[str, float]:
    """Return up to 40 strings with shares from a third of a noise floor to three times it.

    Lengths are uniform from a quarter of the longest on, and shares on a logarithmic scale. The
    other people hold 2000 rarer strings, whose shares fall with the root of their rank. Letters
    are equally likely, or depend on the letter before (``skewed``).
    """
    shares = floor * np.exp(rng.uniform(-np.log(3), np.log(3), 40))
    shares = shares[np.cumsum(shares) < 0.9]
    few = _different(rng, letters, longest, len(shares), {}, skewed)
    law = dict(zip(few, shares.tolist(), strict=True))
    many = min(2000, len(letters) ** longest // 10)
    rest = np.arange(1, many + 1) ** -0.5
    rest *= (1 - shares.sum()) / rest.sum()
    rare = _different(rng, letters, longest, many, law, skewed)
    return {**law, **dict(zip(rare, rest.tolist(), strict=True))}


def _different(
    rng: np.random.Generator,
    letters: str,
    longest: int,
    many: int,
    taken: dict[str, float],
    skewed: bool,
) -> list[str]:
    """Return different strings that are not taken."""
    table = np.random.default_rng(len(letters)).permuted(
        np.tile(1 / np.arange(1.0, len(letters) + 1), (len(letters), 1)), axis=1
    )
    after = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)
    out: dict[str, None] = {}
    while len(out) < many:
        codes = [int(rng.integers(len(letters)))]
        for _ in range(int(rng.integers(max(1, longest // 4), longest + 1)) - 1):
            if skewed:
                drawn = int(np.searchsorted(after[codes[-1]], rng.random()))
                codes.append(min(drawn, len(letters) - 1))
            else:
                codes.append(int(rng.integers(len(letters))))
        text = "".join(letters[code] for code in codes)
        if text not in taken:
            out[text] = None
    return list(out)
