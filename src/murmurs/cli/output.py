"""What commands share: reading a survey, common options, printing JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from murmurs.survey import Question, Survey

existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
new_file = click.Path(dir_okay=False, writable=True, path_type=Path)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Reproducible, and not private: for studies only."
)


def read_survey(path: Path) -> Survey:
    """Return the survey in a file, published (JSON) or as people write it (TOML)."""
    text = path.read_bytes()
    return Survey.from_toml(text) if path.suffix == ".toml" else Survey.from_json(text)


def print_json(document: Any) -> None:
    """Print a document on standard output."""
    click.echo(json.dumps(document, ensure_ascii=False))


def chosen_question(survey: Survey, name: str | None) -> Question:
    """Return the question of that name, or the only one."""
    if name is not None:
        return survey.question(name)
    if len(survey.questions) > 1:
        names = ", ".join(question.name for question in survey.questions)
        raise ValueError(
            f"survey {survey.name!r} has several questions: add --question, one of {names}"
        )
    return survey.questions[0]
