"""The interface of all mechanisms, and the checks they share.

A mechanism is a set of frozen parameters. It defines how an answer becomes a report (`encode`, or
`encode_many` for many people), how reports are counted (`count`), how to draw the counts of a whole
population (`simulate`), and the law of all of these (`channel`). Its probabilities are integers
over 2**53, fixed once: computed from epsilon when it is made, or read from a survey.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Generic

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import index, integers, shown, whole
from murmurs.boundary.documents import canonical
from murmurs.boundary.labelled import in_order
from murmurs.channels.channel import MOST_PEOPLE, Channel
from murmurs.channels.evidence import Classified, Evidence, Supported, check_size
from murmurs.channels.repeats import Repeats
from murmurs.counts import Counts
from murmurs.hashing import strings
from murmurs.hashing.layout import Layout
from murmurs.numerics.arrays import Integers, exact_sum, first_outside
from murmurs.privacy import check_epsilon, log_above
from murmurs.randomness.bulk import CHUNK, CHUNK_BYTES, Bulk, bulk
from murmurs.randomness.keyed import Keyed
from murmurs.randomness.keyed_bulk import KeyedTable
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import Chance, ChanceInBulk, as_generator, as_randomness
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Report, Reports, Shape, forms

LARGEST_K = 10**6
_OF_LABELS = ": question.answer(label) gives the number of a label"


class AnyMechanism(ABC, Generic[Report]):
    """What every mechanism has, with a fixed list of answers or without."""

    epsilon: float

    @property
    @abstractmethod
    def shape(self) -> Shape[Report]:
        """How a report is written."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The distribution of the count cells given the answer."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two answers, exactly."""

    @abstractmethod
    def _count(self, reports: Reports) -> Integers:
        """Return the cells of an array of checked reports."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the answers, if the mechanism knows them."""
        return ()

    def select(self, questions: tuple[int, ...]) -> AnyMechanism[Any]:
        """Refuse: only a product of mechanisms asks several questions."""
        raise TypeError(f"{self} asks one question: it has no margins")

    @property
    def cohort_count(self) -> int | None:
        """The number of cohorts that people are split into, if they are."""
        return None

    def _cells_of(self, reports: Reports) -> Integers | NDArray[np.uint8]:
        """Return the cell that each report counts in or, if it counts in several, all of them.

        The second is one row of zeros and ones per report, with a one at position 0 for the report
        itself. Joint counts of several questions are made of these.
        """
        is_histogram = self.channel.is_histogram
        if is_histogram and isinstance(self.shape, Category):  # numbered as the cells are
            return np.asarray(reports, np.int64)
        supports = getattr(self, "supports", None)
        if supports is None:
            raise TypeError(f"{self} does not say which cells its reports count in")
        bits = np.unpackbits(
            np.ascontiguousarray(supports(reports)),
            axis=1,
            count=self.channel.cells[0],
            bitorder="little",
        )
        if is_histogram:  # sets of one answer each
            return np.asarray(bits.argmax(axis=1), np.int64)
        return np.insert(bits, 0, 1, axis=1)

    def evidence(self, reports: object) -> tuple[Evidence, ...]:
        """Return the likelihood of each report given each answer, up to a factor for each report.

        There is one item for each question: a single one unless the mechanism is a product. Reports
        come in any form that `count` takes, and must fit in memory.
        """
        parts = list(forms.arrays(reports, self.shape))
        one = parts[0] if len(parts) == 1 else np.concatenate([self.shape.empty(0), *parts])
        return self._evidence(one)

    def _evidence(self, reports: Reports) -> tuple[Evidence, ...]:
        """Return the likelihoods of an array of checked reports."""
        if self.channel.is_histogram:
            check_size(math.prod(self.channel.cells), self.channel.k, self)
            cells, law = self._cells_of(reports), self.channel.matrix().T
            return (Classified(cells.astype(np.int64), np.ascontiguousarray(law)),)
        supports = getattr(self, "supports", None)
        if supports is None:
            raise TypeError(
                f"{self} does not say how likely its reports are given an answer: estimate from "
                "counts"
            )
        bits = np.ascontiguousarray(supports(reports))
        return (Supported(bits, self.channel.k, float(self.ratio - 1)),)

    def over(self, candidates: Sequence[str], *, complete: bool = False) -> Mechanism[Report]:
        """Refuse: only an open mechanism takes candidates."""
        raise TypeError(f"{self} has a fixed list of answers; over() is for open questions")

    @property
    def epsilon_realised(self) -> float:
        """The epsilon of the integer probabilities, rounded up; at most `epsilon`."""
        return log_above(self.ratio)

    @property
    def _work_size(self) -> int:
        """The number of bytes that `encode_many` works on per person."""
        return self.shape.size

    def _written(self) -> str:
        """Return name and parameters in canonical JSON."""
        return canonical(self.to_document())

    def _people(
        self, random: ChanceInBulk, n: int, texts: Sequence[Sequence[str] | None] = (None,)
    ) -> Bulk | KeyedTable:
        """Return the chance of n people, whose ``part`` is that of a chunk with its answers.

        Answers are numbers, or numbers of ``texts``; there is an item for each question.
        """
        if isinstance(random, Keyed):
            return KeyedTable(random, n, self._written(), texts)
        return bulk(random)

    def _chunks(self, n: int) -> Iterator[slice]:
        """Split n people into chunks that are encoded at once."""
        size = min(CHUNK, max(1, CHUNK_BYTES // self._work_size))
        return (slice(start, start + size) for start in range(0, n, size))

    @property
    def second_round(self) -> tuple[Fraction, Fraction] | None:
        """Probabilities of supporting an answer if the permanent response does, and if it does not.

        None if there is no permanent response and every report is drawn anew.
        """
        return None

    @property
    def is_longitudinal(self) -> bool:
        """Whether the reports of one person share a permanent response."""
        return self.second_round is not None

    def repeated(self, times: float) -> Channel:
        """Return the distribution of the count cells if each person reports this many times.

        All reports of a person are made from one permanent response.
        """
        if times == 1:
            return self.channel
        if self.second_round is None:
            raise ValueError(
                f"{self} keeps no permanent response that {times} reports of a person would share: "
                "its counts have times=1"
            )
        return self.channel.repeating(Repeats(times, *self.second_round))

    @property
    def bits(self) -> float:
        """The information in one report, in bits; `shape.size` is its length in bytes."""
        return self.shape.bits

    def count(self, reports: object) -> Counts:
        r"""Count reports, in whatever form they come.

        Reports are an array from `encode_many`; a column of pandas, polars or Arrow (integers,
        binary, base64 text or lists); bytes with packed reports one after another, or base64 text
        of them; or an iterable of single reports: as `encode` returns them, as packed bytes, as
        base64 text of these, or in their JSON form (`shape.to_json`). An iterable of arrays or
        columns need not fit in memory.

        >>> from murmurs import KRR
        >>> KRR(k=4, epsilon=1.0).count([2, b"\x02", "Aw=="]).cells
        array([0, 0, 2, 1])
        """
        return self.count_checked(forms.arrays(reports, self.shape))

    def count_checked(self, parts: Iterable[Reports]) -> Counts:
        """Count arrays of reports that are checked already, such as those from files."""
        n, cells = 0, np.zeros(self.channel.cells, np.int64)
        for part in parts:
            n += len(part)
            self.add(part, cells)
        return Counts(self, n, cells)

    def add(self, reports: Reports, cells: Integers) -> None:
        """Add an array of checked reports to cells."""
        cells += self._count(reports)

    def to_document(self) -> dict[str, Any]:
        """Return name and parameters, with the integer probabilities, as plain values for JSON."""
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if field.init
        }
        return {"name": type(self).__name__, **values}

    def _set(self, **values: object) -> None:
        """Set fields of the frozen dataclass; only for ``__post_init__``."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


class Mechanism(AnyMechanism[Report]):
    """A way to answer one question privately, with answers 0..k-1."""

    k: int
    largest_k: ClassVar[int] = LARGEST_K
    """The most answers."""

    @abstractmethod
    def _encode_one(self, answer: int, random: Randomness) -> Report:
        """Return a report of one checked answer."""

    @abstractmethod
    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        """Return reports of a chunk of checked answers."""

    @abstractmethod
    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Draw the cells of a whole population at once."""

    def encode(self, answer: int, random: Chance = None) -> Report:
        """Return a private report of one answer.

        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        return self._encode_one(self.check(answer), as_randomness(random))

    def encode_many(self, answers: object, random: ChanceInBulk = None) -> Reports:
        """Return the reports of many people as one compact array.

        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        array = integers(answers, "answers", of_labels=_OF_LABELS)
        source = self._people(random, len(array))
        out = self.shape.empty(len(array))
        for part in self._chunks(len(array)):
            own = self._check_part(array[part], part.start)
            out[part] = self._encode_many(own, source.part(part, own))
        return out

    def encode_coded(
        self, codes: NDArray[np.integer[Any]], table: Integers, random: ChanceInBulk = None
    ) -> Reports:
        """Return the reports of people whose answers are ``table[code]``, as `encode_many` would.

        Codes are translated chunk by chunk, so that a column with small codes is not copied. A
        number in the table that is no answer is refused with the position of the person.
        """
        source = self._people(random, len(codes))
        out = self.shape.empty(len(codes))
        room = np.empty(0, np.int64)  # used for every chunk: new memory costs more than the look-up
        for part in self._chunks(len(codes)):
            own = codes[part]
            if len(room) < len(own):
                room = np.empty(len(own), np.int64)
            if not (-len(table) <= int(own.min()) and int(own.max()) < len(table)):
                raise IndexError(f"codes must be numbers of the {len(table)} entries of the table")
            answers = np.take(table, own, out=room[: len(own)], mode="wrap")
            checked = self._check_part(answers, part.start)
            out[part] = self._encode_many(checked, source.part(part, checked))
        return out

    def simulate(self, histogram: object, random: ChanceInBulk = None) -> Counts:
        """Draw the counts of a whole population, with the law of encoding and counting its reports.

        ``histogram`` says how many people hold each answer. The cost does not grow with them.
        """
        people = self.check_histogram(histogram)
        return Counts(self, int(people.sum()), self._simulate(people, study_generator(random)))

    def check(self, answer: object) -> int:
        """Return the answer if it is one of 0..k-1; errors do not quote it."""
        number = index(answer)
        if number is None:
            label = _OF_LABELS if isinstance(answer, str) else ""
            raise TypeError(
                f"an answer of {self} is a whole number from 0 to {self.k - 1}, not of type "
                f"{type(answer).__name__}{label}"
            )
        if not 0 <= number < self.k:
            raise ValueError(f"the answer is not one of 0..{self.k - 1} of {self}")
        return number

    def _check_part(self, answers: NDArray[np.integer[Any]], start: int) -> Integers:
        """Return a chunk of answers as 64-bit integers if each is one of 0..k-1."""
        wide = answers.astype(np.int64, copy=False)
        if len(wide) and int(wide.view(np.uint64).max()) >= self.k:  # negative ones are huge here
            where = start + int(np.argmax(wide.view(np.uint64) >= self.k))
            raise ValueError(f"answer number {where} is not one of 0..{self.k - 1} of {self}")
        return wide

    def check_histogram(self, histogram: object) -> Integers:
        """Return the numbers of people as an array if there is one for each answer.

        Labelled numbers, such as those of ``value_counts()``, are put in the order of the answers.
        """
        given = in_order(histogram, self.k, self.labels, "histogram", self)
        if _look_like_shares(given):
            raise TypeError(
                "histogram must be numbers of people, and these look like shares: multiply them by "
                "the number of people and round, as (shares * n).round().astype(int)"
            )
        array = integers(given, "histogram")
        if len(array) != self.k:
            raise ValueError(f"histogram has {len(array)} numbers, {self} needs {self.k}")
        bad = first_outside(array, 0, MOST_PEOPLE)
        if bad:
            raise ValueError(
                f"histogram has {shown(bad[1])} people at answer {bad[0]}, not from 0 to 2**62"
            )
        wide = array.astype(np.int64)
        if exact_sum(wide) > MOST_PEOPLE:
            raise ValueError("histogram has more than 2**62 people")
        return wide

    def _settle(self) -> None:
        """Check k and epsilon, which all mechanisms have."""
        self._set(k=whole(self.k, "k", 2, self.largest_k), epsilon=check_epsilon(self.epsilon))


class OpenMechanism(AnyMechanism[Report]):
    """A way to answer one question privately, with any string.

    Candidates are only needed to estimate from the counts: `over` takes a list of them.
    """

    @abstractmethod
    def layout_of(self, texts: Sequence[str]) -> Layout:
        """Return the buckets of checked strings."""

    @abstractmethod
    def _encode_one(self, text: str, random: Randomness) -> Report:
        """Return a report of one checked string."""

    @abstractmethod
    def _encode_many(self, layout: Layout, answers: Integers, random: Bulk) -> Reports:
        """Return reports of a chunk of people; their answers are numbers within the layout."""

    @abstractmethod
    def over(self, candidates: Sequence[str], *, complete: bool = False) -> Mechanism[Report]:
        """Return the mechanism whose answers are the candidates, plus one for all other strings.

        With ``complete`` there is no such answer: nobody holds a string that is not listed.
        """

    def encode(self, text: str, random: Chance = None) -> Report:
        """Return a private report of one string.

        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        return self._encode_one(self.check(text), as_randomness(random))

    def encode_many(self, texts: Iterable[str], random: ChanceInBulk = None) -> Reports:
        """Return the reports of many people as one compact array.

        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        if isinstance(texts, str | bytes):
            raise TypeError("answers are a list of strings, not one string")
        if isinstance(texts, Mapping) or hasattr(texts, "columns"):
            raise TypeError(
                f"answers are a list of strings, one per person, not {type(texts).__name__}: "
                "over(candidates).simulate takes the number of people for each"
            )
        numbers: dict[str, int] = {}
        forms: dict[str, str] = {}
        answers = np.fromiter(
            (self._number(text, i, numbers, forms) for i, text in enumerate(texts)), np.int64
        )
        return self.encode_coded(answers, list(numbers), random)

    def encode_coded(
        self, codes: NDArray[np.integer[Any]], texts: Sequence[str], random: ChanceInBulk = None
    ) -> Reports:
        """Return the reports of people whose answers are ``texts[code]``; texts are checked."""
        layout, source = self.layout_of(texts), self._people(random, len(codes), [texts])
        out = self.shape.empty(len(codes))
        for part in self._chunks(len(codes)):
            own = codes[part].astype(np.int64)
            out[part] = self._encode_many(layout, own, source.part(part, own))
        return out

    def simulate_strings(
        self, people: Sequence[tuple[str, Any]], random: ChanceInBulk = None
    ) -> Counts:
        """Draw the counts of people who hold these strings; those reported alike are added up."""
        texts = [text for text, _ in people]
        numbers = [number for _, number in people]
        try:
            forms = [self.check(text) for text in texts]
        except (TypeError, ValueError):
            forms = texts  # refused below, with its line
        if len(set(forms)) < len(forms):
            together: dict[str, int] = {}
            for form, number in zip(forms, numbers, strict=True):
                more = whole(number, "a number of people", 0, MOST_PEOPLE)
                together[form] = together.get(form, 0) + more
            texts, numbers = list(together), list(together.values())
        drawn = self.over(texts, complete=True).simulate(numbers, random)
        return Counts(self, drawn.n, drawn.cells)

    def _number(
        self, text: object, position: int, numbers: dict[str, int], forms: dict[str, str]
    ) -> int:
        """Return the number of a string among the distinct ones; each is checked once."""
        form = forms.get(text) if isinstance(text, str) else None
        if form is None:
            try:
                form = self.check(text)
            except (TypeError, ValueError) as error:
                raise type(error)(f"answer number {position}: {error}") from None
            forms[str(text)] = form
        return numbers.setdefault(form, len(numbers))

    def check(self, text: object) -> str:
        """Return a string in its normal form; refuse, without quoting, what is empty or no text."""
        return strings.normal(text)


def study_generator(random: ChanceInBulk) -> np.random.Generator:
    """Return the generator that a population is drawn with."""
    source = as_generator(random)
    return np.random.default_rng() if isinstance(source, Secure) else source


def _look_like_shares(values: object) -> bool:
    """Return whether values are fractions that add up to about one, not numbers of people."""
    try:
        array = np.asarray(values)
    except ValueError:
        return False
    if array.dtype.kind != "f" or array.size == 0:
        return False
    return bool(array.min() >= 0 and array.max() < 1 and abs(array.sum() - 1) < 0.05)
