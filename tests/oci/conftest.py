"""Uploaders of blobs, clients of one repository each, a mirror of our own providers, and the passing of days."""

import base64
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope, User
from apps.artifacts.models import Manifest, RepositoryBlob, Tag, UploadSession
from apps.blobs.models import Blob
from apps.providers.drafting import package_manifests
from apps.providers.models import Package, ProviderVersion
from tests.oci.manifests.documents import Repo
from tests.oci.uploading import NAME, Uploader
from tests.protocol.conftest import frozen_zip, golden
from tests.protocol.providers.cast import add_version, frozen_key

__all__ = ["frozen_zip", "golden"]

HOST = "registry.example.com"
MIRROR = f"providers/{HOST}/pantry/dns"
DAYS = timedelta(days=3)


@pytest.fixture
def uploader_of(bearer: Callable[..., dict[str, str]]) -> Callable[..., Uploader]:
    """`uploader_of(alice)`: her client, with a token of her own, in acme/vpc/aws."""

    def made(user: User | None, scope: Scope = Scope.MANAGE, name: str = NAME) -> Uploader:
        return Uploader(Client(raise_request_exception=False, headers=bearer(user, scope)), name)

    return made


@pytest.fixture
def uploader(alice: User, uploader_of: Callable[..., Uploader]) -> Uploader:
    return uploader_of(alice)


@pytest.fixture
def repo(alice: Any, tofu: Callable[..., Client]) -> Callable[..., Repo]:
    """`repo("pantry/vpc/aws")`: Alice, by a token with the scope manage, or somebody else."""

    def client_of(name: str = "pantry/vpc/aws", user: Any = None, **more: Any) -> Repo:
        return Repo(tofu(user or alice, **more), name)

    return client_of


@pytest.fixture
def secret(alice: User) -> str:
    return tokens.issue(user=alice, label="CI", scope=Scope.PUBLISH, actor=Viewer(alice))[1]


def basic(password: str, name: str = "whoever") -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.fixture
def days_pass() -> Callable[[], None]:
    """Everything that is here was pushed some days ago."""

    def pass_() -> None:
        Blob.objects.update(created_at=F("created_at") - DAYS)
        RepositoryBlob.objects.update(seen_at=F("seen_at") - DAYS)
        Manifest.objects.update(seen_at=F("seen_at") - DAYS)
        Tag.objects.update(moved_at=F("moved_at") - DAYS)
        UploadSession.objects.update(expires_at=F("expires_at") - DAYS)

    return pass_


@pytest.fixture
def ours(settings: Any) -> None:
    settings.HOSTNAMES = frozenset({HOST})


def note_digests(version: ProviderVersion) -> None:
    packages = list(Package.objects.filter(version=version))
    package_manifests.store_digests(version, packages)
    version.save()
    Package.objects.bulk_update(packages, ["manifest_digest"])


@pytest.fixture
def shelf(ours: None, pantry: Any) -> Callable[..., list[ProviderVersion]]:
    """Versions of pantry/dns as the pipeline leaves them, by number."""
    key = frozen_key(pantry)

    def add(*numbers: str, **more: Any) -> list[ProviderVersion]:
        made = [add_version(key, None, "dns", number, **more) for number in numbers]
        for version in made:
            note_digests(version)
        return made

    return add


@pytest.fixture
def mirror(tofu: Callable[..., Client], pantry: Any) -> Repo:
    """A client of the OCI mirror of pantry/dns without a token."""
    return Repo(tofu(), MIRROR)
