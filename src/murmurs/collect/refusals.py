"""Refusals: what a client is told when a request is not answered with what it asked for."""

from __future__ import annotations

from collections.abc import Mapping


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
