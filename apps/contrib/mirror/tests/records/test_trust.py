"""Signatures and keys: three verdicts, and what waits for staff."""

from dataclasses import replace

import pytest

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    AlarmState,
    Allows,
    KeyPin,
    KeyState,
    UnsignedAllowance,
    UpstreamPackage,
    UpstreamVersion,
    Verdict,
)
from apps.contrib.mirror.records import alarms, trust
from apps.contrib.mirror.serving import catalogue
from apps.contrib.mirror.tests import fetched
from apps.lib.errors import Conflict, Invalid, NotFound
from tests.builders import faults
from tests.builders.keys import signing_key
from tests.rows import for_each_row


@pytest.fixture
def staff(olga) -> Viewer:
    return Viewer(olga)


def nothing_is_stored() -> bool:
    """Neither a record nor a part of one."""
    half = UpstreamVersion.objects.exclude(verdict="", sums=b"", signature=b"", key=None, verified_at=None)
    return not half.exists() and not UpstreamPackage.objects.exists()


@pytest.fixture
def changed(upstream, registry):
    """1.0.0 is verified; from then on another key signs, and the registry names it."""
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    first = fetched.recorded(upstream, "1.0.0")
    tool.change_key(signing_key("rsa2048"))
    with pytest.raises(Refused, match="another key than before, which waits for staff"):
        fetched.recorded(upstream, "1.1.0")
    return first


@pytest.mark.both
def test_another_key_is_refused_and_waits_with_both_fingerprints_as_one_alarm(changed, upstream):
    alarm = Alarm.objects.get()
    assert alarm.kind == AlarmKind.KEY_CHANGED
    assert alarm.namespace == "acme"
    assert alarm.known == {"fingerprint": signing_key("ed25519").fingerprint}
    assert alarm.found == {"fingerprint": signing_key("rsa2048").fingerprint}
    assert KeyPin.objects.get(fingerprint=alarm.found["fingerprint"]).state == KeyState.WAITING
    assert UpstreamVersion.objects.get(version="1.1.0").verdict == Verdict.NONE
    assert UpstreamPackage.objects.filter(version__version="1.1.0").count() == 0
    event = AuditEvent.objects.get(kind=Kind.UPSTREAM_ALARM_RAISED)
    assert event.detail["known"] == alarm.known
    assert event.detail["found"] == alarm.found
    # What was verified before stays, whatever waits.
    assert fetched.stored(upstream, "1.0.0").blob is not None

    fetched.without_pauses()
    with pytest.raises(Refused):
        fetched.recorded(upstream, "1.1.0")
    assert Alarm.objects.get().times == 2
    assert AuditEvent.objects.filter(kind=Kind.UPSTREAM_ALARM_RAISED).count() == 1


def test_staff_accept_the_key_with_a_reason_and_the_version_is_fetched_again(changed, upstream, staff):
    with pytest.raises(Invalid, match="reason is empty"):
        alarms.accept(Alarm.objects.get(), actor=staff, reason="  ")
    assert Alarm.objects.get().state == AlarmState.OPEN

    alarms.accept(Alarm.objects.get(), actor=staff, reason="Announced on their page.")
    assert fetched.recorded(upstream, "1.1.0").verdict == Verdict.PINNED
    alarm = Alarm.objects.get()
    assert (alarm.state, alarm.resolved_by) == (AlarmState.ACCEPTED, staff.user)
    assert alarm.reason == "Announced on their page."
    assert AuditEvent.objects.filter(kind=Kind.UPSTREAM_ALARM_RESOLVED).count() == 1
    with pytest.raises(Conflict, match="already accepted"):
        alarms.accept(alarm, actor=staff, reason="Again.")


def test_a_dismissed_key_stays_refused_without_another_alarm(changed, upstream, staff):
    alarms.dismiss(Alarm.objects.get(), actor=staff, reason="Nobody knows it.")
    with pytest.raises(Refused, match="which staff refused"):
        fetched.recorded(upstream, "1.1.0")
    assert Alarm.objects.get().state == AlarmState.DISMISSED
    assert KeyPin.objects.get(fingerprint=signing_key("rsa2048").fingerprint).state == KeyState.REFUSED
    trust.decide_key(KeyPin.objects.get(state=KeyState.REFUSED), actor=staff, is_trusted=True, reason="It is theirs.")
    assert fetched.recorded(upstream, "1.1.0").verdict == Verdict.PINNED


@pytest.mark.both
def test_refusing_a_trusted_key_takes_back_what_it_proved(upstream, registry, staff):
    registry.add_provider()
    fetched.stored(upstream)
    pin = KeyPin.objects.get()
    trust.decide_key(pin, actor=staff, is_trusted=False, reason="It was stolen.")
    assert nothing_is_stored()
    with pytest.raises(Refused, match="which staff refused"):
        fetched.recorded(upstream)
    trust.decide_key(pin, actor=staff, is_trusted=True, reason="It was not.")
    assert fetched.stored(upstream).version.verdict == Verdict.PINNED


def test_without_a_key_it_is_refused_until_staff_allow_the_namespace(upstream, registry, staff):
    registry.add_provider(key=None)
    with pytest.raises(Refused, match="names no key for"):
        fetched.recorded(upstream)
    assert nothing_is_stored()
    assert Alarm.objects.get().kind == AlarmKind.NO_KEY

    trust.allow_unsigned(upstream, "acme", actor=staff, reason="Their registry has no keys.")
    found = fetched.recorded(upstream)
    assert found.verdict == Verdict.NO_KEY
    assert found.key is None
    assert fetched.stored(upstream).blob is not None
    assert Alarm.objects.get().state == AlarmState.ACCEPTED

    trust.withdraw_unsigned(upstream, "acme", actor=staff, reason="They have keys now.")
    with pytest.raises(NotFound):
        trust.withdraw_unsigned(upstream, "acme", actor=staff, reason="Again.")
    assert AuditEvent.objects.filter(kind=Kind.UPSTREAM_UNSIGNED_ALLOWED).count() == 2


def test_a_registry_that_no_longer_names_the_pinned_key_is_refused_even_where_unsigned_was_allowed(
    upstream, registry, staff
):
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    trust.allow_unsigned(upstream, "acme", actor=staff, reason="As long as they have no key.")
    fetched.recorded(upstream, "1.0.0")
    tool.name_no_key()
    with pytest.raises(Refused, match=r"although .* signed earlier versions"):
        fetched.recorded(upstream, "1.1.0")
    alarms.accept(Alarm.objects.get(), actor=staff, reason="They gave up signing.")
    assert fetched.recorded(upstream, "1.1.0").verdict == Verdict.NO_KEY


def test_a_signature_by_a_key_that_the_registry_does_not_list_is_refused_and_cannot_be_accepted(
    upstream, registry, staff
):
    tool = registry.add_provider()
    tool.sign_with(signing_key("rsa2048"))
    with pytest.raises(Refused, match="which the registry does not name"):
        fetched.recorded(upstream)
    assert nothing_is_stored()
    alarm = Alarm.objects.get()
    assert alarm.kind == AlarmKind.SIGNATURE_BAD
    assert alarm.found["fingerprint"] == signing_key("rsa2048").fingerprint
    with pytest.raises(Conflict, match="cannot be accepted"):
        alarms.accept(alarm, actor=staff, reason="Please.")
    # Once the publisher has signed again, a dismissed alarm stops nothing.
    tool.sign_with(signing_key("ed25519"))
    alarms.dismiss(alarm, actor=staff, reason="They sign again.")
    assert fetched.recorded(upstream).verdict == Verdict.FIRST_SEEN


def test_sums_that_were_changed_after_they_were_signed_are_refused(upstream, registry):
    tool = registry.add_provider()
    registry.misbehave(tool.sums_path("1.0.0"), faults.changed(lambda body: body + b"0" * 64 + b"  other.zip\n"))
    with pytest.raises(Refused, match="a signature over other bytes"):
        fetched.recorded(upstream)
    assert nothing_is_stored()
    assert not KeyPin.objects.exists(), "a key that has proved nothing must not be pinned"


@for_each_row("kind", ["expired", "subkey", "rsa2048", "nistp256"])
def test_keys_that_clients_accept_are_accepted_in_each_namespace_the_first(upstream, registry, kind):
    registry.add_provider(key=kind)
    registry.add_provider("other", key="ed25519")
    for address in ("acme/tool", "other/tool"):
        assert fetched.recorded(upstream, "1.0.0", address).verdict == Verdict.FIRST_SEEN


@pytest.fixture
def weakly_signed(upstream, registry):
    tool = registry.add_provider(key="rsa2048", versions=["1.0.0", "1.1.0"])
    weak = signing_key("rsa2048").sign(tool.sums("1.0.0"), "--digest-algo", "SHA1")
    registry.misbehave(tool.signature_path("1.0.0"), faults.says(200, weak))
    with pytest.raises(Refused, match="is valid, but made with SHA-1: clients accept that"):
        fetched.recorded(upstream)
    return tool


@pytest.mark.both
def test_a_signature_with_sha_1_is_refused_by_name_until_staff_allow_the_namespace(weakly_signed, upstream, staff):
    assert UpstreamVersion.objects.exclude(verdict="").count() == 0
    assert not KeyPin.objects.exists(), "a weak signature pins nothing"
    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.found["problem"]) == (AlarmKind.SIGNATURE_BAD, "made with SHA-1")
    assert alarms.may_accept(alarm)
    alarms.accept(alarm, actor=staff, reason="They sign anew with 2.0.")
    allowance = UnsignedAllowance.objects.get()
    assert (allowance.allows, allowance.reason) == (Allows.WEAK_SIGNATURE, "They sign anew with 2.0.")
    found = fetched.recorded(upstream)
    assert found.verdict == Verdict.FIRST_SEEN
    assert catalogue.weakness_of(found) == "made with SHA-1"
    assert catalogue.weakness_of(fetched.recorded(upstream, "1.1.0")) == ""
    trust.withdraw_unsigned(upstream, "acme", actor=staff, reason="They have.", allows=Allows.WEAK_SIGNATURE)
    assert fetched.recorded(upstream).verdict, "what is stored stays"


def test_who_allows_weak_signatures_allows_none_that_are_missing(weakly_signed, upstream, staff):
    trust.allow_unsigned(upstream, "acme", actor=staff, reason="Old ones.", allows=Allows.WEAK_SIGNATURE)
    weakly_signed.name_no_key()
    with pytest.raises(Refused, match="names no key"):
        fetched.recorded(upstream)
    trust.allow_unsigned(upstream, "acme", actor=staff, reason="They have none.")
    assert fetched.recorded(upstream).verdict == Verdict.NO_KEY
    assert UnsignedAllowance.objects.count() == 2


def test_a_revoked_key_is_refused(upstream, registry):
    registry.add_provider(key="revoked")
    with pytest.raises(Refused, match="revoked"):
        fetched.recorded(upstream)
    assert nothing_is_stored()


def test_sums_without_the_line_of_the_package_are_refused(upstream, registry):
    tool = registry.add_provider()
    other = tool.sums("1.0.0").replace(b"linux_amd64", b"linux_arm64")
    registry.misbehave(tool.sums_path("1.0.0"), faults.says(200, other))
    registry.misbehave(tool.signature_path("1.0.0"), faults.says(200, signing_key("ed25519").sign(other)))
    with pytest.raises(Refused, match="no line for"):
        fetched.recorded(upstream)
    assert nothing_is_stored()


def test_a_document_whose_digest_is_not_that_of_the_signed_sums_is_refused(upstream, registry):
    tool = registry.add_provider()
    registry.misbehave(tool.document_path("1.0.0"), faults.wrong_digest())
    with pytest.raises(Refused, match="contradicts itself"):
        fetched.recorded(upstream)
    assert nothing_is_stored()


# --- Keys of several providers, several keys of one -----------------------------------------------------------------


@pytest.mark.both
def test_each_provider_of_a_namespace_may_have_a_key_of_its_own(upstream, registry):
    registry.add_provider("acme", "tool")
    registry.add_provider("acme", "dns", key="rsa2048")
    for kind in ("tool", "dns"):
        assert fetched.recorded(upstream, address=f"acme/{kind}").verdict == Verdict.FIRST_SEEN
        assert fetched.stored(upstream, address=f"acme/{kind}").blob is not None
    assert not Alarm.objects.exists()
    assert {str(pin).partition(":")[0] for pin in KeyPin.objects.all()} == {
        f"{upstream}/acme/{one}" for one in ("tool", "dns")
    }


@pytest.mark.both
def test_all_keys_that_the_first_document_names_are_pinned_together(upstream, registry):
    first, second = signing_key("ed25519"), signing_key("rsa2048")
    tool = registry.add_provider(versions=["1.0.0", "1.1.0", "1.2.0"])
    tool.keys = [second, first]
    assert fetched.recorded(upstream, "1.0.0").verdict == Verdict.FIRST_SEEN
    pins = KeyPin.objects.filter(state=KeyState.TRUSTED)
    assert {pin.fingerprint for pin in pins} == {first.fingerprint, second.fingerprint}
    tool.sign_with(second)
    assert fetched.recorded(upstream, "1.1.0").verdict == Verdict.PINNED
    assert not Alarm.objects.exists()

    third = signing_key("rsa3072")
    tool.keys, tool.signer = [first, second, third], third
    with pytest.raises(Refused, match="another key than before"):
        fetched.recorded(upstream, "1.2.0")
    assert Alarm.objects.get().subject == f"{upstream}/acme/tool key {third.fingerprint}"


def test_a_key_that_nobody_can_read_is_not_pinned(upstream, registry):
    tool = registry.add_provider()
    good = tool.keys[0]
    tool.keys = [
        good,
        replace(good, armor="-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nnonsense\n-----END PGP PUBLIC KEY BLOCK-----"),
    ]
    fetched.recorded(upstream)
    assert KeyPin.objects.count() == 1


def test_a_key_of_another_provider_proves_nothing(upstream, registry):
    registry.add_provider("acme", "dns", key="rsa2048")
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    fetched.recorded(upstream, address="acme/dns")
    fetched.recorded(upstream, "1.0.0")
    tool.change_key(signing_key("rsa2048"))
    with pytest.raises(Refused, match="another key than before"):
        fetched.recorded(upstream, "1.1.0")
