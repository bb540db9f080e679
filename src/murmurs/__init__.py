"""Learn what people answer without learning what anyone answered."""

from murmurs import estimators
from murmurs.counts import Counts, pool
from murmurs.device import Device
from murmurs.devices import Devices
from murmurs.estimation import Estimate
from murmurs.estimators import estimate
from murmurs.inference.detection import Detection
from murmurs.inference.difference import Difference
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
    OpenProduct,
    ORappor,
    PermutedRappor,
    PermutedRR,
    Product,
    ProjectiveGeometry,
    Rappor,
    Subset,
)
from murmurs.mechanisms.custom import CustomMechanism
from murmurs.mechanisms.design import Design
from murmurs.mechanisms.survey_designs import (
    Warner,
    crosswise,
    dice,
    forced_response,
    triangular,
    unrelated_question,
)
from murmurs.planning.study import ErrorStudy, study
from murmurs.planning.tuning import tune
from murmurs.question import Question
from murmurs.randomness.derived import Derived
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import Given, Study
from murmurs.randomness.verbs import Randomness
from murmurs.survey import Survey

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "LOLOHA",
    "LOSUE",
    "ORR",
    "OUE",
    "SUE",
    "Among",
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
    "Difference",
    "ErrorStudy",
    "Estimate",
    "Given",
    "Hadamard",
    "HadamardSketch",
    "LocalHashing",
    "ORappor",
    "OpenProduct",
    "PermutedRR",
    "PermutedRappor",
    "Product",
    "ProjectiveGeometry",
    "Question",
    "Randomness",
    "Rappor",
    "Secure",
    "Study",
    "Subset",
    "Survey",
    "Trend",
    "Warner",
    "crosswise",
    "dice",
    "estimate",
    "estimators",
    "forced_response",
    "pool",
    "study",
    "trend",
    "triangular",
    "tune",
    "unrelated_question",
]
