"""Submission: reports that are sent together under one id, as JSON or as bytes.

A device sends the reports of one person to one or more questions of a survey; whoever passes on the
reports of many people sends them in one submission too. A collector takes a submission whole or not
at all, and counts it once, however often its id arrives. A request has one submission or several.
"""

from murmurs.submission.form import SubmissionForm
from murmurs.submission.requests import (
    batches_in_bytes,
    batches_in_json,
    read_bytes,
    read_json,
)
from murmurs.submission.submission import (
    BINARY_TYPE,
    ID_BYTES,
    JSON_TYPE,
    BadSubmissionError,
    Batch,
    Submission,
    batches_of,
)

__all__ = [
    "BINARY_TYPE",
    "ID_BYTES",
    "JSON_TYPE",
    "BadSubmissionError",
    "Batch",
    "Submission",
    "SubmissionForm",
    "batches_in_bytes",
    "batches_in_json",
    "batches_of",
    "read_bytes",
    "read_json",
]
