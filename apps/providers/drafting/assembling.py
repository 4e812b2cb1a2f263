"""From the files of a draft to a version: inspected packages, sums, and a signature (D11)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings

from apps.blobs import store
from apps.lib.archives.sandboxed import Refusal
from apps.lib.digests import Tally
from apps.lib.errors import Invalid, Reason
from apps.lib.formats import sums
from apps.lib.packages import sandboxed
from apps.lib.packages.sandboxed import PackageListing
from apps.providers.drafting import drafts, protocols
from apps.providers.drafting.drafts import Files
from apps.providers.models import Package, Signing
from apps.releases.models import Release, ReleaseFile, State
from apps.releases.publishing import staging
from apps.signing import keys, verifying
from apps.signing.models import SigningKey


@dataclass(frozen=True, slots=True)
class Settled:
    """SHA256SUMS as served, and the key that signs them. `signature` is None until the registry has signed."""

    signing: Signing
    key: SigningKey
    sums: bytes
    signature: bytes | None

    @property
    def sums_digest(self) -> str:
        return digest_of(self.sums)

    @property
    def signature_digest(self) -> str:
        assert self.signature is not None  # noqa: S101  # the step before has signed
        return digest_of(self.signature)


def inspect_all(release: Release, files: Files) -> list[tuple[Package, PackageListing]]:
    """Every zip, read from staging. Raises Refusal with the reasons of all of them."""
    packages, reasons = [], []
    for file, name in files.packages:
        try:
            with (
                store.open_staged(file.staging_key) as staged,
                staging.refusing_only(staged, digest=file.digest, what=file.name),
            ):
                listing = sandboxed.inspect(staged, limits(), provider_type=release.name, os=name.os, arch=name.arch)
        except Refusal as refusal:
            # The reason, with the zip's name before that of the member.
            reasons += [
                replace(reason, file=f"{file.name}: {reason.file}" if reason.file else file.name)
                for reason in refusal.reasons
            ]
            continue
        if (listing.digest, listing.size) != (file.digest, file.size):
            # Storage returned other bytes than it received. Each attempt reads them again; five are enough.
            raise store.Damaged(f"The staged bytes of {file.name} differ from those received.")
        package = Package(
            os=name.os, arch=name.arch, filename=file.name, digest=file.digest, size=file.size, h1=listing.h1
        )
        packages.append((package, listing))
    if reasons:
        raise Refusal(reasons)
    return packages


def protocols_of(release: Release, files: Files, listings: Iterable[tuple[Package, PackageListing]]) -> list[str]:
    """Protocols from the manifest, the packages and the publisher; raises Refusal unless they agree."""
    declared: dict[str, list[str]] = {}
    if files.manifest is not None:
        declared[files.manifest.name] = protocols.read_manifest(_read(files.manifest), file=files.manifest.name)
    for package, listing in listings:
        declared[package.filename] = protocols.cleaned(listing.protocols, file=package.filename)
    return protocols.agreed(declared | {"the draft": drafts.declared_protocols(release)})


def takes_manifest(release: Release) -> bool:
    """A manifest can join the draft: present sums have to list it."""
    sums_file = drafts.files_of(release).sums
    if sums_file is None or release.state != State.RECEIVING:
        return True
    name = drafts.manifest_name(release).encode()
    return any(line.endswith(b"  " + name) for line in _read(sums_file).splitlines())


def settle(release: Release, files: Files, found: Sequence[Package]) -> Settled:
    """Publisher-signed if sums and signature came with the packages; otherwise the registry signs, if it can."""
    if files.signature is not None and files.sums is None:
        raise Refusal([drafts.sums_missing(release)])
    theirs = _read(files.sums) if files.sums else b""
    if files.sums is not None:
        listed = sums.parse(
            theirs, most_bytes=settings.SUMS_MAX_BYTES, setting=drafts.SMALL_SETTING, file=files.sums.name
        )
        _match(listed, release, files)
    if files.signature is not None:
        registered, signature = keys.publisher_keys_of(release.namespace), _read(files.signature)
        if not registered:
            raise Refusal([drafts.no_vouching_key(release)])
        try:
            key = verifying.verify(data=theirs, signature=signature, keys=registered)
        except verifying.BadSignature as bad:
            raise Refusal([replace(bad.reason, file=bad.reason.file or files.signature.name)]) from None
        return Settled(Signing.PUBLISHER, key, theirs, signature)
    ours = keys.signing_key_of(release.namespace)
    if ours is None:
        raise Refusal([drafts.not_signable(release)])
    return Settled(Signing.REGISTRY, ours, sums.canonical({one.filename: one.digest for one in found}), None)


def names_of(release: Release, settled: Settled) -> dict[str, str]:
    """The client-facing names of sums and signature, by digest."""
    return {settled.sums_digest: drafts.sums_name(release), settled.signature_digest: signature_name(release)}


def signature_name(release: Release) -> str:
    return f"{drafts.sums_name(release)}.sig"


def store_signed(release: Release, settled: Settled) -> None:
    """Store sums and signature as blobs, the registry's and the publisher's alike."""
    assert settled.signature is not None  # noqa: S101  # the step before has signed
    store_small(f"{release.staging_key}.sums", settled.sums)
    store_small(f"{release.staging_key}.sig", settled.signature)


def store_small(key: str, data: bytes) -> None:
    """Store bytes as a blob, by way of that key in staging."""
    staged = store.stage(key, [data])
    store.store_staged(key, digest=staged.digest, size=staged.size)
    store.discard_staged(key)


def require_usable(key: SigningKey, *, now: datetime) -> None:
    """The last check, in the finalising transaction: raises Refusal if the key was ended meanwhile."""
    locked = SigningKey.objects.select_for_update(no_key=True).usable(now)
    if not locked.filter(pk=key.pk).exists():
        raise Refusal([key_ended(key)])


def limits() -> sandboxed.Limits:
    packed, unpacked = settings.PROVIDER_PACKAGE_MAX_BYTES, settings.PROVIDER_UNPACKED_MAX_BYTES
    return replace(sandboxed.limits(packed_bytes=packed, unpacked_bytes=unpacked), entries=settings.ARCHIVE_MAX_ENTRIES)


def key_ended(key: SigningKey) -> Reason:
    return Reason(
        code="key_ended",
        found=f"that the key {key} expired, was retired or was revoked during the check",
        expected="a signature by an active key",
        hint="Publish again with an active key of the namespace",
    )


def _match(listed: Mapping[str, str], release: Release, files: Files) -> None:
    """Raises Refusal unless files and lines match one to one with equal digests: clients would fail otherwise.

    Ignores lines for SBOMs and the like: GoReleaser lists everything that it made, and clients need only packages.
    """
    there = {file.name: file.digest for file, _ in files.packages}
    if files.manifest is not None:
        there[files.manifest.name] = files.manifest.digest
    docs = drafts.docs_name(release)
    faults: list[tuple[str, str, str, str]] = []
    if docs in listed:
        expected = "only lines for packages and the manifest: clients do not verify documentation, which can change"
        faults.append(("sums_lists_docs", f"a line for {docs}", expected, "Create and sign the sums without that line"))
    passed_over = {one for one in listed if sandboxed.is_companion(one, type=release.name, version=release.version)}
    if release.notes.get(drafts.WITHOUT_MANIFEST):
        passed_over.add(drafts.manifest_name(release))
    for name in sorted(listed.keys() - there.keys() - passed_over - {docs}):
        found = f"a line for {name}, which was not uploaded"
        expected = "a file for every line except SBOMs, source archives and similar files of this version"
        faults.append(("sums_file_missing", found, expected, _send_or_strike(release, name)))
    for name in sorted(there.keys() - listed.keys()):
        expected = "a line for every package and for the manifest"
        hint = f"Create and sign the sums of all files, or leave {name} out"
        faults.append(("sums_line_missing", f"no line for {name}", expected, hint))
    for name in sorted(listed.keys() & there.keys()):
        if listed[name] != there[name]:
            expected = f"{there[name]}, the sha256 of the file that was uploaded"
            found = f"{listed[name]} for {name}"
            faults.append(("sums_digest_differs", found, expected, "Send files from the same build"))
    if faults:
        raise Refusal([Reason(*fault, drafts.sums_name(release)) for fault in faults])


def _send_or_strike(release: Release, name: str) -> str:
    """Suggests sending a file only if the draft would accept it."""
    without = f"Create and sign the sums without it: {release} has no such file"
    try:
        if drafts.role_of(release, name) == "ignored":
            return without
    except Invalid:
        return without
    rewrite = "or create and sign the sums without it"
    if name == drafts.manifest_name(release):
        return f"Send {name} too: it is {drafts.GENERAL_MANIFEST} of the repository, renamed; {rewrite}"
    return f"Send {name} too, {rewrite}"


def _read(file: ReleaseFile) -> bytes:
    """A small file as a whole. Its size was limited on receipt."""
    with store.open_staged(file.staging_key) as staged:
        data = staged.read()
    if digest_of(data) != file.digest:
        raise store.Damaged(f"The staged bytes of {file.name} differ from those received.")
    return data


def digest_of(data: bytes) -> str:
    tally = Tally()
    tally.update(data)
    return tally.hexdigest
