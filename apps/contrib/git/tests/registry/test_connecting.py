"""Dora connects a module of another registry by its address."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.contrib.git import connecting, hooks, previewing
from apps.contrib.git.models import GitRepository
from apps.contrib.git.tests.conftest import Git, work_off
from apps.contrib.git.tests.registry.conftest import ADDRESS, FULL, Upstream
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.releases.origin import other_registries
from tests.builders.misbehaving import HOST, Registry
from tests.rows import for_each_row
from tests.sessions import sign_in


def test_the_address_is_told_from_a_url_and_has_one_rule(mirrored: Git, registry: Registry):
    assert (mirrored.repository.forge, mirrored.repository.url) == ("registry", f"https://{HOST}/{ADDRESS}")
    assert list(mirrored.repository.rules.values_list("tag", "folder", "module")) == [("{version}", "", "vpc/aws")]
    assert registry.requests == []  # before the first sync


@for_each_row(
    ("url", "more", "error", "text"),
    [
        ("registry.unknown.example/acme/vpc/aws", {}, NotFound, "mirrors no registry 'registry.unknown.example'"),
        (f"{HOST}/acme/vpc_/aws", {}, Invalid, "is not the address of a module"),
        (f"{HOST}/acme/vpc/a_s", {}, Invalid, "is not the address of a module"),
        ("acme/vpc/aws", {}, Invalid, "expected https:// or ssh://"),
        ("acme/vpc", {"forge": "registry"}, Invalid, "is not the address of a module"),
        (FULL, {"credential": {"kind": "token", "token": "pears"}}, Invalid, "takes no credential"),
        (FULL, {"rules": [{"tag": "v{version}", "module": "vpc/aws"}]}, Invalid, "has one rule"),
        (FULL, {"rules": [{"tag": "{version}", "folder": "a", "module": "vpc/aws"}]}, Invalid, "has one rule"),
        (f"{HOST}/acme/settings/aws", {}, Invalid, "Rule 1: "),
    ],
)
def test_what_cannot_be_mirrored_is_refused(url, more, error, text, connect_module):
    with pytest.raises(error, match=text):
        connect_module(url, **more)
    assert not GitRepository.objects.exists()


def test_a_registry_at_a_private_address_is_connected_as_operators_mirror_it(connect_module, other: Any):
    Upstream.objects.update(host="10.0.0.5")

    assert connect_module("10.0.0.5/acme/vpc/aws").repository.url == "https://10.0.0.5/acme/vpc/aws"


def test_a_registry_that_dora_does_not_see_is_like_none(connect_module, other: Any):
    Upstream.objects.update(visibility="private")
    with pytest.raises(NotFound, match="mirrors no registry"):
        connect_module()
    Upstream.objects.update(visibility="internal", is_enabled=False)
    with pytest.raises(NotFound, match="mirrors no registry"):
        connect_module()


def test_without_the_room_that_reads_registries_none_is_mirrored(mirrored: Git, connect_module, monkeypatch):
    class NoModules:
        def named(self, text: str) -> None:
            """Answer like before a room sets the slot."""

    monkeypatch.setattr(other_registries, "modules", NoModules())

    with pytest.raises(Invalid, match="is not the address of a module"):
        connect_module(f"{HOST}/acme/other/aws", forge="registry")
    with pytest.raises(Invalid, match="expected https:// or ssh://"):
        connect_module(f"{HOST}/acme/other/aws")
    assert mirrored.sync() == {}
    assert mirrored.repository.failure_code == "upstream_off"


def test_it_is_connected_once_by_its_address_or_its_url(mirrored: Git, connect_module):
    for more in ({"url": FULL.lower()}, {"url": f"https://{FULL}", "forge": "registry"}):
        with pytest.raises(Conflict, match="is connected to acme already"):
            connect_module(**more)


def test_its_rule_may_change_and_its_credential_not(mirrored: Git):
    connecting.change(
        repository=mirrored.repository, actor=mirrored.actor, rules=[{"tag": "{version}", "module": "net/aws"}]
    )
    assert mirrored.repository.rules.get().module == "net/aws"
    with pytest.raises(Invalid, match="has one rule"):
        connecting.change(
            repository=mirrored.repository, actor=mirrored.actor, rules=[{"tag": "v{version}", "module": "n/a"}]
        )
    with pytest.raises(Invalid, match="takes no credential"):
        connecting.change(repository=mirrored.repository, actor=mirrored.actor, credential={"kind": "deploy_key"})


def test_no_webhook_is_believed(mirrored: Git):
    with pytest.raises(NotFound, match="No connected repository has this webhook URL"):
        hooks.receive(hook_id=mirrored.repository.hook_id, headers={}, body=b"{}", address="192.0.2.1")
    with pytest.raises(Conflict, match="Registries send no webhooks"):
        connecting.renew_hook_secret(repository=mirrored.repository, actor=mirrored.actor)


def test_every_page_of_it_opens_and_none_offers_a_credential(mirrored: Git, dora: User, client: Client):
    previewing.ask(repository=mirrored.repository, actor=mirrored.actor)
    work_off()
    mirrored.sync(["1.0.0"])
    sign_in(client, dora)
    at = f"/namespaces/acme/git/{mirrored.repository.pk}"

    pages = {page: client.get(f"{at}{page}") for page in ("", "/plan", "/change", "/credential", "/disconnect")}
    for answer in pages.values():
        assert answer.status_code == 200
        assert "Acme/vpc/aws" in answer.content.decode()
        assert "Create a webhook secret" not in answer.content.decode()
    assert f"{at}/credential" not in pages["/change"].content.decode()
    shown = pages["/credential"].content.decode()
    assert 'value="none"' in shown
    assert 'value="token"' not in shown
