"""Bundles of a registry that is gone when a test begins: what is imported meets an empty database and empty storage."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User, Visibility
from apps.contrib.copy import signing
from apps.contrib.copy.bundle import importing, verifying, writing
from apps.contrib.copy.bundle.importing import Outcome
from apps.contrib.copy.bundle.selecting import Selection
from apps.contrib.copy.bundle.verifying import Opened
from apps.contrib.copy.tasks import sign_bundle
from apps.contrib.copy.tree.signatures import Keys
from apps.jobs.models import Job
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules import lifecycle
from apps.provenance.tasks import state_release
from apps.providers import publishing
from apps.releases.models import Release
from apps.signing import statement_keys, vault
from tests import shelves
from tests.builders import providers
from tests.cast import BLOBS
from tests.e2e.conftest import terraform
from tests.providers.draft_client import hold, register, signed
from tests.providers.draft_client import work as work_on_providers

__all__ = ["terraform"]

VPC = ModuleAddress("acme", "vpc", "aws")
PLATFORMS = ("darwin_arm64", "linux_amd64")


@dataclass
class Carried:
    """What crossed: `whole`, the same in `parts`, and `later`, which has what came since and no more."""

    whole: Path
    parts: list[Path]
    later: Path
    keys: Keys
    pem: bytes
    roots: dict[str, str]

    def opened(self, *folders: Path) -> Opened:
        return verifying.verify(folders or [self.whole], self.keys)


def publish_provider(namespace: str, version: str, files: Mapping[str, bytes], viewer: Viewer) -> Release:
    release, _ = publishing.open_draft(
        viewer=viewer, address=ProviderAddress(namespace, "dns"), version=version, protocols=["5.0"]
    )
    for name, data in files.items():
        publishing.receive_file(viewer=viewer, release=release, name=name, open_body=partial(iter, [data]))
    publishing.hand_in(viewer=viewer, release=release)
    work_on_providers()
    release.refresh_from_db()
    assert release.state == "published", release.reasons
    return release


@pytest.fixture
def bring(carried: Any, db: None, olga: Any, work: Callable[[], None]) -> Callable[..., Outcome]:
    def act(*folders: Path) -> Outcome:
        outcome = importing.bring(carried.opened(*folders), Viewer(olga))
        work()
        for _ in range(len(outcome.begun)):  # a call does the job whose turn it is
            work_on_providers()
        return outcome

    return act


@pytest.fixture(scope="session")
def carried(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Carried:
    folder = tmp_path_factory.mktemp("carried")
    block: Any = transaction.atomic()
    block._from_testcase = True  # as that of Django's TestCase: a durable block may be inside
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch, block:
        patch.setattr(signing, "sleep", lambda _: sign_all())
        shutil.rmtree(BLOBS, ignore_errors=True)
        vault.unlock()
        try:
            found = _carried(folder)
        finally:
            vault.lock()
            transaction.set_rollback(True)
    return found


def _carried(folder: Path) -> Carried:
    spaces = [shelves.space("acme", Visibility.PRIVATE), shelves.space("pantry", Visibility.PUBLIC)]
    alice = shelves.publisher("alice", *spaces)
    olga = User.objects.create_user(username="olga", is_staff=True, is_superuser=True)
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        shelves.publish(str(VPC), version, None, alice)
    said: dict[str, Any] = {"viewer": Viewer(olga), "address": VPC}
    lifecycle.yank(**said, version="1.0.0", reason="It loses routes.", replacement="1.2.0")
    lifecycle.quarantine(**said, version="1.1.0", reason="It holds a key.")
    register(spaces[0], olga)
    hold(spaces[1], olga)
    # GoReleaser lists the manifest among the sums; Larder does not keep it.
    publish_provider("acme", "1.2.0", signed(providers.dist("dns", "1.2.0", PLATFORMS)), Viewer(alice))
    zips = {name: data for name, data in providers.dist("dns", "1.3.0", PLATFORMS).items() if name.endswith(".zip")}
    publish_provider("pantry", "1.3.0", zips, Viewer(alice))
    for job in Job.objects.filter(kind="state-release", state="queued"):
        state_release(job_id=job.pk)
    whole, _ = writing.create(folder / "whole", Selection())
    _, parts = writing.create(folder / "parts", Selection(), part_bytes=72 * 1024)
    shelves.publish(str(VPC), "1.4.0", None, alice)
    lifecycle.quarantine(**said, version="1.2.0", reason="It was built by a stranger.")
    later, _ = writing.create(folder / "later", Selection(), since=whole.root)
    pem = "".join(key.public_key for key in statement_keys.listed()).encode()
    roots = {"whole": whole.root, "later": later.root}
    return Carried(folder / "whole", parts, folder / "later", verifying.keys_of(pem), pem, roots)


def sign_all() -> None:
    for job in Job.objects.filter(kind=signing.BUNDLE, state="queued"):
        sign_bundle(job_id=job.pk)
