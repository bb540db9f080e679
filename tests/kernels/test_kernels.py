"""Which form of the kernels does the work: NumPy until numba pays, with the same results."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

import murmurs as mm
from murmurs import kernels
from murmurs.channels.solving import _dense_gram
from murmurs.kernels import Kernels, adaptive, compiled, reference
from murmurs.kernels.adaptive import LOADING, ROUNDED, SECONDS, Adaptive

OFFERED = {name for name in vars(Kernels) if not name.startswith("_")}


def many(size: int) -> Any:
    """An array that says it has so many bytes, and takes one."""
    return np.broadcast_to(np.uint8(0), size)


def test_the_environment_chooses_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = kernels.load.__wrapped__
    monkeypatch.delenv("MURMURS_KERNELS", raising=False)
    assert isinstance(choose(), Adaptive)
    monkeypatch.setenv("MURMURS_KERNELS", "reference")
    assert choose() is reference
    monkeypatch.setenv("MURMURS_KERNELS", "compiled")
    assert choose() is compiled


def test_without_numba_the_reference_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MURMURS_KERNELS", raising=False)
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    assert kernels.load.__wrapped__() is reference


def test_nonsense_kernels_are_refused_with_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MURMURS_KERNELS", "fastest")
    message = "^MURMURS_KERNELS must be reference or compiled, not 'fastest'$"
    with pytest.raises(ValueError, match=message):
        kernels.load.__wrapped__()


def test_every_kernel_has_its_cost_and_both_forms() -> None:
    assert set(SECONDS) == OFFERED
    assert set(ROUNDED) < OFFERED
    for name in OFFERED:
        assert callable(getattr(Adaptive(), name))
        assert callable(getattr(reference, name))
        assert callable(getattr(compiled, name))
    with pytest.raises(AttributeError, match=r"^there is no kernel 'sort'$"):
        _ = Adaptive().sort


def test_small_work_is_done_by_numpy_until_it_adds_up() -> None:
    chooser = Adaptive()
    half = many(int(0.49 * LOADING / 2e-9))
    assert [chooser.form("histogram", half, 5) for _ in range(4)] == [
        reference,
        reference,
        compiled,  # with this one it would have taken as long as loading
        compiled,
    ]
    assert chooser.form("bits", [], [], [], []) is compiled  # and so for all of them


def test_one_large_call_is_compiled_at_once() -> None:
    assert Adaptive().form("histogram", many(10**10), 5) is compiled
    assert Adaptive().form("support_totals", many(10**5), many(1), many(1), 10**5) is compiled
    assert Adaptive().form("histogram", many(10**7), 5) is reference


def test_what_is_rounded_depends_on_the_call_alone() -> None:
    chooser = Adaptive()
    small, large = many(8 * 10).reshape(10, 8), many(8 * 10**7).reshape(10**7, 8)
    for _ in range(2):
        assert chooser.form("support_likelihood", small, many(64), 1.0) is reference
        assert chooser.form("support_likelihood", large, many(64), 1.0) is compiled
        chooser.form("histogram", many(10**10), 5)  # now the others are compiled


def sizes(name: str) -> Iterator[tuple[Any, ...]]:
    """Arguments of a kernel, smaller and larger."""
    for n in (10, 1000):
        flat, square = many(n), many(n * n).reshape(n, n)
        yield {
            "bits": (flat, flat, flat, flat),
            "lanes": (square, flat, flat, flat),
            "below": (flat, 3, flat, flat),
            "subsets": (flat, n, 2, flat, flat, flat),
            "histogram": (flat, n),
            "sharded": (flat, 2),
            "repeated": (flat,),
            "bit_totals": (square, n),
            "support_totals": (flat, flat, flat, n),
            "text_keys": (square, flat, square, flat),
            "places": (square, 0, n, n, 1),
            "gather": (square, flat),
            "hashed_totals": (square, 0, n, n, 1, square),
            "scatter": (square, flat, n),
            "gram": (square, flat, 1),
            "support_likelihood": (square, flat, 1.0),
            "pair_likelihood": (square, square, square, (1.0, 1.0)),
        }[name]


@pytest.mark.parametrize("name", sorted(OFFERED))
def test_larger_calls_cost_more(name: str) -> None:
    [small, large] = (SECONDS[name](*arguments) for arguments in sizes(name))
    assert 0 < small < large < 60


class Watched(Adaptive):
    """Remembers which forms it chose."""

    def __init__(self) -> None:
        super().__init__()
        self.used: list[Kernels] = []

    def form(self, name: str, *arguments: Any) -> Kernels:
        self.used.append(super().form(name, *arguments))
        return self.used[-1]


def test_reports_and_counts_are_the_same_wherever_the_form_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = mm.Subset(k=20, epsilon=1.0, w=4)
    answers = np.random.default_rng(1).integers(0, 20, 5000)
    monkeypatch.setattr("murmurs.mechanisms.mechanism.CHUNK", 512)

    def made(form: Kernels) -> list[Any]:
        monkeypatch.setattr(kernels, "load", lambda: form)
        reports = mechanism.encode_many(answers, np.random.default_rng(2))
        return [reports.tolist(), mechanism.count(reports).cells.tolist()]

    wanted = made(cast(Kernels, reference))
    assert made(cast(Kernels, compiled)) == wanted
    whole = Adaptive()
    assert made(cast(Kernels, whole)) == wanted
    for part in (0.1, 0.5, 0.9):
        monkeypatch.setattr(adaptive, "LOADING", part * whole._asked)
        watched = Watched()
        assert made(cast(Kernels, watched)) == wanted
        assert watched.used[0] is reference
        assert watched.used[-1] is compiled


@pytest.mark.parametrize("hashes", [1, 2, 4])
def test_sums_over_places_are_equal_to_the_last_bit(
    hashes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 2**64, (3, 500), np.uint64)
    places = reference.places(keys, 7, 6, 16, hashes)
    values, table = rng.normal(size=500), rng.normal(size=6 * 16 + 1)
    for form in (reference, compiled):
        assert np.array_equal(form.places(keys, 7, 6, 16, hashes), places)
    sums = [form.scatter(places, values, 6 * 16 + 1)[:-1] for form in (reference, compiled)]
    assert sums[0].tobytes() == sums[1].tobytes()
    looked = [form.gather(places, table) for form in (reference, compiled)]
    assert looked[0].tobytes() == looked[1].tobytes()
    tables = np.array([table[:-1], values[:96]]).reshape(2, 6, 16)
    kept = [reference.gather(places, np.append(own.ravel(), 0.0)) for own in tables]
    monkeypatch.setattr(reference, "_HASHED", 1000)  # some keys at a time
    for form in (reference, compiled):
        found = form.hashed_totals(keys, 7, 6, 16, hashes, tables)
        assert found.tobytes() == np.array(kept).tobytes()
    pairs = [form.gram(places, table, hashes) for form in (reference, compiled)]
    assert pairs[0].tobytes() == pairs[1].tobytes()
    monkeypatch.setattr(reference, "_PAIRS", 1000)  # a row at a time
    assert reference.gram(places, table, hashes).tobytes() == pairs[1].tobytes()
    np.testing.assert_allclose(_dense_gram(places, table, hashes), pairs[1], atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 64, 2**16])
def test_numbers_are_ordered_by_shards(count: int) -> None:
    rng = np.random.default_rng(4)
    hashes = np.append(rng.integers(0, 2**64, 5000, np.uint64), np.array([0, 2**64 - 1], "u8"))
    shards = [int(value) * count >> 64 for value in hashes.tolist()]
    wanted = [hashes[i] for i in sorted(range(len(hashes)), key=lambda i: (shards[i], i))]
    for form in (reference, compiled):
        ordered, ends = form.sharded(hashes, count)
        assert ordered.tolist() == wanted
        assert np.diff(ends).tolist() == np.bincount(shards, minlength=count).tolist()


def test_repeated_numbers_are_found_whatever_numbers_they_are() -> None:
    """Also 0, which a table without marks would take for an empty place, and equal first bits."""
    rng, many_of_one = np.random.default_rng(5), np.zeros(9, np.uint64)
    cases = [
        rng.integers(0, 2**64, 20_000, np.uint64),
        rng.integers(0, 3000, 5000).astype(np.uint64),
        rng.integers(0, 3000, 5000).astype(np.uint64) << np.uint64(52),
        many_of_one,
        many_of_one[:1],
        many_of_one[:0],
    ]
    cases.append(np.append(cases[0], cases[0][:70]))
    for case in cases:
        values, times = np.unique(case, return_counts=True)
        for form in (reference, compiled):
            assert form.repeated(case).tolist() == values[times > 1].tolist()


def test_a_numba_that_does_not_load_is_told_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(name: str) -> Any:
        raise ImportError("Numba needs NumPy 2.0 or less")

    monkeypatch.setattr(adaptive, "import_module", broken)
    message = r"^numba .* \(Numba needs NumPy 2\.0 or less\): .* set MURMURS_KERNELS=reference"
    with pytest.raises(ImportError, match=message):
        Adaptive().form("histogram", many(10**10), 5)


SMALL_WORK = """
import sys
import murmurs as mm
mm.KRR(k=4, epsilon=1.0).count([1, 2, 3])
people = mm.KRR(k=4, epsilon=1.0).simulate([4, 3, 2, 1])
mm.estimate(people)
from click.testing import CliRunner
from murmurs.cli import main
assert CliRunner().invoke(main, ["mechanisms"]).exit_code == 0
heavy = ("numba", "scipy", "matplotlib", "cryptography", "pandas", "polars", "pyarrow")
print(sorted({m.split(".")[0] for m in sys.modules} & set(heavy)))
"""


def test_small_work_imports_nothing_large() -> None:
    done = subprocess.run([sys.executable, "-c", SMALL_WORK], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("form", [reference, compiled])
def test_keys_of_texts_are_those_of_their_sha256(form: Any) -> None:
    """Texts of up to 240 bytes, so that every number of blocks and every padding occurs."""
    rng, letters = np.random.default_rng(8), "az.+ü€😀"
    encoded = [letter.encode() for letter in letters]
    table = np.array([list(own.ljust(4, b"\0")) for own in encoded], np.uint8)
    widths = np.array([len(own) for own in encoded])
    codes = rng.integers(0, len(letters), (500, 60)).astype(np.int32)
    sizes = rng.integers(0, 61, 500)
    texts = ["".join(letters[j] for j in row[:n]) for row, n in zip(codes, sizes, strict=True)]
    keys = form.text_keys(codes, sizes, table, widths)
    wanted = [hashlib.sha256(text.encode()).digest() for text in texts]
    np.testing.assert_array_equal(keys.T.tobytes(), b"".join(wanted))
    assert {len(text.encode()) % 64 for text in texts} >= set(range(50, 64))
