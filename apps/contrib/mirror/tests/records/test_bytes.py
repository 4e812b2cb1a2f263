"""Bytes that are not what the signed sums say are neither served nor kept."""

from pathlib import Path

import pytest
from django.conf import settings as site

from apps.accounts.access.gate import Viewer
from apps.blobs import ingest, store
from apps.blobs.models import Blob
from apps.contrib.mirror.asking import registry_calls
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import Alarm, AlarmKind, AlarmState, KeyState, UpstreamPackage, UpstreamVersion, Verdict
from apps.contrib.mirror.records import alarms, manifests, packages, version_records
from apps.contrib.mirror.tests import fetched
from apps.lib.errors import Conflict, Unavailable
from apps.lib.packages import sandboxed
from tests.builders import faults, providers
from tests.builders.keys import signing_key


@pytest.fixture
def staff(olga) -> Viewer:
    return Viewer(olga)


@pytest.mark.both
def test_a_package_is_listed_verified_and_stored(upstream, registry, alice, tmp_path):
    tool = registry.add_provider(versions=["1.0.0"], platforms=["linux_amd64", "darwin_arm64"])
    row = fetched.stored(upstream, by=alice.pk)

    assert b"".join(store.read(row.digest)) == tool.zip("1.0.0")
    assert row.size == len(tool.zip("1.0.0"))
    file = tmp_path / "package.zip"
    file.write_bytes(tool.zip("1.0.0"))
    with file.open("rb") as body:
        own = sandboxed.inspect(body, sandboxed.limits(), provider_type="tool", os="linux", arch="amd64")
    assert (row.h1, row.zh) == (own.h1, f"zh:{own.digest}"), "as of our own packages"
    assert (row.fetched_by, row.fetched_from) == (alice, registry.url + tool.zip_path("1.0.0"))
    found = row.version
    assert bytes(found.sums) == tool.sums("1.0.0")
    assert found.verdict == Verdict.FIRST_SEEN
    assert found.key is not None
    assert found.key.state == KeyState.TRUSTED
    assert sorted(one.platform for one in found.packages.all()) == ["darwin_arm64", "linux_amd64"]
    assert registry.count(tool.zip_path("1.0.0")) == 1
    assert registry.count(tool.zip_path("1.0.0", "darwin_arm64")) == 0


def nothing_is_kept() -> bool:
    staging = Path(site.DATA_DIR) / "blobs/staging"
    left = [file for file in staging.rglob("*") if file.is_file()] if staging.is_dir() else []
    return not left and not Blob.objects.exists() and not UpstreamPackage.objects.exclude(blob=None, h1="").exists()


def test_bytes_with_one_wrong_bit_are_refused_with_both_digests(upstream, registry, staff):
    tool = registry.add_provider()
    registry.misbehave(tool.zip_path("1.0.0"), faults.wrong_bytes())
    row = fetched.package(upstream)
    with pytest.raises(Refused, match=f"expected sha256:{row.digest}"):
        fetched.stored(upstream)
    assert nothing_is_kept()
    alarm = Alarm.objects.get()
    assert alarm.kind == AlarmKind.BYTES_CHANGED
    assert alarm.known == {"digest": row.digest}
    assert alarm.found["digest"] != row.digest
    with pytest.raises(Conflict, match="don't match the signed checksums"):
        alarms.accept(alarm, actor=staff, reason="Please.")
    registry.behave()
    fetched.without_pauses()
    assert fetched.stored(upstream).blob is not None


def test_a_replaced_version_is_refused_with_both_digests_and_what_is_stored_stays(upstream, registry):
    tool = registry.add_provider(platforms=["linux_amd64", "darwin_arm64"])
    before = fetched.stored(upstream)
    known = fetched.package(upstream, platform="darwin_arm64").digest
    tool.replace("1.0.0")
    with pytest.raises(Refused, match=r"other bytes for .*darwin_arm64"):
        fetched.stored(upstream, platform="darwin_arm64")
    alarm = Alarm.objects.get()
    assert alarm.known == {"digest": known}
    assert alarm.found["is_signed"]
    assert registry.count("*darwin_arm64.zip") == 0, "nobody needs bytes that are refused"
    after = fetched.stored(upstream)
    assert after.blob == before.blob
    assert after.version.verdict == Verdict.FIRST_SEEN


@pytest.fixture
def replaced(upstream, registry):
    """A stored version, whose bytes the registry has replaced, and the alarm that a second platform raised."""
    tool = registry.add_provider(platforms=["linux_amd64", "darwin_arm64"])
    old = fetched.stored(upstream)
    tool.replace("1.0.0")
    with pytest.raises(Refused):
        fetched.stored(upstream, platform="darwin_arm64")
    return tool, old


@pytest.mark.both
def test_accepted_bytes_replace_the_record_and_the_old_bytes_go(
    replaced, upstream, staff, django_capture_on_commit_callbacks
):
    tool, old = replaced
    with django_capture_on_commit_callbacks(execute=True):
        alarms.accept(Alarm.objects.get(), actor=staff, reason="They announced it.")
    assert not Blob.objects.filter(digest=old.digest).exists()
    assert fetched.reread(old.version).verdict == Verdict.NONE
    new = fetched.stored(upstream)
    assert new.digest != old.digest
    assert bytes(new.version.sums) == tool.sums("1.0.0")
    assert new.version.verdict == Verdict.PINNED


def test_only_the_bytes_that_staff_have_seen_are_accepted(replaced, upstream, staff):
    tool, _ = replaced
    seen = Alarm.objects.get()
    alarms.accept(seen, actor=staff, reason="They announced it.")
    tool.replace("1.0.0")  # once more, and nobody has looked at that
    with pytest.raises(Refused, match="other bytes"):
        fetched.recorded(upstream)
    again = Alarm.objects.get(state=AlarmState.OPEN)
    assert again.known == {"digest": seen.found["digest"]}
    assert again.found["digest"] != seen.found["digest"]


def test_dismissed_bytes_stay_refused_without_another_alarm(replaced, upstream, staff):
    alarms.dismiss(Alarm.objects.get(), actor=staff, reason="We keep what we know.")
    fetched.without_pauses()
    with pytest.raises(Refused):
        fetched.stored(upstream, platform="darwin_arm64")
    assert Alarm.objects.get().state == AlarmState.DISMISSED
    assert fetched.stored(upstream).blob is not None


@pytest.mark.parametrize(
    ("fault", "said"),
    [(faults.truncated(), "/packages/"), (faults.endless(), "max_bytes")],
    ids=["truncated", "endless"],
)
def test_a_body_of_another_length_is_an_outage_and_the_next_try_succeeds(upstream, registry, settings, fault, said):
    settings.PROVIDER_PACKAGE_MAX_BYTES = 1024 * 1024
    tool = registry.add_provider()
    registry.misbehave(tool.zip_path("1.0.0"), fault)
    with pytest.raises(Unavailable, match=said):
        fetched.stored(upstream)
    assert nothing_is_kept()
    assert not Alarm.objects.exists()
    registry.behave()
    fetched.without_pauses()
    assert fetched.stored(upstream).blob is not None


def test_a_size_that_is_not_the_claimed_one_is_refused(upstream, registry):
    tool = registry.add_provider()
    claims = {"packages": {"linux_amd64": {"hashes": [], "package_size": 7}}}
    registry.misbehave(tool.document_path("1.0.0"), faults.changed_json(lambda document: document | claims))
    with pytest.raises(Unavailable, match="expected 7"):
        fetched.stored(upstream)
    assert nothing_is_kept()


def signed_zip(registry, tool, body: bytes) -> None:
    """The registry has this package, with sums and a signature that fit."""
    sums = providers.sums({tool.file_name("1.0.0"): body})
    digest = sums[:64].decode()
    registry.misbehave(tool.zip_path("1.0.0"), faults.says(200, body))
    registry.misbehave(tool.sums_path("1.0.0"), faults.says(200, sums))
    registry.misbehave(tool.signature_path("1.0.0"), faults.says(200, signing_key("ed25519").sign(sums)))
    registry.misbehave(tool.document_path("1.0.0"), faults.changed_json(lambda one: one | {"shasum": digest}))


def test_a_signed_file_that_is_no_zip_is_refused(upstream, registry):
    signed_zip(registry, registry.add_provider(), b"This is not a zip.")
    with pytest.raises(Refused, match="not a package that Larder can unpack"):
        fetched.stored(upstream)
    assert nothing_is_kept()


def test_a_program_of_another_platform_or_name_is_accepted_as_clients_do(upstream, registry):
    tool = registry.add_provider()
    signed_zip(registry, tool, providers.package("other", "9.9.9", "darwin", "arm64"))
    row = fetched.stored(upstream)
    assert row.blob is not None


class Killed(BaseException):
    """The worker dies here."""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (registry_calls, "get_all_bytes"),
        (version_records, "_outcome_of"),
        (manifests, "set_digests"),
        pytest.param(version_records, "_write", marks=pytest.mark.both),
        (store, "stage"),
        (sandboxed, "inspect_foreign"),
        (ingest, "claim"),
        (ingest, "mark_ready"),
        (packages, "_write_digests"),
        pytest.param(packages, "record", marks=pytest.mark.both),
    ],
)
def test_a_worker_that_dies_at_any_step_leaves_nothing_half_and_the_next_one_finishes(
    upstream, registry, monkeypatch, module, name
):
    tool = registry.add_provider()

    def die(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, name, die)
        with pytest.raises(Killed):
            fetched.stored(upstream)
    for one in UpstreamVersion.objects.all():
        whole = bool(one.sums and one.signature and one.key_id and one.packages.exists())
        assert whole == bool(one.verdict)
    assert not UpstreamPackage.objects.exclude(blob=None).exists()
    assert not UpstreamPackage.objects.exclude(h1="").exists()

    fetched.due_again()
    row = fetched.stored(upstream)
    assert row.blob is not None
    assert row.digest
    assert registry.count(tool.zip_path("1.0.0")) <= 2


def test_the_query_of_a_signed_link_is_shown_and_kept_nowhere(upstream, registry):
    tool = registry.add_provider()
    registry.misbehave(
        tool.document_path("1.0.0"),
        faults.changed_json(lambda one: one | {"download_url": f"{one['download_url']}?X-Signature=secret"}),
    )
    registry.misbehave(tool.zip_path("1.0.0"), faults.wrong_bytes(), times=2)
    with pytest.raises(Refused) as refused:
        fetched.stored(upstream)
    assert "secret" not in str(refused.value)
    assert "secret" not in Alarm.objects.get().url
    fetched.without_pauses()
    assert fetched.stored(upstream).fetched_from == registry.url + tool.zip_path("1.0.0")
