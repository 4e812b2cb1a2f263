"""The forms of staff: enable, change and remove a registry."""

from datetime import timedelta

from django.utils import timezone

from apps.audit.models import AuditEvent
from apps.contrib.mirror.asking import checking, upstreams
from apps.contrib.mirror.models import Upstream, UpstreamPackage, UpstreamProvider
from apps.contrib.mirror.tasks import check_upstream
from apps.contrib.mirror.tests import mirrored
from apps.jobs.models import Job
from tests.builders import faults
from tests.pages import shown, text_of
from tests.rows import for_each_row

DAYS = {"cooldown_days": 3, "evict_days": 0}
FORM = {"visibility": "public", "list_seconds": 600, "stale_hours": 168, "quota_gb": 0} | DAYS
TOFU, TERRAFORM = "/mirror/add?host=registry.opentofu.org", "/mirror/add?host=registry.terraform.io"
ONE = "/mirror/upstreams/registry.opentofu.org"


def work():
    for job in Job.objects.filter(kind=checking.JOB, state="queued"):
        check_upstream(job_id=job.pk)


def changes():
    return [row.detail for row in AuditEvent.objects.filter(kind="operation:upstream:changed").order_by("pk")]


def test_the_opentofu_registry_is_enabled_without_typing_its_address(browser_of, olga):
    client = browser_of(olga)
    page = shown(client.get(TOFU))
    assert 'name="host"' not in page
    assert "accept_terms" not in page

    answer = client.post(TOFU, FORM | {"enabled": "on"})
    assert (answer.status_code, answer.url) == (303, ONE)
    row = Upstream.objects.get()
    assert (row.host, row.is_enabled, row.cooldown_days, row.url) == ("registry.opentofu.org", True, 3, "")
    assert "registry.opentofu.org is added" in shown(client.get(ONE))
    assert TOFU.partition("?")[2] not in shown(client.get("/mirror"))


def test_a_new_registry_is_asked_at_once_and_its_page_waits_for_the_first_request(
    browser_of, olga, registry, allow_loopback
):
    client, one = browser_of(olga), f"/mirror/upstreams/{registry.host}"
    client.post("/mirror/add", FORM | {"host": registry.host, "url": registry.url, "enabled": "on"})

    page = shown(client.get(one))
    assert f"Asking {registry.host} for its services" in page
    assert f'hx-get="{one}?waits=Asking' in page
    work()
    page = shown(client.get(one))
    assert "Waiting for the first request of a client" in page
    assert "provider_installation" in page.partition("Waiting for the first request")[2], "the block for clients"

    mirrored.provider(Upstream.objects.get())
    page = shown(client.get(one))
    assert "The first request came: hashicorp/random" in page
    assert "hx-get" not in page.partition('id="first-use"')[2].partition("</p>")[0]
    UpstreamProvider.objects.update(created_at=timezone.now() - timedelta(hours=2))
    assert "first-use" not in shown(client.get(one)), "it is no news any more"


@for_each_row(
    ("answer", "found", "hint"),
    [
        (
            faults.says(200, b'{"modules.v1": "/v1/"}'),
            "Found an object without providers.v1, expected",
            "Check the host",
        ),
        (faults.says(200, b"<html>"), "is not JSON", "something other than a registry answers there"),
        (faults.says(404, b""), "The answer was 404", "it has no discovery document"),
    ],
    ids=["modules", "page", "missing"],
)
def test_a_host_that_is_no_registry_is_named_with_what_to_do(
    browser_of, olga, registry, allow_loopback, answer, found, hint
):
    client = browser_of(olga)
    registry.misbehave("/.well-known/terraform.json", answer)
    client.post("/mirror/add", FORM | {"host": registry.host, "url": registry.url, "enabled": "on"})
    work()

    page = text_of(client.get(f"/mirror/upstreams/{registry.host}"))
    assert "Larder cannot use this registry yet" in page
    assert found in page
    assert hint in page
    assert "provider_installation" not in page


def test_the_terraform_registry_shows_its_terms_and_suggests_terraform_only(browser_of, olga):
    client = browser_of(olga)
    page = shown(client.get(TERRAFORM))
    assert "solely for use with, or in support of, HashiCorp Terraform" in page
    assert 'href="https://registry.terraform.io/terms"' in page
    assert form_of(client.get(TERRAFORM))["terraform_only"].value() is True

    refused = client.post(TERRAFORM, FORM | {"enabled": "on", "terraform_only": "on"})
    assert refused.status_code == 422
    assert "accept them" in text_of(refused)
    assert not Upstream.objects.exists()

    client.post(TERRAFORM, FORM | {"enabled": "on", "terraform_only": "on", "accept_terms": "on"})
    row = Upstream.objects.get()
    assert (row.is_enabled, row.terraform_only, row.terms_accepted_at is not None) == (True, True, True)
    assert changes()[0]["changed"]["accepted_terms"] == "https://registry.terraform.io/terms"
    assert "accept_terms" not in shown(client.get("/mirror/upstreams/registry.terraform.io/change"))


def form_of(response):
    return response.context["form"]


def test_a_token_is_never_shown_and_stays_unless_it_is_typed_or_removed(browser_of, olga):
    client = browser_of(olga)
    client.post("/mirror/add", FORM | {"host": "registry.corp.example", "enabled": "on", "token": "quite-secret"})
    url = "/mirror/upstreams/registry.corp.example"
    for path in ("", "/change"):
        page = shown(client.get(url + path))
        assert "quite-secret" not in page
        assert Upstream.objects.get().sealed_token not in page

    client.post(f"{url}/change", FORM | {"enabled": "on", "cooldown_days": 9})
    assert upstreams.token_of(Upstream.objects.get()) == "quite-secret"
    client.post(f"{url}/change", FORM | {"enabled": "on", "token": "another"})
    assert upstreams.token_of(Upstream.objects.get()) == "another"
    client.post(f"{url}/change", FORM | {"enabled": "on", "remove_token": "on"})
    assert upstreams.token_of(Upstream.objects.get()) == ""


def test_what_is_saved_is_what_the_form_showed(browser_of, olga):
    row = mirrored.upstream(visibility="internal", quota_bytes=1_500_000_000, evict_days=30, is_sealed=True)
    client = browser_of(olga)
    initial = form_of(client.get(f"{ONE}/change")).initial
    sent = {name: value for name, value in initial.items() if value not in (False, None)}

    assert initial["quota_gb"] == "1.5"
    assert client.post(f"{ONE}/change", sent).status_code == 303
    assert changes() == []  # nothing has changed
    before = {field.name: getattr(row, field.name) for field in Upstream._meta.fields}
    row.refresh_from_db()
    assert {field.name: getattr(row, field.name) for field in Upstream._meta.fields} == before


@for_each_row(
    ("fields", "said"),
    [
        ({"host": "127.0.0.1"}, "is this Larder, whose providers need no mirror"),
        ({"host": ""}, "This field is required"),
        ({"url": "http://x.example"}, "Internal networks need LARDER_OUTGOING_ALLOW"),
        ({"cooldown_days": "many"}, "Enter a whole number"),
        ({"quota_gb": "-1"}, "greater than or equal to 0"),
    ],
)
def test_what_cannot_work_is_said_beside_the_form(browser_of, olga, fields, said):
    answer = browser_of(olga).post("/mirror/add", FORM | {"host": "x.example"} | fields)

    assert answer.status_code == 422
    assert said in text_of(answer)
    assert not Upstream.objects.exists()


def test_one_that_is_there_already_is_changed_instead(browser_of, olga):
    mirrored.upstream()
    answer = browser_of(olga).post(TOFU, FORM | {"enabled": "on", "cooldown_days": 99})

    assert (answer.status_code, answer.url) == (303, f"{ONE}/change")
    assert Upstream.objects.get().cooldown_days == 3


def test_removal_says_what_is_forgotten_and_how_to_keep_it(browser_of, olga):
    mirrored.fill(olga)
    client = browser_of(olga)
    page = shown(client.get(f"{ONE}/remove"))

    assert "deletes 5 stored packages" in page
    assert "turn the mirror off instead" in page
    UpstreamPackage.objects.update(used_at=None)
    assert "No one is hit: no client fetched anything of it" in shown(client.get(f"{ONE}/remove"))
    package = UpstreamPackage.objects.earliest("pk")
    UpstreamPackage.objects.filter(pk=package.pk).update(used_at=timezone.now(), uses=7)
    page = shown(client.get(f"{ONE}/remove"))
    assert "<span>provider in use is no longer served" in page
    assert f"registry.opentofu.org/{package.version.provider.address}" in page
    assert client.post(f"{ONE}/remove").status_code == 303
    assert upstreams.of_host("registry.opentofu.org") is None
