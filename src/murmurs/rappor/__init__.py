"""The files that google/rappor reads and writes: parameters, maps, reports, counts and results.

All of them are CSV and are read line by line. The error for a wrong line names the file, the line,
the value and the rule.
"""

from murmurs.rappor import clients
from murmurs.rappor.association import AssociationTable, association_table, write_association
from murmurs.rappor.counts import read_counts, write_counts
from murmurs.rappor.maps import map_rows, read_candidates, read_map, write_map
from murmurs.rappor.pairs import read_pairs
from murmurs.rappor.params import read_boolean_params, read_params, write_params
from murmurs.rappor.reports import read_reports, write_reports
from murmurs.rappor.result_rows import ResultRow, read_results, results, write_results
from murmurs.rappor.schema import Variable, read_schema

__all__ = [
    "AssociationTable",
    "ResultRow",
    "Variable",
    "association_table",
    "clients",
    "map_rows",
    "read_boolean_params",
    "read_candidates",
    "read_counts",
    "read_map",
    "read_pairs",
    "read_params",
    "read_reports",
    "read_results",
    "read_schema",
    "results",
    "write_association",
    "write_counts",
    "write_map",
    "write_params",
    "write_reports",
    "write_results",
]
