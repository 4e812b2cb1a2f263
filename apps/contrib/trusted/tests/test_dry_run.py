"""DELETE of a trusted publisher with dry_run=1: what it published, and nothing changes."""

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Scope, TrustedPublisher
from apps.contrib.trusted import publishers
from tests.builders.ci_claims import GITHUB

SPACE = "/api/v1/namespaces/acme"


def test_a_dry_run_of_a_trusted_publisher_names_what_it_published(acme, dora, published, tofu):
    rule = publishers.create(namespace=acme, actor=Viewer(dora), kind="github", **GITHUB.rule)
    url = f"{SPACE}/trusted-publishers/{rule.pk}"
    assert tofu(dora).delete(f"{url}?dry_run=1").json()["hits"] == []
    release = published()
    release.created_by = rule.user
    release.save(update_fields=["created_by"])

    answer = tofu(dora).delete(f"{url}?dry_run=1").json()

    assert [(hit["kind"], hit["name"]) for hit in answer["hits"]] == [("module", "acme/vpc/aws")]
    assert TrustedPublisher.objects.get(pk=rule.pk).ended_at is None
    assert tofu(dora, Scope.READ).delete(f"{url}?dry_run=1").status_code == 403
