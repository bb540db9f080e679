"""Text from outside is read by line, in bounded memory, and is never repeated at length."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from murmurs.boundary.checks import real, shown
from murmurs.boundary.documents import document, fields
from murmurs.boundary.reading import contents, lines, opened, rows
from murmurs.present.text import printable, table


def written(folder: Path, data: bytes) -> Path:
    (folder / "file").write_bytes(data)
    return folder / "file"


# Lines and rows


def test_lines_come_with_their_numbers_and_without_their_ends(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeffone\r\n\n\ufefftwo\x85th\rree\u2028\r".encode())
    assert list(lines(path)) == [(1, "one"), (2, ""), (3, "\ufefftwo\x85th\rree\u2028")]
    assert list(lines(written(tmp_path, b""))) == []
    assert list(lines(written(tmp_path, b"\n"))) == [(1, "")]
    assert list(lines(written(tmp_path, b"\n\n"))) == [(1, ""), (2, "")]


def test_a_long_file_has_the_lines_of_all_its_blocks(tmp_path: Path) -> None:
    texts = [f"{j}é" * (j % 50) for j in range(30_000)]
    for end in ("\n", "\r\n"):
        path = written(tmp_path, end.join(texts).encode())
        assert list(lines(path)) == list(enumerate(texts, 1))


def test_a_line_that_is_not_utf_8_is_told_without_what_stands_in_it(tmp_path: Path) -> None:
    path = written(tmp_path, b"tea\nsecret\xff\n")
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        list(lines(path))
    assert str(error.value) == (f"{path}, line 2: it is not UTF-8 (invalid start byte at byte 7)")


def test_a_line_may_be_as_long_as_is_said_and_no_longer(tmp_path: Path) -> None:
    assert list(lines(written(tmp_path, b"12345\n12345"), 5)) == [(1, "12345"), (2, "12345")]
    with pytest.raises(ValueError, match="line 2: it is longer than the limit of 5 bytes"):
        list(lines(written(tmp_path, b"1\n123456"), 5))


def test_a_line_without_end_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody closes gives the longest line, and is refused then."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = threading.Event()

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            file.write(b"x" * 2000)
            told.wait(30)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(ValueError, match="line 1: it is longer than the limit of 1000 bytes"):
        list(lines(pipe, 1000))
    told.set()
    writer.join()


def test_rows_come_with_the_lines_on_which_they_begin(tmp_path: Path) -> None:
    path = written(tmp_path, b'\xef\xbb\xbfa,b\r\n"two\r\nlines",c\n\nd\n')
    assert list(rows(path)) == [(1, ["a", "b"]), (2, ["two\r\nlines", "c"]), (5, ["d"])]
    with pytest.raises(ValueError, match="line 2: this is not CSV"):
        list(rows(written(tmp_path, b'a\n"b\n')))


def test_a_document_may_be_as_long_as_is_said_and_no_longer(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf{}")
    assert contents(path) == b"{}"
    with pytest.raises(ValueError, match="is longer than the limit of 4 bytes"):
        contents(path, 4)


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with (
        pytest.raises(OSError, match="cannot read standard input: it is closed"),
        opened(Path("-")),
    ):
        pass


# JSON


def test_json_is_read_as_it_stands() -> None:
    text = '{"a": [1, -2.5, 1e3, true, null, "\\u00fc"], "b": {"a": {}}}'
    assert document(text.encode()) == {
        "a": [1, -2.5, 1000.0, True, None, "ü"],
        "b": {"a": {}},
    }


def test_an_object_has_the_fields_that_are_wanted() -> None:
    assert fields({"a": 1}, ("a",), "it") == {"a": 1}
    with pytest.raises(ValueError, match="it has no field 'b'"):
        fields({"a": 1}, ("a", "b"), "it")
    with pytest.raises(ValueError, match="it has an unknown field 'a'"):
        fields({"a": 1}, (), "it")
    with pytest.raises(ValueError, match=r"it must be a JSON object, not \[1\]"):
        fields([1], (), "it")


# What is shown of a value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("tea", "'tea'"),
        (b"tea", "b'tea'"),
        (None, "None"),
        (2.5, "2.5"),
        (2**62, "4611686018427387904"),
        ("x" * 41, f"'{'x' * 40}'... (41 in all)"),
        (b"x" * 41, f"b'{'x' * 40}'... (41 in all)"),
        (10**5000, "about 10**5000"),
        ("te\x1b[2Ja\u202e\u2028", "'te\\x1b[2Ja\\u202e\\u2028'"),
        (["x" * 10**6] * 10**3, None),
        ({"x" * 10**6: ["y" * 10**6]}, None),
        ([[[[[[[["deep"]]]]]]]], None),
        (np.zeros(10**6), None),
    ],
    ids=range(13),
)
def test_a_value_is_shown_in_a_few_dozen_characters(value: object, text: str | None) -> None:
    assert len(shown(value)) <= 81
    assert text is None or shown(value) == text


def test_a_limit_is_told_with_all_its_digits() -> None:
    with pytest.raises(ValueError, match=r"level must be from 0\.5 to 0\.999999999, not 1$"):
        real(1, "level", 0.5, 1 - 1e-9)
    with pytest.raises(ValueError, match=r"epsilon must be from 1e-06 to 700, not 701$"):
        real(701, "epsilon", 1e-6, 700)


# What is printed


def test_what_controls_a_terminal_is_written_out() -> None:
    """Every control and every change of direction; what people write in stays as it is."""
    harm = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F)]
    harm += [*range(0x2066, 0x206A), 0xD800, 0xDFFF]
    for code in harm:
        assert printable(chr(code)).isascii()
        assert printable(chr(code)).isprintable()
    for text in ("Zürich", "茶", "نعم", "می\u200cخواهم", "👩\u200d💻", "a\u00a0b", "e\u0301", "−½"):
        assert printable(text) == text
    assert printable("a\nb\tc", keep="\n") == "a\nb\\tc"


def test_a_table_keeps_its_columns_whatever_a_label_holds() -> None:
    text = table(["answer", "share"], [["te\x1b[2Ja", "1 %"], ["two\nlines", "2 %"]])
    assert text.splitlines()[2:] == ["te\\x1b[2Ja    1 %", "two\\nlines    2 %"]
