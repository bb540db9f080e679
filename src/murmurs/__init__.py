"""Estimate how many people gave each answer, from randomised answers."""

from murmurs import estimators
from murmurs.counts import Counts, pool
from murmurs.devices.device import Device
from murmurs.devices.many import Devices
from murmurs.estimators import estimate
from murmurs.estimators.estimation import Estimate
from murmurs.inference.association import Association, associate
from murmurs.inference.dependence import Strength, cramers_v
from murmurs.inference.detection import Detection
from murmurs.inference.difference import Difference
from murmurs.inference.ratios import Ratios, conditional_shares, lift, odds_ratios
from murmurs.inference.screening import Screening, screen
from murmurs.inference.trend import Trend, trend
from murmurs.mechanisms import (
    KRR,
    LOLOHA,
    LOSUE,
    ORR,
    OUE,
    SUE,
    Among,
    BasicRappor,
    BooleanRappor,
    CountMeanSketch,
    Hadamard,
    HadamardSketch,
    LocalHashing,
    NGrams,
    OpenProduct,
    ORappor,
    PermutedRappor,
    PermutedRR,
    Prefixes,
    Product,
    ProjectiveGeometry,
    Rappor,
    Subset,
)
from murmurs.mechanisms.custom import CustomMechanism
from murmurs.mechanisms.designs.design import Design
from murmurs.mechanisms.designs.known import (
    Warner,
    crosswise,
    dice,
    forced_response,
    triangular,
    unrelated_question,
)
from murmurs.planning.tuning import tune
from murmurs.questions.dictionary.dictionary import Dictionary
from murmurs.questions.dictionary.discovery import Discovery
from murmurs.questions.dictionary.finding import discover
from murmurs.questions.joint import Joint, JointEstimate, TableComparison, compare_tables
from murmurs.questions.question import Question
from murmurs.randomness.derived import Derived
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import Given, Study
from murmurs.randomness.verbs import Randomness
from murmurs.studies.study import ErrorStudy, study
from murmurs.survey.survey import Survey
from murmurs.survey.terms import Terms

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "LOLOHA",
    "LOSUE",
    "ORR",
    "OUE",
    "SUE",
    "Among",
    "Association",
    "BasicRappor",
    "BooleanRappor",
    "CountMeanSketch",
    "Counts",
    "CustomMechanism",
    "Derived",
    "Design",
    "Detection",
    "Device",
    "Devices",
    "Dictionary",
    "Difference",
    "Discovery",
    "ErrorStudy",
    "Estimate",
    "Given",
    "Hadamard",
    "HadamardSketch",
    "Joint",
    "JointEstimate",
    "LocalHashing",
    "NGrams",
    "ORappor",
    "OpenProduct",
    "PermutedRR",
    "PermutedRappor",
    "Prefixes",
    "Product",
    "ProjectiveGeometry",
    "Question",
    "Randomness",
    "Rappor",
    "Ratios",
    "Screening",
    "Secure",
    "Strength",
    "Study",
    "Subset",
    "Survey",
    "TableComparison",
    "Terms",
    "Trend",
    "Warner",
    "associate",
    "compare_tables",
    "conditional_shares",
    "cramers_v",
    "crosswise",
    "dice",
    "discover",
    "estimate",
    "estimators",
    "forced_response",
    "lift",
    "odds_ratios",
    "pool",
    "screen",
    "study",
    "trend",
    "triangular",
    "tune",
    "unrelated_question",
]
