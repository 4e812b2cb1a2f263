"""The pages of a connected module of another registry."""

from django.test import Client

from apps.accounts.models import User
from apps.sources import previewing
from tests.sessions import sign_in
from tests.sources.conftest import Git, work_off


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
