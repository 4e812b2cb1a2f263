"""A release's admin page has its origin and its approval, to be read."""

from django.urls import reverse
from django.utils import timezone

from apps.releases.models import Release
from apps.releases.origin.models import Approval, Decision, Origin
from tests.builders.ci_claims import COMMIT, GITHUB, GITHUB_ISSUER


def page_of(client, release: Release) -> str:
    return client.get(reverse("admin:releases_release_change", args=[release.pk])).content.decode()


def test_a_verified_origin_and_its_approval(operator_client, published, bob):
    release = published("acme/vpc/aws", "1.2.0")
    facts = {"repository": "acme/vpc", "commit": COMMIT}
    Origin.objects.update(vendor="github", issuer=GITHUB_ISSUER, claims=GITHUB.claims, facts=facts)
    now = timezone.now()
    given = {"decision": Decision.APPROVED, "decided_by": bob, "decided_at": now, "asked_at": now, "until": now}
    Approval.objects.create(release=release, digest=release.digest, reason="Looks right", **given)
    page = page_of(operator_client, release)

    assert f"GitHub Actions ({GITHUB_ISSUER}), verified" in page
    assert f'href="https://github.com/acme/vpc/commit/{COMMIT}"' in page
    assert "<code>repository_owner_id</code> 65" in page
    assert "by bob: Looks right" in page
    assert 'name="origin' not in page


def test_one_that_others_took_part_in_and_one_of_an_older_larder(operator_client, published, alice):
    release = published("acme/vpc/aws", "1.2.0")
    entry = {"by": alice.pk, "way": "api", "token_label": "<b>laptop</b>", "facts": {}}
    Origin.objects.update(others=[entry])
    page = page_of(operator_client, release)
    assert "Browser, not verified" in page
    assert "alice API &lt;b&gt;laptop&lt;/b&gt;" in page

    Origin.objects.all().delete()
    assert "not recorded: an older Larder reserved it" in page_of(operator_client, release)
