"""The record of where a release comes from, for each way in, and of those who took part."""

import pytest
from django.conf import settings
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import Grant, Membership, Role, Scope, Team, TokenExchange
from apps.accounts.people import service_accounts
from apps.releases.models import Release
from apps.releases.origin.models import Origin, Way, verified
from tests.api.tus_client import TusClient
from tests.builders.archives import module_zip
from tests.builders.ci_claims import SHAPES
from tests.oci.conftest import repo
from tests.oci.packages.conftest import push, pusher
from tests.oci.packages.samples import NAME
from tests.portal.publish.conftest import JSON, NEW
from tests.portal.publish.test_answers import MONOREPO, NET, answer, part
from tests.providers.draft_client import DARWIN, LINUX, DraftClient, zips
from tests.providers.draft_client import work as publish_drafts
from tests.releases.origin.conftest import origin_of
from tests.rows import for_each_row

__all__ = ["push", "pusher", "repo"]
pytestmark = pytest.mark.django_db
VERSION = "/api/v1/modules/acme/vpc/aws/1.2.0"


def said(release: Release) -> tuple[str, str, bool, list]:
    origin = origin_of(release)
    assert Release.objects.filter(pk=release.pk).filter(verified()).exists() == origin.is_verified
    return origin.way, origin.token_label, origin.is_verified, origin.others


def in_browser(browser: Client, work, files: dict[str, str], **more: str) -> Release:
    begun = browser.post("/publish", {**NEW, **more}, headers=JSON).json()
    sent = {"Origin": settings.PUBLIC_URL, **JSON}
    browser.generic("PUT", begun["upload"], module_zip(files), headers=sent)
    work()
    return Release.objects.select_related("namespace").get(public_id=begun["release"].rpartition("/")[2])


@pytest.mark.both
@for_each_row("kind", sorted(SHAPES))
def test_a_run_leaves_its_verified_claims_and_what_they_say(kind, ci, send):
    release = send(ci(kind))

    origin = origin_of(release)
    assert said(release)[2:] == (True, [])
    assert (origin.way, origin.vendor, origin.publisher) == (Way.API, kind, TokenExchange.objects.get().publisher)
    assert origin.claims == TokenExchange.objects.get().claims
    host = TokenExchange.objects.get().publisher.issuer.removeprefix("http://")
    claims = {name: str(value).replace("{host}", host) for name, value in SHAPES[kind].claims.items()}
    named = VENDORS[kind].origin.items()
    assert origin.facts == {name: claims[claim] for name, claim in named if claim in claims}


def test_a_person_with_a_token_leaves_its_label_and_a_browser_none(alice, browser_of, work, send):
    _, secret = tokens.issue(user=alice, label="laptop", scope=Scope.PUBLISH, actor=Viewer(alice))
    assert said(send(Client(headers={"Authorization": f"Bearer {secret}"}))) == (Way.API, "laptop", False, [])
    assert said(in_browser(browser_of(alice), work, {"main.tf": ""}, name="dns")) == (Way.PAGE, "", False, [])


def test_a_service_account_leaves_the_label_of_its_token(acme, dora, olga, send):
    team = Team.objects.create(name="platform")
    Membership.objects.create(team=team, user=dora)
    machine = service_accounts.create(team=team, name="ci", actor=Viewer(olga))
    Grant.objects.create(namespace=acme, user=machine, role=Role.PUBLISHER)
    _, secret = tokens.issue(user=machine, label="nightly", scope=Scope.PUBLISH, actor=Viewer(olga))

    release = send(Client(headers={"Authorization": f"Bearer {secret}"}))
    assert said(release) == (Way.API, "nightly", False, [])
    assert release.created_by == machine


def test_a_push_over_oci_says_so(alice, push):
    assert push().status_code == 201
    assert said(Release.objects.get()) == (Way.OCI, "test", False, [])
    assert Release.objects.get().address == NAME


@pytest.mark.both
def test_another_token_that_continues_an_upload_took_part(tofu, alice, bearer, work):
    archive = module_zip(comment=b"in pieces")
    first, second = TusClient(tofu(alice)), TusClient(tofu(alice))
    url = first.begin(f"{VERSION}/uploads", len(archive)).headers["Location"]
    assert first.patch(url, 0, archive[:20]).status_code == 204
    assert second.patch(url, 20, archive[20:40]).status_code == 204
    label(alice, "second")
    assert second.patch(url, 40, archive[40:]).status_code == 204
    work()

    assert said(Release.objects.get()) == (Way.API, "test", False, [entry(alice, Way.API, "second")])


def label(person, text: str) -> None:
    """Rename the person's newest token."""
    newest = person.api_tokens.latest("pk")
    newest.label = text
    newest.save()


def entry(person, way: str, token_label: str = "") -> dict:
    return {"by": person.pk, "way": way, "token_label": token_label, "facts": {}}


def test_a_module_from_the_upload_of_somebody_else_says_whose_it_is(alice, dora, browser_of, work, ci):
    release = in_browser(browser_of(alice), work, MONOREPO)
    answer(browser_of(dora), release, folder=NET, **part(1, name="dns", system="google", version="0.1.0"))
    work()

    assert said(release) == (Way.PAGE, "", False, [])
    other = Release.objects.get(name="dns/google")
    assert other.created_by == dora
    assert said(other) == (Way.PAGE, "", False, [entry(alice, Way.PAGE)])


def test_a_draft_that_jobs_of_one_run_open_fill_and_hand_in_is_verified(ci, held):
    assert DraftClient(ci()).open(protocols=["5.0"]).status_code == 201
    for name, data in zips().items():
        assert DraftClient(ci()).put(name, data).status_code == 201
    assert DraftClient(ci()).hand_in().status_code == 202
    publish_drafts()

    assert said(Release.objects.get())[2:] == (True, [])


def test_a_draft_with_files_of_two_runs_is_of_the_one_that_handed_it_in_and_not_verified(ci, held):
    first, second = DraftClient(ci()), DraftClient(ci(run_id="972", sha="b" * 40))
    first.open(protocols=["5.0"])
    first.put(LINUX, zips()[LINUX])
    second.put(DARWIN, zips()[DARWIN])
    assert second.hand_in().status_code == 202
    publish_drafts()

    release = Release.objects.get()
    origin = origin_of(release)
    assert origin.facts["run"] == "972"
    assert [one["facts"]["run"] for one in said(release)[3]] == ["971"]
    assert said(release)[2] is False


def test_a_file_of_another_run_counts_even_if_the_first_hands_in(ci, held):
    first, second = DraftClient(ci()), DraftClient(ci(run_id="972"))
    first.open(protocols=["5.0"])
    for client, name in ((first, LINUX), (second, DARWIN)):
        assert client.put(name, zips()[name]).status_code == 201
    assert first.hand_in().status_code == 202

    assert origin_of(Release.objects.get()).facts["run"] == "971"
    assert said(Release.objects.get())[2] is False


def test_a_draft_opened_in_a_browser_and_handed_in_with_a_token_says_both(alice, browser_of, tofu, held):
    opening = {"provider": "new", "namespace": "acme", "type": "dns", "version": "1.2.0"}
    browser_of(alice).post("/publish/provider", opening)
    client = DraftClient(tofu(alice))
    for name, data in zips().items():
        client.put(name, data)
    assert client.hand_in().status_code in (202, 422)

    assert said(Release.objects.get()) == (Way.API, "test", False, [entry(alice, Way.PAGE)])


def test_releases_of_an_older_larder_have_none_and_can_still_be_handed_in(draft_client, tofu, alice, held):
    draft_client.open(protocols=["5.0"])
    Origin.objects.all().delete()
    for name, data in zips().items():
        assert DraftClient(tofu(alice)).put(name, data).status_code == 201
    assert DraftClient(tofu(alice)).hand_in().status_code == 202

    assert not Origin.objects.exists()
    assert not Release.objects.filter(verified()).exists()
