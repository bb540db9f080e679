"""Fanti, Pihur and Erlingsson (2016), section 4: strings from n-grams, with the paper's parameters.

The paper sends RAPPOR of 128 bits with two hashes, p = 0.25 and no permanent noise. The strings of
its section 5.2 are not public; the host names here have shares under which RAPPOR with a known list
finds as many of them as in the paper. Figures 7, 17 and 18 are in `fanti2016_strings`, 9 to 11 in
`fanti2016_lengths`, 8 and 12 in `fanti2016_bars`.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmurs import estimators
from murmurs.mechanisms.longitudinal.rappor import Rappor
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.numerics.arrays import Floats, Integers
from murmurs.questions.dictionary.dictionary import Dictionary
from murmurs.questions.dictionary.ngrams.pairs import delta
from murmurs.questions.dictionary.ngrams.strings import FoundByNGrams, search_ngrams

COHORTS = 32
P, ONE_REPORT, SPLIT_Q = 0.25, 0.75, 0.32
"""The p of all reports, the q of one report, and the q of each of three reports."""

RIGHT_Q = 0.40946
"""The q with which three reports together spend what one report with q = 0.75 does."""

EPSILON = 2 * math.log(9)
"""What one report with q = 0.75 and two hashes spends: 4.39."""

PEOPLE = 10**6
HOST_LETTERS = string.ascii_lowercase + string.digits + ".-"
HOST_TEXT = """
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
HOSTS = HOST_TEXT.split()
LONGEST = max(map(len, HOSTS))


def calibrated() -> Floats:
    """Return shares under which RAPPOR with a known list finds as many hosts as in the paper."""
    rank = np.arange(1, len(HOSTS) + 1.0)
    weights = rank**-0.3 * 0.97**rank
    return np.asarray(weights / weights.sum())


def bloom(q: float, cohorts: int = COHORTS) -> Rappor:
    """Return the RAPPOR of the paper with this q."""
    return Rappor(width=128, hashes=2, cohorts=cohorts, f=0.0, p=P, q=q)


def bloom_grams(q: float, longest: int, size: int = 2, cohorts: int = COHORTS) -> NGrams:
    """Return two n-grams and the whole string, each reported by the RAPPOR of the paper."""
    part = bloom(q, cohorts)
    return NGrams(longest, size, whole=part, gram=part)


def q_for(epsilon: float) -> float:
    """Return the q that spends epsilon on one report, with p = 0.25 and two hashes.

    >>> round(q_for(EPSILON), 6), round(q_for(EPSILON / 3), 5)
    (0.75, 0.40946)
    """
    odds = math.exp(epsilon / 2) * P / (1 - P)
    return odds / (1 + odds)


def q_of_the_paper(epsilon: float) -> float:
    """Return the q that the paper computes for three reports: it spends half of epsilon.

    >>> round(q_of_the_paper(EPSILON), 2)
    0.32
    """
    return q_for(epsilon / 6)


@dataclass(frozen=True, eq=False)
class Learnt:
    """The shares of the strings that were found, and how n-grams led to them if they did."""

    shares: dict[str, float]
    by: FoundByNGrams | None = None

    def true(self, texts: Sequence[str]) -> int:
        """Return how many of these strings were found."""
        return len(self.shares.keys() & set(texts))

    def hellinger(self, texts: Sequence[str], law: Floats) -> float:
        """Return the distance of the shares found from a law on these strings."""
        truth = dict(zip(texts, law.tolist(), strict=True))
        every = truth.keys() | self.shares.keys()
        squares = (
            (math.sqrt(truth.get(text, 0.0)) - math.sqrt(self.shares.get(text, 0.0))) ** 2
            for text in every
        )
        return math.sqrt(sum(squares) / 2)


def learn_by_grams(
    asked: NGrams,
    texts: Sequence[str],
    people: Integers,
    letters: str,
    rng: np.random.Generator,
    *,
    multiple: float | None,
) -> Learnt:
    """Draw reports of strings and n-grams, and return what is found without a list.

    Two n-grams go together if their joint share is above this multiple of the paper's threshold,
    which is that of its equation 2 with the missing square; without one, unless it is below the
    threshold by more than its noise.
    """
    counts = asked.over(texts, complete=True).simulate(people, rng)
    if multiple is None:
        found = search_ngrams(counts, asked, letters)
    else:
        square = delta(asked, counts.n) / delta(asked, counts.n, as_printed=True)
        found = search_ngrams(counts, asked, letters, as_printed=True, factor=multiple * square)
    pairs = zip(found.texts, found.log_p.tolist(), strict=True)
    kept = [text for text, log_p in pairs if log_p < math.log(0.05)]
    if not kept:
        return Learnt({}, found)
    shares = estimators.estimate(asked.whole_counts(counts).over(kept)).shares[: len(kept)]
    return Learnt(dict(zip(kept, np.clip(shares, 0, 1).tolist(), strict=True)), found)


def learn_by_prefixes(
    epsilon: float, texts: Sequence[str], people: Integers, letters: str, rng: np.random.Generator
) -> Learnt:
    """Draw reports of prefixes, and return what is found without a list."""
    asked = Dictionary(epsilon, longest=max(map(len, texts)), alphabet=letters)
    counts = asked.simulate(dict(zip(texts, people.tolist(), strict=True)), rng)
    found = asked.discover(counts)
    if found.estimate is None:
        return Learnt({})
    shares = np.clip(found.estimate.shares[: len(found.labels)], 0, 1)
    return Learnt(dict(zip(found.labels, shares.tolist(), strict=True)))


def learn_from_list(
    part: Rappor, texts: Sequence[str], people: Integers, rng: np.random.Generator
) -> Learnt:
    """Draw reports of whole strings, and return which strings of the known list stand out."""
    counts = part.over(texts, complete=True).simulate(people, rng)
    found = estimators.estimate(counts)
    present = found.detected(0.05, "bonferroni").present
    shares = np.clip(found.shares, 0, 1)
    return Learnt(
        {text: float(shares[i]) for i, text in enumerate(texts) if present[i]},
    )
