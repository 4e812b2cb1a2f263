"""/api/v1/modules/<ns>/<name>/<system>, and the page of the same: /modules/…/settings."""

import json

import pytest

from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.modules.models import Module
from apps.releases.models import SearchDoc
from tests.portal.rows import add_module
from tests.rows import for_each_row

URL = "/api/v1/modules/acme/vpc/aws"
PAGE = "/modules/acme/vpc/aws/settings"
REPOSITORY = "https://git.example.com/acme/terraform-aws-vpc"


@pytest.fixture
def vpc(acme):
    return add_module(acme, "vpc/aws", "1.0.0", summary="First words of the README")


def patch(client, **body):
    return client.patch(URL, json.dumps(body), content_type="application/json")


def error_of(response):
    return json.loads(response.content)["error"]["message"]


def test_publishers_describe_a_module_and_lists_and_bots_read_it_at_once(tofu, bearer, client, browser_of, alice, vpc):
    limited = bearer(alice, Scope.PUBLISH, only_name="dns/aws")
    refused = client.patch(URL, '{"description": "x"}', content_type="application/json", headers=limited)
    assert refused.status_code == 403
    response = patch(tofu(alice), description="  Peering\n for\teverybody ", source=REPOSITORY)

    assert response.status_code == 200
    assert json.loads(response.content) == {
        "namespace": "acme",
        "name": "vpc",
        "system": "aws",
        "description": "Peering for everybody",
        "source": REPOSITORY,
    }
    assert json.loads(tofu(alice).get(URL).content) == json.loads(response.content)
    assert SearchDoc.objects.get().description == "Peering for everybody"
    assert "<mark>Peer</mark>ing" in browser_of(alice).get("/modules?q=peer").content.decode()
    document = json.loads(tofu(alice).get("/v1/modules/acme/vpc/aws/versions").content)
    assert document["modules"][0]["source"] == REPOSITORY
    assert tofu(alice).patch(URL.replace("vpc", "none"), "{}", content_type="application/json").status_code == 404


def test_what_is_left_out_stays_and_what_is_empty_is_taken_away(tofu, browser_of, alice, vpc):
    browser = browser_of(alice)
    done = browser.post(PAGE, {"description": "Ours", "source_url": REPOSITORY})

    assert (done.status_code, done["Location"]) == (303, "/modules/acme/vpc/aws")
    page = browser.get(PAGE).content.decode()
    assert 'value="Ours"' in page
    assert f'value="{REPOSITORY}"' in page
    patch(tofu(alice), description="")
    module = Module.objects.get()
    assert (module.description, module.source_url) == ("", REPOSITORY)
    assert SearchDoc.objects.get().description == "First words of the README"


def test_it_is_audited_with_what_was_there_before(tofu, alice, vpc):
    patch(tofu(alice), description="Ours")
    patch(tofu(alice), description="Ours")
    patch(tofu(alice), description="Everybody's", source=REPOSITORY)

    events = AuditEvent.objects.filter(kind="namespace:module:described").order_by("pk")
    assert [event.subject for event in events] == ["acme/vpc/aws", "acme/vpc/aws"]
    assert [event.actor_id for event in events] == [alice.pk, alice.pk]
    assert events[1].detail["changes"] == {
        "description": ["Ours", "Everybody's"],
        "source_url": ["", REPOSITORY],
    }


@for_each_row(
    ("url", "sentence"),
    [
        ("javascript:alert(1)", "begins with https://"),
        ("git@git.example.com:acme/vpc.git", "begins with https://"),
        ("ssh://git.example.com/acme/vpc", "begins with https://"),
        ("https:///acme/vpc", "begins with https://"),
        ("//git.example.com/acme", "begins with https://"),
        ("https://robot:secret@git.example.com/acme", "user name or a password"),
        ("https://git.example.com/a b", "a space"),
        ("https://git.example.com/a\u202eb", "control character"),
        ("https://[git.example.com/acme", "cannot be read"),
        ("https://git.example.com:port/acme", "cannot be read"),
        ("https://git.example.com/" + "a" * 300, "at most 300"),
    ],
    ids=["script", "scp", "ssh", "no host", "no scheme", "secret", "space", "override", "bracket", "port", "long"],
)
def test_only_web_addresses_are_a_source(tofu, browser_of, alice, vpc, url, sentence):
    response = patch(tofu(alice), source=url)
    page = browser_of(alice).post(PAGE, {"description": "", "source_url": url})

    assert (response.status_code, page.status_code) == (422, 422)
    assert sentence in error_of(response)
    assert "secret" not in error_of(response)
    assert Module.objects.get().source_url == ""


@for_each_row(
    ("body", "sentence"),
    [
        ({"description": "a" * 301}, "301 characters, expected at most 300"),
        ({"description": "a\u202eb"}, "control character"),
        ({}, "changes nothing"),
        ({"homepage": "https://example.com"}, "no field 'homepage'"),
    ],
    ids=["long", "override", "empty", "unknown"],
)
def test_what_cannot_be_shown_is_refused_with_the_reason(tofu, alice, vpc, body, sentence):
    response = patch(tofu(alice), **body)

    assert response.status_code == 422
    assert sentence in error_of(response)
