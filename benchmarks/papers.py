"""The page about the papers: tables and figures run again, from the rows of `murmurs reproduce`.

``murmurs reproduce all -o FOLDER`` makes the rows, with ``--quick`` fewer of them; then
``python -m benchmarks.papers FOLDER`` writes docs/results/papers.md, papers.json and the figures in
docs/results/papers/. Where the full grid is there it is taken, otherwise the quick one; what has
not been run at all is run quickly. ``--estimate`` measures the processor time of some cells of
every grid instead, and says how long all of them would take.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from murmurs import __version__
from murmurs.studies.running import Cell
from murmurs_papers import EXPERIMENTS, leaderboard
from murmurs_papers.experiment import Experiment, Scale
from murmurs_papers.findings import AGREEMENTS, STANDINGS, Finding, summary, tally
from murmurs_papers.report import reasons, shown_number
from murmurs_papers.reproducing import Reproduction, reproduce, state

PAPERS = {
    "kairouz2016": "Kairouz, Bonawitz and Ramage (2016), and their slides",
    "fanti2016": "Fanti, Pihur and Erlingsson (2016)",
    "lezia2020": "Le and Zia (2020)",
    "pinzon2026": "Pinzón et al. (2026), poster",
    "leaderboard": "Leaderboard",
}
ERRATA = [
    (
        "kairouz2016",
        "Figure 1 is said to be of geometric shares with mean k/5. Its numbers are those of a "
        "point mass, where everybody holds one answer; with the stated shares the sign turns where "
        "noise is high.",
        "kairouz2016-figure1",
    ),
    (
        "kairouz2016",
        "Proposition 7 is not the maximum likelihood estimate under k-RAPPOR but a composite one.",
        "kairouz2016-proposition7",
    ),
    (
        "kairouz2016",
        "The proof of proposition 5 shows less than the proposition states (ε ≥ ln k), and two of "
        "its numbers are wrong: f(ln 7, 7) = 2.1593, not 3.1559, and the least value is at k = 8.",
        "kairouz2016-proposition5",
    ),
    (
        "kairouz2016",
        "On the slides, the effective samples of k-RAPPOR have k² e^ε in place of k² e^(ε/2).",
        "kairouz2016-slides",
    ),
    (
        "kairouz2016",
        "O-RAPPOR with h hashes must flip bits with 1 / (1 + e^(ε/2h)); the h is missing. With it, "
        "one hash is best.",
        "kairouz2016-figure11",
    ),
    (
        "kairouz2016",
        "The captions of figures 11 and 12 say S = 4096, as those of figures 15 and 16 do; section "
        "5.3 and the slides refer to figure 11 for S = 256.",
        "kairouz2016-figure11",
    ),
    (
        "fanti2016",
        "The margins of table 1 are called Zipfian; they are geometric, each share about 0.82 "
        "times the one before.",
        "fanti2016-table1",
    ),
    (
        "fanti2016",
        "Section 3.2: the bits that the top m categories set are q* T + p* (N Σ p_i − T), the sum "
        "being over these categories, not q* T + p* (N − T). As printed, hardly any bit is left "
        "for Other. Appendix D has the same.",
        "fanti2016-table2",
    ),
    (
        "fanti2016",
        "Section 3.2: estimates with Other are not unbiased. A product of bit rates stands for a "
        "mixture of many categories, which makes the share of Other with Other too small, in table "
        "2 and here by 0.4 percentage points.",
        "fanti2016-table2",
    ),
    (
        "fanti2016",
        "Section 3.3: the information is minus the second derivative, and the covariance of shares "
        "that add up to one is I⁻¹ − p pᵀ/N, not I⁻¹.",
        "fanti2016-figure4",
    ),
    (
        "fanti2016",
        "Section 3.4: the Wald test assumes that no share is estimated at zero. With private "
        "reports many are, so that it rejects far less often than in 5 % of the cases and finds "
        "less of what is there.",
        "fanti2016-figure14",
    ),
    (
        "fanti2016",
        "Equation 2 must be δ = √(p₂(1 − p₂)/N) / (q₂ − p₂): the square of q₂ − p₂ is missing. "
        "Only this gives the δ = 0.0062 of section 5.2. And N is the number of all reports, while "
        "a pair of positions has N/45 of them.",
        "fanti2016-figure12",
    ),
    (
        "fanti2016",
        "Section 5.1: p = 0.25, q = 0.75 and two hashes are ε = 2 ln 9 = 4.39 for a report, as "
        "section 5.2 has it, not 9. The captions of figures 9 to 11 say that 9 is for all reports.",
        "fanti2016-figure8",
    ),
    (
        "fanti2016",
        "Section 5.2: a third of ε = 4.39 is q = 0.4095. With the printed q = 0.32 the three "
        "reports spend 2.07 together, less than half of the budget.",
        "fanti2016-figure12",
    ),
    (
        "lezia2020",
        "Basic RAPPOR was run with p = 0.5 and q = 0.75 at every ε, that is ε = ln 3. At ε = 0.5 "
        "it spent more than twice its budget and won; at ε = 2 it spent half and stood still.",
        "lezia2020-table2",
    ),
    (
        "lezia2020",
        "k-subset was run with sets of half of the values at every ε, and the decoders differ "
        "between algorithms.",
        "lezia2020-table4",
    ),
    (
        "lezia2020",
        "Errors of the Hadamard response that rise with ε (A4 and Occ at ε = 1) or are ten times "
        "too large (Race at ε = 2), and errors on USCensus1990 that do not fall with the number of "
        "people, cannot be errors of the algorithms that are described.",
        "lezia2020-table3",
    ),
    (
        "pinzon2026",
        "The first step of the proof leaves out the factor c of the formula.",
        "pinzon2026-properties",
    ),
]
MOST_ROWS = 36


def scale_of(experiment: Experiment, folder: Path, seed: int) -> Scale:
    """Return the largest grid that was run."""
    return "full" if state(experiment, folder, seed) == "run" else "quick"


def page(found: dict[str, Reproduction], processes: str) -> str:
    """Return docs/results/papers.md."""
    every = [finding for r in found.values() for finding in r.findings]
    counted = tally(every)
    compared = sum(counted[verdict] for verdict in AGREEMENTS)
    stands = ", ".join(f"{counted[verdict]} {verdict}" for verdict in STANDINGS)
    scales = {r.scale for r in found.values()}
    full = sum(r.scale == "full" for r in found.values())
    lines = [
        "# The papers, run again",
        "",
        f"Written by `benchmarks.papers` of murmurs {__version__} from the rows of "
        "[`murmurs reproduce`](../reproducing.md); to cite a number, give this version and the "
        "last line of its section. Each table and figure is simulated again; what the paper prints "
        "stands beside what was measured, with the standard error of the simulation. Two numbers "
        "agree if they differ by at most three combined standard errors: ours, the paper's, and "
        "that of its rounding. Pictures without printed numbers are judged by the sentences that "
        "the paper draws from them.",
        "",
        f"{compared} numbers and sentences of the papers were compared: {counted['agrees']} agree, "
        f"{counted['explained']} differ for a known reason, {counted['differs']} differ without a "
        "known reason.",
        "",
        "The papers say nothing about our default, which is compared apart, with the best of what "
        "is measured or printed at the same epsilon. It is *ahead* where its error is at most that "
        "of the best in every setting, *close* where it is larger in some by at most three "
        "standard errors, *mixed* where it is smaller in geometric mean but larger by more than "
        f"that in some settings, and *behind* otherwise. Of {len(every) - compared} comparisons: "
        f"{stands}.",
        "",
        (
            f"{full} of {len(found)} experiments ran on the full grid, the others on the quick one."
            if len(scales) > 1
            else f"All experiments ran on the {next(iter(scales))} grid."
        )
        + f" {processes}",
        "",
        "| experiment | what | verdict |",
        "|---|---|---|",
        *(
            f"| [{name}](#{name}) | {plain(r.experiment.title)} | {summary(r.findings)} |"
            for name, r in found.items()
        ),
        "",
        "## Errata",
        "",
        "What these runs found wrong in the papers. Derivations, and errata of formulas that no "
        "figure depends on, are in [theory](../theory.md#errata-of-the-literature).",
        "",
        "| paper | erratum | shown by |",
        "|---|---|---|",
        *(f"| {paper} | {text} | [{name}](#{name}) |" for paper, text, name in ERRATA),
    ]
    for paper, title in PAPERS.items():
        lines += ["", f"## {title}"]
        for name, r in found.items():
            if r.experiment.paper == paper:
                lines += section(name, r)
    return "\n".join(lines) + "\n"


def section(name: str, found: Reproduction) -> list[str]:
    """Return the part of the page about one experiment."""
    experiment = found.experiment
    numbers = [f for f in found.findings if isinstance(f.measured, float)]
    claims = [f for f in found.findings if isinstance(f.measured, str)]
    title = plain(experiment.title)
    heading = title if title.endswith("?") else f"{title}."
    lines = ["", f"### {name}", "", f"**{heading}** {plain(experiment.about)}", ""]
    lines += [f"![{title}](papers/{name}.png)", ""]
    if name.startswith("leaderboard"):
        lines += ranks(found)
    if numbers:
        lines += number_table(numbers)
    lines += claim_table([f for f in claims if not f.about_ours], "where", "the paper says")
    lines += claim_table([f for f in claims if f.about_ours], "where", "beside")
    for question, reason in reasons(found.findings):
        lines += [f"*{question}:* {plain(reason)}", ""]
    lines.append(
        f"{summary(found.findings)}; {found.scale} grid{repetitions(found)}, seed {found.seed}."
    )
    return lines


def plain(text: str) -> str:
    r"""Return a text of the terminal in Markdown, in which a star is not a mark.

    >>> print(plain("MLE* is never the worst"))
    MLE\* is never the worst
    """
    return text.replace("*", r"\*")


def repetitions(found: Reproduction) -> str:
    """Return how often each setting was simulated, or nothing if nothing was."""
    times = sorted({series.repetitions for series in found.rows})
    if not times or times[-1] == 1:
        return ""
    many = f"{times[0]:,}" if len(times) == 1 else f"{times[0]:,} to {times[-1]:,}"
    return f", {many} repetitions of a setting"


def claim_table(claims: list[Finding], where: str, beside: str) -> list[str]:
    """Return a table of sentences, or nothing if there are none."""
    if not claims:
        return []
    return [
        f"| {where} | {beside} | found | verdict |",
        "|---|---|---|---|",
        *(
            f"| {plain(f.what)} | {plain(str(f.published))} | {plain(str(f.measured))} | "
            f"{f.verdict} |"
            for f in claims
        ),
        "",
    ]


def number_table(numbers: list[Finding]) -> list[str]:
    """Return a table of numbers; of very many, those that agree least."""
    shown = numbers
    if len(numbers) > MOST_ROWS:

        def away(f: Finding) -> float:
            return abs(float(f.published) - float(f.measured))

        least = sorted(numbers, key=lambda f: (f.verdict == "agrees", -away(f)))[:10]
        shown = [f for f in numbers if f in least]
    beside = list(dict.fromkeys(name for f in shown for name in f.beside))
    head = ["", "published", "measured", "±", *beside, "verdict"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 2) + "---|"]
    for f in shown:
        cells = [plain(f.what), shown_number(f.published), shown_number(f.measured)]
        cells.append("" if not f.error else f"{f.error:.1g}")
        cells += [shown_number(f.beside[name]) if name in f.beside else "" for name in beside]
        lines.append("| " + " | ".join([*cells, f.verdict]) + " |")
    if len(shown) < len(numbers):
        lines += ["", f"These are the {len(shown)} of {len(numbers)} numbers that agree least."]
    return [*lines, ""]


def ranks(found: Reproduction) -> list[str]:
    """Return the table of the leaderboard."""
    ratios = leaderboard.ranking(found.rows)
    settings = len(next(iter(ratios.values())))
    columns = len({(s["source"], s["column"]) for s in found.rows})
    lines = [
        f"{columns} histograms at ε = 0.5, 1, 2 and 4: {settings} settings with "
        f"{found.rows.series[0].repetitions} repetitions each. *mean* is the geometric mean of the "
        "l1 error over that of the best pair in each setting, *worst* the largest of these ratios, "
        "*near* the settings in which the pair is within 5 % of the best.",
        "",
        "| rank | mechanism | estimator | mean | worst | near |",
        "|---:|---|---|---:|---:|---:|",
    ]
    for rank, (pair, mean, worst) in enumerate(leaderboard.means(ratios)[:20], 1):
        near = int((ratios[pair] <= 1.05).sum())
        lines.append(f"| {rank} | {pair[0]} | {pair[1]} | {mean:.3f} | {worst:.2f} | {near} |")
    return [*lines, ""]


def estimated(scale: Scale, most: int, seed: int) -> dict[str, float]:
    """Return the processor time of every grid in seconds, from a sample of its cells.

    Cells run with fewer repetitions, and the time is scaled up. Cells that refine others are
    counted as many times the best of the search as there are lines, at the mean cost of a cell.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, float] = {}
    for grid in {e.grid.name: e.grid for e in EXPERIMENTS}.values():
        cells = grid.cells(scale)
        chosen = rng.permutation(len(cells))[:most]
        total = 0.0
        for place in chosen:
            cell = cells[int(place)]
            times = min(cell.repetitions, 3)
            few = Cell(cell.labels, times)
            grid.measure(few, few.generator(seed))  # load what is loaded once
            start = time.process_time()
            grid.measure(few, few.generator(seed))
            total += (time.process_time() - start) * cell.repetitions / times
        found[grid.name] = total / len(chosen) * len(cells)
        print(f"{grid.name}: {len(cells)} cells, {found[grid.name]:.0f} s", flush=True)
    return found


def main() -> None:
    """Write the page, or estimate the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("reproduced"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--note", default="", help="a sentence on the time that it took")
    parser.add_argument("--keep-figures", action="store_true", help="draw only missing figures")
    parser.add_argument("--estimate", choices=("full", "quick"))
    parser.add_argument("--sample", type=int, default=30, help="cells of a grid that are timed")
    options = parser.parse_args()
    if options.estimate:
        seconds = estimated(options.estimate, options.sample, options.seed)
        print(f"all: {sum(seconds.values()) / 3600:.2f} hours of processor time")
        return
    found: dict[str, Reproduction] = {}
    pictures = options.output / "papers"
    for experiment in EXPERIMENTS:
        scale = scale_of(experiment, options.folder, options.seed)
        made = reproduce(experiment, scale, options.seed, folder=options.folder)
        found[experiment.name] = made
        pictures.mkdir(parents=True, exist_ok=True)
        picture = pictures / f"{experiment.name}.png"
        if not (options.keep_figures and picture.exists()):
            made.figure().savefig(picture, dpi=110)
        print(f"{experiment.name}: {summary(made.findings)}", flush=True)
    documents: list[dict[str, Any]] = [r.to_document() for r in found.values()]
    (options.output / "papers.json").write_text(json.dumps(documents, indent=1))
    (options.output / "papers.md").write_text(page(found, options.note))


if __name__ == "__main__":
    main()
