"""Attacks by a stolen role of PostgreSQL on keys, releases and audit rows: all are refused.

Each attack is written as its SQL: whoever has the role's password needs no Django.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit import chain
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, Link
from apps.audit.recorder import record
from apps.jobs.claims import Claim
from apps.jobs.models import Job
from apps.providers.signatures import requests
from apps.releases.models import Release
from apps.signing import vault
from apps.signing.models import PrivateKey, PrivateStatementKey, SignatureRequest, SigningKey
from tests.audit import tampering
from tests.providers.draft_client import DraftClient, hold, work, zips
from tests.rows import for_each_row
from tests.site.operations.database_roles import SIGNING, WEB, assert_refused, execute, role

pytestmark = [
    pytest.mark.both,
    pytest.mark.needs("on PostgreSQL"),
]


@pytest.fixture
def key(acme, dora, worker_host) -> SigningKey:
    return hold(acme, dora)


# --- The web role -----------------------------------------------------------------------------------------------------


@for_each_row("model", [PrivateKey, PrivateStatementKey])
def test_the_web_role_neither_reads_nor_writes_a_private_half(roles, key, model):
    with role(WEB):
        assert model.objects.filter(key=key.pk).exists() == (model is PrivateKey), "that there is one, it may know"
        for sql in (
            "SELECT ciphertext FROM halves",
            "SELECT nonce FROM halves",
            "SELECT wrapped_key FROM halves",
            "UPDATE halves SET ciphertext = 'mine'",
            "UPDATE halves SET key_id = key_id + 1",
            "DELETE FROM halves",
            "INSERT INTO halves (key_id, nonce, ciphertext, kek_id, made_at) VALUES (1, 'n', 'mine', 'k', now())",
        ):
            assert_refused(sql.replace("halves", model._meta.db_table))


def test_the_web_role_moves_no_key_to_another_namespace_and_brings_none_back(roles, key, pantry):
    with role(WEB):
        assert_refused("UPDATE signing_signingkey SET namespace_id = %s", pantry.pk)
        assert_refused("UPDATE signing_signingkey SET fingerprint = %s", "A" * 40)
        assert_refused("UPDATE signing_signingkey SET custody = 'registry'")
        assert_refused("DELETE FROM signing_signingkey")
        assert execute("UPDATE signing_signingkey SET state = 'revoked', reason = 'It leaked.'") == 1
        assert_refused("UPDATE signing_signingkey SET state = 'active'", by="stays so")
        assert_refused("UPDATE signing_signingkey SET state = 'retired'", by="stays so")


def test_the_web_role_answers_no_request(roles, key):
    SignatureRequest.objects.create(release_id=1, key=key)
    with role(WEB):
        assert_refused("UPDATE signing_signaturerequest SET signature = %s", b"mine")
        assert_refused("UPDATE signing_signaturerequest SET problem = ''")


@for_each_row("name", [WEB, SIGNING, None], ids=["web", "signing", "the owner"])
@for_each_row(
    "sql",
    [
        "UPDATE audit_auditevent SET actor_id = 1",
        "DELETE FROM audit_auditevent",
        "UPDATE audit_link SET digest = ''",
        "DELETE FROM audit_link",
    ],
)
def test_no_role_changes_or_deletes_an_audit_row(roles, name, sql):
    record(Kind.USER_SIGNED_IN, actor_id=7, subject="user/7")
    chain.link()
    if name is None:
        assert_refused(sql, by="append-only")
    else:
        with role(name):
            assert_refused(sql)
    assert (AuditEvent.objects.get().actor_id, Link.objects.count()) == (7, 1)


@for_each_row("name", [WEB, SIGNING])
@for_each_row("table", ["audit_auditevent", "audit_link", "signing_privatekey", "signing_privatestatementkey"])
def test_no_role_empties_a_table_or_drops_its_triggers(roles, name, table):
    with role(name):
        assert_refused(f"TRUNCATE {table}")
        assert_refused(f"ALTER TABLE {table} DISABLE TRIGGER ALL", by="must be owner")
        assert_refused(f"DROP TABLE {table}", by="must be owner")
        assert_refused("SET session_replication_role = replica")


@for_each_row("kind", [Kind.RELEASE_SIGNED, Kind.RELEASE_SIGNING_REFUSED, Kind.RELEASE_STATED, Kind.STATEMENT_KEY_MADE])
def test_the_web_role_records_no_signature_and_no_statement(roles, kind):
    forged = (
        "INSERT INTO audit_auditevent (at, kind, subject, detail, request_id) "
        "VALUES (now(), %s, 'acme/dns 1.2.0', '{}', '')"
    )
    with role(WEB):
        assert execute(forged, Kind.USER_SIGNED_IN) == 1
        assert_refused(forged, kind, by="only the role of signing workers")
        # A table of the same name that the role owns does not help.
        execute("CREATE TEMPORARY TABLE signing_privatekey (id int)")
        assert_refused(forged, kind, by="only the role of signing workers")


# --- Pruning ----------------------------------------------------------------------------------------------------------


def old_and_young() -> Link:
    tampering.age([record(Kind.USER_SIGNED_IN, actor_id=1, subject="user/1")], days=500)
    record(Kind.USER_SIGNED_IN, actor_id=2, subject="user/2")
    chain.link()
    return Link.objects.order_by("-pk")[0]


def test_the_web_role_prunes_what_is_old(roles):
    old_and_young()
    with role(WEB):
        assert chain.prune() == 1

    assert [event.actor_id for event in AuditEvent.objects.order_by("pk")] == [2, None]
    assert chain.verify().problems == []


def test_pruning_leaves_what_is_young_and_needs_an_event_that_says_so(roles):
    newest = old_and_young()
    with role(WEB):
        assert_refused("SELECT audit_prune(%s, 10)", newest.pk, by="no event records")
        record(Kind.AUDIT_PRUNED, actor_id=None, subject="audit", chain=newest.digest)
        assert_refused("SELECT audit_prune(%s, 10)", newest.pk, by="at the earliest")
    with role(SIGNING):
        assert_refused("SELECT audit_prune(%s, 10)", newest.pk)

    assert AuditEvent.objects.filter(kind=Kind.USER_SIGNED_IN).count() == 2


def test_a_row_that_claims_to_be_older_stays(roles):
    """Its time decides when it may be deleted, so it is not changed either."""
    record(Kind.USER_SIGNED_IN, actor_id=7, subject="user/7")
    with role(WEB):
        assert_refused("UPDATE audit_auditevent SET at = %s", timezone.now() - timedelta(days=500))


# --- The signing role -------------------------------------------------------------------------------------------------


def test_the_signing_role_signs_and_reads_no_more_than_it_needs(roles, key, tofu, alice):
    client = DraftClient(tofu(alice))
    client.open(protocols=["5.0"])
    for name, data in zips().items():
        client.put(name, data)
    client.hand_in()
    vault.lock()
    work()
    vault.unlock()
    release = Release.objects.get(state="signing")
    row = SignatureRequest.objects.create(release_id=release.pk, key=key)
    job = Job.objects.create(kind="sign-release", target=row.pk)
    with role(SIGNING):
        requests.run(Claim(job.pk, job.kind, row.pk, 1, 0, exhausted=False))
        for table in ("accounts_user", "accounts_apitoken", "django_session", "accounts_grant", "modules_module"):
            assert_refused(f"TABLE {table}")
        assert_refused("SELECT subject FROM audit_auditevent")
        assert_refused("UPDATE releases_release SET state = 'published'")
        assert_refused("UPDATE signing_signaturerequest SET release_id = 1")
        assert_refused("INSERT INTO jobs_job (kind, target) VALUES ('publish-module', 1)")

    row.refresh_from_db()
    assert row.signature
    assert AuditEvent.objects.get(kind=Kind.RELEASE_SIGNED).detail["digest"] == release.digest


def test_a_request_that_the_web_role_forged_is_refused(roles, key, acme):
    """It can ask for anything: only what waits for a signature gets one."""
    release = Release.objects.create(
        kind="provider", namespace=acme, name="dns", version="6.6.6", sort_key=b"6", state="received", digest="ab" * 32
    )
    with role(WEB):
        execute(
            "INSERT INTO signing_signaturerequest (release_id, key_id, data, problem, made_at) "
            "VALUES (%s, %s, %s, '', now())",
            release.pk,
            key.pk,
            b"anything",
        )
        execute(
            "INSERT INTO jobs_job (kind, target, state, attempts, fence, worker, error, request_id, created_at) "
            "SELECT 'sign-release', id, 'running', 1, 1, '', '', '', now() FROM signing_signaturerequest"
        )
    job = Job.objects.get(kind="sign-release")
    with role(SIGNING):
        requests.run(Claim(job.pk, job.kind, job.target, 1, 1, exhausted=False))

    assert SignatureRequest.objects.get().problem == "state"
    assert SignatureRequest.objects.get().signature is None
    assert AuditEvent.objects.get(kind=Kind.RELEASE_SIGNING_REFUSED).subject == "acme/dns 6.6.6"
