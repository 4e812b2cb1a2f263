"""/namespaces/<ns>/trusted-publishers: the form, the preview of the claims, the list and why attempts failed."""

import pytest

from apps.accounts.models import TrustedPublisher
from apps.contrib.trusted.tests.conftest import add, ci_keys, exchange, id_token, issuer, refusal
from tests import pages

__all__ = ["add", "ci_keys", "exchange", "id_token", "issuer", "refusal"]

URL = "/namespaces/acme/trusted-publishers"
RULE = {"repository": "acme/vpc", "workflow": "release.yml", "environment": "production", "only_name": "vpc/aws"}


@pytest.fixture
def owner(dora, browser_of):
    return browser_of(dora)


def test_an_owner_adds_one_after_a_look_at_the_claims(owner, acme):
    page = pages.shown(owner.get(URL))
    assert "No trusted publishers yet" in page
    empty = owner.get(f"{URL}/add?kind=github")
    assert "Workflow file" in pages.shown(empty)
    assert empty.context["form"]["ref"].value() == "refs/tags/v*"  # without a ref every branch publishes

    preview = pages.shown(owner.post(f"{URL}/add?kind=github", RULE))
    assert "Review the trusted publisher" in preview
    assert "acme/vpc/.github/workflows/release.yml@" in preview
    assert "(pinned at the first exchange)" in preview
    assert "event_name is pull_request_target" in preview
    assert not TrustedPublisher.objects.exists()

    changed = pages.shown(owner.post(f"{URL}/add?kind=github", RULE | {"step": "change"}))
    assert 'value="release.yml"' in changed
    saved = owner.post(f"{URL}/add?kind=github", RULE | {"step": "save"}, follow=True)
    rule = TrustedPublisher.objects.get()
    page = pages.shown(saved)
    assert rule.user.username in page
    assert "expires" in page
    assert owner.post(f"{URL}/add?kind=github", RULE | {"step": "save"}).status_code == 409


def test_what_the_verb_refuses_is_shown_at_the_form(owner, acme):
    answer = owner.post(f"{URL}/add?kind=github", {"workflow": "release.yml", "repository": ""})
    assert answer.status_code == 422
    answer = owner.post(f"{URL}/add?kind=buildkite", {"organization": "acme", "pipeline": "vpc"})
    assert "needs branch or tag" in answer.text
    answer = owner.post(f"{URL}/add?kind=github", RULE | {"issuer": "https://evil.test"})
    assert "LARDER_TRUSTED_ISSUERS" in answer.text
    hostile = owner.post(f"{URL}/add?kind=github", RULE | {"repository": '"><script>alert(1)</script>'})
    assert "<script>alert(1)" not in hostile.text


@pytest.mark.both
def test_exact_claims_keep_their_type(owner, acme, issuer):
    text = 'repository_id = 7\nname = "7"\nis_main = true\nworkflow = release.yml'
    given = {"claims": text, "issuer": issuer.url}
    assert "is_main" in pages.shown(owner.post(f"{URL}/add?kind=oidc", given))
    owner.post(f"{URL}/add?kind=oidc", given | {"step": "save"})
    claims = {"repository_id": 7, "name": "7", "is_main": True, "workflow": "release.yml"}
    assert TrustedPublisher.objects.get().fields == {"claims": claims}
    for wrong in ("repository_id 7", "a = 1\na = 2", "sub = x"):
        assert owner.post(f"{URL}/add?kind=oidc", given | {"claims": wrong}).status_code == 422


def test_recent_attempts_say_why_they_failed(owner, add, id_token, exchange, refusal):
    add()
    assert exchange(id_token()).status_code == 200
    refusal(id_token(claims={"environment": "staging", "event_name": "<b>push</b>"}))
    page = owner.get(URL)
    shown = pages.shown(page)
    assert "Accepted" in shown
    assert "found staging, expected production" in shown
    assert "<b>push" not in page.text
    assert "repository_owner_id" in shown


def test_an_owner_deletes_one(owner, add):
    rule = add()
    page = pages.shown(owner.get(f"{URL}/{rule.pk}/delete"))
    assert "Delete this trusted publisher?" in page
    assert "No one is hit: it has published nothing." in page
    assert rule.user.username not in pages.shown(owner.get("/namespaces/acme/members"))
    owner.post(f"{URL}/{rule.pk}/delete")
    rule.refresh_from_db()
    assert rule.ended_at is not None
    assert owner.get(f"{URL}/{rule.pk}/delete").status_code == 404


def test_an_owner_requires_trusted_publishers_and_lets_people_publish_again(owner, acme, alice, browser_of):
    assert browser_of(alice).get(URL).status_code == 403
    shown = pages.shown(owner.post(f"{URL}/only", {"on": "1"}, follow=True))
    assert "Only trusted publishers can publish in acme" in shown
    acme.refresh_from_db()
    assert acme.trusted_publishers_only
    owner.post(f"{URL}/only", {"on": "0"})
    acme.refresh_from_db()
    assert not acme.trusted_publishers_only
