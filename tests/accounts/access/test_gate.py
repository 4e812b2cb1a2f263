"""The gate as a table: who asks, how visible the namespace is, what they need."""

import pytest

from apps.accounts.access.gate import NOBODY, Viewer, namespace_for, namespaces_with_role, role_on, visible_namespaces
from apps.accounts.identity import tokens
from apps.accounts.models import Namespace, Role, Scope
from apps.audit.models import AuditEvent
from apps.lib.errors import CredentialsRequired, NotFound, RegistryError, RoleRequired, UnknownOrPrivate
from tests.rows import for_each_row

NEEDS = (Role.READER, Role.PUBLISHER, Role.OWNER)
STATUS = {CredentialsRequired: 401, UnknownOrPrivate: 401, RoleRequired: 403, NotFound: 404}

OK, ALL = 200, (200, 200, 200)
READS, PUBLISHES = (OK, 403, 403), (OK, OK, 403)
SIGN_IN, HIDDEN = (401, 401, 401), (404, 404, 404)

# who: what they get as (reader, publisher, owner) in a public, an internal and a private namespace
TABLE = {
    "nobody": ((OK, 401, 401), SIGN_IN, SIGN_IN),
    "charlie": (READS, READS, HIDDEN),
    "bob": (READS, READS, READS),
    "alice": (PUBLISHES, PUBLISHES, PUBLISHES),
    "dora": (ALL, ALL, ALL),
    "olga": (ALL, ALL, ALL),
    "charlie's manage token": (READS, READS, HIDDEN),
    "bob's manage token": (READS, READS, READS),
    "alice's read token": (READS, READS, READS),
    "alice's publish token": (PUBLISHES, PUBLISHES, PUBLISHES),
    "alice's manage token": (PUBLISHES, PUBLISHES, PUBLISHES),
    "dora's read token": (READS, READS, READS),
    "dora's publish token": (PUBLISHES, PUBLISHES, PUBLISHES),
    "dora's manage token": (ALL, ALL, ALL),
    "olga's read token": (READS, READS, READS),
    "olga's manage token": (ALL, ALL, ALL),
    "dora's manage token for acme": (ALL, ALL, ALL),
    "dora's manage token for pantry": (READS, HIDDEN, HIDDEN),
    "olga's manage token for pantry": (READS, HIDDEN, HIDDEN),
    "charlie's manage token for pantry": (READS, HIDDEN, HIDDEN),
}


@pytest.fixture
def viewer(request, alice, bob, charlie, dora, olga):
    """ "dora's manage token for pantry", "dora", "nobody"."""
    people = {user.username: user for user in (alice, bob, charlie, dora, olga)}

    def viewer_of(who: str) -> Viewer:
        name, _, rest = who.partition("'s ")
        if name == "nobody":
            return NOBODY
        if not rest:
            return Viewer(people[name])
        scope, _, limit = rest.partition(" token")
        only = Namespace.objects.filter(name__in=limit.split()[1:])
        token, _ = tokens.issue(user=people[name], label="t", scope=scope, namespaces=only, actor=NOBODY)
        return Viewer(people[name], token)

    return viewer_of


def outcome(viewer: Viewer, name: str, need: Role) -> int:
    try:
        assert namespace_for(viewer, name, need=need).name == name
    except RegistryError as refused:
        return STATUS[type(refused)]
    return 200


@pytest.mark.both
@for_each_row("who", TABLE)
@for_each_row("column", range(3), ids=["public", "internal", "private"])
def test_the_gate(viewer, acme, who, column):
    visibility = ("public", "internal", "private")[column]
    Namespace.objects.filter(pk=acme.pk).update(visibility=visibility)
    asking = viewer(who)

    found = tuple(outcome(asking, "acme", need) for need in NEEDS)

    assert found == TABLE[who][column]
    role = role_on(asking, acme)
    assert role == (found.count(OK) or None), "role_on says the same"
    assert visible_namespaces(asking).filter(name="acme").exists() == (role is not None), "and so do lists"
    for need in (Role.PUBLISHER, Role.OWNER):
        held = namespaces_with_role(asking, need).filter(name="acme").exists()
        assert held == (role is not None and role.covers(need))


@for_each_row("need", NEEDS)
@for_each_row("who", ["nobody", "charlie", "charlie's manage token"])
def test_hidden_and_unknown_read_the_same(viewer, acme, who, need):
    asking = viewer(who)
    texts = set()
    for name in ("acme", "nope"):
        with pytest.raises((CredentialsRequired, NotFound)) as refused:
            namespace_for(asking, name, need=need)
        texts.add(f"{refused.type} {refused.value} {refused.value.hint}".replace(name, "…"))

    assert len(texts) == 1
    assert who != "nobody" or "…" not in texts.pop(), "nobody reads no name back"


@pytest.mark.both
@for_each_row("name", ["ACME", "acme ", "", "ac\0me", "a" * 5000, "acmé"])
def test_a_name_is_matched_exactly_and_never_crashes(viewer, name):
    with pytest.raises(NotFound):
        namespace_for(viewer("dora"), name)


@for_each_row(
    ("who", "need", "words"),
    [
        ("bob", Role.PUBLISHER, ["publisher", "you have reader", "Ask an owner"]),
        ("alice's read token", Role.PUBLISHER, ["you are publisher", "this token has only the scope read"]),
        ("dora's publish token", Role.OWNER, ["you are owner", "this token has only the scope publish"]),
        ("bob's read token", Role.PUBLISHER, ["you have reader", "Ask an owner"]),
    ],
)
def test_it_says_what_is_missing_and_what_limits(viewer, who, need, words):
    with pytest.raises(RoleRequired) as refused:
        namespace_for(viewer(who), "acme", need=need)

    assert all(word in f"{refused.value} {refused.value.hint}" for word in words)


def test_it_names_the_limit_of_a_token_for_elsewhere(viewer, acme):
    Namespace.objects.filter(pk=acme.pk).update(visibility="public")

    with pytest.raises(RoleRequired, match="limited to other namespaces"):
        namespace_for(viewer("dora's manage token for pantry"), "acme", need=Role.PUBLISHER)


def test_a_token_for_one_name_publishes_nothing_else(dora, acme):
    token, _ = tokens.issue(user=dora, label="t", scope=Scope.MANAGE, only_name="vpc/aws", actor=NOBODY)
    asking = Viewer(dora, token)

    assert namespace_for(asking, "acme", need=Role.PUBLISHER, only_name="vpc/aws") == acme
    assert namespace_for(asking, "acme") == acme
    for more in ({"need": Role.PUBLISHER, "only_name": "dns/aws"}, {"need": Role.PUBLISHER}, {"need": Role.OWNER}):
        with pytest.raises(RoleRequired, match="may publish only vpc/aws"):
            namespace_for(asking, "acme", **more)


@pytest.mark.both
def test_it_costs_one_query(viewer, django_assert_num_queries):
    for who in ("nobody", "bob", "dora's manage token for acme"):
        asking = viewer(who)
        with django_assert_num_queries(1):
            role_on(asking, Namespace(pk=1))
        with django_assert_num_queries(1):
            list(visible_namespaces(asking))


def test_refused_privileged_acts_leave_a_row_and_reads_none(viewer, acme):
    for who in ("nobody", "charlie"):
        outcome(viewer(who), "acme", Role.READER)
    before = AuditEvent.objects.count()

    outcome(viewer("bob"), "acme", Role.PUBLISHER)
    outcome(viewer("nobody"), "acme", Role.PUBLISHER)

    assert AuditEvent.objects.count() == before + 1
    event = AuditEvent.objects.newest_first()[0]
    assert (event.kind, event.subject) == ("account:permission:refused", "acme")
    assert event.detail == {"needed": "publisher", "held": "reader"}
