"""The entry of a question with several answers in a survey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from murmurs import mechanisms
from murmurs.boundary.checks import shown
from murmurs.mechanisms.sets.privset import More
from murmurs.questions.entry import Entry
from murmurs.questions.several.question import Several
from murmurs.questions.single import Single


class SeveralEntry(Entry):
    """The fields of a question with several answers."""

    kind = "a question with several answers"

    name: str
    labels: list[str]
    several: bool
    most: int | None = None
    more: More = "refuse"
    pairs: bool = False
    text: str = ""
    epsilon: float | None = None
    mechanism: dict[str, Any] | None = None
    ordered: bool = False

    @classmethod
    def owns(cls, entry: Mapping[str, Any]) -> bool:
        """Whether an entry says that several answers are taken."""
        return "several" in entry

    def settled(self, known: Mapping[str, Single]) -> Single:
        """Return the question, with what the file leaves open filled in."""
        if not self.several:
            raise ValueError(
                f"question {shown(self.name)} has several = false: leave it out, as questions take "
                "one answer if nothing is said"
            )
        return Several(
            self.name,
            tuple(self.labels),
            cast(Any, None if self.mechanism is None else self._made(dict(self.mechanism))),
            self.text,
            epsilon=self.epsilon,
            most=self.most,
            more=self.more,
            pairs=self.pairs,
            ordered=self.ordered,
        )

    def _made(self, given: dict[str, Any]) -> Any:
        """Return the mechanism; the question has its labels, and how many may be ticked."""
        own: dict[str, Any] = {"k": len(self.labels)}
        if given.get("name") == "PrivSet":
            own |= {"most": len(self.labels) if self.most is None else self.most, "more": self.more}
        return mechanisms.from_document({**own, **given})
