"""The rules of owners: what they may say, which of two counts, how they end, and what a token that made them leaves."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.accounts import creations, namespace_deletion, namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Namespace, Role, Scope, TokenExchange, TrustedPublisher, UsedIdToken
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.trusted import publishers
from apps.contrib.trusted.tasks import prune_exchanges
from apps.lib.errors import Conflict, Invalid, RoleRequired
from tests.builders.ci_claims import SHAPES
from tests.rows import for_each_row

# --- Two rules that fit ----------------------------------------------------------------------------------------------


def test_two_rules_for_different_things_need_the_address(add, id_token, exchange, refusal):
    add(only_name="vpc/aws")
    add(only_name="dns/aws")
    token = id_token()
    assert "acme/dns/aws, acme/vpc/aws" in refusal(token, status=409)
    assert not ApiToken.objects.filter(label__startswith="github").exists()

    answer = exchange(token, address="acme/dns/aws")
    assert answer.status_code == 200, "the refusal did not use it up"
    assert answer.json()["only_name"] == "dns/aws"
    assert "jti" in refusal(token, address="acme/dns/aws")
    assert "acme/net/aws" in refusal(id_token(), status=404, address="acme/net/aws")


def test_two_rules_in_two_namespaces_need_the_address(add, id_token, exchange, refusal, pantry, dora):
    Grant.objects.create(namespace=pantry, user=dora, role=Role.OWNER)
    add()
    add(namespace=pantry)
    refusal(id_token(), status=409)
    answer = exchange(id_token(), address="pantry/vpc/aws").json()
    assert (answer["namespace"], answer["only_name"]) == ("pantry", "vpc/aws")


def test_the_address_narrows_a_rule_and_the_narrow_rule_comes_first(add, id_token, exchange, refusal):
    wide, narrow = add(), add(only_name="vpc/aws")
    refusal(id_token(), status=409)
    assert exchange(id_token(), address="acme/vpc/aws").json()["publisher"] == narrow.pk
    answer = exchange(id_token(), address="acme/dns/aws").json()
    assert (answer["publisher"], answer["only_name"]) == (wide.pk, "dns/aws")
    assert exchange(id_token(), address="acme/../aws").status_code == 422


def test_of_two_rules_that_allow_the_same_the_one_that_names_more_counts(add, id_token, exchange):
    add(environment="", only_name="vpc/aws")
    strict = add(protected_ref=True, only_name="vpc/aws")
    add(environment="", ref="refs/tags/v*", only_name="vpc/aws")
    assert exchange(id_token()).json()["publisher"] == strict.pk


@pytest.mark.both
def test_there_are_no_two_equal_rules_and_a_hundred_at_most(monkeypatch, add):
    add(only_name="vpc/aws")
    with pytest.raises(Conflict, match="same trusted publisher"), transaction.atomic():
        add(only_name="vpc/aws")
    publishers.end(publisher=TrustedPublisher.objects.get(), actor=Viewer())
    monkeypatch.setattr(publishers, "MAX_RULES", 1)
    add(only_name="vpc/aws")
    with pytest.raises(Conflict, match="maximum"):
        add(only_name="dns/aws")


# --- What a rule may say ---------------------------------------------------------------------------------------------


@for_each_row(
    ("kind", "given", "word"),
    [
        ("github", {"repository": ""}, "repository"),
        ("github", {"workflow": ""}, "workflow"),
        ("github", {"workflow": "release.yml@refs/heads/main"}, "workflow"),
        ("github", {"repository": "acme/*"}, "repository"),
        ("github", {"repository": "vpc"}, "with its owner"),
        ("github", {"repository": "acme/"}, "with its owner"),
        ("github", {"repository": "https://github.com/acme/vpc"}, "with its owner"),
        ("github", {"repository": "acme / vpc"}, "with its owner"),
        ("github", {"reusable_workflow": "publish.yml"}, "with its owner"),
        ("gitlab", {"repository": "vpc"}, "with its owner"),
        ("gitlab", {"repository": "acme//vpc"}, "with its owner"),
        ("github", {"ref": "*"}, "ref"),
        ("github", {"ref": "refs/*/main"}, "ref"),
        ("github", {"protected_ref": "yes"}, "protected_ref"),
        ("github", {"repository_id": ["1"]}, "repository_id"),
        ("github", {"repository": "a\nb"}, "repository"),
        ("github", {"environment": "x" * 201}, "environment"),
        ("github", {"sub": "repo:acme/vpc"}, "sub"),
        ("github", {"claims": {"a": "b"}}, "claims"),
        ("github", {"only_name": "../x"}, "../x"),
        ("github", {"issuer": "https://evil.test"}, "evil.test"),
        ("azure", {"organization_id": "../x"}, "organization_id"),
        ("bitbucket", {"branch": ""}, "branch"),
        ("buildkite", {"branch": ""}, "branch"),
        ("oidc", {"claims": {}}, "claims"),
        ("oidc", {"claims": {"sub": "x"}}, "sub"),
        ("oidc", {"claims": {"aud": "x"}}, "aud"),
        ("oidc", {"claims": {"a": ["b"]}}, "a"),
        ("oidc", {"claims": {"a": ""}}, "a"),
        ("oidc", {"claims": {"a": "x" * 201}}, "a"),
        ("oidc", {"claims": {f"c{n}": 1 for n in range(21)}}, "claims"),
        ("oidc", {"issuer": ""}, "issuer"),
        ("oidc", {"repository": "acme/vpc"}, "repository"),
        ("jenkins", {}, "jenkins"),
    ],
)
def test_a_rule_that_is_unclear_or_too_wide_is_refused(kind, given, word, issuer):
    whole = {"kind": kind, "issuer": issuer.url, **getattr(SHAPES.get(kind), "rule", {}), **given}
    with pytest.raises(Invalid) as refused:
        publishers.draft(**whole)
    assert word in f"{refused.value} {refused.value.hint}"


@for_each_row(
    ("kind", "issuer"),
    [
        ("github", "https://token.actions.githubusercontent.com"),
        ("gitlab", "https://gitlab.com"),
        ("azure", "https://vstoken.dev.azure.com/9e1d0c2b-0000-4000-8000-000000000002"),
        ("bitbucket", "https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc"),
        ("circleci", "https://oidc.circleci.com/org/9e1d0c2b-0000-4000-8000-000000000002"),
        ("buildkite", "https://agent.buildkite.com"),
    ],
)
def test_each_vendor_has_its_own_issuer(kind, issuer):
    assert publishers.draft(kind=kind, **SHAPES[kind].rule).issuer == issuer


def test_the_issuer_of_a_vendor_is_no_free_one(settings):
    settings.TRUSTED_ISSUERS = ("https://gitlab.com",)
    with pytest.raises(Invalid, match="GitLab"):
        publishers.draft(kind="oidc", issuer="https://gitlab.com", claims={"a": "b"})


def test_a_rule_for_a_self_managed_issuer_is_not_met_by_another(settings, add, id_token, refusal, exchange):
    rule = add("gitlab")
    TrustedPublisher.objects.filter(pk=rule.pk).update(issuer="https://gitlab.com")
    assert "iss" in refusal(id_token("gitlab"))


def test_the_file_is_named_with_or_without_its_folder(issuer):
    given = {**SHAPES["github"].rule, "workflow": ".github/workflows/release.yml"}
    assert publishers.draft(kind="github", **given).fields["workflow"] == "release.yml"


def test_the_preview_has_the_claims_that_pass(issuer):
    draft = publishers.draft(kind="github", **SHAPES["github"].rule)
    assert draft.claims == {
        "iss": "https://token.actions.githubusercontent.com",
        "aud": "https://larder.test",
        "repository": "acme/vpc",
        "repository_id": "1",
        "repository_owner_id": "(pinned at the first exchange)",
        "workflow_ref": "acme/vpc/.github/workflows/release.yml@…",
        "job_workflow_ref": "acme/vpc/.github/workflows/release.yml@…",
        "environment": "production",
    }
    assert any("pull_request_target" in sentence for sentence in publishers.refusals_of(draft.vendor))
    assert publishers.warnings_of(draft.vendor, draft.fields) == []
    wide = publishers.draft(kind="github", repository="acme/vpc", workflow="release.yml")
    assert "environment" in publishers.warnings_of(wide.vendor, wide.fields)[0]
    azure = publishers.draft(kind="azure", **SHAPES["azure"].rule)
    assert "same audience" in publishers.warnings_of(azure.vendor, azure.fields)[0]
    assert azure.claims["aud"] == "api://AzureADTokenExchange"


# --- How they end ----------------------------------------------------------------------------------------------------


def test_a_deleted_rule_ends_its_tokens_at_once(add, id_token, exchange, refusal, dora):
    rule = add()
    secret = exchange(id_token()).json()["token"]
    publishers.end(publisher=rule, actor=Viewer(dora))
    with pytest.raises(tokens.TokenRefused):
        tokens.identify(secret)
    assert ApiToken.objects.get().revoked_at is not None
    assert "deleted" in refusal(id_token())
    assert not TrustedPublisher.objects.filter(ended_at=None).exists()


def test_a_rule_ends_with_its_namespace_and_does_not_come_back_with_it(add, id_token, exchange, refusal, acme, dora):
    rule = add()
    secret = exchange(id_token()).json()["token"]
    namespace_deletion.delete(namespace=acme, actor=Viewer(dora))
    with pytest.raises(tokens.TokenRefused):
        tokens.identify(secret)
    assert "the namespace acme of its trusted publisher was deleted" in refusal(id_token())
    namespaces.create(name="acme", visibility="private", actor=Viewer(dora))
    assert "was deleted" in refusal(id_token())
    rule.refresh_from_db()
    assert rule.ended_at is not None


def test_a_deleted_namespace_counts_even_if_its_rule_was_left_behind(add, id_token, refusal):
    add()
    Namespace.including_deleted.update(deleted_at=timezone.now())
    assert "the namespace acme of its trusted publisher was deleted" in refusal(id_token())


@pytest.mark.both
def test_the_night_ends_unused_rules_and_forgets_old_attempts(add, id_token, exchange, refusal):
    used = add()
    unused = add(only_name="vpc/aws", environment="other")
    exchange(id_token())
    refusal(id_token(claims={"environment": "none"}))
    TrustedPublisher.objects.filter(pk=unused.pk).update(expires_at=timezone.now())
    TokenExchange.objects.update(at=timezone.now() - timedelta(days=31))
    UsedIdToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    prune_exchanges()

    assert list(TrustedPublisher.objects.filter(ended_at=None)) == [used]
    assert [row.refused for row in TokenExchange.objects.all()] == [""]
    assert not UsedIdToken.objects.exists()


def test_the_memory_of_a_token_outlasts_the_token(add, id_token, exchange):
    add()
    exchange(id_token())
    left = UsedIdToken.objects.get().expires_at - timezone.now()
    assert left > timedelta(minutes=5 + 10 - 1)


# --- Who makes them --------------------------------------------------------------------------------------------------


def test_a_token_that_leaked_does_not_leave_its_rule_behind(issuer, acme, dora):
    token, _ = tokens.issue(user=dora, label="x", scope=Scope.MANAGE, actor=Viewer(dora))
    given = {"kind": "github", "issuer": issuer.url, **SHAPES["github"].rule}
    rule = publishers.create(namespace=acme, actor=Viewer(dora, token), **given)
    assert [str(one) for one in creations.creations_of(token)] == [f"trusted publisher {rule.user} of acme"]
    ended = creations.revoke_with_creations(token=token, actor=Viewer(dora))
    assert (len(ended.ended), ended.kept) == (1, [])
    rule.refresh_from_db()
    assert rule.ended_at is not None


def test_service_accounts_make_no_rules_and_change_no_switch(add, id_token, exchange, issuer, acme):
    rule = add()
    exchange(id_token())
    machine = Viewer(rule.user, ApiToken.objects.get(user=rule.user))
    with pytest.raises(RoleRequired):
        publishers.create(namespace=acme, actor=machine, kind="github", **SHAPES["github"].rule)
    with pytest.raises(RoleRequired):
        namespaces.require_trusted_publishers(namespace=acme, required=True, actor=machine)
    assert AuditEvent.objects.filter(kind=Kind.PERMISSION_REFUSED).count() == 2
