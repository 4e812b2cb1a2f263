"""Gives the rows of `seeding` real bytes: archives, packages, sums, signatures and ledger, as publishing leaves them.

Runs inside a Larder (`manage.py shell`) whose storage is a folder of this host.
"""

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from django.db.models import Exists, OuterRef

from apps.blobs import store
from apps.blobs.models import Blob, State
from apps.providers.models import Package, ProviderVersion
from apps.releases.models import Kind, Release, ReleaseBlob
from apps.releases.publishing import ledger
from bench.sql import execute
from tests.builders.archives import MODULE, module_zip
from tests.builders.keys import gpg, gpg_home, signing_key

BATCH = 1000
README_BYTES = 8_000  # of noise, which no compression makes smaller


def add() -> None:
    """Store bytes for every published release that has none yet."""
    stored = Exists(Blob.objects.filter(digest=OuterRef("digest")))
    for kind, fill in ((Kind.MODULE, _fill_modules), (Kind.PROVIDER, _fill_providers)):
        numbers = Release.objects.filter(kind=kind, state="published").exclude(stored).order_by("pk")
        left = list(numbers.values_list("pk", flat=True))
        for start in range(0, len(left), BATCH):
            fill(left[start : start + BATCH])


def _fill_modules(numbers: Sequence[int]) -> None:
    stored = {number: _stored(_archive(number)) for number in numbers}
    _digest_of_releases(stored)
    _enter(numbers)
    _rows(stored.values())


def _archive(number: int) -> bytes:
    noise = random.Random(number).randbytes(README_BYTES // 2).hex()
    return module_zip(MODULE | {"README.md": f"# Release {number}\n\n{noise}\n"})


def _fill_providers(numbers: Sequence[int]) -> None:
    packages = Package.objects.filter(version__release__in=numbers).select_related("version__release")
    by_release: dict[int, list[tuple[Package, tuple[str, int]]]] = {number: [] for number in numbers}
    for package in packages.order_by("pk"):
        found = _stored(_archive(-package.pk))
        by_release[package.version.release_id].append((package, found))
    _values("providers_package", ("digest", "size"), {p.pk: f for some in by_release.values() for p, f in some})
    names: list[ReleaseBlob] = []
    sums, signatures = {}, {}
    for number, some in by_release.items():
        text = "".join(f"{found[0]}  {package.filename}\n" for package, found in some).encode()
        sums[number] = _stored(text)
        signatures[number] = text
        names += [ReleaseBlob(release_id=number, digest=found[0], name=p.filename) for p, found in some]
        names.append(ReleaseBlob(release_id=number, digest=sums[number][0], name="SHA256SUMS"))
    signed = dict(zip(signatures, map(_stored, _signed(list(signatures.values()))), strict=True))
    names += [ReleaseBlob(release_id=number, digest=one[0], name="SHA256SUMS.sig") for number, one in signed.items()]
    ReleaseBlob.objects.filter(release__in=numbers).delete()
    ReleaseBlob.objects.bulk_create(names, batch_size=BATCH)
    versions = dict(ProviderVersion.objects.filter(release__in=numbers).values_list("release_id", "pk"))
    _values(
        "providers_providerversion",
        ("sums_digest", "signature_digest"),
        {versions[number]: (sums[number][0], signed[number][0]) for number in numbers},
    )
    _digest_of_releases(sums)
    _enter(numbers)
    _rows([*sums.values(), *signed.values(), *(found for some in by_release.values() for _, found in some)])


def _signed(texts: list[bytes]) -> Iterator[bytes]:
    with gpg_home() as home:
        gpg(home, "--import", data=signing_key("ed25519").secret_armor.encode())
        for text in texts:
            yield gpg(home, "--digest-algo", "SHA512", "--detach-sign", data=text)


def _stored(data: bytes) -> tuple[str, int]:
    """Write a blob's file, unlike the store without waiting for the disk; return its digest and size."""
    digest = hashlib.sha256(data).hexdigest()
    path = store.path_of(digest)
    assert path is not None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    return digest, len(data)


def _rows(stored: Iterable[tuple[str, int]]) -> None:
    rows = [Blob(digest=digest, size=size, state=State.READY) for digest, size in dict(stored).items()]
    Blob.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def _digest_of_releases(found: dict[int, tuple[str, int]]) -> None:
    _values("releases_release", ("digest", "size"), found)
    _values("releases_release", ("uploaded_digest",), {number: one[:1] for number, one in found.items()})


def _values(table: str, columns: tuple[str, ...], rows: Mapping[int, tuple[str | int, ...]]) -> None:
    """Set the columns of each row, by its key."""
    places = ", ".join(["(" + ", ".join(["%s"] * (1 + len(columns))) + ")"] * len(rows))
    changed = ", ".join(f"{column} = fresh.column{place}" for place, column in enumerate(columns, 2))
    statement = f"UPDATE {table} SET {changed} FROM (VALUES {places}) AS fresh WHERE id = fresh.column1"  # noqa: S608
    execute(statement, [value for key, row in rows.items() for value in (key, *row)])


def _enter(numbers: Sequence[int]) -> None:
    """Write the ledger's entries as files."""
    root = Path(str(store.path_of("0" * 64))).parents[2]
    for release in Release.objects.filter(pk__in=numbers).select_related("namespace"):
        path = root / ledger.key_of(release)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(ledger.text_of(release, digest=release.digest))
