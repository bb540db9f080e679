"""The designs of survey research, by the names under which they are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from murmurs.boundary.texts import BOOLEANS, as_tuple, listed
from murmurs.mechanisms.designs.design import Design, Probability, as_probability

YES_NO = ("yes", "no")


def _names(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels as a tuple; one text is refused, whose letters would be the labels."""
    return as_tuple(labels, "labels of a design")


def _yes_first(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of a design that treats yes and no differently: its first one is yes."""
    names = _names(labels)
    if says_no_first(names):
        raise ValueError(
            f"the labels of this design are those of yes and no, in this order, not "
            f"{listed(names)}: put the label for yes first"
        )
    return names


def says_no_first(labels: tuple[str, ...]) -> bool:
    """Whether the first of two labels says no, or the second yes.

    >>> [says_no_first(two) for two in (("No", "Yes"), ("Yes, once", "No"), ("a", "b"))]
    [True, False, False]
    """
    if len(labels) != 2 or not all(isinstance(label, str) for label in labels):
        return False
    words = [label.casefold().replace(",", " ").split() for label in labels]
    first, second = (own[0].rstrip(".!:;") if own else "" for own in words)
    return first in BOOLEANS[False] or second in BOOLEANS[True]


def warner(p: Probability, labels: Sequence[str] = YES_NO) -> Design:
    """Return Warner's design: answer truthfully with probability p, otherwise the opposite.

    With a spinner that points to "I belong to the group" with probability p and to the contrary
    otherwise, the respondent says whether the statement is true. Any p other than 1/2 will do;
    epsilon is the absolute value of ln(p / (1 - p)). Warner (1965).

    >>> round(warner(0.75).epsilon, 6)
    1.098612
    """
    truth = as_probability(p, "p")
    if truth == Fraction(1, 2):
        raise ValueError("p must not be 1/2: a fair coin says nothing about the answer")
    lie = 1 - truth
    return Design(((truth, lie), (lie, truth)), _names(labels), _names(labels))


def forced_response(yes: Probability, no: Probability, labels: Sequence[str] = YES_NO) -> Design:
    """Return the forced response design: some must say yes, some must say no, the rest the truth.

    ``yes`` and ``no`` are the probabilities of being told to say yes and no. With a die, "say yes
    on a 1, no on a 6, otherwise the truth" is forced_response("1/6", "1/6"). Boruch (1971).

    >>> forced_response("1/6", "1/6").matrix[0]
    (Fraction(5, 6), Fraction(1, 6))
    """
    up, down = as_probability(yes, "yes"), as_probability(no, "no")
    if up + down >= 1:
        raise ValueError(f"yes + no must be below 1, not {up + down}: nobody would tell the truth")
    names = _yes_first(labels)
    return Design(((1 - down, up), (down, 1 - up)), names, names)


def unrelated_question(
    p: Probability, known: Probability, labels: Sequence[str] = YES_NO
) -> Design:
    """Return the unrelated question design, with a known share of yes to the other question.

    With probability p the respondent answers the sensitive question, otherwise a harmless one, such
    as "Were you born in April?", to which the share ``known`` says yes. Greenberg, Abul-Ela,
    Simmons and Horvitz (1969).

    >>> unrelated_question("7/10", "1/12").matrix[0]
    (Fraction(29, 40), Fraction(1, 40))
    """
    asked, share = as_probability(p, "p"), as_probability(known, "known")
    if asked == 0:
        raise ValueError("p must be above 0: otherwise nobody is asked the question")
    return forced_response((1 - asked) * share, (1 - asked) * (1 - share), labels)


def crosswise(p: Probability, labels: Sequence[str] = YES_NO) -> Design:
    """Return the crosswise model, in which nobody answers the sensitive question itself.

    The respondent says whether the answers to the sensitive question and to a harmless one, to
    which the share p says yes, are the same. The reports are "same" and "different". It has the
    distribution of Warner's design. Yu, Tian and Tang (2008).

    >>> crosswise("1/4").reports
    ('same', 'different')
    """
    return Design(warner(p).matrix, _yes_first(labels), ("same", "different"))


def triangular(p: Probability, labels: Sequence[str] = YES_NO) -> Design:
    """Return the triangular model: "no to both questions", or "yes to at least one".

    The share p says yes to the harmless question. Whoever says "no to both" reveals a no, so that
    epsilon is infinite. Yu, Tian and Tang (2008).

    >>> triangular("1/4").epsilon
    inf
    """
    share = as_probability(p, "p")
    if share == 1:
        raise ValueError("p must be below 1: otherwise everybody says yes to at least one")
    matrix = ((Fraction(1), share), (Fraction(0), 1 - share))
    return Design(matrix, _yes_first(labels), ("yes to at least one", "no to both"))


def dice(truth: Probability, labels: Sequence[str]) -> Design:
    """Return the design for a scale: the true answer with probability ``truth``, otherwise any.

    With a ten-sided die and five answers, "on 1 to 5 tell the truth, on 6 to 10 report the answer
    with that number" is dice("1/2", labels). For two to many answers; it is what `KRR` computes on
    a device.

    >>> round(dice("1/2", ("never", "rarely", "often")).epsilon, 4)
    1.3863
    """
    names = as_tuple(labels, "labels of a design")
    told = as_probability(truth, "truth")
    if told == 0:
        raise ValueError("truth must be above 0: otherwise reports say nothing about the answers")
    if len(names) < 2:
        raise ValueError(f"a scale has at least two answers, not {len(names)}")
    lie = (1 - told) / len(names)
    matrix = tuple(
        tuple(told + lie if r == c else lie for c in range(len(names))) for r in range(len(names))
    )
    return Design(matrix, names, names)


BY_NAME: dict[str, Callable[..., Design]] = {
    "Warner": warner,
    "ForcedResponse": forced_response,
    "UnrelatedQuestion": unrelated_question,
    "Crosswise": crosswise,
    "Triangular": triangular,
    "Dice": dice,
}
"""The designs as a survey file names them."""
