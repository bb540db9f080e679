"""Queries: what a request for results may ask for."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

import msgspec

from murmurs.collect.results.compute import LIKELIHOOD
from murmurs.estimators import BY_NAME
from murmurs.questions.dictionary.letters import ALPHABET

Version = Annotated[int, msgspec.Meta(ge=1, lt=2**53)]
Method = Annotated[
    str,
    msgspec.Meta(
        pattern=f"^({'|'.join((*BY_NAME, LIKELIHOOD))})$",
        description="The estimator; by default the one that suits the question.",
    ),
]
Day = datetime.date
Candidates = Annotated[
    list[Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]],
    msgspec.Meta(extra_json_schema={"uniqueItems": True}),
]
Given = Annotated[
    Candidates | dict[str, Candidates],
    msgspec.Meta(
        description="The strings to look for: a list, or a list for each question of a joint."
    ),
]


def _told(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class Query(msgspec.Struct, forbid_unknown_fields=True, rename={"from_": "from"}):
    """Of which reports, and how they are estimated and shown."""

    version: Annotated[Version | None, _told("The survey's version; by default the newest.")] = None
    from_: Annotated[Day | None, _told("The first day of arrival, in UTC.")] = None
    to: Annotated[Day | None, _told("The last day of arrival, in UTC.")] = None
    segment: Annotated[str | None, _told("One segment; by default all of them.")] = None
    people: Annotated[
        Literal["different", "same"] | None,
        _told("Whether the same people report in every round; by default as the survey says."),
    ] = None
    level: Annotated[
        float, msgspec.Meta(ge=0.5, le=1 - 1e-9, description="The level of the intervals.")
    ] = 0.95
    target: Annotated[
        Literal["population", "respondents"], _told("Whose shares are estimated.")
    ] = "population"
    method: Method | None = None
    candidates: Annotated[
        list[str],
        msgspec.Meta(
            description="For an open question: a string to look for; may be given several times.",
            extra_json_schema={"uniqueItems": True},
        ),
    ] = []
    statistic: Annotated[
        list[str],
        msgspec.Meta(
            description="For numbers and scales: mean, sum, median, quantile 0.9, between 30 40, "
            "above 60 or top 2; may be given several times.",
            extra_json_schema={"uniqueItems": True},
        ),
    ] = []
    complete: Annotated[bool, _told("Whether nobody holds a string that is not listed.")] = False
    format: Annotated[Literal["json", "csv", "text", "arrow"], _told("The form of the answer.")] = (
        "json"
    )


class ResultQuery(Query):
    """Also how a dictionary is searched."""

    alphabet: Annotated[
        str, msgspec.Meta(min_length=1, max_length=1000, description="Letters of a dictionary.")
    ] = ALPHABET
    error_rate: Annotated[
        float, msgspec.Meta(ge=1e-12, le=0.5, description="How often strings may be false.")
    ] = 0.05
    control: Annotated[Literal["bonferroni", "fdr"], _told("What the error rate is of.")] = (
        "bonferroni"
    )


class TrendQuery(Query):
    """Also which periods."""

    by: Annotated[Literal["day", "week", "month"], _told("The length of a period.")] = "week"


class CompareQuery(Query):
    """Also what it is compared with; whatever is not given is the same on both sides."""

    other_from: Annotated[Day | None, _told("The first day of the other side.")] = None
    other_to: Annotated[Day | None, _told("The last day of the other side.")] = None
    other_segment: Annotated[str | None, _told("The segment of the other side.")] = None


class SummaryQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which version."""

    version: Annotated[Version | None, _told("The survey's version; by default the newest.")] = None
