"""publish.sh repeats what may be repeated, and asks vendors for id tokens. Its Larder says what a test says."""

import json
import re

import pytest

from apps.snippets import publish_script
from tests.builders import ci_vendors
from tests.e2e.answering import ADDRESS, EXCHANGE, RELEASE, TOKEN, document, make, run, server
from tests.e2e.ci_jobs import SECTIONS, SHELLS, Step, block, jobs_of

__all__ = ["make", "server"]
pytestmark = [pytest.mark.needs("curl", "git", "dash")]


def slept(here):
    return [int(one) for one in (here.folder / "slept").read_text().split()]


@pytest.mark.parametrize("shell", [pytest.param(one, marks=pytest.mark.needs(one)) for one in SHELLS])
def test_lost_connections_and_busy_servers_are_retried(make, server, shell):
    here = make(shell)
    here.commit("v1")
    server.answers[ADDRESS] = [None, (503, "{}"), (429, "{}"), (202, document("received"))]
    server.answers[RELEASE] = [(502, "a proxy"), (200, document("checking")), (200, document("published"))]
    said = run(here)
    assert f"Published acme/vpc/aws 1.0.0.\n{server.url}/modules/acme/vpc/aws/1.0.0\n" in said
    assert len(set(server.bodies(ADDRESS)[1:])) == 1
    assert len(server.bodies(ADDRESS)) == 4


def test_the_server_says_how_long_to_wait(make, server):
    here = make()
    here.commit("v1")
    server.headers = {"Retry-After": "37"}
    server.answers[ADDRESS] = [(429, "{}"), (202, document("published"))]
    run(here)
    assert slept(here) == [37]
    server.headers = {"Retry-After": "86400"}
    server.answers[ADDRESS] = [(429, "{}"), (202, document("published"))]
    run(here)
    assert slept(here) == [37, 90]


def test_a_refusal_is_not_repeated_and_an_outage_ends(make, server):
    here = make()
    here.commit("v1")
    said = json.dumps({"error": {"code": "x", "message": 'say "it" \\ once', "hint": "Do it."}})
    server.answers[ADDRESS] = [(409, said)]
    assert run(here, status=1).endswith('is not published:\nsay "it" \\ once\nDo it.\n')
    assert len(server.requests) == 1
    server.answers[ADDRESS] = [(503, json.dumps({"error": {"message": "The storage is away."}}))]
    assert "The storage is away." in run(here, status=1)
    assert len(server.requests) == 7
    server.answers[ADDRESS] = [(500, "<html>")]
    assert "Larder answered 500." in run(here, status=1)
    server.answers[ADDRESS] = [None]
    assert "curl ended with status 52" in run(here, status=1)


@pytest.mark.parametrize("shell", [pytest.param(one, marks=pytest.mark.needs(one)) for one in SHELLS])
def test_each_exchange_has_a_new_id_token(make, server, shell):
    """The first one may have been used up by a request whose answer was lost."""
    here = make(shell)
    here.commit("v1")
    server.answers[EXCHANGE] = [None, (503, "{}"), (200, TOKEN)]
    with ci_vendors.running() as vendors:
        vendors.signed = lambda audience: f"id.token.{len(vendors.asked)}-{audience == server.url}"
        environment = vendors.environment("github", here.programs, "")
        run(here, "acme/vpc/aws 1.0.0", 0, LARDER_TOKEN="", **environment)
    sent = [json.loads(body) for body in server.bodies(EXCHANGE)]
    assert [one["token"] for one in sent] == ["id.token.1-True", "id.token.2-True", "id.token.3-True"]
    assert {one["address"] for one in sent} == {"acme/vpc/aws"}


def test_a_token_that_has_ended_says_what_to_do(make, server):
    here = make()
    here.commit("v1")
    server.answers[EXCHANGE] = [(200, TOKEN)]
    server.answers[RELEASE] = [(401, json.dumps({"error": {"message": "This API token has expired."}}))]
    said = run(here, status=1, LARDER_TOKEN="", LARDER_ID_TOKEN="a.b.c")
    assert "The token of a run ends after 15 minutes: run the job again.\nThis API token has expired." in said


@pytest.mark.parametrize("kind", ["github", "azure"])
def test_a_vendor_that_issues_no_token_ends_the_job(make, server, kind):
    here = make()
    with ci_vendors.running() as vendors:
        environment = vendors.environment(kind, here.programs, "")
        environment |= {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "wrong", "SYSTEM_ACCESSTOKEN": "wrong"}
        said = run(here, status=2, LARDER_TOKEN="", **environment)
    assert "The id token of this run could not be requested." in said
    assert not server.requests


def test_what_is_no_token_is_not_sent(make, server):
    here = make()
    assert "is not a token" in run(here, status=2, LARDER_TOKEN='lrd_s_a"\nurl = "http://evil')
    assert "is not a token" in run(here, status=2, LARDER_TOKEN="", LARDER_ID_TOKEN='a","b":"')
    assert not server.requests
    here.commit("v1")
    run(here, LARDER_TOKEN="lrd_s_abcdefgh\n")


@pytest.mark.parametrize("kind", SECTIONS)
def test_a_script_with_other_bytes_is_not_run(make, server, kind):
    here = make()
    here.commit("v1")
    server.answers[publish_script.newest().path] = [(200, "touch ran\n")]
    job = jobs_of(kind, block(SECTIONS[kind]))["module"]
    steps = [Step(one.shell, one.text, {"LARDER_URL": server.url}) for one in job.steps]
    done = here.run(*steps)
    assert done.returncode != 0
    assert "publish.sh: FAILED" in done.stdout
    assert not (here.repository / "ran").exists()


def test_it_says_its_version_and_each_variable_that_it_reads():
    text = publish_script.newest().body.decode()
    head = text[: text.index("set -eu")]
    assert f"publish.sh of Larder, version {publish_script.newest().version}:" in head
    used = set(re.findall(r"\b(LARDER_\w+)", text[len(head) :]))
    assert used == set(re.findall(r"\b(LARDER_\w+)", head))
