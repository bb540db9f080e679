"""Joint: several questions that the same people answer, and the table of their answers."""

from murmurs.joint.estimate import JointEstimate
from murmurs.joint.questions import Joint
from murmurs.joint.segments import TableComparison, compare_tables
from murmurs.question import Question

__all__ = ["Asked", "Joint", "JointEstimate", "TableComparison", "compare_tables"]

Asked = Question | Joint
"""What reports answer: one question, or several together."""
