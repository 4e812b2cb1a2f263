"""One namespace of each visibility with all that a route can name, and what each request sends."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, Namespace, Role, Scope
from apps.accounts.people import invitations, teams
from apps.blobs import capabilities
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules import publishing
from apps.providers import publishing as drafting
from apps.releases.models import Release, State
from apps.signing.models import Custody, SigningKey
from tests import rooms
from tests.accounts.identity.test_cli_login import ASKED
from tests.builders.archives import MODULE, module_zip
from tests.cast import person
from tests.house import (
    scenario_approval,
    scenario_attestations,
    scenario_machines,
    scenario_notify,
    scenario_oci,
    scenario_people,
    scenario_statements,
    scenario_uploads,
)
from tests.house.scenario_uploads import ORIGIN, OTHER_VERSIONS
from tests.protocol.providers import cast
from tests.sessions import in_browser
from tests.shelves import run_jobs

ROOMS = rooms.modules("scenario")  # what their routes name and take
ABSENT = "missing"
NAMES = {"private": "acme", "internal": "hall", "public": "pantry"}
FILES = {**MODULE, **{f"{above}basic/main.tf": "# a folder\n" for above in ("modules/", "examples/", "")}}
# The routes whose release is not the published one.
ON_ITS_WAY = {
    **dict.fromkeys(("portal:release-cancel", "api:release-cancel"), "reserved_id"),
    **dict.fromkeys(("portal:release-answer", "api:release-answer"), "held_id"),
    **(scenario_approval.ON_ITS_WAY | rooms.rows("ON_ITS_WAY")),
    **dict.fromkeys([f"portal:release-{act}" for act in ("file", "files", "file-remove", "hand-in")], "draft_id"),
}
PACKAGE = "terraform-provider-dns_1.0.0_linux_amd64.zip"
EVERYWHERE = {
    "name": "vpc",
    "system": "aws",
    "type": "dns",
    "kind": "resources",
    "slug": "record",
    "filename": PACKAGE,
    "file_name": "vpc-aws-1.0.0.zip",
    "os": "linux",
    "arch": "amd64",
    "hostname": min(settings.HOSTNAMES),
    "version": "1.0.0",
    "numbers": "1.0.0...1.0.0",
    "unit": "basic",
    "input_name": "name",
    "output_name": "id",
    "path": "main.tf",
    "page": "using",
    "group": "modules",
    "user": "alice",
    "act": "deprecate",
    "provider": "nowhere",
    "account_id": 0,
    "link": "forged:1:2",
    "package": {"hostname": "nowhere.example", "capability": "forged.link"},  # of another registry: a room has some
    "key_id": scenario_statements.KEY_ID,
}
QUERIES = scenario_attestations.QUERIES | scenario_oci.QUERIES | scenario_people.QUERIES | rooms.rows("QUERIES")


@dataclass(frozen=True)
class World:
    """The objects behind the routes of each row of the policy: private, internal, public, missing."""

    users: dict[str, Any]
    places: dict[str, dict[str, Any]]

    def place(self, row):
        return self.places[row]

    def url(self, route, row):
        return reverse(route.name, kwargs=self.values(route, row))

    def values(self, route, row):
        place = self.place(ABSENT if row == "any" else row)
        named = place["oci"] if route.name.startswith("oci:") else place
        values = {argument: named[argument] for argument in route.arguments}
        if route.name.startswith("protocol:mirror-package"):
            values |= {argument: place["package"].get(argument, value) for argument, value in values.items()}
        if route.name == "portal:namespace":  # the one route that calls it so
            values = {"name": place["namespace"]}
        if route.name == "api:user-token":  # it is hers
            values["user"] = "dora"
        if route.name in ON_ITS_WAY:
            values["public_id"] = place[ON_ITS_WAY[route.name]]
        return values


def build():
    """The cast of tests/cast.py, with Dora as an owner everywhere."""
    spaces = {row: Namespace.objects.create(name=name, canonical=name, visibility=row) for row, name in NAMES.items()}
    users = {name: person(name) for name in ("alice", "bob", "charlie", "dora")}
    users["olga"] = person("olga", is_staff=True, is_superuser=True)
    for namespace in spaces.values():
        Grant.objects.create(namespace=namespace, user=users["alice"], role=Role.PUBLISHER)
        Grant.objects.create(namespace=namespace, user=users["dora"], role=Role.OWNER)
    Grant.objects.create(namespace=spaces["private"], user=users["bob"], role=Role.READER)
    users |= scenario_people.others(spaces.values(), users["olga"]) | scenario_approval.others(spaces.values())
    return World(users, {row: _place(space, users) for row, space in spaces.items()} | {ABSENT: _nowhere()})


def _published(namespace, alice):
    address, data = ModuleAddress(namespace.name, "vpc", "aws"), module_zip(FILES, comment=namespace.name.encode())
    viewer = in_browser(alice)
    publishing.publish(viewer=viewer, address=address, version="1.0.0", file_name="", open_body=lambda: iter([data]))
    run_jobs()
    return Release.objects.get(namespace=namespace, version="1.0.0")


def _place(namespace, users):
    alice, dora = (Viewer(users[name]) for name in ("alice", "dora"))
    release, address = _published(namespace, users["alice"]), ModuleAddress(namespace.name, "vpc", "aws")
    reserved, ticket = publishing.reserve_release(viewer=alice, address=address, version="9.0.0", file_name="")
    held, _ = publishing.reserve_release(viewer=alice, address=address, version="9.1.0")
    Release.objects.filter(pk=held.pk).update(state=State.HELD, ticket_digest="", receiving_until=None)
    made, secret = invitations.invite(actor=dora, note="", namespace=namespace, role=Role.READER)
    token, _ = tokens.issue(user=users["dora"], label="hers", scope=Scope.READ, actor=dora)
    team = teams.create(name=f"{namespace.name}-cooks", actor=dora)
    dns = cast.add_version(cast.frozen_key(namespace), None, "dns", "1.0.0")
    scenario_statements.place(release, dns.release)
    dns.docs_pages.create(kind="resources", slug="record", name="dns_record", html="<p>A record.</p>")
    return EVERYWHERE | {
        "namespace": namespace.name,
        "digest": release.digest,
        "capability": capabilities.sign(digest=release.digest, file_name="vpc-aws-1.0.0.zip", now=timezone.now()),
        "public_id": release.public_id,
        "releases": str(release.pk),
        "reserved_id": reserved.public_id,
        "held_id": held.public_id,
        "draft_id": _draft(namespace.name, users["alice"]).public_id,
        "ticket": ticket,
        "number": scenario_uploads.begun(namespace.name, users["alice"]),
        "secret": secret,
        "invitation_id": made.pk,
        "token_id": token.pk,
        "grant_id": Grant.objects.get(namespace=namespace, user=users["alice"]).pk,
        "team": team.name,
        "membership_id": teams.add(team=team, user=users["alice"], actor=dora).pk,
        **scenario_machines.place(team, dora, release),
        **scenario_notify.place(namespace, dora),
        **_of_rooms(namespace, users),
        **scenario_approval.place(namespace, users, team),
        **scenario_attestations.place(namespace, users["alice"]),
        "fingerprint": _key(namespace).fingerprint,
        "oci": scenario_oci.place(namespace.name, users["alice"]),
    }


def _of_rooms(namespace, users):
    found = {key: value for room in ROOMS for key, value in room.place(namespace, users).items()}
    return found if "connection_id" in found else found | scenario_notify.connection(namespace, users["dora"])


def _draft(namespace, alice):
    """Alice's draft of dns 3.0.0, with one package."""
    viewer = Viewer(alice)
    draft, _ = drafting.open_draft(viewer=viewer, address=ProviderAddress(namespace, "dns"), version="3.0.0")
    name = PACKAGE.replace("1.0.0", "3.0.0")
    drafting.receive_file(viewer=viewer, release=draft, name=name, open_body=lambda: iter([b"package"]))
    return draft


def _key(namespace):
    """Nothing is signed with it here, so its armour need not be one."""
    return SigningKey.objects.create(
        namespace=namespace,
        custody=Custody.PUBLISHER,
        fingerprint="0123456789ABCDEF" * 2 + "01234567",
        key_id="89ABCDEF01234567",
        armor="-----BEGIN PGP PUBLIC KEY BLOCK-----",
        algorithm="ed25519",
    )


def _nowhere():
    return EVERYWHERE | {
        "namespace": "nowhere",
        "digest": "0" * 64,
        "capability": "0.forged",
        "releases": "0",
        "ticket": "t" * 43,
        **dict.fromkeys(("public_id", "reserved_id", "held_id", "draft_id", "number"), uuid.UUID(int=0)),
        "secret": "s" * 43,
        "invitation_id": 0,
        "token_id": 0,
        "grant_id": 0,
        "team": "nowhere-cooks",
        "membership_id": 0,
        **scenario_machines.NOWHERE,
        **scenario_notify.NOWHERE,
        **scenario_approval.NOWHERE,
        **scenario_attestations.NOWHERE,
        **{key: value for room in ROOMS for key, value in room.NOWHERE.items()},
        "fingerprint": "0123456789ABCDEF" * 2 + "01234567",
        "oci": scenario_oci.values("nowhere"),
    }


def body_of(name, method, row):
    """The body of a valid request of that kind; routes that are not listed have none."""
    namespace = NAMES.get("private" if row == "any" else row, "nowhere")
    bodies = {
        ("api:namespace", "PUT"): {
            "data": '{"visibility": "private", "description": "changed"}',
            "content_type": "application/json",
        },
        ("api:module", "PATCH"): {"data": '{"description": "changed"}', "content_type": "application/json"},
        ("portal:release-files", "POST"): scenario_uploads.form(PACKAGE.replace("1.0.0", "3.0.0")),
        ("portal:release-hand-in", "POST"): {"data": {"protocols": ["5.0"]}},
        ("portal:provider-publish", "POST"): {
            "data": {"provider": "new", "namespace": namespace, "type": "dns", "version": "2.0.0"}
        },
        ("portal:provider-lifecycle-signature", "POST"): {"headers": ORIGIN},
        ("portal:publish", "POST"): {
            "data": {"module": "new", "namespace": namespace, "name": "dns", "system": "aws", "version": "3.0.0"}
        },
        ("portal:module-settings", "POST"): {"data": {"description": "changed", "source_url": ""}},
        ("portal:provider-settings", "POST"): {"data": {"description": "changed", "source_url": "", "notice": ""}},
        ("api:provider", "PATCH"): {"data": '{"description": "changed"}', "content_type": "application/json"},
        ("portal:tokens", "POST"): {"data": {"label": "ci", "scope": "read", "days": 30}},
        ("portal:login-authorize", "POST"): {"data": ASKED | {"machine": "desk", "decision": "allow"}},
        ("portal:namespace-new", "POST"): {"data": {"name": "platform", "visibility": "private"}},
        ("portal:namespace-change", "POST"): {"data": {"visibility": "private", "description": "Shared"}},
        ("portal:namespace-members", "POST"): {"data": {"username": "charlie", "role": 2}},
        ("portal:namespace-transfer", "POST"): {"data": {"kind": "user", "to": "olga", "confirm": namespace}},
        ("portal:team-new", "POST"): {"data": {"name": "bakers"}},
        ("portal:team", "POST"): {"data": {"username": "charlie"}},
        ("portal:team-change", "POST"): {"data": {"description": "changed"}},
        ("portal:team-manager", "POST"): {"data": {"manager": "on"}},
        ("api:namespace", "PATCH"): _json('{"breaking_changes": "ask"}'),
        ("api:namespace-transfer", "POST"): _json('{"to_user": "olga"}'),
        ("api:keys", "POST"): _json('{"generate": "ed25519"}'),
        ("api:key-retire", "POST"): _json('{"reason": "Too old."}'),
        ("api:key-revoke", "POST"): _json('{"reason": "It leaked."}'),
        ("portal:key-retire", "POST"): {"data": {"reason": "Too old."}},
        ("portal:key-revoke", "POST"): {"data": {"reason": "It leaked."}},
        ("portal:invitations", "POST"): {"data": {"note": "Erin", "namespace": namespace, "role": 1}},
        ("portal:invitation", "POST"): {
            "data": {"username": "erin", "password": "erin likes quinces", "again": "erin likes quinces"}
        },
        ("portal:theme", "POST"): {"data": {"theme": "dark", "next": "/"}},
        ("account_login", "POST"): {"data": {"login": "bob", "password": "bob likes pears"}},
    }
    others = scenario_oci.BODIES | scenario_machines.bodies(namespace) | scenario_uploads.BODIES
    others |= scenario_approval.BODIES | scenario_notify.bodies() | _acts(namespace)
    for room in ROOMS:
        others |= room.bodies()
    if name in scenario_attestations.ATTACHING:  # asks the database: not for each of 20,000 requests
        others |= scenario_attestations.bodies(namespace)
    return (bodies | others).get((name, method), {})


def _acts(namespace):
    """The actions on a version."""
    texts = dict.fromkeys(("deprecate", "yank", "quarantine", "restore", "end-cooldown"), '{"reason": "No."}')
    many = json.dumps({"versions": [{"address": f"{namespace}/vpc/aws", "version": "1.0.0"}], "reason": "No."})
    acts = {(f"api:versions-{act}", "POST"): _json(many) for act in texts}
    acts["portal:lifecycle-several", "POST"] = {"data": {"reason": "No."}}
    for kind, name in (("module", "vpc/aws"), ("provider", "dns")):
        acts |= {(f"api:{kind}-{act}", "POST"): _json(text) for act, text in texts.items()}
        told = {"reason": "No.", "confirm": f"{namespace}/{name} 1.0.0"}
        acts[f"api:{kind}-purge", "POST"] = _json(json.dumps(told))
        acts[f"portal:{kind}-purge", "POST"] = {"data": told}
        acts[f"portal:{kind}-lifecycle", "POST"] = {"data": {"act": "yank", "reason": "No."}}
    return acts


def _json(text):
    return {"data": text, "content_type": "application/json"}


def version_for(name, method, url):
    return url.replace("1.0.0", OTHER_VERSIONS.get((name, method), "1.0.0")) + QUERIES.get((name, method), "")
