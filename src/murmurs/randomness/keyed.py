"""Randomness of the rows of a table: the same for a row whenever and wherever it is encoded."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.keys import row_keys
from murmurs.randomness.derived import Derived

Random = TypeVar("Random")


@dataclass(frozen=True, eq=False, repr=False)
class Keyed:
    """The chance of the rows of a table, from a secret, the key of each row, and its answer.

    Use it where a table is encoded on a cluster. A task may run twice there, because it was lost or
    slow, or because a data frame is computed again; whoever sees two different reports of one
    answer sees epsilon twice. With `Keyed`, a row has the same report in every run, in any order
    and in any part of the table. ``encode_many`` and ``encode_column`` of questions and mechanisms
    take it as ``random``.

    ``secret`` belongs to the job: at least 16 bytes, such as ``secrets.token_bytes(32)``, kept
    as safe as the answers. Whoever has it can compute the reports of all answers, and so learns the
    answers from the reports. ``context`` says what is encoded: the fingerprint of the survey and
    the round, for example. A question adds its name; where a mechanism is called without one, the
    context must tell questions apart. ``keys`` are one for each row: a list or a column of whole
    numbers of any width, of texts, of bytes or of UUIDs, or an array of 16 bytes (uint8) per row.
    A key is the same in every run, so it is no row number and no time; and it belongs to one
    person, since two who share a key and an answer also share the report.

    The type of the keys counts: 5, "5" and b"5" have different chance, and so have 16 bytes in a
    column of bytes and in one of UUIDs. The width of whole numbers does not count, nor whether
    their type has a sign. Texts are compared as they are, not in a normal form.

    **The answer is part of it.** If chance came from the key alone, and one key had two answers (a
    row is corrected and encoded again, or a key occurs twice), both reports would use the same
    coins: they differ only if both are truthful, and then show both answers. As it is, two answers
    of a key have independent reports, each within epsilon. The mechanism is part of it, too: with
    the same coins, reports of one answer at two epsilons differ only if the second is truthful.

    Law, for other languages; numbers of eight bytes are little-endian. The keys K1, K2 and K3 are
    the first three times 32 bytes of ``Derived(secret, "keyed rows 1", kind, answers, mechanism,
    *context)``, where ``kind`` is "integer", "uuid", "text" or "bytes", ``answers`` has for each
    question the letter n for a number or t for a text, and ``mechanism`` is its document in
    canonical JSON. E1 and E2 are AES-256 of one block under K1 and K2, and H is BLAKE2b with 16
    bytes of digest and the key K3.

    - The block of a key is the number modulo 2**64 in eight bytes, and 1 in eight more if it is
      negative, else 0; or the 16 bytes of a UUID; or H of the UTF-8 text or of the bytes.
    - The block of an answer is its number in eight bytes and eight zeros, or H of the UTF-8 text.
    - The tag T of a row is the CBC-MAC of these blocks: t = E1(key), then t = E1(t xor answer) for
      each answer. If the key is a whole number and the only answer a number, it takes one block:
      T = E1(key in eight bytes, answer in eight bytes), with 2**63 added to the answer if the key
      is negative.
    - The row reads the blocks E2(T xor (b, b)), b = 0, 1, ..., one after another; (x, y) are two
      numbers of eight bytes. A draw that is not decided by its bytes, which begin at byte p, reads
      its further blocks E2(T xor (p, 2**63 + a)), a = 1, 2, ...

    The file randomness/keyed_bulk.py says how each draw uses the bytes.

    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> secret = bytes(range(32))
    >>> drink.encode_many(["tea", "mate", "tea"], Keyed(secret, ("2026",), [17, 5, 9])).tolist()
    [0, 1, 0]
    >>> drink.encode_many(["mate", "tea"], Keyed(secret, ("2026",), [5, 17])).tolist()
    [1, 0]
    """

    secret: bytes
    context: tuple[str | bytes | int, ...]
    keys: Any  # as `RowKeys`, once they are checked

    def __post_init__(self) -> None:
        if not isinstance(self.context, tuple):
            raise TypeError(
                "a context is a tuple of texts, bytes and whole numbers, such as "
                f"(survey.fingerprint, 'round 2'), not {type(self.context).__name__}"
            )
        Derived(self.secret, *self.context)  # refuses a short secret and other parts of a context
        object.__setattr__(self, "keys", row_keys(self.keys))

    def __repr__(self) -> str:
        return f"Keyed({len(self.keys)} keys)"

    def __len__(self) -> int:
        return len(self.keys)

    def check_people(self, n: int) -> None:
        """Refuse keys of another number of rows than there are answers."""
        if len(self.keys) != n:
            raise ValueError(
                f"there are {len(self.keys)} keys and {n} answers: each row has one of both"
            )


def of_question(random: Random, name: str) -> Random:
    """Return the chance of a question: `Keyed` has its name in the context, others are the same."""
    if not isinstance(random, Keyed):
        return random
    return dataclasses.replace(random, context=(*random.context, name))


def of_rows(random: Random, there: NDArray[np.bool_]) -> Random:
    """Return the chance of the rows that are there: `Keyed` has their keys, others are the same."""
    if not isinstance(random, Keyed):
        return random
    random.check_people(len(there))
    return dataclasses.replace(random, keys=random.keys.only(there))
