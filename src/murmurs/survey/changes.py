"""Changes: what each edit of a published survey does to the reports and devices that exist.

An edit is harmless, resets permanent responses, or breaks the decoding of reports: then the counts
of the two versions cannot be added. Any edit gives the survey another fingerprint, so devices and
collectors keep the two apart whatever the edit is.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.questions.asked import Asked
from murmurs.survey.budget import Cost, most_in_a_period, price
from murmurs.survey.survey import Survey, keeps_response
from murmurs.survey.terms import Terms

Kind = Literal["harmless", "resets", "breaks"]

_TERMS: dict[str, tuple[Kind, str]] = {
    "title": ("harmless", "it is only read by people"),
    "purpose": ("harmless", "it is only read by people"),
    "owner": ("harmless", "it is only read by people"),
    "every": ("harmless", "devices answer at other intervals from now on"),
    "lifetime_epsilon": ("harmless", "devices stop at the new budget; what is spent stays spent"),
    "memory": ("resets", "devices draw new permanent responses and pay for them again"),
    "period": ("resets", "devices draw new permanent responses for the new periods"),
    "opens": ("harmless", "it decides when answers are taken"),
    "closes": ("harmless", "it decides when answers are taken"),
    "minimum_reports": ("harmless", "it decides which results are shown"),
    "epsilon_per": ("harmless", "devices stop at the new budget; what is spent in a period stays"),
    "questions_each": ("harmless", "devices draw"),
}
"""What a change of each term does."""


@dataclass(frozen=True)
class Change:
    """One edit: its kind, what was edited, and what follows."""

    kind: Kind
    what: str
    follows: str


@dataclass(frozen=True)
class Comparison:
    """The edits from one version of a survey to another."""

    old: Survey
    new: Survey
    changes: tuple[Change, ...]

    @property
    def version_raised(self) -> bool:
        """Whether the new survey says that it is a later version."""
        return self.new.version > self.old.version

    @property
    def refused(self) -> bool:
        """Whether reports could be decoded wrongly: edits that break, under the same version."""
        return not self.version_raised and any(c.kind == "breaks" for c in self.changes)

    @property
    def addable(self) -> tuple[str, ...]:
        """The questions and joints whose counts of both versions may be added."""
        after = {asked.name: asked for asked in self.new.reported}
        return tuple(
            asked.name
            for asked in self.old.reported
            if asked.name in after and _counts_add_up(asked, after[asked.name])
        )


def compare_surveys(old: Survey, new: Survey) -> Comparison:
    """Return what was edited between two versions of a survey, and what each edit does.

    >>> from murmurs import KRR, Question
    >>> old = Survey("s", (Question("hot", ("yes", "no"), KRR(2, 1.0)),))
    >>> new = Survey("s", (Question("hot", ("no", "yes"), KRR(2, 1.0), "Is it hot?"),))
    >>> [(change.kind, change.what) for change in compare_surveys(old, new).changes]
    [('harmless', "the text of 'hot'"), ('breaks', "the labels of 'hot'")]
    """
    found: list[Change] = []
    if new.name != old.name:
        found.append(
            Change(
                "resets",
                "the name of the survey",
                "devices start over: a new secret, new permanent responses, and a new budget",
            )
        )
    if new.version < old.version:
        found.append(
            Change("breaks", "the version", f"{new.version} is before {old.version}: raise it")
        )
    found += _of_terms(old.terms, new.terms)
    found += _of_draws(old, new)
    found += _of_segments(old.segments, new.segments)
    found += _of_texts(old, new)
    found += _of_questions(old, new)
    return Comparison(old, new, tuple(found))


def _of_terms(old: Terms, new: Terms) -> list[Change]:
    return [
        Change(kind, name, _of_limits(name, old, new) or follows)
        for name, (kind, follows) in _TERMS.items()
        if name != "questions_each" and getattr(old, name) != getattr(new, name)
    ]


def _of_limits(name: str, old: Terms, new: Terms) -> str | None:
    """Return what follows where a limit of devices is gone, which the usual sentence denies."""
    if name == "every" and new.every is None:
        return "devices answer as often as they are asked from now on"
    if name == "lifetime_epsilon" and new.lifetime_epsilon is None:
        return "no lifetime budget stops devices from now on"
    gone = tuple(word for word, _ in old.budgets if word not in dict(new.budgets))
    if name == "epsilon_per" and gone:
        return f"no budget of a {' or '.join(gone)} stops devices from now on"
    return None


def _of_draws(old: Survey, new: Survey) -> list[Change]:
    """Return what follows for devices that draw questions, where anything about that differs.

    Reports stay what they were, so that counts still add up: only who reports to what differs.
    """
    before, after = old.terms, new.terms
    if before.questions_each != after.questions_each:
        kind, follows = _TERMS["questions_each"]
        told = f"{follows} {_drawn(new)}; before, {_drawn(old)}"
        return [Change(kind, "questions_each", told)]
    names = [tuple(asked.name for asked in survey.reported) for survey in (old, new)]
    if after.questions_each is None or (names[0] == names[1] and before.every == after.every):
        return []
    return [Change("harmless", "the draw of questions", f"devices draw anew: {_drawn(new)}")]


def _drawn(survey: Survey) -> str:
    each, most = survey.terms.questions_each, len(survey.reported)
    cost = _epsilon(most_in_a_period(survey))
    return f"{each or 'all'} of {most}, for at most {cost} each time"


def _epsilon(cost: Cost) -> str:
    return f"epsilon {float(cost):.4g}" if cost != math.inf else "more than any epsilon"


def _of_segments(old: tuple[str, ...], new: tuple[str, ...]) -> list[Change]:
    if old == new:
        return []
    if old and new[: len(old)] == old:
        more = listed(new[len(old) :])
        return [Change("harmless", "the segments", f"{more} came after the others")]
    return [
        Change("breaks", "the segments", "reports of the two versions are in different segments")
    ]


def _of_questions(old: Survey, new: Survey) -> list[Change]:
    before = {asked.name: asked for asked in old.reported}
    after = {asked.name: asked for asked in new.reported}
    found: list[Change] = []
    for name, asked in before.items():
        if name in after:
            found += _of_asked(asked, after[name])
        else:
            found.append(Change("breaks", f"question {shown(name)}", _gone(asked, old, new)))
    for name, asked in after.items():
        if name not in before:
            each = "permanent response" if keeps_response(asked) else "report"
            cost = f"each {each} costs {_epsilon(price(asked))}"
            found.append(Change("harmless", f"question {shown(name)}", f"it is new; {cost}"))
    return found


def _of_texts(old: Survey, new: Survey) -> list[Change]:
    """Return edits of what only people and tables use, also of questions within a joint."""
    after = {question.name: question for question in new.questions}
    both = [(one, after[one.name]) for one in old.questions if one.name in after]
    found: list[Change] = []
    for one, other in both:
        name = shown(one.name)
        if one.text != other.text:
            follows = "only people read it; a question that means something else needs a new name"
            found.append(Change("harmless", f"the text of {name}", follows))
        if one.ordered != other.ordered:
            found.append(Change("harmless", f"the order of {name}", "it is for tables and plots"))
        elif one.scale != other.scale and one.meaning == other.meaning:
            follows = "it is for means and quantiles; reports are what they were"
            found.append(Change("harmless", f"the scale of {name}", follows))
    places = [new.questions.index(other) for _, other in both]
    if places != sorted(places):
        follows = "submissions name them, or are known by the fingerprint"
        found.append(Change("harmless", "the order of the questions", follows))
    return found


def _gone(asked: Asked, old: Survey, new: Survey) -> str:
    """Return what follows from a question or joint that the new survey takes no reports to."""
    for joint in new.joints:
        if asked.name in joint.names:
            return f"it is now reported together with others, in {shown(joint.name)}"
    for other in new.reported:
        if other.name not in {one.name for one in old.reported} and _counts_add_up(asked, other):
            again = "; its permanent responses are drawn again" if keeps_response(asked) else ""
            return f"it seems to be renamed to {shown(other.name)}: keep its name{again}"
    return "it is no longer asked"


def _of_asked(old: Asked, new: Asked) -> list[Change]:
    if old.is_joint or new.is_joint:
        return _of_joints(old, new)
    differ = (old.labels, old.meanings) != (new.labels, new.meanings)
    found = _of_labels(old, new) if differ else []
    return found + _of_mechanisms(shown(old.name), old, new)


def _of_labels(old: Asked, new: Asked) -> list[Change]:
    numbers = old.questions[0].has_numbers and new.questions[0].has_numbers
    what = f"the {'buckets' if numbers else 'labels'} of {shown(old.name)}"
    if old.is_open and new.is_open:
        return [Change("harmless", what, "they are candidates, which may change at any time")]
    if sorted(old.labels) == sorted(new.labels):
        how = "the same numbers now stand for other answers"
    else:
        how = "the numbers in reports now stand for other answers, or there are more or fewer"
    found = [Change("breaks", what, how)]
    if keeps_response(old) or keeps_response(new):
        found.append(
            Change("resets", what, "devices draw new permanent responses and pay for them again")
        )
    return found


def _of_mechanisms(name: str, old: Asked, new: Asked) -> list[Change]:
    one: Any = old.mechanism
    other: Any = new.mechanism
    if one == other:
        return []
    what = f"the mechanism of {name}"
    found = [Change("breaks", what, f"reports have another law: {_difference(one, other)}")]
    kept = keeps_response(old), keeps_response(new)
    if kept == (True, True):
        if (type(one), one.permanent_law) != (type(other), other.permanent_law):
            found.append(
                Change("resets", what, "the first round differs: devices draw and pay again")
            )
    elif any(kept):
        follows = "is no longer kept" if kept[0] else "is kept from now on"
        found.append(Change("resets", what, f"a permanent response {follows}"))
    return found


def _difference(one: Any, other: Any) -> str:
    """Return which parameters of a mechanism differ."""
    if type(one) is not type(other):
        return f"{type(one).__name__} became {type(other).__name__}"
    fields = [field.name for field in dataclasses.fields(one) if field.init]
    names = [name for name in fields if getattr(one, name) != getattr(other, name)]
    return f"{', '.join(names)} of {type(one).__name__}"


def _of_joints(old: Asked, new: Asked) -> list[Change]:
    if _counts_add_up(old, new):
        return []
    name = shown(old.name)
    found = [Change("breaks", f"joint {name}", "its questions, labels or mechanisms differ")]
    if keeps_response(old) or keeps_response(new):
        found.append(Change("resets", f"joint {name}", "devices draw permanent responses again"))
    return found


def _counts_add_up(old: Asked, new: Asked) -> bool:
    """Whether counts of both have the same mechanism, and cells that mean the same."""
    same_names = old.names == new.names or not (old.is_joint or new.is_joint)
    return same_names and old.mechanism == new.mechanism and old.meanings == new.meanings
