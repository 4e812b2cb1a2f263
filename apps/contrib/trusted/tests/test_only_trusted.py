"""A namespace in which only trusted publishers publish."""

import json

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.trusted.requiring import require_trusted
from apps.accounts.models import Scope, TrustedPublisher
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import RoleRequired
from apps.modules import publishing
from apps.releases.models import State
from apps.releases.publishing import reserving
from tests.builders.archives import module_zip

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"


@pytest.fixture
def only(acme, dora):
    namespaces.require_trusted_publishers(namespace=acme, required=True, actor=Viewer(dora))


def put(client, headers, url=URL):
    return client.generic("PUT", url, module_zip(), headers=headers)


def test_people_and_their_tokens_are_refused_and_a_run_is_not(
    only, client, bearer, alice, olga, add, id_token, exchange
):
    for person in (alice, olga):
        answer = put(client, bearer(person))
        assert answer.status_code == 403
        assert "Only trusted publishers publish in acme" in answer.json()["error"]["message"]
    assert AuditEvent.objects.filter(kind=Kind.PERMISSION_REFUSED, subject="acme").count() == 2
    add()
    run = {"Authorization": f"Bearer {exchange(id_token()).json()['token']}"}
    assert put(client, run).status_code == 202


def test_a_provider_needs_a_run_as_well(only, client, bearer, alice):
    answer = client.post("/api/v1/providers/acme/random/1.0.0", "{}", "application/json", headers=bearer(alice))
    assert answer.status_code == 403, answer.content


def test_a_ticket_from_before_the_switch_no_longer_counts(acme, alice, dora):
    address = ModuleAddress.parse("acme/vpc/aws")
    release, ticket = publishing.reserve_release(viewer=Viewer(alice), address=address, version="1.2.0")
    assert reserving.authorise_ticket(ticket) == release
    namespaces.require_trusted_publishers(namespace=acme, required=True, actor=Viewer(dora))
    with pytest.raises(RoleRequired, match="Only trusted publishers"):
        reserving.authorise_ticket(ticket)
    release.refresh_from_db()
    assert release.state == State.REJECTED


def test_a_machine_of_another_namespace_is_no_trusted_publisher_here(only, add, pantry, acme, alice):
    rule = add()
    require_trusted(Viewer(rule.user), acme)
    TrustedPublisher.objects.update(namespace=pantry)
    with pytest.raises(RoleRequired):
        require_trusted(Viewer(rule.user), acme)


def test_owners_switch_it_with_the_api(client, bearer, dora, alice, acme):
    def patch(person, value):
        body = json.dumps({"trusted_publishers_only": value})
        return client.patch("/api/v1/namespaces/acme", body, "application/json", headers=bearer(person))

    assert patch(alice, value=True).status_code == 403
    answer = patch(dora, value=True)
    assert (answer.status_code, answer.json()["trusted_publishers_only"]) == (200, True)
    acme.refresh_from_db()
    assert acme.trusted_publishers_only
    event = AuditEvent.objects.filter(kind=Kind.NAMESPACE_CHANGED).get()
    assert event.detail["changes"] == {"trusted_publishers_only": [False, True]}
    assert patch(dora, value=False).json()["trusted_publishers_only"] is False
    assert put(client, bearer(alice, Scope.PUBLISH)).status_code == 202
