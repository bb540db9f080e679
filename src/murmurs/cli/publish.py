"""``murmurs publish``: fix the probabilities of a survey and write the published survey."""

from __future__ import annotations

import math
from pathlib import Path

import click

from murmurs.boundary.texts import numbered
from murmurs.boundary.writing import writing
from murmurs.cli.options import Command, as_json, existing_file, flag, output
from murmurs.cli.output import Form, rounded_up, say
from murmurs.files.surveys import keep_published, read_survey
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.present.text import table
from murmurs.questions.asked import Asked
from murmurs.survey.budget import check_budgets, concerns
from murmurs.survey.survey import Survey
from murmurs.survey.terms import in_words


@click.command("publish", cls=Command)
@click.argument("survey_toml", type=existing_file)
@output("The JSON document to write.")
@flag("--force", "Replace a survey that was published with another fingerprint.")
@as_json
def command(survey_toml: Path, output: Path, force: bool, form: Form) -> None:
    """Fix the probabilities of SURVEY_TOML and publish it.

    The published survey is a JSON document, for devices and analysts alike.

    A different survey that was published to the same file is not replaced: reports that were
    encoded with it could no longer be counted.

    \b
    Example:
      murmurs publish coffee.toml -o coffee.json
    """
    survey = read_survey(survey_toml)
    check_budgets(survey)
    noted = concerns(survey)
    if not force:
        keep_published(output, survey, f"raise `version` in {survey_toml} and ")
    with writing(output) as file:
        file.write(survey.to_json().encode())
    document = {"survey": survey.name, "fingerprint": survey.fingerprint}
    terms = survey.terms.to_document() | ({"concerns": noted} if noted else {})
    form.show(json=lambda: document | terms, text=lambda: _text(survey))
    if form.kind == "text":
        for concern in noted:
            say(f"\nNote: {concern}", err=True)


def _text(survey: Survey) -> str:
    """Return what is needed for a decision about epsilon, and the terms."""
    everything: list[Asked] = [*survey.questions, *survey.joints]
    rows = [
        [
            question.name,
            "any" if question.is_open else str(_answers(question)),
            type(question.mechanism).__name__,
            f"{question.mechanism.epsilon:g}",
            rounded_up(question.mechanism.epsilon_realised),
            _permanent(question),
            f"{question.mechanism.shape.size}",
        ]
        for question in everything
    ]
    title = f"{survey.name}, version {survey.version}, fingerprint {survey.short_fingerprint}"
    header = ["question", "answers", "mechanism", "epsilon", "realised", "permanent", "bytes"]
    lines = [f"{title}\n\n{table(header, rows)}"]
    lines += [
        f"\n{', '.join(joint.names[:-1])} and {joint.names[-1]} are reported together, as "
        f"{joint.name}: do not ask for their own reports as well, which would cost their "
        "epsilon again."
        for joint in survey.joints
    ]
    if terms := _terms(survey):
        lines.append("\n" + "\n".join(terms))
    return "\n".join(lines)


def _terms(survey: Survey) -> list[str]:
    """Return what the survey says about its collection, a line each."""
    terms = survey.terms
    days = [f"from {terms.opens}"] if terms.opens else []
    days += [f"to {terms.closes}"] if terms.closes else []
    least, each = terms.minimum_reports, terms.questions_each
    kept = f", for one {terms.period} each" if isinstance(terms.period, str) else ""
    kept = f", for {numbered(terms.period, 'day')} each" if isinstance(terms.period, int) else kept
    lines = {
        "title": terms.title,
        "purpose": terms.purpose,
        "owner": terms.owner,
        "answers": "" if terms.every is None else f"{in_words(terms.every)} per device",
        "draw": f"{each} of {len(survey.reported)} questions each time, at random" if each else "",
        "budget": ", ".join(f"epsilon {most:g} a {word}" for word, most in terms.budgets),
        "lifetime": f"epsilon {terms.lifetime_epsilon:g} per device, over all questions and days"
        if terms.lifetime_epsilon
        else "",
        "memory": f"permanent responses by {terms.memory}{kept}" if terms.memory else "",
        "open": f"{' '.join(days)}, UTC" if days else "",
        "results": f"shown from {numbered(least, 'report')} on" if least else "",
        "segments": ", ".join(survey.segments),
    }
    width = max(map(len, lines))
    return [f"{name:<{width}}  {line}" for name, line in lines.items() if line]


def _answers(asked: Asked) -> int:
    """Return the number of answers, or of combinations of answers."""
    return math.prod(len(question.labels) for question in asked.questions)


def _permanent(question: Asked) -> str:
    """Return the epsilon of all reports made from one permanent response, if there is one."""
    mechanism = question.mechanism
    return (
        f"{mechanism.epsilon_permanent_realised:g}" if isinstance(mechanism, Longitudinal) else "–"
    )
