"""The cast's namespaces, what Alice publishes there, and the shelf: releases that the tests of a file share.

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
# Of the file whose tests run: the releases, their stored bytes, and what the test under way has asked for.
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
def laid_out(blobs: Path, *others: str) -> Iterator[None]:
    """Publish the usual release, and those of other modules, and undo it in the end."""
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
        alice, (usual, version) = publisher("alice", *spaces), USUAL
        releases = {(one, version): publish(one, version, None, alice).pk for one in (*others, usual)}
        shutil.copytree(blobs, kept)
        _shelf.update(releases=releases, kept=kept, taken=set())
        try:
            yield
        finally:
            _shelf.clear()
            shutil.rmtree(kept)
            transaction.set_rollback(True)


def lay_out_again(blobs: Path) -> None:
    """At the beginning of a test."""
    if _shelf:
        _shelf["taken"].clear()
        shutil.copytree(_shelf["kept"], blobs)


def taken(*which: str) -> Release | None:
    """Return the release on the shelf, once in a test: a test that publishes again means it."""
    if not _shelf or which in _shelf["taken"] or which not in _shelf["releases"]:
        return None
    _shelf["taken"].add(which)
    return Release.objects.get(pk=_shelf["releases"][which])
