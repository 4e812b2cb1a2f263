"""Statements and their keys in the admin: read by staff, rotated by those who may."""

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from apps.audit.models import AuditEvent
from apps.provenance.models import Statement
from apps.signing import statement_keys
from apps.signing.models import StatementKey
from tests.admin.lists import list_of, page_of, run
from tests.cast import person
from tests.provenance.conftest import state

__all__ = ["state"]


@pytest.fixture
def key(worker_host, db) -> StatementKey:
    return statement_keys.sign("text/plain", b"one")[0]


def member_of(role: str):
    user = person("ursula", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    return user


def test_an_operator_rotates_a_key_once_on_its_page_and_sees_no_private_half(key, browser_of):
    user = member_of("Operator")
    client = browser_of(user)
    page = client.get(page_of(key)).text
    assert "Rotate" in page
    assert "BEGIN PUBLIC KEY" in page
    assert "PRIVATE" not in page
    assert bytes(key.private_key.ciphertext).hex() not in page

    answer = client.post(page_of(key), {"action": "rotate", "apply": "1"}, follow=True)
    assert "Rotated: 1." in answer.text
    key.refresh_from_db()
    assert key.retired_at is not None
    assert AuditEvent.objects.get(kind="operation:statement-key:rotated").actor_id == user.pk
    assert ">Rotate<" not in client.get(page_of(key)).text
    assert "retired already" in run(client, "rotate", key).text


def test_an_auditor_reads_and_rotates_nothing(key, browser_of):
    client = browser_of(member_of("Auditor"))
    assert key.key_id[:16] in client.get(list_of(StatementKey)).text
    run(client, "rotate", key)
    client.post(page_of(key), {"action": "rotate", "apply": "1"})
    key.refresh_from_db()
    assert key.retired_at is None


def test_a_statement_shows_what_it_says_and_is_found_by_its_address(published, state, operator_client):
    statement = state(published())
    page = operator_client.get(page_of(statement)).text
    assert "https://slsa.dev/provenance/v1" in page
    assert statement.digest[:12] in operator_client.get(list_of(Statement, q="acme/vpc")).text
    assert statement.digest[:12] in operator_client.get(list_of(Statement, q=f"sha256:{statement.digest[:20]}")).text
    assert statement.digest[:12] not in operator_client.get(list_of(Statement, q="pantry")).text
    assert operator_client.post(page_of(statement), {"digest": "ab" * 32}).status_code == 403
    assert reverse("admin:signing_statementkey_changelist") in operator_client.get("/admin/data/").text
