"""Learn what people answer without learning what anyone answered."""

from murmurs import estimators
from murmurs.counts import Counts
from murmurs.estimation import Estimate
from murmurs.estimators import estimate
from murmurs.mechanisms import (
    KRR,
    OUE,
    SUE,
    BasicRappor,
    CountMeanSketch,
    Hadamard,
    HadamardSketch,
    LocalHashing,
    ProjectiveGeometry,
    Subset,
    Warner,
)
from murmurs.randomness import Given, Randomness, Secure, Study
from murmurs.survey import Question, Survey

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "OUE",
    "SUE",
    "BasicRappor",
    "CountMeanSketch",
    "Counts",
    "Estimate",
    "Given",
    "Hadamard",
    "HadamardSketch",
    "LocalHashing",
    "ProjectiveGeometry",
    "Question",
    "Randomness",
    "Secure",
    "Study",
    "Subset",
    "Survey",
    "Warner",
    "estimate",
    "estimators",
]
