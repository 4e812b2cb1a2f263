"""Verbs that need a person: a service account is refused by each of them before anything is looked at."""

import re
from importlib import import_module

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import RoleRequired
from tests import rooms
from tests.house.sources import python_files
from tests.rows import for_each_row

# Verbs that give power over people, change who may publish, or cannot be undone (docs/maintain/rules.md).
VERBS = {
    "accounts.access.connections.confirm": "confirm connections",
    "accounts.namespace_deletion.delete": "delete a namespace",
    "accounts.namespaces.grant": "change roles",
    "accounts.namespaces.require_approval": "change who approves releases",
    "accounts.namespaces.require_trusted_publishers": "change who publishes",
    "accounts.namespaces.transfer": "transfer a namespace",
    "accounts.namespaces.withdraw": "change roles",
    "accounts.people.access_requests.decline": "decline a request",
    "accounts.people.access_requests.request": "request access",
    "accounts.people.invitations.invite": "invite people",
    "accounts.people.service_accounts.allow_manage": "change the rights of service accounts",
    "accounts.people.service_accounts.create": "create service accounts",
    "accounts.people.teams.add": "change the members of a team",
    "accounts.people.teams.delete": "delete a team",
    "accounts.people.teams.remove": "change the members of a team",
    "accounts.people.teams.set_manager": "change the members of a team",
    "releases.lifecycle.messages.notify_users": "notify users",
    "releases.lifecycle.purging.purge": "purge a version",
    **rooms.rows("PEOPLE_ONLY"),
}
MARKED = re.compile(r"^@people_only\(", re.MULTILINE)


@for_each_row(("verb", "act"), VERBS.items())
def test_a_service_account_is_refused_and_the_audit_has_it(db, verb, act):
    module, _, name = verb.rpartition(".")
    machine = User.objects.create(username="ci[bot]", is_service=True)

    with pytest.raises(RoleRequired, match=f"A service account cannot {act}"):
        getattr(import_module(f"apps.{module}"), name)(actor=Viewer(machine))

    refused = AuditEvent.objects.get(kind=Kind.PERMISSION_REFUSED)
    assert (refused.actor_id, refused.detail["needed"]) == (machine.pk, f"a person, to {act}")


def test_the_list_has_every_verb_that_is_marked():
    marked = sum(len(MARKED.findall(path.read_text())) for path in python_files("apps"))
    assert marked == len(VERBS)
