"""Learn what people answer without learning what anyone answered."""

from murmurs import estimators
from murmurs.counts import Counts, pool
from murmurs.device import Device
from murmurs.estimation import Estimate
from murmurs.estimators import estimate
from murmurs.mechanisms import (
    KRR,
    LOLOHA,
    LOSUE,
    ORR,
    OUE,
    SUE,
    BasicRappor,
    CountMeanSketch,
    Hadamard,
    HadamardSketch,
    LocalHashing,
    ORappor,
    PermutedRappor,
    PermutedRR,
    ProjectiveGeometry,
    Rappor,
    Subset,
    Warner,
)
from murmurs.randomness import Derived, Given, Randomness, Secure, Study
from murmurs.survey import Question, Survey
from murmurs.tuning import tune

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "LOLOHA",
    "LOSUE",
    "ORR",
    "OUE",
    "SUE",
    "BasicRappor",
    "CountMeanSketch",
    "Counts",
    "Derived",
    "Device",
    "Estimate",
    "Given",
    "Hadamard",
    "HadamardSketch",
    "LocalHashing",
    "ORappor",
    "PermutedRR",
    "PermutedRappor",
    "ProjectiveGeometry",
    "Question",
    "Randomness",
    "Rappor",
    "Secure",
    "Study",
    "Subset",
    "Survey",
    "Warner",
    "estimate",
    "estimators",
    "pool",
    "tune",
]
