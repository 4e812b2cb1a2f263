"""The contents of a draft and what is missing, judged by the names of its files (D24). Reads no bytes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.lib.errors import Invalid, Reason, TooLarge
from apps.lib.packages import sandboxed as packages
from apps.lib.packages.sandboxed import PackageName, Role
from apps.providers.drafting import protocols
from apps.providers.models import Signing
from apps.releases.models import Release, ReleaseFile, State
from apps.signing import keys
from apps.signing.models import Custody, SigningKey

PACKAGE_SETTING, SMALL_SETTING = "provider_package_max_bytes of LARDER_LIMITS", "sums_max_bytes of LARDER_LIMITS"
DOCS_SETTING = "provider_docs_max_bytes of LARDER_LIMITS"
# Its name in a repository; GoReleaser lists it as …_manifest.json, and does not copy it to the build folder.
GENERAL_MANIFEST = "terraform-registry-manifest.json"
# Keys of Release.notes. What comes from another Larder has no manifest: that keeps the protocols, and not the file.
DECLARED, WITHOUT_MANIFEST = "declared_protocols", "without_manifest"
_WHY = {
    Signing.PUBLISHER: "SHA256SUMS and its signature are here: they are verified and served unchanged.",
    Signing.REGISTRY: "The publisher sent no signature: the registry creates and signs SHA256SUMS.",
}


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a draft by their roles."""

    packages: tuple[tuple[ReleaseFile, PackageName], ...]  # by file name
    sums: ReleaseFile | None
    signature: ReleaseFile | None
    manifest: ReleaseFile | None
    docs: ReleaseFile | None = None

    @property
    def signing(self) -> Signing:
        """Publisher-signed if both are present; otherwise the registry signs, if it can."""
        return Signing.PUBLISHER if self.sums and self.signature else Signing.REGISTRY


def role_of(release: Release, name: str) -> Role:
    """The role of a file by its name: "ignored" for a byproduct of the build.

    Raises Invalid for any other name, listing the expected names.
    """
    role = packages.role_of(name, type=release.name, version=release.version)
    if role == "ignored" and packages.is_byproduct(name, type=release.name, version=release.version):
        return role
    if role == "ignored" or (role == "package" and packages.name_of(name) is None):
        stem = _stem(release)
        usual = "Name the files as GoReleaser does, and leave out other files of the build folder."
        raise Invalid(
            f"found the file name {name[:200]!a}, expected {stem}_<os>_<arch>.zip, {stem}_SHA256SUMS, "
            f"{stem}_SHA256SUMS.sig, {stem}_manifest.json or {stem}_docs.zip",
            hint=f"Send it as {manifest_name(release)}." if name == GENERAL_MANIFEST else usual,
        )
    return role


def limit_of(role: Role) -> tuple[int, str]:
    """The largest size of a file in this role, and the setting that limits it."""
    if role in ("package", "ignored"):  # a source archive may be large
        return settings.PROVIDER_PACKAGE_MAX_BYTES, PACKAGE_SETTING
    if role == "docs":
        return settings.PROVIDER_DOCS_MAX_BYTES, DOCS_SETTING
    return settings.SUMS_MAX_BYTES, SMALL_SETTING


def check_length(release: Release, name: str, length: int | None) -> None:
    """Refuse by the request's head, before a byte is read: raises TooLarge, and Invalid for a name."""
    limit, setting = limit_of(role_of(release, name))
    if length is not None and length > limit:
        raise TooLarge(
            f"{name} has {length} bytes, expected at most {limit} (limit {setting}).",
            hint="Reduce its size, or ask an operator to raise the limit.",
        )


def files_of(release: Release) -> Files:
    found: dict[Role, ReleaseFile] = {}
    zips = []
    for file in release.files.order_by("name"):
        name = packages.name_of(file.name)
        if name is not None:
            zips.append((file, name))
        else:
            found[role_of(release, file.name)] = file
    return Files(tuple(zips), found.get("sums"), found.get("signature"), found.get("manifest"), found.get("docs"))


def declared_protocols(release: Release) -> list[str]:
    """The protocols that the publisher declared with the draft."""
    return list(release.notes.get(DECLARED) or release.notes.get("told_protocols", []))  # its old name


def missing(release: Release, files: Files) -> list[Reason]:
    """Reasons for which a worker would reject the draft now."""
    lacks = []
    if not files.packages:
        lacks.append(
            Reason(
                code="no_packages",
                found="no package",
                expected=f"at least one {_stem(release)}_<os>_<arch>.zip",
                hint="Send the zip of each platform, then submit the draft",
            )
        )
    if files.signature and not files.sums:
        lacks.append(sums_missing(release))
    elif files.signing == Signing.REGISTRY and keys.signing_key_of(release.namespace) is None:
        lacks.append(not_signable(release))
    elif files.signing == Signing.PUBLISHER and not keys.vouching_keys_of(release.namespace):
        lacks.append(no_vouching_key(release))
    if not files.manifest and not declared_protocols(release):
        lacks.append(protocols.UNKNOWN)
    return lacks


def signers(namespaces: QuerySet[Namespace]) -> dict[str, list[str]]:
    """Return by namespace name who could sign a release now: its publishers, the registry, or no one. Two queries."""
    good = SigningKey.objects.usable(timezone.now()).filter(namespace__in=namespaces)
    able = good.filter(Q(custody=Custody.PUBLISHER) | Q(private_key__isnull=False))
    found: dict[str, list[str]] = {name: [] for name in namespaces.order_by("name").values_list("name", flat=True)}
    for name, custody in able.order_by("custody").values_list("namespace__name", "custody").distinct():
        found[name].append(custody)
    return found


def blocking(reasons: Iterable[Reason]) -> list[Reason]:
    """Reasons that leave a worker nothing to read."""
    return [reason for reason in reasons if reason.code == "no_packages"]


def sums_missing(release: Release) -> Reason:
    return Reason(
        code="sums_missing",
        found="a signature without SHA256SUMS",
        expected="both, or neither",
        hint=f"Send {_stem(release)}_SHA256SUMS too, or leave out the signature to let this registry sign",
        file=f"{_stem(release)}_SHA256SUMS.sig",
    )


def not_signable(release: Release) -> Reason:
    return Reason(
        code="not_signed",
        found=f"no signed SHA256SUMS, and {release.namespace.name} has no active key that this registry can sign with",
        expected="either sums with their signature, or a key in this registry",
        hint=f"Send {_stem(release)}_SHA256SUMS and its .sig, made with a key that is registered for "
        f"{release.namespace.name}; or ask one of its owners to generate a key in this registry, and publish again",
    )


def no_vouching_key(release: Release) -> Reason:
    return Reason(
        code="no_registered_key",
        found=f"a signature, but no active public key registered for {release.namespace.name}",
        expected="a signature by a registered key",
        hint=f"Ask an owner of {release.namespace.name} to register the public key; or leave out SHA256SUMS and "
        "signature to let this registry sign",
        file=f"{_stem(release)}_SHA256SUMS.sig",
    )


def sums_name(release: Release) -> str:
    return f"{_stem(release)}_SHA256SUMS"


def manifest_name(release: Release) -> str:
    return f"{_stem(release)}_manifest.json"


def docs_name(release: Release) -> str:
    return f"{_stem(release)}_docs.zip"


def _stem(release: Release) -> str:
    return f"terraform-provider-{release.name}_{release.version}"


def draft_facts(release: Release) -> dict[str, Any]:
    """Its files, the recognised platforms, who signs and why, and what is missing while it is a draft."""
    files = files_of(release)
    return {
        "files": list(release.files.order_by("name")),
        "platforms": [f"{name.os}_{name.arch}" for _, name in files.packages],
        "protocols": release.notes.get("protocols") or declared_protocols(release),
        "signing": files.signing,
        "signing_why": _WHY[files.signing],
        "missing": missing(release, files) if release.state == State.RECEIVING else [],
    }


def file_document(file: ReleaseFile) -> dict[str, Any]:
    """For our script."""
    role = role_of(file.release, file.name)
    return {"name": file.name, "role": role, "digest": f"sha256:{file.digest}", "size": file.size}
