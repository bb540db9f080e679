"""Means, quantiles and shares of ranges over HTTP are those of the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from murmurs.collect.stores.store import Part
from murmurs.estimators.numbers import NumberEstimate
from murmurs.submission import SubmissionForm
from murmurs.survey.survey import Survey
from tests.collect.running import DAY, Running, running

SURVEY = Survey.from_toml(
    """
    name = "pay"
    [[questions]]
    name = "income"
    range = [0, 5999]
    width = 1000
    unit = "€"
    mechanism = {name = "KRR", epsilon = 4.0}
    [[questions]]
    name = "drink"
    labels = ["tea", "mate"]
    mechanism = {name = "KRR", epsilon = 4.0}
    """
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Three weeks in which pay rises."""
    rng = np.random.default_rng(1)
    with running(tmp_path_factory.mktemp("numbers"), SURVEY) as found:
        for week, pay in enumerate((1500, 2500, 3500)):
            found.clock.day = DAY + 7 * week
            held: Any = {"income": [pay] * 1500 + [5999] * 500, "drink": ["tea"] * 2000}
            reports = {q.name: q.encode_many(held[q.name], rng) for q in SURVEY.questions}
            sent = SubmissionForm(SURVEY).make(reports)
            assert found.send(sent, SURVEY, binary=True).status == 200
        yield found


@pytest.fixture(scope="module")
def token(served: Running) -> str:
    return served.token("read")


def estimate(served: Running, **part: Any) -> NumberEstimate:
    counts = served.store.counts(Part(SURVEY.fingerprint, "income", **part))
    found = SURVEY.question("income").estimate(counts)
    assert isinstance(found, NumberEstimate)
    return found


def asked(*statistics: str) -> str:
    return "&".join(f"statistic={quote(one)}" for one in statistics)


def test_numbers_have_their_mean_and_quantiles_unasked(served: Running, token: str) -> None:
    found = estimate(served)
    wanted = [found.mean(), found.median(), found.quantile(0.1), found.quantile(0.9)]
    document = served.get("/results/pay/income", token).document
    assert document["statistics"] == [one.to_document() for one in wanted]
    assert "statistics" not in served.get("/results/pay/drink", token).document
    text = served.get("/results/pay/income?format=text", token).body.decode()
    assert "90 % quantile" in text


def test_what_is_asked_for_replaces_it(served: Running, token: str) -> None:
    found = estimate(served)
    query = asked("quantile 0.25", "between 1000 3000", "above 4000", "top 1", "sum")
    document = served.get(f"/results/pay/income?{query}&level=0.9", token).document
    wanted = [
        found.quantile(0.25, 0.9),
        found.between(1000, 3000, 0.9),
        found.above(4000, 0.9),
        found.top(1, 0.9),
        found.sum(level=0.9, target="population"),
    ]
    assert document["statistics"] == [one.to_document() for one in wanted]


def test_comparisons_and_trends_have_them_too(served: Running, token: str) -> None:
    sides = "from=2026-12-20&other_to=2026-12-13"
    first, last = estimate(served, last_day=DAY), estimate(served, first_day=DAY + 7)
    document = served.get(f"/results/pay/income/compare?{sides}&{asked('mean')}", token).document
    difference = last.difference(first)
    wanted = {
        **difference.mean().to_document(),
        "name": "mean, 2026-12-20 to … minus … to 2026-12-13:",
    }
    assert document["statistics"] == [wanted]
    document = served.get(f"/results/pay/income/trend?{asked('median')}", token).document
    [course] = document["numbers"]
    assert course["name"] == "median"
    assert course["slope"]["low"] > 0
    for path, said in (("compare?" + sides, "mean, 2026-12-20 to"), ("trend?", "that the mean is")):
        query = f"{path}&{asked('mean')}&format=text".replace("?&", "?")
        assert said in served.get(f"/results/pay/income/{query}", token).body.decode()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (asked("median 0.5"), "statistic: 'median 0.5' is not complete: median is followed by no"),
        (asked("medain"), "statistic: 'medain' is not one of mean, sum, .* did you mean 'median'?"),
        (asked("quantile many"), "quantile is followed by a part of people, as 0.9"),
        (asked("top 1.5"), "top is followed by a whole number"),
        (asked("quantile 2"), "the part of people must be from 1e-09 to"),
        (asked("between 1500 3000"), "'1500' is inside a bucket, .* ask for 1000 € or 2000 €"),
        (asked("top 6"), "the number of buckets must be from 1 to 5, not 6"),
        (asked(""), "statistic: '' is not one of mean"),
    ],
)
def test_a_bad_statistic_is_refused_with_the_way_out(
    served: Running, token: str, query: str, said: str
) -> None:
    reply = served.get(f"/results/pay/income?{query}", token)
    assert reply.status == 400
    with pytest.raises(ValueError, match=said):
        raise ValueError(str(reply.document))


def test_labels_without_an_order_have_no_mean(served: Running, token: str) -> None:
    reply = served.get(f"/results/pay/drink?{asked('mean')}", token)
    assert reply.status == 400
    assert "means and quantiles are of numbers, or of ordered labels" in str(reply.document)
    reply = served.get(f"/results/pay/income/trend?{asked('sum')}", token)
    assert "a sum is not compared: ask for the mean" in str(reply.document)
