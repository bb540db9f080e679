"""The OpenAPI document is true: whatever fits it or does not, the collector answers as it says."""

from __future__ import annotations

import base64
import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from murmurs.collect.http.app import OPENAPI, OPERATIONS
from murmurs.collect.http.openapi import describe
from murmurs.submission import BadSubmissionError, SubmissionForm
from murmurs.survey.survey import Survey
from tests.collect.made import EVERY_KIND, PLAIN, answers, submission
from tests.collect.results.test_results import FORM, SURVEY, columns
from tests.collect.running import Running, running

import_module("requests")  # now: the pytester of test_printed.py forgets what is imported in it

ALL = (*OPERATIONS, OPENAPI)
EXAMPLES = 6

SURVEYS = {"enum": ["cafe", "plain", "nowhere"]}
QUESTIONS = {"enum": ["drink", "cat", "sugar+milk", "hot", "nothing"]}
SEGMENTS = {"enum": ["north", "south", "east"]}
"""Names that are there, and some that are not, so that requests get beyond the first check."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("fuzzed"), SURVEY, PLAIN) as found:
        found.send(FORM.make(columns(1, 0.0), segment="north"), SURVEY, binary=True)
        found.send(FORM.make(columns(2, 0.0), segment="south"), SURVEY, binary=True)
        found.send(submission(PLAIN, 1), PLAIN)
        yield found


def document() -> dict[str, Any]:
    """Return the document with names that are there in place of any text."""
    found = copy.deepcopy(describe(ALL))
    for methods in found["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path" and parameter["name"] == "survey":
                    parameter["schema"] = SURVEYS
                elif parameter["in"] == "path" and parameter["name"] == "question":
                    parameter["schema"] = QUESTIONS
                elif parameter["name"].endswith("segment"):
                    parameter["schema"] = SEGMENTS
    body = found["components"]["schemas"]["SubmissionBody"]["properties"]
    body["survey"] = {"enum": [PLAIN.fingerprint, SURVEY.fingerprint, "0" * 64]}
    return found


@pytest.mark.parametrize("operation", ALL, ids=lambda operation: operation.name)
def test_every_answer_is_one_that_the_document_lists(served: Running, operation: Any) -> None:
    """Requests that fit the document or not: no 5xx, nothing ill-formed accepted."""
    load_all_checks()
    checks = [check for check in CHECKS.get_all() if check.__name__ != "positive_data_acceptance"]
    schema = schemathesis.openapi.from_dict(document())
    schema.config.update(base_url=f"http://127.0.0.1:{served.port}")
    path = operation.path.replace(":version", "")
    headers = {"Authorization": f"Bearer {served.token('admin')}"}
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        if mode is GenerationMode.NEGATIVE and not _can_be_wrong(operation):
            continue
        strategy = schema[path][operation.method].as_strategy(generation_mode=mode)

        @given(case=strategy)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            if operation.name in ("deleteSurvey", "revokeToken"):
                case.path_parameters |= {"survey": "nowhere", "name": "nobody"}
            response = case.call(headers=headers)
            assert response.status_code < 500, response.content
            case.validate_response(response, checks=checks)

        ask()
    assert served.get("/health").status == 200


def _can_be_wrong(operation: Any) -> bool:
    return operation.body is not None or "{" in operation.path


def test_the_document_says_what_the_server_hands_out(served: Running) -> None:
    assert json.loads(served.get("/openapi.json").body) == json.loads(json.dumps(describe(ALL)))


# What fits the schemas, and what the readers take


def schema_of(name: str) -> Any:
    found = describe(ALL)["components"]["schemas"]
    return jsonschema_rs.validator_for({**found[name], "components": {"schemas": found}})


NAMES = ["a", "a b", "Zürich", "猫", "a.b", "...", " a ", "a" * 200, "\u00a0a", "#?%"]
NO_NAMES = [
    "",
    " ",
    "\u00a0",
    ".",
    "..",
    "a/b",
    "\n",
    "a\x1f",
    "\x80",
    "\u2028",
    "\u202ea",
    "a" * 201,
]


@pytest.mark.parametrize("name", [*NAMES, *NO_NAMES])
def test_a_name_fits_the_schema_of_a_token_if_a_token_can_have_it(
    served: Running, name: str
) -> None:
    body = {"name": name, "scope": "read"}
    reply = served.post("/admin/tokens", body, served.token("admin"))
    assert schema_of("NewToken").is_valid(body) == (name in NAMES) == (reply.status == 201)


@pytest.mark.parametrize("survey", [SURVEY, PLAIN, EVERY_KIND], ids=lambda survey: survey.name)
def test_submissions_and_surveys_fit_their_schemas(survey: Survey) -> None:
    assert schema_of("PublishedSurvey").is_valid(json.loads(survey.to_json()))
    form = SubmissionForm(survey)
    rng = np.random.default_rng(1)
    reports = {
        asked.name: asked.encode_many(answers(asked, 5, rng), rng) for asked in survey.reported
    }
    made = form.make(reports, segment=survey.segments[0] if survey.segments else None)
    document = json.loads(form.to_json(made))
    assert schema_of("SubmissionBody").is_valid(document)
    for name, data in made.reports.items():
        document["reports"][name] = base64.b64encode(data).decode()
    assert schema_of("SubmissionBody").is_valid(document)
    assert form.from_json(json.dumps(document).encode()) == made


@pytest.mark.parametrize(
    "column", [[], [None], [True], [1.5], [-1], [2**32], ["?"], "", "A", [{}], [[]], [[[[0]]]], 7]
)
def test_what_no_question_takes_as_reports_does_not_fit_the_schema(column: Any) -> None:
    document = json.loads(SubmissionForm(PLAIN).to_json(submission(PLAIN, 1)))
    assert schema_of("SubmissionBody").is_valid(document)
    document["reports"]["hot"] = column
    assert not schema_of("SubmissionBody").is_valid(document)
    for survey in (SURVEY, PLAIN, EVERY_KIND):
        for asked in survey.reported:
            text = {**document, "survey": survey.fingerprint, "reports": {asked.name: column}}
            if survey.segments:
                text["segment"] = survey.segments[0]
            with pytest.raises(BadSubmissionError):
                SubmissionForm(survey).from_json(json.dumps(text).encode())


@pytest.mark.parametrize("body", [[], None, 0.5, {}, {"name": "a"}, {"name": "a", "version": 0}])
def test_what_is_no_survey_does_not_fit_its_schema(served: Running, body: Any) -> None:
    assert not schema_of("PublishedSurvey").is_valid(body)
    assert served.post("/admin/surveys", body, served.token("admin")).status == 400


def test_the_document_is_made_without_damage_to_the_process() -> None:
    """msgspec 0.22 writes beyond its memory for a text with a pattern beside a list."""
    made = "from murmurs.collect.http.app import _document; _document()"
    assert subprocess.run([sys.executable, "-c", made], check=False).returncode == 0


@pytest.mark.parametrize("given", [["Luna", "Leo"], ["Luna", "Luna"], {"cat": ["Leo", "Leo"]}, {}])
def test_candidates_that_are_there_twice_neither_fit_nor_are_taken(
    served: Running, given: Any
) -> None:
    described = describe(ALL)["paths"]["/results/{survey}/{question}"]["post"]
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    is_twice = any(
        len(set(x)) < len(x) for x in ([given] if isinstance(given, list) else given.values())
    )
    assert jsonschema_rs.is_valid(schema, given) != is_twice
    if is_twice:
        reply = served.post("/results/cafe/cat", given, served.token("admin"))
        assert reply.status == 400
