"""The shape of a report: one report to and from bytes, many reports as one compact array.

All reports of a shape have the same number of bytes, so a batch is their concatenation and an array
is a view of it. Numbers are little-endian; bit j of a row of bits is bit j % 8 of byte j // 8, and
the unused bits of the last byte are zero. A report that does not fit its shape is refused, with its
value.

A report also has one JSON form: a number, base64 text of its bits, or a list of these.
"""

from murmurs.wire.bits import Bits, BitsByCohort, CohortBits
from murmurs.wire.category import Category
from murmurs.wire.hashed import Hash, Hashed
from murmurs.wire.members import Members
from murmurs.wire.shape import BadReportError, Report, Reports, Shape, smallest_unsigned
from murmurs.wire.together import Together

__all__ = [
    "BadReportError",
    "Bits",
    "BitsByCohort",
    "Category",
    "CohortBits",
    "Hash",
    "Hashed",
    "Members",
    "Report",
    "Reports",
    "Shape",
    "Together",
    "smallest_unsigned",
]
