"""/namespaces/<ns>/git and one repository: what became of each tag, alarms, a retry, the webhook, the end."""

import re

import pytest
from django.utils import timezone

from apps.accounts.models import Grant, Role
from apps.contrib.git import connecting
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.tests.conftest import RULES, work_off
from apps.contrib.git.tests.pages.conftest import LIST
from tests import pages
from tests.rows import for_each_row
from tests.sessions import in_browser

BROKEN = {"README.md": "# no module"}


@pytest.fixture
def started(git, upstream):
    """v1.0.0 is published, v1.1.0 has no module in it, and nightly fits no rule."""
    upstream.tag("v1.0.0")
    upstream.commit(BROKEN)
    upstream.tag("v1.1.0")
    upstream.tag("nightly")
    git.sync()
    return git.repository


@pytest.fixture
def written(acme, dora, published):
    """The same, as the worker leaves it, without a Git server."""
    url = "https://git.acme.example/acme/terraform-aws-vpc"
    row = connecting.connect(namespace=acme, actor=in_browser(dora), url=url, rules=RULES).repository
    now = timezone.now()
    GitRepository.objects.filter(pk=row.pk).update(started_at=now, fetched_at=now)
    usual = {"repository": row, "commit": "a" * 40, "seen_at": now, "changed_at": now}
    versions = {"module": "vpc/aws", **usual}
    release = published("acme/vpc/aws", "1.0.0")
    Tag.objects.create(name="v1.0.0", version="1.0.0", verdict="published", release=release, **versions)
    Tag.objects.create(name="v1.1.0", version="1.1.0", verdict="refused", code="no_module", reason="Empty.", **versions)
    Tag.objects.create(name="nightly", verdict="ignored", code="no_match", **usual)
    row.refresh_from_db()
    return row


def page_of(client, repository, query=""):
    return pages.shown(client.get(f"{LIST}/{repository.pk}{query}"))


@pytest.mark.both
def test_each_tag_has_its_verdict_and_the_reason_in_words_and_a_server_that_fails_is_told(owner, started, site):
    page = page_of(owner, started)

    assert 'href="/modules/acme/vpc/aws/1.0.0"' in page
    assert "no .tf or .tofu file" in page
    assert "Last fetch" in page
    assert "Log of the last run" in page
    assert "Found 3 tags" in page
    assert 'data-tag="nightly"' not in page_of(owner, started, "?verdict=refused")
    assert 'data-tag="v1.1.0"' in page_of(owner, started, "?verdict=refused")
    assert 'data-tag="v1.0.0"' in page_of(owner, started, "?q=v1.0")
    assert "No tags match" in page_of(owner, started, "?q=%3Cscript%3E&verdict=held")
    assert "<script>alert" not in owner.get(f"{LIST}/{started.pk}?q=%3Cscript%3Ealert(1)").text

    page = pages.shown(owner.get(LIST))
    assert "1 published" in page
    assert "1 refused" in page
    site.is_down = True
    owner.post(f"{LIST}/{started.pk}/sync")
    work_off()
    started.refresh_from_db()
    page = pages.shown(owner.get(LIST))
    assert "Failing" in page
    assert started.failure in page
    page = page_of(owner, started)
    assert "The last run failed" in page
    assert "Larder tries again" in page


def test_a_publisher_sees_and_retries_but_does_not_manage(alice, browser_of, written):
    publisher = browser_of(alice)
    assert "Connect a repository" not in pages.shown(publisher.get(LIST))
    page = page_of(publisher, written)
    assert f"{LIST}/{written.pk}/change" not in page
    tag = Tag.objects.get(name="v1.1.0")
    publisher.post(f"{LIST}/{written.pk}/tags/{tag.pk}/retry")
    tag.refresh_from_db()
    assert (tag.verdict, tag.code) == ("waiting", "")
    for page in ("change", "plan", "credential", "disconnect", "host-keys", "key", "webhook/secret"):
        assert publisher.get(f"{LIST}/{written.pk}/{page}").status_code == 403, page


def test_only_a_tag_whose_fetch_failed_is_offered_for_another_try_and_changed_host_keys_are_an_alarm(owner, written):
    waiting = Tag.objects.filter(repository=written, name="v1.1.0")
    waiting.update(verdict="waiting", code="", reason="")
    assert "Retry v1.1.0" not in page_of(owner, written)
    waiting.update(code="unreachable", reason="The server does not answer.")
    assert "Retry v1.1.0" in page_of(owner, written)

    GitRepository.objects.filter(pk=written.pk).update(failure_code="host_key_changed", failure="other key")
    page = page_of(owner, written)
    assert "The server has other host keys" in page
    assert f"{LIST}/{written.pk}/host-keys" in page


def test_a_retry_leads_back_to_the_same_filter_and_refuses_what_is_published(owner, written):
    tag = Tag.objects.get(name="v1.1.0")
    answer = owner.post(f"{LIST}/{written.pk}/tags/{tag.pk}/retry", {"verdict": "refused", "q": "v1"})
    assert answer["Location"] == f"{LIST}/{written.pk}?verdict=refused&q=v1"
    published = Tag.objects.get(name="v1.0.0")
    again = owner.post(f"{LIST}/{written.pk}/tags/{published.pk}/retry", follow=True)
    assert "cannot be tried again" in pages.shown(again)
    assert owner.post(f"{LIST}/{written.pk}/tags/0/retry").status_code == 404


@for_each_row(("verdict", "title"), [("moved", "Tags were moved"), ("gone", "Tags were deleted")])
def test_a_tag_that_moved_or_was_deleted_is_an_alarm_at_the_top(owner, written, verdict, title):
    Tag.objects.filter(name="v1.0.0").update(verdict=verdict)

    page = page_of(owner, written)

    assert f"{title} after they were published" in page
    assert page.index(title) < page.index('<h2 id="tags">')
    assert 'href="/modules/acme/vpc/aws/1.0.0"' in page, "the release stays"


def test_an_owner_changes_the_interval_and_submodules(owner, written):
    url = f"{LIST}/{written.pk}/change"
    for submodules in ("fetch", "leave_out", "refuse"):
        assert owner.post(url, {"poll_minutes": "5", "submodules": submodules}).status_code == 303
        written.refresh_from_db()
        assert (written.poll_minutes, written.submodules) == (5, submodules)
    for wrong in ({"poll_minutes": "0"}, {"poll_minutes": "soon"}, {"submodules": "some"}):
        assert owner.post(url, {"poll_minutes": "5", "submodules": "fetch"} | wrong).status_code == 422


def test_the_secret_of_the_webhook_is_shown_once(owner, written):
    sealed = written.sealed_hook_secret
    answer = owner.post(f"{LIST}/{written.pk}/webhook/renew")
    first = owner.get(answer["Location"])
    secret = re.findall(r'aria-label="Secret"><code data-copy-text>([^<]+)', pages.shown(first))[0]
    written.refresh_from_db()
    assert written.sealed_hook_secret != sealed
    assert first["Cache-Control"] == "no-store"
    assert "cannot be shown again" in pages.shown(owner.get(answer["Location"]))
    assert secret not in written.sealed_hook_secret
    assert secret not in page_of(owner, written)


def test_an_owner_disconnects_and_the_releases_stay(owner, written):
    page = pages.shown(owner.get(f"{LIST}/{written.pk}/disconnect"))
    assert "Disconnect acme/terraform-aws-vpc?" in page
    assert "No one is hit: it has published nothing." in page
    owner.post(f"{LIST}/{written.pk}/disconnect")
    assert "No repository is connected" in pages.shown(owner.get(LIST))
    assert owner.get(f"{LIST}/{written.pk}").status_code == 404
    assert owner.get("/modules/acme/vpc/aws/1.0.0").status_code == 200


def test_a_tag_of_another_namespace_is_not_found(written, pantry, alice, dora, browser_of):
    Grant.objects.create(namespace=pantry, user=dora, role=Role.OWNER)
    own = connecting.connect(namespace=pantry, actor=in_browser(dora), url="https://git.acme.example/b").repository
    tag, browser = Tag.objects.get(name="v1.1.0"), browser_of(alice)

    assert browser.get(f"/namespaces/pantry/git/{written.pk}").status_code == 404
    assert browser.post(f"/namespaces/pantry/git/{own.pk}/tags/{tag.pk}/retry").status_code == 404
    tag.refresh_from_db()
    assert tag.verdict == "refused"


def test_the_pages_cost_the_same_with_any_number_of_tags_and_repositories(owner, written, acme, dora):
    one, few = pages.queries_of(owner, LIST), pages.queries_of(owner, f"{LIST}/{written.pk}")
    row = Tag.objects.get(name="nightly")
    for number in range(120):
        row.pk, row.name = None, f"old-{number}"
        row.save(force_insert=True)
    for name in ("dns", "iam", "kms"):
        connecting.connect(namespace=acme, actor=in_browser(dora), url=f"https://git.acme.example/acme/{name}")

    owner.get("/tokens")  # dora has acted: the number in the menu is counted anew
    assert pages.queries_of(owner, f"{LIST}/{written.pk}") <= few
    assert "123" in page_of(owner, written)
    assert pages.queries_of(owner, LIST) <= one
    assert "acme/kms" in pages.shown(owner.get(LIST))


def test_the_publish_page_offers_git(owner, acme):
    assert f'href="{LIST}"' in pages.shown(owner.get("/publish?namespace=acme"))


@for_each_row(
    ("url", "ways"),
    [
        ("https://git.example.com/acme/vpc", ["none", "app", "token"]),
        ("ssh://git@git.example.com/acme/vpc", ["none", "deploy_key"]),
    ],
)
def test_the_page_of_the_credential_offers_what_fits_the_url(owner, written, url, ways):
    GitRepository.objects.update(url=url)
    shown = owner.get(f"{LIST}/{written.pk}/credential").text

    assert re.findall(r'name="kind" id="\w+" value="(\w+)"', shown) == ways
