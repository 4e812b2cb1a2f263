"""Logs: JSON, and a request id that follows into the task."""

import json
import logging

import pytest
import structlog
from django.test import Client

from apps.jobs.models import Job
from tests.builders import canaries
from tests.builders.archives import module_zip
from tests.rows import for_each_row
from tests.site.logs.test_secrets import noted


@pytest.fixture
def lines():
    """The lines of our own handler, as an operator would read them."""
    with noted(logging.getLogger().handlers[0].formatter, "INFO") as written:
        yield lambda: [json.loads(line) for line in written]


def test_each_answer_has_a_request_id_and_one_access_line(client, db, lines):
    answer = client.get("/.well-known/terraform.json", headers={"User-Agent": "OpenTofu/1.12.6"})

    line = next(entry for entry in lines() if entry["logger"] == "larder.access")
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/.well-known/terraform.json", 200)
    assert line["user_agent"] == "OpenTofu/1.12.6"


@for_each_row(("given", "is_kept"), [("trace-1", True), ("x" * 65, False), (canaries.TOKEN, False)])
def test_a_harmless_id_of_the_caller_is_kept_and_a_long_or_secret_one_is_not(client, db, lines, given, is_kept):
    taken = client.get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"]

    assert (taken == given) is is_kept
    assert is_kept or len(taken) == 32
    assert canaries.TOKEN not in json.dumps(lines())


@pytest.mark.parametrize(
    ("header", "shown"),
    [("Bearer x", "bearer"), ("Basic eDp5", "basic"), ("hunter2", "other"), (None, "none"), ("Digest a=b", "other")],
)
def test_the_access_line_names_the_scheme_and_nothing_else_of_the_authorization(client, db, lines, header, shown):
    client.get("/healthz", headers={"Authorization": header} if header else {})

    assert [line["auth"] for line in lines() if line["event"] == "request"] == [shown]


def test_the_request_id_follows_into_the_task_and_no_token_does(client, alice, bearer, work, lines):
    headers = {**bearer(alice), "X-Request-Id": "from-the-browser"}
    client.put("/api/v1/modules/acme/vpc/aws/1.0.0", module_zip(), content_type="application/zip", headers=headers)
    assert Job.objects.get().request_id == "from-the-browser"
    structlog.contextvars.clear_contextvars()

    work()

    steps = [entry for entry in lines() if entry["event"] == "step"]
    assert steps
    assert {entry["request_id"] for entry in steps} == {"from-the-browser"}
    assert headers["Authorization"].split()[1] not in json.dumps(lines())


@pytest.mark.urls("tests.portal.frame.test_errors")
def test_what_nobody_foresaw_is_one_line_with_its_traceback_and_the_id_that_the_page_shows(db, lines):
    logging.getLogger().setLevel("ERROR")
    answer = Client(raise_request_exception=False).get("/raise/defect?key=only-for-me")

    (line,) = lines()
    assert answer.status_code == 500
    assert answer.headers["X-Request-Id"] in answer.text
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert (line["level"], line["method"], line["path"]) == ("error", "GET", "/raise/defect")
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: a secret that no page may show")
    assert "only-for-me" not in json.dumps(line)


@pytest.mark.urls("tests.portal.frame.test_errors")
@pytest.mark.parametrize("path", ["/raise/missing", "/raise/role", "/raise/conflict", "/no/such/page"])
def test_what_a_page_explains_to_people_is_no_defect(db, lines, path):
    Client(raise_request_exception=False).get(path)

    assert [entry["event"] for entry in lines()] == ["request"]
