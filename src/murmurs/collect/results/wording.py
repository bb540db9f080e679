"""Wording: what the library says about a result, in the words of a request for it."""

from __future__ import annotations

import re

from murmurs.boundary.checks import shown

_MOST = 600

HOW_TO_LIST = "with candidates=Luna&candidates=Leo in the query, or POST a list"
"""How a request says which strings to look for."""

_WORDS = (
    (r"with candidates=\[\.\.\.\]", HOW_TO_LIST),
    (r"with candidates=\{'(.*)': \[\.\.\.\]\}", r'POST them, as {"\1": ["Luna", "Leo"]}'),
    (r", or report_likelihood\(mechanism, reports\)", ""),
    (r"\b([a-z_]+)\(counts\)", r"method=\1"),
)


def in_a_request(error: Exception) -> str:
    """Return an error of the library as one sentence for whoever asked over HTTP.

    >>> in_a_request(ValueError("'pet' is open: say what to look for, with candidates=[...]"))
    "'pet' is open: say what to look for, with candidates=Luna&candidates=Leo in the query, ..."
    >>> in_a_request(ValueError("selection is for answers in cohorts: use shrinkage(counts)"))
    'selection is for answers in cohorts: use method=shrinkage'
    """
    text = str(error)
    for python, http in _WORDS:
        text = re.sub(python, http, text)
    return shown_sentence(text)


def shown_sentence(text: str) -> str:
    """Return a sentence that is short and has no control characters."""
    return text if len(text) <= _MOST and text.isprintable() else shown(text, _MOST)
