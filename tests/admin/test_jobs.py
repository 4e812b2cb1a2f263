"""Jobs are named after what they work on, found by it, and retried and cancelled on their own page."""

import pytest
from django.urls import reverse

from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.modules.models import ModuleVersion
from apps.providers.models import ProviderVersion
from apps.releases.models import Release
from apps.signing.models import SigningKey
from tests.admin import rows
from tests.admin.lists import first, list_of, page_of, run
from tests.admin.releases import provider_rows
from tests.rows import for_each_row


@for_each_row(
    ("model", "kind"),
    [
        (Release, "publish-provider"),
        (Release, "verify-release"),
        (ModuleVersion, "inspect-module"),
        (ProviderVersion, "read-provider-docs"),
        (SigningKey, "make-signing-key"),
    ],
)
def test_a_job_is_named_after_what_it_works_on_and_leads_there(operator_client, model, kind):
    rows.make(0, 2)
    provider_rows.make(0, 2)
    row = first(model)
    job = Job.objects.create(kind=kind, target=row.pk)

    assert f"{kind} {row}" in operator_client.get(list_of(Job)).text
    page = operator_client.get(page_of(job)).text
    assert f"{kind} {row}" in page
    assert f'href="{page_of(row)}"' in page


@pytest.mark.both
def test_an_address_finds_the_jobs_of_its_releases_and_they_bear_its_name(operator_client):
    rows.make(0, 9)
    for words in ("team7/vpc/aws", "team7/vpc", "team7", "team7 1.0.0"):
        assert operator_client.get(list_of(Job, q=words)).context["cl"].result_count == 1, words

    assert "publish-module team8/vpc/aws 1.0.0" in operator_client.get(reverse("admin:index")).text
    refused = run(operator_client, "cancel", first(Job))
    assert "publish-module team0/vpc/aws 1.0.0 has ended" in refused.text
    gone = Job.objects.create(kind="publish-module", target=999_999)
    assert "publish-module #999999" in operator_client.get(list_of(Job)).text
    assert "gone" in operator_client.get(page_of(gone)).text


def test_a_job_is_retried_and_cancelled_on_its_page(operator_client):
    rows.make(0, 2)
    job, other = Job.objects.order_by("pk")
    page = page_of(job)

    assert 'value="retry"' in (shown := operator_client.get(page).text)
    assert 'value="cancel"' not in shown
    assert operator_client.post(page, {"action": "retry"}).url == page
    assert 'value="cancel"' in operator_client.get(page).text
    assert "is no longer possible" in operator_client.post(page, {"action": "retry"}, follow=True).text
    operator_client.post(page, {"action": "cancel"})

    states = dict(Job.objects.values_list("pk", "state"))
    assert states == {job.pk: "cancelled", other.pk: "failed"}
    kinds = AuditEvent.objects.filter(kind__startswith="operation:job").order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["operation:job:retried", "operation:job:cancelled"]


def test_its_page_folds_what_only_its_authors_read(operator_client):
    rows.make(0, 1)
    page = operator_client.get(page_of(Job.objects.get())).text
    plain, _, folded = page.partition("<details>")

    assert "Technical details" in folded
    for words in ("Lease until", "Fence", "Rung at"):
        assert words not in plain
        assert words in folded.partition("</details>")[0]


def test_a_version_is_yanked_from_its_page(operator_client, published):
    published("acme/vpc/aws", "1.2.0")
    page = page_of(ModuleVersion.objects.get())

    assert 'value="yank"' in (shown := operator_client.get(page).text)
    assert 'value="restore"' not in shown
    leads_to = operator_client.post(page, {"action": "yank"}).headers["Location"]
    assert 'name="reason"' in operator_client.get(leads_to).text
    back = operator_client.post(leads_to, {"reason": "It deletes the volume."})
    assert back.headers["Location"] == page

    assert Release.objects.get().lifecycle == "yanked"
    assert 'value="restore"' in (shown := operator_client.get(page).text)
    assert 'value="yank"' not in shown
