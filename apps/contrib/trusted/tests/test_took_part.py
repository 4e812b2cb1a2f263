"""The attacks on a second pair of eyes through CI, step by step: a run publishes, and who started it wants to approve.

Dora wrote the rule. Bob publishes in acme as Alice does, and may be known at the forge.
"""

import pytest
from allauth.socialaccount.models import SocialAccount

from apps.accounts.access.gate import Viewer
from apps.accounts.models import PastIdentity, TokenExchange, User
from apps.accounts.people import sign_on
from apps.audit.models import AuditEvent
from apps.releases.models import Release, State
from apps.releases.publishing import approving, deciding
from tests.builders.approving import ask_for_approval, client_of, decide, publisher
from tests.builders.archives import module_zip
from tests.builders.providers import package
from tests.shelves import run_jobs

pytestmark = pytest.mark.django_db


@pytest.fixture
def space(acme, alice, bob):
    publisher(bob, acme)
    ask_for_approval(acme)
    return acme


@pytest.fixture
def run(space, add, id_token, exchange, client):
    """A run that publishes 1.2.0; further words are claims of its id token."""

    def published(kind: str = "github", **claims) -> Release:
        add(kind, only_name="vpc/aws")
        answer = exchange(id_token(kind, claims))
        headers = {"Authorization": f"Bearer {answer.json()['token']}"}
        sent = client.generic("PUT", "/api/v1/modules/acme/vpc/aws/1.2.0", module_zip(), headers=headers)
        assert sent.status_code == 202, sent.content
        run_jobs()
        return Release.objects.get()

    return published


def why(user: User, release: Release) -> str:
    """Try to approve: what the audit says of the refusal; empty if nothing keeps this person from it."""
    listed = approving.waiting_for(Viewer(user)).filter(pk=release.pk).exists()
    if deciding.refusal_of(release, Viewer(user)) is None:
        assert listed
        return ""
    assert not listed
    assert decide(client_of(user), release, "approve").status_code == 403
    release.refresh_from_db()
    assert release.state == State.AWAITING_APPROVAL
    return str(AuditEvent.objects.filter(kind="namespace:release:approval-refused").latest("pk").detail["why"])


@pytest.mark.both
def test_who_wrote_the_rule_and_who_started_the_run_do_not_approve(run, issuer, alice, bob, dora):
    """Bob signs in to Larder with the forge, whose subject is the number in the claim."""
    SocialAccount.objects.create(user=bob, provider=f"{issuer.url}/", uid="12")
    release = run(actor="bob", actor_id="12")

    assert why(dora, release) == "wrote-the-trusted-publisher"
    assert why(bob, release) == "started-the-run"
    assert why(alice, release) == ""


@pytest.mark.both
def test_a_run_of_gitlab_names_its_person_by_number_address_and_sign_on(run, alice, bob):
    User.objects.filter(pk=bob.pk).update(email="Bob@acme.example")
    release = run("gitlab", user_email="bob@ACME.example", user_id="7")

    assert why(bob, release) == "started-the-run"
    assert why(alice, release) == ""


def test_an_identity_of_the_forges_own_sign_on_is_compared_too(run, alice, bob):
    SocialAccount.objects.create(user=bob, provider="https://idp.acme.example", uid="subject-of-bob")
    release = run(
        "gitlab", user_identities=[{"provider": "corp", "extern_uid": "subject-of-bob"}, "odd", {"extern_uid": 1}]
    )

    assert why(bob, release) == "started-the-run"
    assert why(alice, release) == ""


def test_an_identity_that_was_disconnected_or_an_address_that_was_replaced_is_theirs_still(run, issuer, bob):
    row = SocialAccount.objects.create(user=bob, provider=issuer.url, uid="12")
    release = run()
    sign_on.disconnect(user=bob, account_id=row.pk, actor=Viewer(bob))

    assert PastIdentity.objects.filter(user=bob).exists()
    assert why(bob, release) == "started-the-run"


def test_an_identity_that_is_connected_after_the_run_ties_as_well(run, issuer, bob):
    release = run()
    assert why(bob, release) == ""

    SocialAccount.objects.create(user=bob, provider=issuer.url, uid="12")

    assert why(bob, release) == "started-the-run"


def test_the_number_of_another_issuer_or_another_name_is_nobody(run, alice, bob):
    """A login can change hands, so it is not compared: alice started it there."""
    SocialAccount.objects.create(user=bob, provider="https://other.example", uid="12")
    release = run(actor="alice", actor_id="12")

    assert why(bob, release) == ""
    assert why(alice, release) == ""


@pytest.mark.both
def test_each_run_that_sent_a_part_of_a_draft_counts(space, add, id_token, exchange, client, issuer, bob, alice):
    """The first run opens it, Bob's run sends a file."""
    SocialAccount.objects.create(user=bob, provider=issuer.url, uid="77")
    add()

    def headers(actor_id: str) -> dict[str, str]:
        token = exchange(id_token(claims={"actor_id": actor_id})).json()["token"]
        return {"Authorization": f"Bearer {token}"}

    url = "/api/v1/providers/acme/dns/1.0.0"
    assert client.generic("POST", url, headers=headers("12")).status_code in (200, 201)
    name, data = "terraform-provider-dns_1.0.0_linux_amd64.zip", package("dns", "1.0.0", "linux", "amd64")
    sent = client.generic("PUT", f"{url}/files/{name}", data, headers=headers("77"))
    assert sent.status_code in (200, 201), sent.content

    assert Release.objects.get().participants.filter(part="actor").count() == 2


def test_the_exchange_keeps_marks_and_no_names(run):
    run("gitlab", user_email="bob@acme.example", user_id="7")

    kept = TokenExchange.objects.get().actor
    assert len(kept) == 2
    assert all(len(mark) == 64 for mark in kept)
