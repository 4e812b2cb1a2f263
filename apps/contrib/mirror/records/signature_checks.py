"""Verify the sums of a version: three verdicts, never confused. Decided where the record is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    AlarmState,
    Allows,
    KeyPin,
    KeyState,
    UnsignedAllowance,
    Upstream,
    UpstreamProvider,
    UpstreamVersion,
    Verdict,
)
from apps.contrib.mirror.records import alarms, trust
from apps.contrib.mirror.records.documents import NamedKey
from apps.contrib.mirror.records.failures import Distrusted
from apps.signing.foreign import Signer, fingerprint_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict with its key, or a refusal, whose alarm must still be committed."""

    verdict: Verdict = Verdict.NONE
    key: KeyPin | None = None
    refusal: Distrusted | None = None


def signed(version: UpstreamVersion, signer: Signer, named: Sequence[NamedKey], *, url: str) -> Outcome:
    """Decide about a version whose signature is valid. All keys that the first document of a provider names are pinned,
    and another one waits for staff.

    `named`: the keys of the document, with that of the signer. The caller has locked the upstream: of two first
    documents at once, one is the first.
    """
    provider = version.provider
    pins = KeyPin.objects.of(provider)
    pin = pins.filter(fingerprint=signer.fingerprint).first()
    if pin is not None and pin.state == KeyState.TRUSTED:
        return Outcome(Verdict.PINNED, pin)
    if pin is None:
        source = next((key.source for key in named if key.armor == signer.armor), "") or signer.uid
        is_first = not pins.exists()
        state = KeyState.TRUSTED if is_first else KeyState.WAITING
        pin = _pin(provider, signer.fingerprint, NamedKey(signer.armor, source), state)
        if is_first:
            for fingerprint, key in _others(named, signer).items():
                _pin(provider, fingerprint, key, KeyState.TRUSTED)
            return Outcome(Verdict.FIRST_SEEN, pin)
    return Outcome(refusal=_refused_key(version, pin, url))


def _others(named: Sequence[NamedKey], signer: Signer) -> dict[str, NamedKey]:
    """Return the keys besides the signer's, by fingerprint. One that cannot be read proves nothing later either."""
    found = {fingerprint: key for key in named if (fingerprint := fingerprint_of(key.armor))}
    found.pop(signer.fingerprint, None)
    return found


def _pin(provider: UpstreamProvider, fingerprint: str, key: NamedKey, state: KeyState) -> KeyPin:
    pin = KeyPin.objects.create(
        upstream=provider.upstream,
        namespace=provider.namespace,
        provider=provider,
        fingerprint=fingerprint,
        armor=key.armor,
        source=key.source[:200],
        state=state,
    )
    if state == KeyState.TRUSTED:
        record(Kind.UPSTREAM_KEY_PINNED, actor_id=None, subject=pin.about, fingerprint=fingerprint, state=str(state))
    return pin


def unsigned(version: UpstreamVersion, *, url: str) -> Outcome:
    """Decide about a version for which the registry names no key. Allowed only by staff who knew of all pinned keys."""
    upstream, namespace = version.provider.upstream, version.provider.namespace
    allowed = UnsignedAllowance.objects.filter(upstream=upstream, namespace=namespace, allows=Allows.NO_KEY)
    allowance = allowed.first()
    trusted = KeyPin.objects.of(version.provider).filter(state=KeyState.TRUSTED)
    last = trusted.order_by("-first_seen_at").first()
    if allowance is not None and (last is None or last.first_seen_at < allowance.created_at):
        return Outcome(Verdict.NO_KEY)
    alarms.raise_alarm(
        AlarmKind.NO_KEY,
        upstream=upstream,
        provider=version.provider,
        version=version,
        subject=trust.subject_of_namespace(upstream, namespace),
        known={"fingerprint": last.fingerprint if last else ""},
        found={"fingerprint": ""},
        url=url,
    )
    before = f", although {last.fingerprint} signed earlier versions" if last else ""
    return Outcome(
        refusal=Distrusted(
            "no_key",
            f"The registry names no key for {upstream}/{namespace}{before}, so no signature can be checked",
            url=url,
            rule="signed",
        )
    )


def weakly_signed(version: UpstreamVersion, signer: Signer, *, url: str) -> Distrusted | None:
    """Return the refusal of a valid signature that proves less than others, None where staff allow these."""
    upstream, namespace = version.provider.upstream, version.provider.namespace
    allowed = UnsignedAllowance.objects.filter(upstream=upstream, namespace=namespace, allows=Allows.WEAK_SIGNATURE)
    if allowed.exists():
        return None
    alarms.raise_alarm(
        AlarmKind.SIGNATURE_BAD,
        upstream=upstream,
        provider=version.provider,
        version=version,
        subject=trust.subject_of_namespace(upstream, namespace),
        known={"fingerprint": ""},
        found={"fingerprint": signer.fingerprint, "problem": signer.weakness, "is_accepted_by_clients": True},
        url=url,
    )
    message = f"The signature of {version} is valid, but {signer.weakness}: clients accept that, and it proves less"
    return Distrusted("signature_weak", message, url=url, rule="signature")


def badly_signed(version: UpstreamVersion, found: str, *, issuer: str, is_foreign: bool, url: str) -> Distrusted:
    """Raise the alarm of a signature by a key that the registry does not name, or of one that does not fit."""
    upstream = version.provider.upstream
    pinned = KeyPin.objects.of(version.provider).filter(state=KeyState.TRUSTED).values_list("fingerprint", flat=True)
    alarms.raise_alarm(
        AlarmKind.SIGNATURE_BAD,
        upstream=upstream,
        provider=version.provider,
        version=version,
        subject=str(version),
        known={"fingerprint": ", ".join(sorted(pinned))},
        found={"fingerprint": issuer, "problem": found},
        url=url,
    )
    code = "signature_foreign" if is_foreign else "signature_bad"
    return Distrusted(code, f"The signature of {version} is not valid: found {found}", url=url, rule="signature")


class OtherBytes(Exception):
    """Bytes, or what a registry says of them, that do not fit: worth a second look before the registry is accused.

    `is_signed`: by sums or a document that name another digest than those that were verified.
    """

    def __init__(self, known: str, found: str, *, is_signed: bool, url: str) -> None:
        super().__init__(f"found sha256:{found}, expected sha256:{known}")
        self.known, self.found, self.is_signed, self.url = known, found, is_signed, url


def other_bytes(version: UpstreamVersion, filename: str, other: OtherBytes) -> Distrusted:
    """Raise the alarm of other bytes for a known version, with both digests."""
    alarms.raise_alarm(
        AlarmKind.BYTES_CHANGED,
        upstream=version.provider.upstream,
        provider=version.provider,
        version=version,
        subject=f"{version} {filename}",
        known={"digest": other.known},
        found={"digest": other.found, "is_signed": other.is_signed},
        url=other.url,
    )
    than = "before" if other.is_signed else "its SHA256SUMS says"
    message = f"The registry has other bytes for {filename} of {version} than {than}: {other}"
    return Distrusted("bytes_changed", message, url=other.url, rule="known_digest")


def unaccepted(version: UpstreamVersion, digests: Mapping[str, str], *, url: str) -> Distrusted | None:
    """Compare new sums with the bytes that staff accepted for this version: only those were meant."""
    accepted = Alarm.objects.filter(version=version, kind=AlarmKind.BYTES_CHANGED, state=AlarmState.ACCEPTED)
    latest: dict[str, str] = {}
    for alarm in accepted.order_by("pk"):
        latest[alarm.subject.rpartition(" ")[2]] = str(alarm.found.get("digest", ""))
    for filename, digest in latest.items():
        if digests.get(filename, digest) != digest:
            return other_bytes(version, filename, OtherBytes(digest, digests[filename], is_signed=True, url=url))
    return None


def _refused_key(version: UpstreamVersion, pin: KeyPin, url: str) -> Distrusted:
    trusted = KeyPin.objects.of(version.provider).filter(state=KeyState.TRUSTED)
    known = ", ".join(trusted.order_by("pk").values_list("fingerprint", flat=True))
    if pin.state == KeyState.REFUSED:
        found = f"{version} is signed by {pin.fingerprint}, which staff refused"
        return Distrusted("key_refused", found, url=url, rule="pinned_key")
    alarms.raise_alarm(
        AlarmKind.KEY_CHANGED,
        upstream=version.provider.upstream,
        provider=version.provider,
        version=version,
        subject=trust.subject_of_key(pin),
        known={"fingerprint": known},
        found={"fingerprint": pin.fingerprint},
        url=url,
    )
    another = "another key than before" if known else "a key"
    return Distrusted(
        "key_waiting",
        f"{version} is signed by {another}, which waits for staff: "
        f"found {pin.fingerprint}, expected {known or 'a key that staff trust'}",
        url=url,
        rule="pinned_key",
    )


def lock(upstream: Upstream) -> None:
    """Until the caller's transaction ends, no other one decides about providers of this registry."""
    Upstream.objects.select_for_update(no_key=True).get(pk=upstream.pk)
