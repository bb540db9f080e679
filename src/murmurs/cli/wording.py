"""Errors and notes of the library in the words of the command line: options instead of keywords."""

from __future__ import annotations

import re

_KEYWORD = re.compile(r'`(\w+)=(?:(True|False)|"([^`"]*)"|([^`"]*))`')


def in_options(text: str) -> str:
    """Return a text in which keywords are options.

    >>> in_options('add `format="csv"`, `header=False` and `drop_missing=True`, or `column=`')
    'add --format csv, --no-header and --drop-missing, or --column'
    """
    return _KEYWORD.sub(_option, text)


def _option(found: re.Match[str]) -> str:
    name, truth, text, value = found.groups()
    if truth == "False":
        return f"--no-{name}"
    quoted = f"'{text}'" if text == ";" else text
    return f"--{name.replace('_', '-')} {quoted or value or ''}".rstrip()
