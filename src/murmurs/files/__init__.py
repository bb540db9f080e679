"""Files of reports, counts and candidates; incomplete or altered files are detected."""

from murmurs.files.candidates import read_candidates
from murmurs.files.counts import add_counts, read_counts, write_counts
from murmurs.files.pooled import PeopleError
from murmurs.files.reports import count_reports, read_reports, write_reports

__all__ = [
    "PeopleError",
    "add_counts",
    "count_reports",
    "read_candidates",
    "read_counts",
    "read_reports",
    "write_counts",
    "write_reports",
]
