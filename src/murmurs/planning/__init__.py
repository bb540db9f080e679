"""Before anyone is asked: a mechanism for the question, its parameters, what it can tell apart."""

from murmurs.planning.identifiability import cohorts_needed, identifiable
from murmurs.planning.tuning import Tuning, expected_loss, tune

__all__ = ["Tuning", "cohorts_needed", "expected_loss", "identifiable", "tune"]
