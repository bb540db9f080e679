"""Printed numbers are compared up to their last digits, and everything else exactly."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.printed import check_output, exactly, same

pytest_plugins = ["pytester"]
LINE = "filter,0.3082648210738867,0.2815929215675629"


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ("0.3082648210738867", "0.30826482107388675"),
        (LINE, "filter,0.30826482107388675,0.28159292156756295"),
        ("[0.1, 2.0]", "[0.10000000000000001, 1.9999999999999998]"),
        ("1e-05 of 3", "1.0000000000000002e-05 of 3"),
        ("-0.25 %", "-0.25000000000000006 %"),
        ("0.", "-0.0"),
        ("it is 0.5.", "it is 0.49999999999999994."),
        ("1.0", "0.9999999999999999"),
    ],
)
def test_last_digits_of_floats_may_differ(wanted: str, got: str) -> None:
    assert same(wanted, got)
    assert same(got, wanted)
    assert wanted != got


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ("0.3", "0.31"),
        ("0.3", "0.30000001"),
        ("40.1 %", "40.2 %"),
        ("0.5", "-0.5"),
        ("0.0", "1e-12"),
        ("1e-05", "1e-06"),
        ("3 reports", "4 reports"),
        ("1000000000", "1000000001"),
        ("1000000000000", "1000000000000.5"),
        ("1", "1.0"),
        ("0.5 of them", "0.5 of us"),
        ("0.5", "0.5 and more"),
        ("0.5, 0.25", "0.5"),
        ("0.5", "0.5, 0.25"),
        ("fingerprint b991ec656321ef6f", "fingerprint b991ec656321ef6e"),
        ("version 1.2.3", "version 1.2.4"),
        ("a  0.5", "a 0.5"),
        ("a\n0.5", "a 0.5"),
        ("0.5 ... 0.7", "0.5 and 0.6 and 0.7"),
        ("nan", "0.5"),
    ],
)
def test_everything_else_may_not(wanted: str, got: str) -> None:
    assert not same(wanted, got)
    assert not same(got, wanted)


@pytest.mark.parametrize(
    ("wanted", "got", "expected"),
    [
        ("0.5 ... 0.7", "0.49999999999999994 and 0.6 and 0.7000000000000001", True),
        ("0.5 ... 0.7", "0.5 and 0.6 and 0.71", False),
        ("...0.7", "0.6, 0.7, 0.7", True),
        ("0.6...", "0.5999999999999999", False),  # the beginning of a number is no number
        ("0.6...", "0.6142, 0.7", True),
        ("0.306..., 0.5", "0.30612, 0.5000000000000001", True),
        ("0.306..., 0.5", "0.30712, 0.5000000000000001", False),
        ("a...b...c", "a 0.5 b 0.5 c", True),
        ("a...b...c", "a 0.5 c 0.5 b", False),
        ("a 0.1... 0.2... 0.3", "a 0.1, 0.2, 0.3, 0.2, 0.3", True),
        ("a 0.1... 0.2... 0.3", "a 0.1, 0.3, 0.2", False),
        ("a...b", "ab", True),
        ("ab...ba", "aba", False),
    ],
)
def test_three_dots_stand_for_any_text(wanted: str, got: str, expected: bool) -> None:
    assert same(wanted, got, ellipsis=True) is expected


@pytest.mark.parametrize(
    ("wanted", "got", "expected"),
    [
        ("a  0.5\n  b", "a 0.5000000000000001 b", True),
        ("array([0.12, 0.5 ])", "array([0.12000000000000001, 0.5                ])", True),
        ("array([0.12, 0.5])", "array([ 0.12, 0.5000000000000001 ])", True),
        ("0.5 0.25", "0.50.25", False),
        ("a b 0.5", "ab 0.5000000000000001", False),
        ("1 2 0.5", "12 0.5000000000000001", False),
    ],
)
def test_white_space_is_alike_where_asked_for(wanted: str, got: str, expected: bool) -> None:
    assert same(wanted, got, spaces=True) is expected


def test_examples_keep_the_options_of_doctest() -> None:
    checker = doctest.OutputChecker()
    both = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    want, got = "0.1\n<BLANKLINE>\na  ... 0.3\n", "0.10000000000000001\n\na b 0.30000000000000004\n"
    assert check_output(checker, want, got, both)
    assert not check_output(checker, want, got, doctest.ELLIPSIS)
    assert not check_output(checker, want, got, doctest.NORMALIZE_WHITESPACE)
    assert not check_output(checker, want, got, both | doctest.DONT_ACCEPT_BLANKLINE)
    assert not exactly(checker, want, got, both)


def test_examples_of_modules_and_of_pages_are_compared_so(pytester: pytest.Pytester) -> None:
    root = Path(__file__).parent.parent
    pytester.makeconftest((root / "conftest.py").read_text(encoding="utf-8"))
    good, bad = ">>> 0.1 + 0.2\n0.3\n", ">>> 0.1 + 0.2\n0.31\n"
    for name, example in (("good", good), ("bad", bad)):
        pytester.makefile(".md", **{name: example})
        pytester.makepyfile(**{name: f'"""An example.\n\n{example}"""'})
    result = pytester.runpytest("--doctest-modules", "--doctest-glob=*.md")
    result.assert_outcomes(passed=2, failed=2)
