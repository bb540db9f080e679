"""The simulated people of ``murmurs demo``: what they answer, and how their devices submit it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from murmurs.client import Client
from murmurs.client.sending import meaning
from murmurs.client.transport import Transport
from murmurs.mechanisms.products.closed import BETWEEN
from murmurs.randomness.secure import Secure
from murmurs.submission import ID_BYTES, Submission, SubmissionForm
from murmurs.survey.survey import Survey

SURVEY = """
name = "morning"
title = "How the day begins"
purpose = "To show a whole collection, from a survey file to estimates."
every = "once"
lifetime_epsilon = 6
minimum_reports = 50

[[questions]]
name = "drink"
text = "What do you drink in the morning?"
labels = ["coffee", "tea", "water", "juice", "milk", "mate", "beer", "nothing"]
mechanism = {name = "Subset", epsilon = 1.0}

[[questions]]
name = "pet"
text = "What is the name of your pet?"
mechanism = {name = "ORR", epsilon = 3.0, width = 21, cohorts = 256}

[[questions]]
name = "sleep"
text = "How long did you sleep?"
labels = ["below 6 h", "6 to 8 h", "over 8 h"]
epsilon = 1.0

[[questions]]
name = "mood"
text = "How do you feel?"
labels = ["good", "tired"]
epsilon = 1.0

[[joint]]
name = "sleep+mood"
questions = ["sleep", "mood"]
once = true
"""

DRINKS = (0.44, 0.21, 0.12, 0.08, 0.06, 0.03, 0.01, 0.05)
PETS = {"Luna": 0.22, "Leo": 0.16, "Bella": 0.12, "Max": 0.09, "Milo": 0.06, "Nala": 0.04}
"""The names to look for; all other pets have names of their own."""
MOODS = (0.05, 0.17, 0.39, 0.14, 0.20, 0.05)
"""The share of each combination of sleep and mood."""

AT_ONCE = 1000
"""Devices whose submissions travel in one request."""


@dataclass(frozen=True)
class People:
    """What so many people answer, the same in every run; the noise of their devices is not."""

    answers: dict[str, list[str]]
    """One answer of each person, by the name of the question."""

    @classmethod
    def made(cls, survey: Survey, n: int) -> People:
        """Return n people."""
        rng = np.random.default_rng(7)
        drinks, moods = survey.question("drink").labels, survey.joint("sleep", "mood")
        names = [*PETS, *(f"pet number {i}" for i in range(1000))]
        rest = (1 - sum(PETS.values())) / 1000
        pets = rng.choice(len(names), n, p=[*PETS.values(), *[rest] * 1000])
        both = rng.choice(len(MOODS), n, p=MOODS)
        sleep, mood = np.unravel_index(both, moods.sizes)
        first, second = moods.questions
        return cls(
            {
                "drink": [drinks[i] for i in rng.choice(len(drinks), n, p=DRINKS)],
                "pet": [names[i] for i in pets],
                "sleep": [first.labels[i] for i in sleep],
                "mood": [second.labels[i] for i in mood],
            }
        )

    def __len__(self) -> int:
        return len(self.answers["drink"])

    def one(self, number: int) -> dict[str, str]:
        """Return the answers of one person."""
        return {name: answers[number] for name, answers in self.answers.items()}

    def shares(self, survey: Survey, name: str, labels: list[str]) -> list[float]:
        """Return the true share of each answer, with all that are not listed in the last one."""
        asked = survey.asked(name)
        columns = (self.answers[name] for name in asked.names)
        held = [BETWEEN.join(row) for row in zip(*columns, strict=True)]
        numbers = {label: number for number, label in enumerate(labels)}
        counts = np.zeros(len(labels), np.int64)
        for answer in held:
            counts[numbers.get(answer, len(labels) - 1)] += 1
        return [float(share) for share in counts / len(self)]


def clients(survey: Survey, people: People, n: int) -> Iterator[tuple[Client, Submission]]:
    """Let the first n people answer with clients of their own."""
    for number in range(n):
        client = Client(survey, {}, delay=0)
        yield client, client.answer(people.one(number))


def submit(survey: Survey, people: People, first: int, transport: Transport) -> Iterator[int]:
    """Encode the answers of everybody from ``first`` on, and submit them in batches.

    Each device makes its reports with secure chance and has a submission of its own; all devices
    of a batch are encoded at once, because one process plays them all.
    """
    form, random = SubmissionForm(survey), Secure()
    for start in range(first, len(people), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        columns = {}
        for asked in survey.reported:
            given = asked.pick({name: all_[part] for name, all_ in people.answers.items()})
            columns[asked.name] = asked.encode_many(given, random).tobytes()
        sizes = {asked.name: asked.mechanism.shape.size for asked in survey.reported}
        count = min(AT_ONCE, len(people) - start)
        sealed = (
            Submission(
                form.fingerprint,
                secrets.token_bytes(ID_BYTES),
                1,
                {
                    name: data[i * sizes[name] : (i + 1) * sizes[name]]
                    for name, data in columns.items()
                },
            )
            for i in range(count)
        )
        reply = transport(b"".join(map(form.to_bytes, sealed)))
        verdict, reason = meaning(reply, count)
        if verdict != "taken":
            raise OSError(f"the collector did not take a batch: {reason}")
        yield count
