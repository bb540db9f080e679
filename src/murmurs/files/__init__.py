"""Files of surveys, reports, counts, candidates and tables; altered files are detected."""

from murmurs.files.candidates import read_candidates
from murmurs.files.columns import Chunk, read_column
from murmurs.files.counts import add_counts, read_counts, write_counts
from murmurs.files.encoding import encode_file
from murmurs.files.histograms import read_people
from murmurs.files.inputs import find_files
from murmurs.files.joint_counts import JointCounts, read_joint
from murmurs.files.pooled import PeopleError
from murmurs.files.private_table import PrivateTable, encode_table
from murmurs.files.reported import count_column, count_segments
from murmurs.files.reports import count_reports, read_reports, write_reports
from murmurs.files.schema import reports_schema, reports_table
from murmurs.files.several import read_together
from murmurs.files.surveys import read_survey
from murmurs.files.values import count_values

__all__ = [
    "Chunk",
    "JointCounts",
    "PeopleError",
    "PrivateTable",
    "add_counts",
    "count_column",
    "count_reports",
    "count_segments",
    "count_values",
    "encode_file",
    "encode_table",
    "find_files",
    "read_candidates",
    "read_column",
    "read_counts",
    "read_joint",
    "read_people",
    "read_reports",
    "read_survey",
    "read_together",
    "reports_schema",
    "reports_table",
    "write_counts",
    "write_reports",
]
