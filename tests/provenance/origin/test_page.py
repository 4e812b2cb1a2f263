"""The Origin tab: what it shows to whom, and that nothing a claim says becomes a link to somewhere else or markup."""

import re

import pytest
from django.utils import timezone

from apps.releases.models import Release
from apps.releases.origin.models import Approval, Decision, Origin
from tests.builders.ci_claims import COMMIT
from tests.provenance.origin.conftest import PAGE, as_of_github, open_to_all
from tests.providers.draft_client import zips

pytestmark = pytest.mark.django_db
ORIGIN = f"{PAGE}/1.2.0/origin"


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def shown(client, url: str = ORIGIN) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    page: str = answer.content.decode()
    return page[page.index("<main") :]


def test_a_release_from_ci_is_verified_with_links_to_commit_and_run(ci, send, browser_of, alice, bob):
    send(ci())
    as_of_github()
    page, of_publisher = shown(browser_of(bob)), shown(browser_of(alice))

    assert "GitHub Actions published it with an id token whose signature Larder verified." in text_of(page)
    assert f'href="https://github.com/acme/vpc/commit/{COMMIT}" rel="noopener noreferrer nofollow"' in page
    assert 'href="https://github.com/acme/vpc/actions/runs/971"' in page
    assert "acme/vpc on github.com" in text_of(page)
    assert "data-claims" not in page
    assert "data-claims" in of_publisher
    assert "repository_owner_id" in of_publisher


def test_a_person_is_named_and_nothing_is_called_verified(published, browser_of, bob, olga):
    release = published("acme/vpc/aws", "1.2.0")
    page = text_of(shown(browser_of(bob)))

    assert "by a person in a browser: alice" in page
    assert "Larder has verified no commit." in page
    assert "Verified origin" not in page
    assert "No other person approved it." in page
    Origin.objects.all().delete()
    assert "An older Larder published it" in text_of(shown(browser_of(bob)))
    assert "data-command" in shown(browser_of(olga))
    Release.objects.filter(pk=release.pk).update(quarantined_at=timezone.now(), quarantine_reason="x")
    assert "data-command" not in shown(browser_of(olga))


def test_strangers_see_neither_names_nor_claims(ci, send, published, browser_of, acme, bob):
    open_to_all(acme)
    send(ci(), "1.1.0")
    release = published("acme/vpc/aws", "1.2.0")
    now = timezone.now()
    given = {"decision": Decision.APPROVED, "decided_by": bob, "decided_at": now, "asked_at": now, "until": now}
    Approval.objects.create(release=release, digest=release.digest, **given)
    for version in ("1.1.0", "1.2.0"):
        page = shown(browser_of(None), f"{PAGE}/{version}/origin")
        assert not {"alice", "bob", "data-claims", "repository_owner_id"} & set(re.findall(r"[\w-]+", page))
    assert "Approved" in text_of(shown(browser_of(None)))
    assert "by bob" in text_of(shown(browser_of(bob)))


def test_what_claims_say_is_text(ci, send, browser_of, bob):
    release = send(ci())
    evil = '"><script>alert(1)</script>'
    origin = Origin.objects.get(release=release)
    for name, claim in {"run": "run_id", "repository": "repository", "actor": "actor"}.items():
        origin.claims[claim] = origin.facts[name] = evil
    origin.facts["ref"] = origin.claims["ref"] = "javascript:alert(1)"
    origin.save()
    as_of_github()
    page = shown(browser_of(bob))

    assert "<script>alert" not in page
    assert not re.search(r"""href=["']?\s*javascript""", page)
    assert set(re.findall(r'href="(https?://[^/"]+)', page)) <= {"https://github.com"}


def test_what_differs_from_the_version_before_is_said(ci, send, published, browser_of, bob):
    send(ci(), "1.1.0")
    published("acme/vpc/aws", "1.2.0")
    page = shown(browser_of(bob))

    assert "Compared with 1.1.0" in text_of(page)
    assert "1.1.0 came from CI (GitHub Actions); this one was published manually." in text_of(page)
    assert f'href="{PAGE}/1.1.0/origin"' in page


def test_a_provider_names_its_key_and_since_when(draft_client, held, browser_of, bob):
    draft_client.publish(zips(), protocols=["5.0"])
    page = shown(browser_of(bob), "/providers/acme/dns/1.2.0/origin")

    assert "It has been a key of acme since" in text_of(page)
    assert held.fingerprint in page
    assert 'data-command="signature"' in page
