"""POST, GET and DELETE …/<version>/attestations: attached by publishers, read by readers, removed by owners."""

import hashlib
import io
import json

import pytest
from structlog.testing import capture_logs

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope, User
from apps.audit.models import AuditEvent
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Conflict, RoleRequired, TooLarge
from apps.modules import lifecycle
from apps.provenance import attesting
from apps.provenance.models import Attestation, Referrer
from apps.releases.models import Release
from tests.builders import attestations
from tests.builders.attestations import BUNDLE, DSSE, GITHUB, PROVENANCE, WORKFLOW
from tests.provenance.attestations.conftest import HERE
from tests.rows import for_each_row


def error_of(answer):
    return answer.status_code, answer.json()["error"]["code"], answer.json()["error"]["message"]


def kinds():
    found = AuditEvent.objects.filter(kind__startswith="namespace:attestation").order_by("pk")
    names = {user.pk: user.username for user in User.objects.all()}
    return [(kind, names[number or 0]) for kind, number in found.values_list("kind", "actor_id")]


@pytest.mark.both
def test_alice_attaches_a_bundle_and_bob_reads_what_it_says(release, attach, tofu, alice, bob):
    content = attestations.bundle(release.digest, "f" * 64)
    answer = attach(content, BUNDLE)

    assert answer.status_code == 201, answer.content
    digest = hashlib.sha256(content).hexdigest()
    row = Attestation.objects.get()
    assert answer.headers["Location"] == f"{HERE}/sha256:{digest}"
    (listed,) = tofu(bob).get(HERE).json()["attestations"]
    assert listed == answer.json()
    assert listed.pop("added_at").endswith("Z")
    assert listed == {
        "digest": f"sha256:{digest}",
        "size": len(content),
        "form": "bundle",
        "media_type": BUNDLE,
        "predicate_type": PROVENANCE,
        "subjects": [f"sha256:{release.digest}"],
        "signer": f"{WORKFLOW}, issuer {GITHUB}",
        "manifest": row.manifest_digest,
        "pushed": False,
        "added_by": "alice",
    }
    assert "verified" not in tofu(bob).get(HERE).content.decode().lower()
    for spelled in (digest, f"sha256:{digest}"):
        got = tofu(bob).get(f"{HERE}/{spelled}")
        assert (got.content, got.headers["Content-Type"]) == (content, BUNDLE)
        assert got.headers["Content-Disposition"] == f'attachment; filename="{digest[:12]}.sigstore.json"'
    assert kinds() == [("namespace:attestation:added", "alice")]


@pytest.mark.both
def test_the_same_bytes_again_are_the_same_row(release, attach):
    content = attestations.dsse(release.digest)
    first, second = attach(content), attach(content, DSSE)

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.content == second.content
    assert (Attestation.objects.count(), Referrer.objects.count()) == (1, 1)
    assert kinds() == [("namespace:attestation:added", "alice")]


@for_each_row("make", [attestations.dsse, attestations.bundle, attestations.signed])
def test_an_attestation_for_other_bytes_is_refused_and_logged(release, attach, make):
    other = "0" * 64
    with capture_logs() as logs:
        refused = attach(make(other))

    expected = f"found sha256:{other}, expected one of the digests of acme/vpc/aws 1.2.0."
    assert error_of(refused) == (422, "invalid", expected)
    assert not Attestation.objects.exists()
    (line,) = [one for one in logs if one["event"] == "attestation_refused"]
    assert (line["release"], line["why"]) == ("acme/vpc/aws 1.2.0", expected)


def test_an_attestation_of_another_release_is_refused(release, published, attach):
    other = published(version="1.3.0")
    assert other.digest != release.digest

    status, _, message = error_of(attach(attestations.bundle(other.digest, "1" * 64)))

    assert status == 422
    assert message == f"found sha256:{other.digest} and 1 more, expected one of the digests of acme/vpc/aws 1.2.0."
    assert attach(attestations.bundle(other.digest), url=HERE.replace("1.2.0", "1.3.0")).status_code == 201


class Unread:
    def read(self, *_):
        raise AssertionError("the body was read")

    readline = read


def test_one_of_50_mb_is_refused_before_it_is_read(release, tofu, alice):
    more = {"CONTENT_LENGTH": str(50 * 1024 * 1024), "wsgi.input": Unread()}
    with capture_logs() as logs:
        answer = tofu(alice).generic("POST", HERE, b"", content_type=DSSE, **more)

    assert error_of(answer) == (413, "too_large", "The attestation has 52,428,800 bytes, expected at most 1,048,576.")
    assert [one["event"] for one in logs if "attestation" in one["event"]] == ["attestation_refused"]


def test_a_large_one_without_a_length_is_refused_as_well(release, attach):
    large = attestations.dsse(release.digest, predicate={"large": "x" * attesting.MAX_BYTES})
    answer = attach(large, CONTENT_LENGTH="", **{"wsgi.input_terminated": True, "wsgi.input": io.BytesIO(large)})
    assert error_of(answer)[:2] == (413, "too_large")
    with pytest.raises(TooLarge):
        attesting.check(release, large, DSSE)


@for_each_row("content", [b"{", b"\xff", b'{"payloadType":' + b"[" * 100_000])
def test_what_is_malformed_is_refused_and_logged(release, attach, content):
    with capture_logs() as logs:
        assert error_of(attach(content))[:2] == (422, "invalid")
    assert [one["event"] for one in logs if "attestation" in one["event"]] == ["attestation_refused"]


def test_another_media_type_is_refused(release, attach):
    for media_type in ("text/plain", "application/x-www-form-urlencoded"):
        assert error_of(attach(attestations.dsse(release.digest), media_type))[:2] == (415, "unsupported_media_type")
    assert attach(attestations.dsse(release.digest), "multipart/form-data; boundary=x").status_code == 400


def test_who_may_not_publish_attaches_nothing(release, attach, bearer, client, alice, bob, charlie):
    content = attestations.dsse(release.digest)
    assert attach(content, user=bob).status_code == 403
    assert attach(content, user=charlie).status_code == 404
    assert attach(content, user=None).status_code == 401
    assert attach(content, scope=Scope.READ).status_code == 403
    assert not Attestation.objects.exists()
    for name, status in (("dns/aws", 403), ("vpc/aws", 201)):
        headers = bearer(alice, Scope.PUBLISH, only_name=name)
        answer = client.generic("POST", HERE, content, content_type="application/json", headers=headers)
        assert answer.status_code == status, name


def test_the_verb_asks_for_a_publisher_of_that_name(release, acme, alice, bob):
    content = attestations.dsse(release.digest)
    token, _ = tokens.issue(user=alice, label="dns", scope=Scope.PUBLISH, only_name="dns/aws", actor=Viewer(alice))
    for viewer in (Viewer(bob), Viewer(alice, token)):
        with pytest.raises(RoleRequired):
            attesting.attach(release=release, viewer=viewer, content=content, media_type=DSSE)
    assert not Attestation.objects.exists()


def test_a_stranger_is_refused_before_the_body_is_read(release, tofu, bob):
    """And recorded, which the gate does for those who want to write."""
    answer = tofu(bob).generic("POST", HERE, b"", content_type=DSSE, **{"CONTENT_LENGTH": "9", "wsgi.input": Unread()})
    assert error_of(answer)[:2] == (403, "forbidden")
    assert AuditEvent.objects.filter(kind="account:permission:refused", subject="acme").exists()


def test_the_verb_asks_for_an_owner(release, attach, tofu, alice):
    url = attach(attestations.dsse(release.digest)).headers["Location"]
    assert tofu(alice).delete(f"{url}?reason=Wrong").status_code == 403
    with pytest.raises(RoleRequired):
        attesting.remove(attestation=Attestation.objects.get(), viewer=Viewer(alice), reason="Wrong")


def test_owners_remove_one_and_say_why(release, attach, tofu, dora):
    """Publishers do not: test_the_verb_asks_for_an_owner."""
    content = attestations.dsse(release.digest)
    url = attach(content).headers["Location"]

    assert error_of(tofu(dora).delete(url))[:2] == (422, "invalid")
    assert tofu(dora).delete(f"{url}?reason=It names a former employee.").status_code == 204
    assert tofu(dora).delete(f"{url}?reason=Again").status_code == 404
    assert not Attestation.objects.exists()
    assert not Referrer.objects.exists()
    assert kinds()[1:] == [("namespace:attestation:removed", "dora")]
    removed = AuditEvent.objects.get(kind="namespace:attestation:removed")
    assert removed.detail["reason"] == "It names a former employee."
    assert attach(content).status_code == 201
    for digest in ("0" * 64, "sha256:", "nothing", "%00"):
        assert tofu(dora).get(f"{HERE}/{digest}").status_code == 404


def test_a_release_takes_only_so_many(release, attach, monkeypatch):
    monkeypatch.setattr(attesting, "MAX_PER_RELEASE", 2)
    for number in range(2):
        assert attach(attestations.dsse(release.digest, predicate={"number": number})).status_code == 201
    status, code, message = error_of(attach(attestations.dsse(release.digest, predicate={"number": 2})))
    assert (status, code) == (409, "conflict")
    assert message == "acme/vpc/aws 1.2.0 has 2 attestations, expected fewer than 2."
    assert attach(attestations.dsse(release.digest, predicate={"number": 1})).status_code == 200


@pytest.mark.both
def test_they_count_to_the_quota(release, attach, acme):
    content = attestations.dsse(release.digest)
    used = attesting.stored_bytes
    assert used(acme) == 0
    acme.quota_bytes = release.size + len(content)
    acme.save()

    assert attach(content).status_code == 201
    assert used(acme) == len(content)
    assert attach(attestations.bundle(release.digest)).status_code == 413


def test_nothing_is_said_about_what_is_in_quarantine_or_purged(release, attach, tofu, alice, olga):
    content = attestations.dsse(release.digest)
    url = attach(content).headers["Location"]
    address, staff = ModuleAddress.parse("acme/vpc/aws"), Viewer(olga)
    lifecycle.quarantine(viewer=staff, address=address, version="1.2.0", reason="Malware.")

    for answer in (tofu(alice).get(HERE), tofu(alice).get(url), attach(content), attach(attestations.bundle("1" * 64))):
        assert answer.status_code == 404
    release.refresh_from_db()
    with pytest.raises(Conflict):
        attesting.keep(Viewer(alice), attesting.check(release, content, DSSE))

    reason, confirm = "It has a key.", "acme/vpc/aws 1.2.0"
    lifecycle.purge(viewer=staff, address=address, version="1.2.0", reason=reason, confirm=confirm)
    assert Release.objects.filter(pk=release.pk, state="purged").exists()
    assert not Attestation.objects.exists()
    assert not Referrer.objects.exists()


def test_the_list_costs_the_same_at_any_length(release, attach, tofu, alice, django_assert_num_queries):
    client = tofu(alice)
    client.get(HERE)
    for count in (1, 5):
        for number in range(count):
            attach(attestations.dsse(release.digest, predicate={"number": [count, number]}))
        with django_assert_num_queries(5):  # token, gate, module, version, attestations
            found = client.get(HERE).json()["attestations"]
    assert len(found) == 6
    assert json.dumps(found)
