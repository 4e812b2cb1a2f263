"""A module with a statement and an attestation, and clients of its repository."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.provenance import attesting, referrers
from apps.provenance.models import Attestation, Statement
from apps.releases.models import Release
from apps.signing.models import StatementKey
from tests.builders import attestations

NAME = "pantry/vpc/aws"


def state(release: Release) -> Statement:
    """A statement as a worker leaves it."""
    key, _ = StatementKey.objects.get_or_create(key_id="ab" * 32, public_key="…")
    envelope = attestations.dsse(release.digest, by="Larder", number=release.pk)
    digest = hashlib.sha256(envelope).hexdigest()
    made = Statement(release=release, key=key, envelope=envelope, digest=digest, size=len(envelope))
    referrers.keep(made)
    return made


@pytest.fixture
def release(published: Callable[..., Release], pantry: Any) -> Release:
    """pantry/vpc/aws 1.2.0, published through the API: its manifest is generated."""
    return published(NAME)


@pytest.fixture
def attach(alice: User) -> Callable[..., Attestation]:
    """Alice, through the API's verb."""

    def attached(release: Release, content: bytes = b"") -> Attestation:
        content = content or attestations.bundle(release.digest)
        return attesting.attach(release=release, viewer=Viewer(alice), content=content, media_type="")

    return attached
