"""The pages of a connected module of another registry."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.sources import previewing
from tests.rows import for_each_row
from tests.sessions import sign_in
from tests.sources.conftest import Git, work_off


@pytest.mark.slow
@for_each_row("page", ["", "/plan", "/change", "/credential", "/disconnect"])
def test_every_page_of_it_opens(page: str, mirrored: Git, dora: User, client: Client):
    previewing.ask(repository=mirrored.repository, actor=mirrored.actor)
    work_off()
    mirrored.sync()
    sign_in(client, dora)

    answer = client.get(f"/namespaces/acme/git/{mirrored.repository.pk}{page}")

    assert answer.status_code == 200
    assert "Acme/vpc/aws" in answer.content.decode()
    assert "Create a webhook secret" not in answer.content.decode()


def test_no_page_of_it_offers_a_credential(mirrored: Git, dora: User, client: Client):
    sign_in(client, dora)
    at = f"/namespaces/acme/git/{mirrored.repository.pk}"

    assert f"{at}/credential" not in client.get(f"{at}/change").content.decode()
    shown = client.get(f"{at}/credential").content.decode()
    assert 'value="none"' in shown
    assert 'value="token"' not in shown
