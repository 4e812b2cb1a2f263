"""Staff let one version of another registry's module through, whatever policy says."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Grant, Role, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.git import places
from apps.contrib.git.tests.conftest import Git
from apps.contrib.git.tests.registry.conftest import PolicyException, Upstream, days_ago, listed_again, published, rule
from tests.builders.catalogue import Module
from tests.builders.misbehaving import HOST
from tests.rows import for_each_row

API = f"/api/v1/upstreams/{HOST}/exceptions"
PAGE = f"/mirror/{HOST}/policy"
Allow = Callable[..., Any]


@pytest.fixture
def allow(tofu: Any, olga: User) -> Allow:
    """Send it to the API, and return the answer."""
    client = tofu(olga)

    def sent(version: str = "1.1.0", module: str = "acme/vpc/aws", **more: Any) -> Any:
        until = (timezone.now() + timedelta(days=7)).isoformat()
        body = {"module": module, "version": version, "reason": "Fixes a hole", "expires_at": until} | more
        body = {name: value for name, value in body.items() if value is not None}
        return client.post(API, json.dumps(body), content_type="application/json")

    return sent


@pytest.fixture
def denied(mirrored: Git, other: Any) -> Git:
    """Listed, and kept back by a rule."""
    rule(other, "deny")
    assert mirrored.sync() == {"1.0.0": "ignored", "1.1.0": "ignored"}
    return mirrored


def test_the_api_lets_a_version_through_lists_that_and_withdraws_it(denied: Git, allow: Allow, tofu: Any, olga: User):
    made = allow("v1.1.0+other", "Acme/VPC/aws")

    assert made.status_code == 201
    document = made.json()
    assert (document["provider"], document["module"]) == (None, "acme/vpc/aws")
    assert (document["version"], document["in_force"], document["by"]) == ("1.1.0", True, olga.shown_name)
    assert tofu(olga).get(API).json()["exceptions"] == [document]
    about = f"{HOST}/acme/vpc/aws 1.1.0"
    assert AuditEvent.objects.get(kind=Kind.UPSTREAM_VERSION_ALLOWED).subject == about

    assert tofu(olga).delete(f"{API}/{document['id']}").status_code == 204
    assert AuditEvent.objects.filter(subject=about).count() == 2
    assert listed_again(denied) == {"1.0.0": "ignored", "1.1.0": "ignored"}


@for_each_row("again", [listed_again, lambda git: git.retry("1.1.0")], ids=["the next listing", "a retry"])
def test_a_denied_version_is_published_at(again: Callable[[Git], dict[str, str]], denied: Git, allow: Allow):
    allow("1.1.0")

    assert again(denied) == {"1.0.0": "ignored", "1.1.0": "published"}
    assert list(published()) == ["1.1.0"]


def test_a_version_that_cools_down_is_published_at_once(mirrored: Git, listed: Module, allow: Allow):
    Upstream.objects.update(cooldown_days=30)
    listed.more = {version: {"published_at": days_ago(1)} for version in listed.versions}
    assert mirrored.sync() == {"1.0.0": "waiting", "1.1.0": "waiting"}
    allow("1.1.0")

    assert listed_again(mirrored) == {"1.0.0": "waiting", "1.1.0": "published"}


def test_the_preview_shows_what_is_let_through_and_of_two_exceptions_the_longer_one_counts(denied: Git, allow: Allow):
    allow("1.1.0")
    allow("1.1.0")
    PolicyException.objects.filter(pk=PolicyException.objects.latest("pk").pk).update(expires_at=timezone.now())

    shown = {row["tag"]: row["held"] for row in places.of(denied.repository).scanned()["refs"]}

    assert shown["1.1.0"] == ""
    assert "refused by rule 1" in shown["1.0.0"]


@for_each_row("column", ["expires_at", "withdrawn_at"])
def test_one_that_ended_lets_nothing_through_and_what_was_published_stays(column: str, denied: Git, allow: Allow):
    allow("1.1.0")
    listed_again(denied)
    allow("1.0.0")
    PolicyException.objects.update(**{column: timezone.now()})

    assert listed_again(denied) == {"1.0.0": "ignored", "1.1.0": "published"}
    assert denied.retry("1.0.0")["1.0.0"] == "ignored"


def test_it_is_for_one_module_of_one_registry(denied: Git, other: Any):
    elsewhere = Upstream.objects.create(host="registry.elsewhere.example", is_enabled=True)
    until = timezone.now() + timedelta(days=7)
    for upstream, module in ((elsewhere, "acme/vpc/aws"), (other, "acme/vpc/google")):
        PolicyException.objects.create(
            upstream=upstream, module=module, module_version="1.1.0", reason="Another", expires_at=until
        )

    assert listed_again(denied) == {"1.0.0": "ignored", "1.1.0": "ignored"}


@for_each_row(
    ("more", "status", "text"),
    [
        ({"version": "9.9.9"}, 404, f"Larder knows no version 9.9.9 of {HOST}/acme/vpc/aws."),
        ({"module": "acme/dns/aws"}, 404, f"Larder knows no version 1.1.0 of {HOST}/acme/dns/aws."),
        ({"version": "latest"}, 422, "latest"),
        ({"module": "acme/vpc"}, 422, "'acme/vpc' is not the address of a module"),
        ({"module": "acme/vpc/aws/x"}, 422, "is not the address of a module"),
        ({"provider": "acme/vpc"}, 422, "expected a provider or a module"),
        ({"reason": " "}, 422, "The reason is missing"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 422, "Found expiry"),
        ({"module": None}, 422, "expected a provider or a module"),
    ],
)
def test_one_that_cannot_be_meant_is_refused(more: dict[str, Any], status: int, text: str, denied: Git, allow: Allow):
    answer = allow(**more)

    assert (answer.status_code, text in answer.json()["error"]["message"]) == (status, True)
    type(denied.repository).objects.update(ended_at=timezone.now())
    assert allow().status_code == 404, "versions of a disconnected repository are not known"
    assert not PolicyException.objects.exists()


# --- Pages ------------------------------------------------------------------------------------------------------------


def test_a_held_tag_leads_staff_to_the_form_with_which_they_let_it_through(
    denied: Git, olga: User, dora: User, browser_of: Callable[[User], Client]
):
    owner = browser_of(dora).get(f"/namespaces/acme/git/{denied.repository.pk}").content.decode()
    assert "refused by rule 1" in owner
    assert "Let 1.1.0 through" not in owner

    Grant.objects.create(user=olga, namespace=denied.repository.namespace, role=Role.PUBLISHER)
    staff = browser_of(olga)
    tags = staff.get(f"/namespaces/acme/git/{denied.repository.pk}").content.decode()
    link = f"{PAGE}?address=Acme%2Fvpc%2Faws&amp;version=1.1.0#allow"
    assert f'<a href="{link}">Let 1.1.0 through</a>' in tags

    form = staff.get(f"{PAGE}?address=Acme%2Fvpc%2Faws&version=1.1.0").content.decode()
    assert 'value="Acme/vpc/aws"' in form
    assert 'value="1.1.0"' in form

    sent = {
        "allow-address": "Acme/vpc/aws",
        "allow-version": "1.1.0",
        "allow-reason": "Fixes a hole",
        "allow-days": "7",
    }
    page = staff.post(f"{PAGE}/exceptions", sent, follow=True).content.decode()
    assert f"{HOST}/acme/vpc/aws 1.1.0 is published when its repository is synced next." in page
    assert "acme/vpc/aws 1.1.0</th>" in page
    assert listed_again(denied)["1.1.0"] == "published"
    assert "Let 1.1.0 through" not in staff.get(f"/namespaces/acme/git/{denied.repository.pk}").content.decode()

    withdrawn = staff.post(f"{PAGE}/exceptions/{PolicyException.objects.get().pk}/withdraw", follow=True)
    assert f"The rules decide about {HOST}/acme/vpc/aws 1.1.0 again." in withdrawn.content.decode()
