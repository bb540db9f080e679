"""The OpenAPI document is true: whatever fits it or does not, the collector answers as it says."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from murmurs.collect.app import OPENAPI, OPERATIONS
from murmurs.collect.openapi import describe
from tests.collect.made import PLAIN, submission
from tests.collect.running import Running, running
from tests.collect.test_results import FORM, SURVEY, columns

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
    """Requests that fit the document and such that do not: no 5xx, nothing ill-formed accepted."""
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
