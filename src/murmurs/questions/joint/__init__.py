"""Joint: several questions that the same people answer, and the table of their answers."""

from murmurs.questions.joint.estimate import JointEstimate
from murmurs.questions.joint.questions import Joint
from murmurs.questions.joint.segments import TableComparison, compare_tables

__all__ = ["Joint", "JointEstimate", "TableComparison", "compare_tables"]
