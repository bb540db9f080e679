"""The survey: the public document, its terms, and what follows from them."""

from murmurs.boundary.documents import canonical
from murmurs.survey.changes import Change, Comparison, compare_surveys
from murmurs.survey.rounds import Rounds, rounds_of
from murmurs.survey.survey import Survey
from murmurs.survey.terms import Terms

__all__ = [
    "Change",
    "Comparison",
    "Rounds",
    "Survey",
    "Terms",
    "canonical",
    "compare_surveys",
    "rounds_of",
]
