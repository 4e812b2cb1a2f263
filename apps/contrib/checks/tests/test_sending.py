"""Reports arrive: who may send them, about which bytes, before and after the version is published."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.contrib.checks import sending
from apps.contrib.checks.models import Report
from apps.contrib.checks.reading import child, shape
from apps.contrib.checks.tests import samples
from apps.contrib.checks.tests.conftest import URL
from apps.contrib.checks.tests.samples import plain
from apps.lib.addresses import ModuleAddress
from apps.releases.lifecycle import purging
from apps.releases.publishing import quotas
from tests.oci.manifests.documents import IMAGE, descriptor, digest_of, image
from tests.rows import for_each_row
from tests.sessions import in_browser


def test_no_byte_is_read_before_the_rights_are_known(tofu, untouchable, published, alice, bob, charlie):
    published()
    for who, status in ((bob, 403), (charlie, 404), (None, 401)):
        assert tofu(who).put(f"{URL}/checkov", **untouchable).status_code == status, who
    assert tofu(alice, Scope.READ).put(f"{URL}/checkov", **untouchable).status_code == 403
    for name in ("Checkov", "a b", "x" * 65, "-x"):
        assert tofu(alice).put(f"{URL}/{name}", **untouchable).status_code == 422, name


def test_a_report_is_stored_and_shown_with_its_findings_and_history(tofu, send, published, alice, bob):
    release = published()
    assert send(tofu(alice), samples.CLEAN).status_code == 201
    answer = send(tofu(alice), samples.FINDINGS, digest=f"sha256:{release.digest}")

    assert answer.status_code == 201
    found = answer.json()
    assert (found["name"], found["state"], found["line"]) == ("checkov", "failed", "1 high and 1 low findings")
    assert (found["matches"], found["verified_origin"], found["sent_by"]) == (True, False, "alice")
    shown = tofu(bob).get(f"{URL}/checkov").json()
    assert [one["file"] for one in shown["findings"]] == ["main.tf", "modules/a/main.tf"]
    assert [one["state"] for one in shown["history"]] == ["failed", "passed"]
    listed = tofu(bob).get(URL).json()
    assert (listed["line"], len(listed["checks"]), listed["missing"]) == ("1 high finding", 1, [])


def test_the_same_report_again_is_the_same_row_with_a_newer_time(tofu, send, published, alice):
    published()
    for _ in range(2):
        assert send(tofu(alice), samples.CLEAN).status_code == 201

    assert Report.objects.count() == 1


def test_only_the_last_twenty_are_kept_and_one_of_them_counts(tofu, send, published, alice):
    published()
    for number in range(23):
        send(tofu(alice), plain(summary=f"run {number}"))

    assert Report.objects.count() == sending.HISTORY
    assert Report.objects.newest().get().summary == "run 22"


def test_a_report_about_other_bytes_is_refused(tofu, send, published, alice):
    release = published()

    refused = send(tofu(alice), samples.CLEAN, digest=f"sha256:{'0' * 64}")

    assert refused.status_code == 409
    assert release.digest in refused.json()["error"]["message"]
    assert send(tofu(alice), samples.CLEAN, digest="md5:1").status_code == 422
    assert not Report.objects.exists()


def test_a_report_waits_for_its_release_and_belongs_to_it_then(tofu, send, published, alice, bob, acme):
    answer = send(tofu(alice), samples.CLEAN)
    assert (answer.status_code, answer.json()["digest"]) == (202, None)
    assert tofu(bob).get(URL).status_code == 404
    assert tofu(alice).get(URL).json()["line"] == "1 check passed"

    release = published()

    assert Report.objects.get().release == release
    assert tofu(bob).get(URL).json()["line"] == "1 check passed"


def test_a_report_whose_body_arrives_while_its_version_is_published_belongs_to_it(published, alice, acme):
    viewer = Viewer(alice)
    asked = sending.authorise(viewer, ModuleAddress("acme", "vpc", "aws"), "1.2.0")
    release = published()

    sending.send(viewer=viewer, release=asked, name="checkov", read=(child.read(samples.CLEAN), "0" * 64), digest="")

    assert Report.objects.get().release == release


def test_a_report_whose_release_never_comes_is_dropped(tofu, send, alice, acme):
    send(tofu(alice), samples.CLEAN)
    sending.prune()
    assert Report.objects.exists()

    Report.objects.update(received_at=timezone.now() - sending.LIFETIME - timedelta(hours=1))
    sending.prune()

    assert not Report.objects.exists()


def test_a_purged_version_takes_no_reports_and_keeps_none(tofu, send, published, alice, olga):
    release = published()
    send(tofu(alice), samples.CLEAN)
    purging.purge(release=release, actor=in_browser(olga), reason="It held a key.")

    refused = send(tofu(alice), samples.CLEAN)

    assert refused.status_code == 404
    assert "was removed" in refused.json()["error"]["message"]
    assert not Report.objects.exists()


@for_each_row(
    ("body", "status", "words"),
    [
        (b"x", 422, "neither XML nor JSON"),
        (b"[" * 4_000_000, 422, "nested too deeply"),
        (b'<?xml version="1.0" encoding="shift_jis"?><testsuite/>', 422, "in the encoding 'shift_jis'"),
        (b" " * (shape.MAX_BYTES + 1), 413, "The report"),
    ],
)
def test_a_bad_report_is_refused_with_a_sentence_and_nothing_is_stored(
    tofu, send, published, alice, body, status, words
):
    published()

    refused = send(tofu(alice), body)

    assert refused.status_code == status
    assert words in refused.json()["error"]["message"]
    assert not Report.objects.exists()


def test_more_findings_than_the_limit_are_refused(tofu, send, published, alice):
    published()
    body = json.dumps({"version": "2.1.0", "runs": [{"results": [{"ruleId": "r"}] * 10_001}]}).encode()

    refused = send(tofu(alice), body)

    assert refused.status_code == 422
    assert "more than 10,000 findings" in refused.json()["error"]["message"]


def test_a_form_is_not_a_report(tofu, published, alice):
    published()

    refused = tofu(alice).put(f"{URL}/checkov", b"--x--", content_type="multipart/form-data; boundary=x")

    assert "--upload-file" in refused.json()["error"]["hint"]


def test_a_version_has_a_bounded_number_of_checks(tofu, send, published, alice, monkeypatch):
    published()
    monkeypatch.setattr(sending, "MAX_NAMES", 2)
    for name in ("a", "b"):
        assert send(tofu(alice), plain(), name).status_code == 201

    assert send(tofu(alice), plain(), "c").status_code == 409
    assert send(tofu(alice), plain("failed"), "b").status_code == 201


def test_an_owner_removes_a_check_with_a_reason(tofu, send, published, alice, dora):
    published()
    send(tofu(alice), plain())
    assert tofu(alice).delete(f"{URL}/checkov?reason=typo").status_code == 403
    assert tofu(dora).delete(f"{URL}/checkov").status_code == 422

    assert tofu(dora).delete(f"{URL}/checkov?reason=typo").status_code == 204

    assert not Report.objects.exists()
    assert AuditEvent.objects.filter(kind="namespace:check:removed", subject="acme/vpc/aws 1.2.0").exists()


def test_reports_count_to_the_quota_of_the_namespace(tofu, send, published, alice, acme):
    published()
    send(tofu(alice), samples.FINDINGS)
    assert sending.stored_bytes(acme) > 0

    type(acme).objects.filter(pk=acme.pk).update(quota_bytes=1)

    assert send(tofu(alice), samples.CLEAN, "other").status_code in (409, 413, 507)


@pytest.mark.both
def test_two_senders_of_one_name_leave_one_that_counts(tofu, send, published, alice, monkeypatch):
    """The second reads before the first has written, as at the same moment."""
    release = published()
    send(tofu(alice), plain(summary="first"))
    real = quotas.require_bytes
    calls: list[int] = []

    def slow(*given):
        if not calls:
            calls.append(1)
            other = Report.objects.get()
            other.pk, other.summary, other.report_digest = None, "between", "0" * 64
            Report.objects.update(is_newest=False)
            other.save()
        return real(*given)

    monkeypatch.setattr(sending, "require_bytes", slow)
    assert send(tofu(alice), plain(summary="second")).status_code == 201

    assert [one.summary for one in Report.objects.about(release).newest()] == ["second"]


def test_a_report_attached_over_oci_becomes_a_check_named_by_its_file(published, repo, tofu, bob):
    published("pantry/vpc/aws", "1.2.0")
    at = repo("pantry/vpc/aws")
    package = at.get("1.2.0").content

    assert _attached(at, package, samples.FINDINGS, "results_Sarif.sarif").status_code == 201

    found = tofu(bob).get("/api/v1/modules/pantry/vpc/aws/1.2.0/checks/results_sarif").json()
    assert (found["state"], found["sent_by"], found["matches"]) == ("failed", "alice", True)
    refused = _attached(at, package, b"nothing", "b.sarif")
    assert refused.status_code == 400
    assert "This report was refused" in refused.content.decode()
    assert Report.objects.count() == 1


def _attached(at, package, content, title):
    for data in (b"{}", content):
        begun = at.client.post("/v2/pantry/vpc/aws/blobs/uploads/", content_type="application/octet-stream")
        place = f"{begun.headers['Location']}?digest={digest_of(data)}"
        at.client.generic("PUT", place, data, content_type="application/octet-stream")
    sarif = "application/sarif+json"
    document = json.loads(image(content, layer_type=sarif, artifactType=sarif, subject=descriptor(package, IMAGE)))
    document["layers"][0]["annotations"] = {"org.opencontainers.image.title": title}
    return at.put(json.dumps(document).encode())
