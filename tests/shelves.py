"""The cast's namespaces, what Alice publishes there, and the shelf: one release that the tests of a file share.

Publishing takes longer than what most tests read of it. The shelf is in a transaction around those of its tests.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import transaction

from apps.accounts.models import Grant, Namespace, Role, User, Visibility
from apps.jobs.models import Job
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from apps.modules.tasks import publish_module
from apps.releases.models import Release
from tests import children
from tests.builders.archives import module_zip
from tests.sessions import in_browser

USUAL = ("acme/vpc/aws", "1.2.0")
# Of the file whose tests run: the release, its stored bytes, and whether the test under way has asked for it.
_shelf: dict[str, Any] = {}


def space(name: str, visibility: Visibility) -> Namespace:
    return Namespace.objects.get_or_create(name=name, canonical=name, defaults={"visibility": visibility})[0]


def publisher(username: str, *spaces: Namespace) -> User:
    user = User.objects.filter(username=username).first()
    user = user or User.objects.create_user(username=username, password=f"{username} likes pears")
    for namespace in spaces:
        Grant.objects.get_or_create(namespace=namespace, user=user, defaults={"role": Role.PUBLISHER})
    return user


def run_jobs() -> None:
    """Do what a worker would: each queued publish job, in this process."""
    for job in Job.objects.filter(kind=publishing.JOB, state="queued").order_by("pk"):
        publish_module(job_id=job.pk)


def publish(address: str, version: str, data: bytes | None, user: User) -> Release:
    with children.remembered():
        release, _ = publishing.publish(
            viewer=in_browser(user),
            address=ModuleAddress.parse(address),
            version=version,
            file_name=f"{address.split('/')[1]}-{version}.zip",
            confirm=["unloadable"],  # what pages show of damaged files is tested with it
            open_body=lambda: iter([module_zip(comment=version.encode()) if data is None else data]),
        )
        run_jobs()
    release.refresh_from_db()
    return release


@contextmanager
def laid_out(blobs: Path) -> Iterator[None]:
    """Publish the usual release, and undo it in the end."""
    block: Any = transaction.atomic()
    block._from_testcase = True  # as that of Django's TestCase: a durable block may be inside
    kept = blobs.with_name("shelf")
    with block:
        shutil.rmtree(blobs, ignore_errors=True)
        spaces = [
            space("acme", Visibility.PRIVATE),
            space("pantry", Visibility.PUBLIC),
            space("hall", Visibility.INTERNAL),
        ]
        release = publish(*USUAL, None, publisher("alice", *spaces))
        shutil.copytree(blobs, kept)
        _shelf.update(release=release.pk, kept=kept, is_taken=False)
        try:
            yield
        finally:
            _shelf.clear()
            shutil.rmtree(kept)
            transaction.set_rollback(True)


def lay_out_again(blobs: Path) -> None:
    """At the beginning of a test."""
    if _shelf:
        _shelf["is_taken"] = False
        shutil.copytree(_shelf["kept"], blobs)


def taken() -> Release | None:
    """Return the release on the shelf, once in a test: a test that publishes again means it."""
    if not _shelf or _shelf["is_taken"]:
        return None
    _shelf["is_taken"] = True
    return Release.objects.get(pk=_shelf["release"])
