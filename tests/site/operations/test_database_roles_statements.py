"""Attacks by a stolen role of PostgreSQL on statements and their keys: all are refused."""

import pytest

from apps.accounts.access.gate import NOBODY
from apps.jobs.claims import Claim
from apps.jobs.models import Job
from apps.provenance import statements
from apps.provenance.models import Statement
from apps.releases.models import Release
from apps.signing import rewrapping, statement_keys
from apps.signing.models import StatementKey
from tests.provenance.conftest import said_in, state_all
from tests.providers.draft_client import DraftClient, hold, zips
from tests.site.operations.database_roles import SIGNING, WEB, assert_refused, role

pytestmark = [
    pytest.mark.both,
    pytest.mark.needs("on PostgreSQL"),
]


@pytest.fixture
def statement(roles, published, worker_host) -> Statement:
    published()
    state_all()
    return Statement.objects.get()


def test_the_web_role_lists_no_key_of_its_own_and_brings_none_back(statement):
    forged = (
        "INSERT INTO signing_statementkey (key_id, public_key, made_at, retired_at) VALUES (%s, 'mine', now(), now())"
    )
    with role(WEB):
        assert_refused(forged, "ab" * 32)
        assert_refused("UPDATE signing_statementkey SET public_key = 'mine'")
        assert_refused("UPDATE signing_statementkey SET key_id = %s", "ab" * 32)
        assert_refused("DELETE FROM signing_statementkey")
        statement_keys.rotate(actor=NOBODY)  # as staff do
        assert_refused("UPDATE signing_statementkey SET retired_at = NULL", by="stays so")
        assert_refused("UPDATE signing_statementkey SET retired_at = now() + interval '1 year'", by="stays so")
    with role(SIGNING):
        assert_refused("UPDATE signing_statementkey SET retired_at = NULL", by="stays so")


def test_the_web_role_writes_no_statement(statement):
    with role(WEB):
        assert statements.statement_of(statement.release) == statement
        assert_refused("UPDATE provenance_statement SET envelope = %s", b"mine")
        assert_refused("DELETE FROM provenance_statement")
        assert_refused(
            "INSERT INTO provenance_statement (release_id, key_id, envelope, digest, size, manifest_digest, made_at) "
            "VALUES (%s, %s, %s, %s, 4, '', now())",
            statement.release_id,
            statement.key_id,
            b"mine",
            "ab" * 32,
        )


def test_the_web_role_asks_and_the_signing_role_states(roles, published, worker_host, acme, dora, alice, tofu):
    """Each with no more than its privileges: a module, then a provider, and the key that both need."""
    published()
    hold(acme, dora)
    DraftClient(tofu(alice)).publish(zips(), protocols=["5.0"])
    Job.objects.filter(kind=statements.JOB).delete()
    with role(WEB):
        assert statements.sweep() == 2
        assert statements.late().count() == 0
    for job in Job.objects.filter(kind=statements.JOB).order_by("pk"):
        Job.objects.filter(pk=job.pk).update(state="running", fence=1)
        with role(SIGNING):
            statements.run(Claim(job.pk, job.kind, job.target, 1, 1, exhausted=False))
            assert_refused("SELECT readme_html FROM modules_moduleversion")
            assert_refused("UPDATE provenance_statement SET envelope = %s", b"mine")
            assert_refused("DELETE FROM provenance_statement")
            assert_refused("UPDATE releases_origin SET vendor = 'github'")
            assert_refused("UPDATE releases_approval SET decision = 'approved'")
            assert_refused("INSERT INTO jobs_job (kind, target) VALUES ('state-release', 1)")
    assert {said_in(one)["predicate"]["buildDefinition"]["externalParameters"]["kind"] for one in stated()} == {
        "module",
        "provider",
    }


def stated() -> list[Statement]:
    return list(Statement.objects.select_related("key"))


def test_the_signing_role_reseals_and_makes_the_next_key(statement):
    with role(WEB):
        statement_keys.rotate(actor=NOBODY)
    job = Job.objects.get(kind=statement_keys.JOB)
    with role(SIGNING):
        statement_keys.run(Claim(job.pk, job.kind, job.target, 1, 0, exhausted=False))
        assert [problem for _, problem in rewrapping.rewrap_all(also_current=True)] == [None, None]
    assert StatementKey.objects.filter(retired_at=None).exists()
    assert Release.objects.get().state == "published"
