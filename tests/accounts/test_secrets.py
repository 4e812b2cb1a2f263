"""Stored secrets let no one in, and what is encrypted or signed for one purpose is worth nothing for another."""

import itertools

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core import signing
from django.test import Client
from django.urls import reverse
from rest_framework.exceptions import AuthenticationFailed

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import break_glass, sealing, tokens
from apps.accounts.models import Invitation, Role, Scope
from apps.accounts.people import invitations
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import NotFound, Unavailable
from apps.modules import publishing
from apps.notify.mail import invited, letters, mailing, preferences
from apps.oci import registry_tokens
from tests import rooms
from tests.rows import for_each_row

PURPOSES = ("webhook", letters.PURPOSE, "second-factor")


@for_each_row(("one", "other"), list(itertools.permutations(PURPOSES, 2)))
def test_a_secret_sealed_for_one_purpose_does_not_open_for_another(one, other):
    sealed = sealing.seal("s3cret", one)
    assert sealing.unseal(sealed, one) == "s3cret"
    with pytest.raises(Unavailable):
        sealing.unseal(sealed, other)


@for_each_row("purpose", ["", "webhoo", "webhook "])
def test_a_purpose_is_all_of_its_text(purpose):
    with pytest.raises(Unavailable):
        sealing.unseal(sealing.seal("s3cret", "webhook"), purpose)


def test_neither_the_text_nor_the_key_is_in_what_is_sealed(settings):
    first, second = (sealing.seal("s3cret", "webhook") for _ in range(2))
    assert first != second
    assert "s3cret" not in first
    with pytest.raises(Unavailable):
        sealing.unseal(Fernet(Fernet.generate_key()).encrypt(b"s3cret").decode(), "webhook")
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"
    assert sealing.unseal(first, "webhook") == "s3cret"
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(Unavailable):
        sealing.unseal(first, "webhook")


@pytest.fixture
def links(olga):
    """The signed part of each kind of link, by its kind, all about the same number."""
    invitation = Invitation(pk=olga.pk)
    return {
        "unsubscribe": mailing.unsubscribe_url(olga, "").rstrip("/").rpartition("/")[2],
        "address": signing.dumps([olga.pk, "olga@acme.example"], salt=preferences.CONFIRM_SALT),
        "invited": invited.proof_of(invitation, "olga@acme.example"),
        "registry": registry_tokens.issue(None).removeprefix("lrr_"),
        "registry_of_token": registry_tokens.issue(olga.pk).removeprefix("lrr_"),
        "break_glass": break_glass.issue(olga),
    }


def test_a_link_of_one_kind_is_no_link_of_another(olga, links):
    invitation = Invitation(pk=olga.pk)
    assert preferences.unsubscribing(links["unsubscribe"]) == (olga, "")
    assert preferences.address_of(user=olga, token=links["address"]) == "olga@acme.example"
    assert invited.address_of(invitation, links["invited"]) == "olga@acme.example"
    assert registry_tokens.read(f"lrr_{links['registry']}").token is None
    assert break_glass.user_of(links["break_glass"]) == olga

    for kind, link in links.items():
        text = link.replace(invited.SEPARATOR, ":")
        if kind != "unsubscribe":
            with pytest.raises(NotFound):
                preferences.unsubscribing(text)
        if kind != "address":
            with pytest.raises(NotFound):
                preferences.address_of(user=olga, token=text)
        if kind != "invited":
            assert invited.address_of(invitation, text) == ""
        if not kind.startswith("registry"):
            with pytest.raises(AuthenticationFailed, match="changed"):
                registry_tokens.read(f"lrr_{text}")
        if kind != "break_glass":
            with pytest.raises(NotFound):
                break_glass.user_of(text)


# --- Secrets are stored as digests: reading the database lets no one in ----------------------------------------------


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
    of_rooms = [secret for made in rooms.contributed("secrets") for _, secret in made(acme, dora).values()]
    browser = Client()
    browser.post(reverse("account_login"), {"login": "dora", "password": "dora likes pears"})
    session = browser.cookies["__Host-larder-session"].value
    Client().post(reverse("account_login"), {"login": "hunter2-typed-as-a-name", "password": "hunter3"})

    stored = everything_stored()
    assert any("accounts.ApiToken" in row for row in stored)
    assert any("accounts.Invitation" in row for row in stored)
    assert any("sessions.Session" in row for row in stored)
    signing = [secret.removeprefix("whsec_") for secret in of_rooms]
    typed = ["dora likes pears", "hunter2", "hunter3"]
    for secret in (token, token[10:-6], invitation, ticket, session, *signing, *typed, settings.SECRET_KEY):
        assert [row for row in stored if secret in row] == []


def test_what_is_stored_of_a_token_opens_nothing(dora, client):
    token, _ = tokens.issue(user=dora, label="ci", scope=Scope.MANAGE, actor=Viewer(dora))

    for stored in (token.digest, token.start):
        assert client.get("/v1/modules", headers={"Authorization": f"Bearer {stored}"}).status_code == 401
