"""Refusals: what a client is told when a request is not answered with what it asked for."""

from __future__ import annotations

from collections.abc import Mapping

REASONS = {
    "form": "the body is not what the request takes, or no submission",
    "query": "a parameter is not known or not accepted, or a result makes no sense",
    "survey": "there is no such survey here, or not for this token",
    "question": "the survey has no such question",
    "segment": "the survey has no such segment, or needs one",
    "report": "a report is not one of the mechanism's",
    "batch": "there are too many submissions or people in one request",
    "size": "the body is too long",
    "candidates": "there are too many candidates",
    "media": "the media type or the encoding of the body is not taken",
    "format": "the result cannot be given in this form",
    "closed": "the survey is closed, not open yet, or over",
    "version": "another survey has this name and version",
    "name": "the name of a token is taken, or there is none of this name",
    "token": "there is no valid token",
    "scope": "the token does not allow this",
    "rate": "there were the reports of too many people with this key, for now",
    "few": "there are fewer reports than results are shown for",
    "slow": "the body did not arrive in time",
    "busy": "the collector has too much to do: send the same again after Retry-After",
    "full": "the store has no room left: the operator must make some",
    "store": "the store cannot be read or written: the operator must look at it",
    "given-up": "the computation took too long, or too much memory",
    "method": "the address does not take this method",
    "address": "there is nothing at this address",
    "http": "this is not an HTTP/1.1 request",
    "head": "the head of the request is too long",
    "error": "the collector failed, which is a bug: its log says where",
}
"""The words for programs, and what they mean."""


class RefusedError(Exception):
    """A request that is refused, with a status, one word for programs and a sentence for people.

    ``headers`` go with the answer, as ``Retry-After``. ``submission`` is the number of the
    submission that is at fault, where a request has several.
    """

    def __init__(
        self,
        status: int,
        error: str,
        reason: str,
        *,
        headers: Mapping[str, str] | None = None,
        submission: int | None = None,
    ) -> None:
        assert error in REASONS
        super().__init__(reason)
        self.status, self.error, self.reason = status, error, reason
        self.headers, self.submission = dict(headers or {}), submission

    def again(self) -> RefusedError:
        """Return the same refusal to raise once more."""
        return RefusedError(
            self.status,
            self.error,
            self.reason,
            headers=self.headers,
            submission=self.submission,
        )

    def document(self) -> dict[str, object]:
        """Return what the client is sent."""
        document: dict[str, object] = {"error": self.error, "reason": self.reason}
        if self.submission is not None:
            document["submission"] = self.submission
        return document


def busy(reason: str, seconds: int = 1) -> RefusedError:
    """Return the refusal of a collector that has too much to do at the moment."""
    return RefusedError(503, "busy", reason, headers={"Retry-After": str(seconds)})


def unavailable(error: str, reason: str, seconds: int = 30) -> RefusedError:
    """Return the refusal of a collector whose store takes nothing until somebody mends it."""
    return RefusedError(503, error, reason, headers={"Retry-After": str(seconds)})
