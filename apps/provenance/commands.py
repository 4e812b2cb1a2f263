"""Commands that verify one release, for POSIX shells with curl and openssl: docs/verifying.md explains them."""

import re
from dataclasses import dataclass
from shlex import quote
from typing import Any

from django.conf import settings
from django.urls import reverse

from apps.accounts.models import Visibility
from apps.modules.catalogue.documents import archive_name
from apps.provenance.models import Attestation, Form, Statement
from apps.provenance.origin import Facts
from apps.providers.documents import sums_name
from apps.providers.models import Package, ProviderVersion
from apps.releases.models import Kind, Release

# Of which one package is downloaded as an example, the first of these or any.
CODES = (
    "download",
    "digest",
    "signature",
    "statement",
    "statement-signature",
    "statement-subject",
    "cosign",
    "attestation",
)
USUAL = ("linux_amd64", "linux_arm64", "darwin_arm64", "windows_amd64")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
IN_TOTO = "application/vnd.in-toto+json"


@dataclass(frozen=True, slots=True)
class Command:
    """`code` never changes, for programs. `program` is what it needs beside curl and the tools of every system."""

    code: str
    words: str
    text: str
    program: str = ""


def of(found: Facts) -> list[Command]:
    """In the order in which they are run, in one folder. None for bytes that are not served."""
    release = found.release
    if release.quarantined_at is not None:
        return []
    if release.kind == Kind.MODULE:
        file = archive_name(release.name, release.version)
        listed = _of_module(release, file)
    else:
        version: ProviderVersion = release.provider_version
        package = _usual(list(version.packages.order_by("filename")))
        file = package.filename
        listed = _of_provider(version, package)
    if found.statement is not None:
        listed += _of_statement(release, found.statement, file)
    return listed


def of_attestation(found: Facts, attestation: Attestation) -> Command:
    """Download it. GitHub's program verifies bundles around statements, for the repository that the origin names."""
    release, file = found.release, f"attestation-{attestation.digest[:12]}.json"
    fetched = _curl(release, f"{_version_url(release)}/attestations/{attestation.digest}", file)
    named = next((one for one in found.subjects if one.sha256 in attestation.subjects), None)
    has_statement = attestation.predicate_type != ""  # others sign bytes alone
    if attestation.form != Form.BUNDLE or not has_statement or named is None:
        return Command("attestation", "Download the attestation", fetched)
    repository = found.value("repository") if found.is_verified else ""
    repository = repository if _REPOSITORY.fullmatch(repository) else "OWNER/REPOSITORY"
    artifact = f"oci://{named.repository}@sha256:{named.sha256}" if named.repository else named.name
    verified = f"gh attestation verify {quote(artifact)} --bundle {file} --repo {repository}"
    return Command("attestation", "Verify the attestation with GitHub's program", f"{fetched}\n{verified}", "gh")


def _of_module(release: Release, file: str) -> list[Command]:
    return [
        Command("download", "Download the archive", _curl(release, _blob(release.digest, file), file)),
        Command("digest", "Compare its digest", f"echo {quote(f'{release.digest}  {file}')} | sha256sum --check"),
    ]


def _of_provider(version: ProviderVersion, package: Package) -> list[Command]:
    release, key = version.release, version.key
    sums = sums_name(release.name, release.version)
    files = [
        (package.digest, package.filename),
        (version.sums_digest, sums),
        (version.signature_digest, f"{sums}.sig"),
    ]
    fetched = "\n".join(_curl(release, _blob(digest, name), name) for digest, name in files)
    imported = f"gpg --dearmor > key.gpg << 'EOF'\n{key.armor.strip()}\nEOF"
    signed = (
        f"{imported}\ngpg --show-keys --with-colons key.gpg | grep '^fpr:.*:{key.fingerprint}:'\n"
        f"gpgv --keyring ./key.gpg {quote(f'{sums}.sig')} {quote(sums)}"
    )
    return [
        Command("download", f"Download the package for {package.platform}, the sums and their signature", fetched),
        Command("digest", "Compare its digest with the sums", f"sha256sum --check --ignore-missing {quote(sums)}"),
        Command("signature", f"Verify the signature with the key {key.key_id}", signed, "gpg"),
    ]


def _of_statement(release: Release, statement: Statement, file: str) -> list[Command]:
    """The signed bytes are type and payload with their lengths (DSSE), so they are put together first."""
    key = f"{settings.PUBLIC_URL}/api/v1/statement-keys/{statement.key.key_id}/pem"
    envelope = _curl(release, f"{_version_url(release)}/statement", "statement.json")
    fetched = f"{envelope}\ncurl -fsS -o statement.pem {key}"
    verified = f"""\
sed 's/.*"payload":"\\([^"]*\\)".*/\\1/' statement.json | base64 -d > payload.json
sed 's/.*"sig":"\\([^"]*\\)".*/\\1/' statement.json | base64 -d > statement.sig
{{ printf 'DSSEv1 {len(IN_TOTO)} {IN_TOTO} %d ' "$(wc -c < payload.json)"; cat payload.json; }} > signed.bin
openssl pkeyutl -verify -pubin -inkey statement.pem -rawin -in signed.bin -sigfile statement.sig"""
    named = (
        f"""grep -q "$(sha256sum {quote(file)} | cut -d ' ' -f 1)" payload.json """
        """&& echo "The statement names this file." """
    )
    cosign = (
        "cosign verify-blob-attestation --key statement.pem --insecure-ignore-tlog --type slsaprovenance1 "
        f"--signature statement.json {quote(file)}"
    )
    return [
        Command("statement", "Download Larder's statement and the key that signed it", fetched),
        Command("statement-signature", "Verify its signature", verified, "openssl"),
        Command("statement-subject", "Check that it names the file", named.strip()),
        Command("cosign", "Or do both at once", cosign, "cosign"),
    ]


def _curl(release: Release, url: str, file: str) -> str:
    """`$LARDER_TOKEN` is the reader's own."""
    is_public = release.namespace.visibility == Visibility.PUBLIC
    token = "" if is_public else ' -H "Authorization: Bearer $LARDER_TOKEN"'
    return f"curl -fsS{token} -o {quote(file)} {quote(url)}"


def _blob(digest: str, file: str) -> str:
    return f"{settings.PUBLIC_URL}{reverse('protocol:archive', args=[digest, file])}"


def _version_url(release: Release) -> str:
    names: list[Any] = [release.namespace.name, *release.name.split("/"), release.version]
    return f"{settings.PUBLIC_URL}{reverse(f'api:{release.kind}-origin', args=names)}".removesuffix("/origin")


def _usual(packages: list[Package]) -> Package:
    by_platform = {f"{package.os}_{package.arch}": package for package in packages}
    return next((by_platform[one] for one in USUAL if one in by_platform), packages[0])
