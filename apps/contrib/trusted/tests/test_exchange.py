"""The exchange: what a run with the right claims gets, for each vendor's shape, and what its token may do."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import ApiToken, Role, TokenExchange, TrustedPublisher
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.trusted import publishers
from tests.builders.archives import module_zip
from tests.builders.ci_claims import SHAPES
from tests.rows import for_each_row


@pytest.mark.both
@for_each_row("kind", SHAPES)
def test_a_run_of_each_vendor_gets_a_token_for_what_its_rule_says(kind, add, id_token, exchange, acme):
    rule = add(kind, only_name="vpc/aws")
    answer = exchange(id_token(kind))

    assert answer.status_code == 200, answer.content
    assert answer.headers["Cache-Control"] == "no-store"
    said = answer.json()
    assert said["token"].startswith("lrd_c_")
    left = datetime.fromisoformat(said["expires_at"]) - timezone.now()
    assert timedelta(minutes=14) < left <= timedelta(minutes=15)
    token = ApiToken.objects.get(user=rule.user)
    assert (token.scope, token.only_name, token.is_limited, token.manages_people) == ("publish", "vpc/aws", True, False)
    assert list(token.namespaces.all()) == [acme]
    rule.refresh_from_db()
    assert rule.pinned == SHAPES[kind].pinned
    assert rule.last_used_at is not None


@for_each_row("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_algorithm_of_public_keys_is_accepted(algorithm, add, id_token, exchange):
    add()
    assert exchange(id_token(algorithm=algorithm)).status_code == 200


def test_the_token_publishes_its_address_and_nothing_else(add, id_token, exchange, client, work):
    add(only_name="vpc/aws")
    headers = {"Authorization": f"Bearer {exchange(id_token()).json()['token']}"}

    def put(name: str) -> int:
        url = f"/api/v1/modules/acme/{name}/1.2.0"
        return client.generic("PUT", url, module_zip(), headers=headers).status_code

    assert put("vpc/aws") == 202
    assert put("dns/aws") == 403
    assert client.get("/api/v1/me", headers=headers).json()["token"]["only_name"] == "vpc/aws"
    for path in ("namespaces/acme/trusted-publishers", "namespaces/acme/connections", "tokens"):
        assert client.get(f"/api/v1/{path}", headers=headers).status_code in (403, 404), path
    assert client.put("/api/v1/namespaces/new", {}, "application/json", headers=headers).status_code in (403, 422)


def test_the_audit_names_rule_repository_workflow_and_run(add, id_token, exchange):
    rule = add(only_name="vpc/aws")
    exchange(id_token())

    event = AuditEvent.objects.get(kind=Kind.TRUSTED_EXCHANGED)
    assert event.actor_id == rule.user_id
    assert event.token_id == ApiToken.objects.get().pk
    assert event.subject == "acme/vpc/aws"
    assert event.detail["publisher"] == rule.pk
    assert event.detail["origin"] == {
        "repository": "acme/vpc",
        "commit": "0a4d55a8d778e5022fab701977c5d840bbc486d0",
        "ref": "refs/tags/v1.2.0",
        "workflow": "acme/vpc/.github/workflows/release.yml@refs/tags/v1.2.0",
        "run": "971",
        "actor": "alice",
    }
    assert event.detail["claims"]["repository_owner_id"] == "65"
    assert TokenExchange.objects.get().token == ApiToken.objects.get()


@pytest.mark.both
def test_an_id_token_is_exchanged_once(add, id_token, exchange, refusal):
    add()
    token = id_token()
    assert exchange(token).status_code == 200
    assert "jti" in refusal(token)
    assert ApiToken.objects.count() == 1


@for_each_row("kind", ["bitbucket", "circleci", "buildkite"])
def test_without_a_jti_all_that_is_signed_tells_one_from_another(kind, add, id_token, exchange, refusal):
    add(kind)
    token = id_token(kind)
    assert exchange(token).status_code == 200
    assert "jti" in refusal(token)
    assert exchange(id_token(kind, {"iat": None} | {"iat": int(timezone.now().timestamp()) - 1})).status_code == 200


@for_each_row(("kind", "pinned"), [("github", "repository_id"), ("gitlab", "repository_id")])
def test_an_id_that_was_not_named_is_pinned_by_the_first_exchange(kind, pinned, add, id_token, exchange, refusal):
    rule = add(kind, **{pinned: ""})
    assert pinned not in rule.fields
    assert exchange(id_token(kind)).status_code == 200
    rule.refresh_from_db()
    assert pinned in rule.pinned
    claim = {"github": "repository_id", "gitlab": "project_id"}[kind]
    assert claim in refusal(id_token(kind, SHAPES[kind].recreated))
    assert publishers.claims_of(rule)[claim] == rule.pinned[pinned]


def test_a_rule_for_a_new_address_expires_unless_it_is_used(add, id_token, refusal, exchange):
    rule = add(only_name="vpc/aws")
    left = rule.expires_at - timezone.now()
    assert timedelta(days=29) < left <= timedelta(days=30)
    TrustedPublisher.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "expired" in refusal(id_token())

    TrustedPublisher.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert exchange(id_token()).status_code == 200
    rule.refresh_from_db()
    assert rule.expires_at is None


def test_a_rule_for_an_address_with_releases_does_not_expire(add, published):
    published("acme/vpc/aws")
    assert add(only_name="vpc/aws").expires_at is None
    assert add().expires_at is None


def test_a_reusable_workflow_is_named_as_a_second_repository(add, id_token, exchange, refusal):
    add(reusable_workflow="acme/shared/.github/workflows/publish.yml")
    inside = {"job_workflow_ref": "acme/shared/.github/workflows/publish.yml@refs/tags/v3"}
    assert exchange(id_token(claims=inside)).status_code == 200
    assert "job_workflow_ref" in refusal(id_token())
    assert "job_workflow_ref" in refusal(id_token(claims={"job_workflow_ref": None}))


def test_letter_case_of_a_repository_does_not_matter_at_github_and_the_subject_never_decides(add, id_token, exchange):
    add(repository="Acme/VPC")
    assert exchange(id_token(claims={"sub": "repo:mallory/evil:ref:refs/heads/main"})).status_code == 200


def test_a_machine_of_a_rule_has_one_role_and_no_other_way_in(add, acme, dora):
    rule = add()
    assert rule.user.username == f"acme:github-{rule.pk}[bot]"
    assert (rule.user.is_service, rule.user.has_usable_password()) == (True, False)
    assert [grant.role for grant in rule.user.grants.all()] == [Role.PUBLISHER]
    assert rule.user not in [grant.user for grant in namespaces.grants_in(acme)]
    publishers.end(publisher=rule, actor=Viewer(dora))
    rule.user.refresh_from_db()
    assert not rule.user.is_active
    assert not rule.user.grants.exists()
