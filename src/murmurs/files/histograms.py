"""Files that say how many people hold each answer: ``label,number`` on a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import is_digits, named, refuse, rows
from murmurs.files.answers import check_asked
from murmurs.files.headers import AnyPath
from murmurs.questions.asked import Asked
from murmurs.questions.single import Single

MOST_PEOPLE = 2**62


def read_people(path: AnyPath, asked: Asked) -> dict[Any, int]:
    r"""Return how many people hold each answer, as ``asked.simulate`` takes it.

    A line has a label and the number or, for questions asked together, a label for each of them,
    and the number. Those that occur twice are added up.

    >>> from tempfile import TemporaryDirectory
    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     done = path.write_text("tea,300\nmate,200\n")
    ...     read_people(path, drink)
    {'tea': 300, 'mate': 200}
    """
    check_asked(asked)
    file, total = Path(path), 0
    together = asked.is_joint
    wanted = ",".join([*asked.names, "number"]) if together else "label,number"
    people: dict[Any, int] = {} if together else dict.fromkeys(asked.labels, 0)
    for line, row in rows(file):
        number = row[-1].strip() if len(row) == len(asked.names) + 1 else ""
        if not is_digits(number):
            refuse(file, line, f"{shown(','.join(row))} is not {wanted}")
        parts = zip(asked.questions, row, strict=False)
        labels = tuple(_label(file, line, question, text) for question, text in parts)
        digits = number.lstrip("0") or "0"
        more = int(digits) if len(digits) < 20 else 2 * MOST_PEOPLE
        total += more
        if total > MOST_PEOPLE:
            refuse(file, line, "there are more than 2**62 people in total")
        key = labels if together else labels[0]
        people[key] = people.get(key, 0) + more
    if not total:
        raise ValueError(f"{named(file)}: there is nobody to simulate: every number of people is 0")
    return people


def _label(path: Path, line: int, question: Single, text: str) -> str:
    """Return a label of a question, or any text in its normal form if the question is open."""
    if question.is_open:
        try:
            return str(question.answer(text))
        except ValueError as error:
            refuse(path, line, str(error))
    label = question.label_of(text)
    if label is None:
        refuse(path, line, f"{shown(text)} is not an answer to {shown(question.name)}")
    return label
