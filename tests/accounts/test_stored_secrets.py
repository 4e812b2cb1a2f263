"""Secrets are stored as digests: reading the database lets no one in."""

from django.apps import apps
from django.test import Client
from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Role, Scope
from apps.accounts.people import invitations
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from apps.notify import webhooks


def everything_stored():
    """Each row of each table as text."""
    return [
        f"{model._meta.label} {values}"
        for model in apps.get_models()
        for values in model._default_manager.values_list()
    ]


def test_no_secret_is_in_any_table(acme, alice, dora, settings):
    owner = Viewer(dora)
    _, token = tokens.issue(user=dora, label="ci", scope=Scope.MANAGE, actor=owner)
    _, invitation = invitations.invite(actor=owner, note="Erin", namespace=acme, role=Role.READER)
    _, ticket = publishing.reserve_release(
        viewer=Viewer(alice), address=ModuleAddress("acme", "vpc", "aws"), version="1.0.0", file_name=""
    )
    hook, webhook = webhooks.create(
        namespace=acme, url="https://hooks.acme.example/", events=["release.published"], shape="standard", actor=owner
    )
    rotated = webhooks.rotate(hook=hook, actor=owner)
    browser = Client()
    browser.post(reverse("account_login"), {"login": "dora", "password": "dora likes pears"})
    session = browser.cookies["__Host-larder-session"].value
    Client().post(reverse("account_login"), {"login": "hunter2-typed-as-a-name", "password": "hunter3"})

    stored = everything_stored()
    assert any("accounts.ApiToken" in row for row in stored)
    assert any("accounts.Invitation" in row for row in stored)
    assert any("sessions.Session" in row for row in stored)
    signing = [secret.removeprefix("whsec_") for secret in (webhook, rotated)]
    typed = ["dora likes pears", "hunter2", "hunter3"]
    for secret in (token, token[10:-6], invitation, ticket, session, *signing, *typed, settings.SECRET_KEY):
        assert [row for row in stored if secret in row] == []


def test_what_is_stored_of_a_token_opens_nothing(dora, client):
    token, _ = tokens.issue(user=dora, label="ci", scope=Scope.MANAGE, actor=Viewer(dora))

    for stored in (token.digest, token.start):
        assert client.get("/v1/modules", headers={"Authorization": f"Bearer {stored}"}).status_code == 401
