"""Estimate how many people gave each answer, from randomised answers.

Public are the names in ``murmurs.__all__`` and, of the modules among them, the names in their own
``__all__``. Everything else is private and may change at any time. docs/api/ describes what is
public. A name is loaded when it is first used, so that ``import murmurs`` takes no time.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same names as in _HOMES and _MODULES
    from murmurs import (
        channels,
        client,
        collect,
        engines,
        estimators,
        files,
        hashing,
        mechanisms,
        planning,
        privacy,
        rappor,
        submission,
        survey,
        wire,
    )
    from murmurs.client import AnswerRefusedError, Client, NotSentError
    from murmurs.counts import Counts, pool
    from murmurs.devices.device import Device
    from murmurs.devices.many import Devices
    from murmurs.estimators import NoiseDominates, UnfitCountsError, estimate
    from murmurs.estimators.estimation import Estimate
    from murmurs.estimators.numbers import NumberEstimate
    from murmurs.estimators.ticks import TicksEstimate
    from murmurs.files import PeopleError, read_counts, read_reports, write_counts, write_reports
    from murmurs.inference.association import Association, association
    from murmurs.inference.dependence import Strength, cramers_v
    from murmurs.inference.detection import Detection
    from murmurs.inference.difference import Difference
    from murmurs.inference.ratios import Ratios, conditional_shares, lift, odds_ratios
    from murmurs.inference.screening import Screening, screening
    from murmurs.inference.statistic import Statistic
    from murmurs.inference.trend import Trend, trend
    from murmurs.mechanisms import (
        KRR,
        LOLOHA,
        LOSUE,
        ORR,
        OUE,
        SUE,
        BasicRappor,
        CountMeanSketch,
        CustomMechanism,
        Design,
        Hadamard,
        HadamardSketch,
        LocalHashing,
        Mechanism,
        OneLabel,
        OpenMechanism,
        ORappor,
        PermutedRappor,
        PermutedRR,
        Prefixes,
        PrivSet,
        Product,
        ProjectiveGeometry,
        Rappor,
        SetMechanism,
        SquareWave,
        Subset,
    )
    from murmurs.mechanisms.designs.known import (
        crosswise,
        dice,
        forced_response,
        triangular,
        unrelated_question,
        warner,
    )
    from murmurs.planning import Tuning, tune
    from murmurs.questions.dictionary.dictionary import Dictionary
    from murmurs.questions.dictionary.discovery import Discovery
    from murmurs.questions.dictionary.finding import discover
    from murmurs.questions.joint import Joint, JointEstimate, TableComparison, compare_tables
    from murmurs.questions.question import Question
    from murmurs.randomness.derived import Derived
    from murmurs.randomness.keyed import Keyed
    from murmurs.randomness.secure import Secure
    from murmurs.randomness.sources import Given, Seeded
    from murmurs.randomness.verbs import Randomness
    from murmurs.scales.scale import Scale
    from murmurs.studies.study import ErrorStudy, study
    from murmurs.submission import BadSubmissionError
    from murmurs.survey.survey import Survey
    from murmurs.survey.terms import Terms
    from murmurs.wire import BadReportError

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "LOLOHA",
    "LOSUE",
    "ORR",
    "OUE",
    "SUE",
    "AnswerRefusedError",
    "Association",
    "BadReportError",
    "BadSubmissionError",
    "BasicRappor",
    "Client",
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
    "Keyed",
    "LocalHashing",
    "Mechanism",
    "NoiseDominates",
    "NotSentError",
    "NumberEstimate",
    "ORappor",
    "OneLabel",
    "OpenMechanism",
    "PeopleError",
    "PermutedRR",
    "PermutedRappor",
    "Prefixes",
    "PrivSet",
    "Product",
    "ProjectiveGeometry",
    "Question",
    "Randomness",
    "Rappor",
    "Ratios",
    "Scale",
    "Screening",
    "Secure",
    "Seeded",
    "SetMechanism",
    "SquareWave",
    "Statistic",
    "Strength",
    "Subset",
    "Survey",
    "TableComparison",
    "Terms",
    "TicksEstimate",
    "Trend",
    "Tuning",
    "UnfitCountsError",
    "association",
    "channels",
    "client",
    "collect",
    "compare_tables",
    "conditional_shares",
    "cramers_v",
    "crosswise",
    "dice",
    "discover",
    "engines",
    "estimate",
    "estimators",
    "files",
    "forced_response",
    "hashing",
    "lift",
    "mechanisms",
    "odds_ratios",
    "planning",
    "pool",
    "privacy",
    "rappor",
    "read_counts",
    "read_reports",
    "screening",
    "study",
    "submission",
    "survey",
    "trend",
    "triangular",
    "tune",
    "unrelated_question",
    "warner",
    "wire",
    "write_counts",
    "write_reports",
]

_MODULES = (
    "channels",
    "client",
    "collect",
    "engines",
    "estimators",
    "files",
    "hashing",
    "mechanisms",
    "planning",
    "privacy",
    "rappor",
    "submission",
    "survey",
    "wire",
)
"""The modules that are public; each has an ``__all__``."""

_HOMES = {
    "murmurs.client": ("AnswerRefusedError", "Client", "NotSentError"),
    "murmurs.counts": ("Counts", "pool"),
    "murmurs.devices.device": ("Device",),
    "murmurs.devices.many": ("Devices",),
    "murmurs.estimators": ("NoiseDominates", "UnfitCountsError", "estimate"),
    "murmurs.estimators.estimation": ("Estimate",),
    "murmurs.estimators.numbers": ("NumberEstimate",),
    "murmurs.estimators.ticks": ("TicksEstimate",),
    "murmurs.files": (
        "PeopleError",
        "read_counts",
        "read_reports",
        "write_counts",
        "write_reports",
    ),
    "murmurs.inference.association": ("Association", "association"),
    "murmurs.inference.dependence": ("Strength", "cramers_v"),
    "murmurs.inference.detection": ("Detection",),
    "murmurs.inference.difference": ("Difference",),
    "murmurs.inference.ratios": ("Ratios", "conditional_shares", "lift", "odds_ratios"),
    "murmurs.inference.screening": ("Screening", "screening"),
    "murmurs.inference.statistic": ("Statistic",),
    "murmurs.inference.trend": ("Trend", "trend"),
    "murmurs.mechanisms": (
        "KRR",
        "LOLOHA",
        "LOSUE",
        "ORR",
        "OUE",
        "SUE",
        "BasicRappor",
        "CountMeanSketch",
        "CustomMechanism",
        "Design",
        "Hadamard",
        "HadamardSketch",
        "LocalHashing",
        "Mechanism",
        "OneLabel",
        "OpenMechanism",
        "ORappor",
        "PermutedRappor",
        "PermutedRR",
        "Prefixes",
        "PrivSet",
        "Product",
        "ProjectiveGeometry",
        "Rappor",
        "SquareWave",
        "SetMechanism",
        "Subset",
    ),
    "murmurs.mechanisms.designs.known": (
        "warner",
        "crosswise",
        "dice",
        "forced_response",
        "triangular",
        "unrelated_question",
    ),
    "murmurs.planning": ("Tuning", "tune"),
    "murmurs.questions.dictionary.dictionary": ("Dictionary",),
    "murmurs.questions.dictionary.discovery": ("Discovery",),
    "murmurs.questions.dictionary.finding": ("discover",),
    "murmurs.questions.joint": ("Joint", "JointEstimate", "TableComparison", "compare_tables"),
    "murmurs.questions.question": ("Question",),
    "murmurs.randomness.derived": ("Derived",),
    "murmurs.randomness.keyed": ("Keyed",),
    "murmurs.randomness.secure": ("Secure",),
    "murmurs.randomness.sources": ("Given", "Seeded"),
    "murmurs.randomness.verbs": ("Randomness",),
    "murmurs.scales.scale": ("Scale",),
    "murmurs.studies.study": ("ErrorStudy", "study"),
    "murmurs.submission": ("BadSubmissionError",),
    "murmurs.survey.survey": ("Survey",),
    "murmurs.survey.terms": ("Terms",),
    "murmurs.wire": ("BadReportError",),
}
"""Where each other public name is defined."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # a type checker would take any name then

    def __getattr__(name):
        """Load a public name when it is first used (PEP 562)."""
        if name in _MODULES:
            return importlib.import_module(f"murmurs.{name}")
        if name not in _HOME_OF:
            here = sys.modules[__name__]
            raise AttributeError(f"murmurs has no public name {name!r}", name=name, obj=here)
        globals()[name] = found = getattr(importlib.import_module(_HOME_OF[name]), name)
        return found

    def __dir__():
        """Show the public names only."""
        return [*__all__, "__version__"]
