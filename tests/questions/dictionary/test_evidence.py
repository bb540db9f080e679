"""What one level says about pieces of strings: scores of absent pieces are standard normal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.counts import Counts
from murmurs.hashing import strings
from murmurs.mechanisms.hashed.orr import ORR
from murmurs.questions.dictionary import evidence
from murmurs.questions.dictionary.evidence import Weighed, error_of_absent
from murmurs.questions.dictionary.letters import Letters
from murmurs.questions.dictionary.prior import prior_of
from murmurs.questions.dictionary.search import Beam, _grown


def weigh(counts: Counts, pieces: list[str], strong: Sequence[str] = ()) -> Weighed:
    """The scores of pieces that are given as texts."""
    return evidence.weigh(counts, strings.keys(pieces), pieces.__getitem__, strong)


def root_of_deviance(hits: float, n: int, chance: float) -> float:
    seen = hits / n
    deviance = seen * math.log(seen / chance) + (1 - seen) * math.log((1 - seen) / (1 - chance))
    return math.copysign(math.sqrt(2 * n * deviance), seen - chance)


@pytest.mark.parametrize("width", [2, 3, 4, 8, 60])
def test_scores_are_those_of_the_reports_in_the_bucket(width: int) -> None:
    """With one cohort, an absent piece has a binomial number of reports, with chance 1 / width."""
    orr = ORR(epsilon=1.0, width=width, cohorts=1)
    n = 100 * width
    for piece in ("+a", "+b", "+c"):
        cells = np.full((1, width), 100)
        own, other = orr.places(piece, 0)[0], (orr.places(piece, 0)[0] + 1) % width
        cells[0, own] += 12
        cells[0, other] -= 12
        seen = weigh(Counts(orr, n, cells), [piece])
        expected = root_of_deviance(112 - 0.5, n, 1 / width)
        spread = max(1.0, math.sqrt(np.var(cells) / 100 / (1 - 1 / width)))
        assert seen.scores[0] == pytest.approx(expected / spread)
        assert seen.strong == ()


@pytest.mark.parametrize("given", [(), ("+common",), ("+common", "+rare 7")])
def test_pieces_that_are_known_to_be_strong_change_nothing_but_the_time(
    given: tuple[str, ...],
) -> None:
    orr = ORR(2.0, 8, 256)
    over, rng = orr.over(list(COMMON), complete=True), np.random.default_rng(3)
    simulated = over.simulate(rng.multinomial(20_000, np.array(list(COMMON.values())) / 3000), rng)
    counts, pieces = Counts(orr, simulated.n, simulated.cells), ["+common", "+nobody", "+rare 7"]
    plain, known = weigh(counts, pieces), weigh(counts, pieces, given)
    assert plain.strong == ("+common",)
    assert set(known.strong) == {"+common", *given}
    np.testing.assert_allclose(known.scores, plain.scores, atol=0.05)
    assert plain.scores[0] > 20
    assert abs(plain.scores[1]) < 5


def test_the_score_of_a_strong_piece_is_for_its_absence() -> None:
    """Twelve of a thousand reports where a quarter of one is expected: far from any chance.

    With its own share in what is expected, the score of a piece that is solved for was 3.
    """
    orr = ORR(10.0, 4096, 250)
    cells = np.zeros((250, 4096), np.int64)
    rows = np.arange(250)
    for number in range(4):  # each report in another bucket of its cohort
        cells[rows, 1000 * number + rows] = 1
    own = np.array([orr.places("+own", row)[0] for row in range(12)])
    cells[:12, 3000:3250] = 0
    cells[rows[:12], own] += 1
    seen = weigh(Counts(orr, 1000, cells), ["+own", "+other"])
    assert seen.strong == ("+own",)
    assert seen.scores[0] == pytest.approx(root_of_deviance(12 - 0.5, 1000, 1 / 4096), rel=0.1)


def scores_of_absent(
    epsilon: float, people: int, held: dict[str, float], listed: list[str], runs: int
) -> np.ndarray:
    """The scores of 900 pieces that nobody holds, in simulated counts of one level."""
    width = round(math.exp(epsilon)) + 1
    orr = ORR(epsilon, width, max(256, 2048 // width))
    over, law = orr.over(list(held), complete=True), np.array(list(held.values()))
    scores = []
    for run in range(runs):
        rng = np.random.default_rng([29, run])
        counts = over.simulate(rng.multinomial(people, law / law.sum()), rng)
        pieces = [*listed, *(f"+nobody {run} {i}" for i in range(900))]
        scores.append(weigh(Counts(orr, counts.n, counts.cells), pieces).scores[len(listed) :])
    return np.concatenate(scores)


COMMON = {"+common": 2700.0, **{f"+rare {i}": 1.0 for i in range(300)}}
"""One string that nine of ten people hold, and 300 rare ones."""


@pytest.mark.parametrize("inside", [True, False], ids=["in the alphabet", "outside it"])
@pytest.mark.parametrize(
    ("epsilon", "people"), [(0.7, 20_000), (2.0, 20_000), (2.0, 300), (4.0, 20_000)]
)
def test_scores_of_absent_pieces_beside_a_common_string_are_normal(
    epsilon: float, people: int, inside: bool
) -> None:
    """Of 3,600 independent scores, 82 exceed 2 on average, and 4.9 exceed 3.

    More than 129 and 21 have probability 1e-6 at most. A standard deviation of 1.22, as it once was
    with three buckets, would give 182 and 25. They may be fewer: few reports are discrete.
    """
    scores = scores_of_absent(epsilon, people, COMMON, ["+common"] if inside else [], 4)
    assert scipy.stats.binom.sf(129, 3600, scipy.stats.norm.sf(2)) < 1e-6
    assert scipy.stats.binom.sf(21, 3600, scipy.stats.norm.sf(3)) < 1e-6
    assert (scores > 2).sum() <= 129
    assert (scores > 3).sum() <= 21
    assert (scores < -2).sum() <= 129


def test_the_error_of_an_absent_string_is_that_of_its_estimate() -> None:
    orr = ORR(epsilon=0.5, width=3, cohorts=1)
    bucket = orr.places("tea", 0)[0]
    hits = np.arange(301)
    chances = np.array([math.comb(300, h) * 2.0 ** (300 - h) / 3.0**300 for h in hits.tolist()])
    shares = []
    for h in hits.tolist():
        cells = np.full((1, 3), (300 - h) // 2)
        cells[0, bucket] = h
        cells[0, (bucket + 1) % 3] += (300 - h) % 2
        shares.append(mm.estimate(Counts(orr, 300, cells).over(["tea"]), "unbiased").unbiased[0])
    variance = chances @ np.square(shares) - (chances @ np.array(shares)) ** 2
    assert error_of_absent(orr, 300) == pytest.approx(math.sqrt(variance))


def test_all_combinations_of_letters_are_tried_first() -> None:
    letters = Letters("abcdefgh")
    prior, nothing = prior_of(letters, 9), np.zeros((1, 0))
    start = Beam(
        np.zeros((1, 0), np.int32),
        np.zeros(1, np.int64),
        np.zeros(1, bool),
        prior.start(),
        np.zeros(1),
        nothing,
        nothing,
    )
    grown = _grown(start, letters, prior, 0, 5, 500_000)
    rows = zip(grown.codes.tolist(), grown.sizes.tolist(), strict=True)
    texts = [letters.text(row[:size]) for row, size in rows]
    every = ["".join(t) for k in range(1, 6) for t in itertools.product("abcdefgh", repeat=k)]
    assert sorted(texts) == sorted(every)
    assert {text for text, is_whole in zip(texts, grown.ended, strict=True) if not is_whole} == {
        text for text in every if len(text) == 5
    }
    few = _grown(start, letters, prior, 0, 5, 100)
    assert (few.sizes == 5).sum() <= 100


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_few_buckets_make_nothing_up(epsilon: float) -> None:
    """Nobody holds a string of the alphabet. Each survey has a false one with 5 % at most.

    So more than 5 of 20 have a false-alarm rate below 1e-3 in theory; the seeds are fixed. Scores
    with a standard deviation of 1.4 instead of 1 had false strings in nearly all surveys.
    """
    asked = mm.Dictionary(epsilon=epsilon, longest=2, alphabet="abcdefghijklmnopqrstuvwxyz")
    people = {f"{number}": 10 for number in range(100)}
    false = [
        bool(asked.discover(asked.simulate(people, np.random.default_rng(seed))).labels)
        for seed in range(20)
    ]
    assert sum(false) <= 5


@pytest.mark.parametrize("epsilon", [2.0, 6.0, 12.0])
def test_a_common_string_of_other_letters_leads_to_no_false_ones(epsilon: float) -> None:
    """Pieces that share a bucket with it by chance had false-alarms in all surveys before."""
    asked = mm.Dictionary(epsilon=epsilon, longest=4, alphabet="abcdefgh")
    people = {"LUNA": 2000, "bad": 1200, "feed": 800}
    found = [
        asked.discover(asked.simulate(people, np.random.default_rng(seed))).labels
        for seed in range(6)
    ]
    assert sum(set(labels) > {"bad", "feed"} for labels in found) <= 2
    assert sum(set(labels) >= {"bad", "feed"} for labels in found) >= 5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("people", [1, 3])
def test_one_person_is_no_discovery(people: int) -> None:
    asked = mm.Dictionary(epsilon=1.0, longest=11, alphabet="aet")
    for seed in range(5):
        counts = asked.simulate({"tea": people}, np.random.default_rng(seed))
        found = mm.discover(counts, alphabet="aet", beam=500)
        assert found.labels == ()
        assert found.summary.startswith("No string was found. These are too few reports")


def test_a_corpus_is_a_list() -> None:
    asked = mm.Dictionary(epsilon=4.0, longest=3, alphabet="aet")
    counts = asked.simulate({"tea": 500}, np.random.default_rng(1))
    assert repr(asked.discover(counts)) == "Discovery(1 string: 'tea')"
    with pytest.raises(TypeError, match="corpus is a list of strings, not one string"):
        asked.discover(counts, corpus="tea")
